package gateway

import (
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/model"
)

// preserveLiterals rewrites the literals of custom scalars in a validated document. Numbers become strings, because
// gqlparser would read them as floats and change decimal numbers. Objects get the form of model.Spelled, because
// gqlparser would lose the order of their keys.
func preserveLiterals(document *ast.QueryDocument) {
	for _, operation := range document.Operations {
		for _, variable := range operation.VariableDefinitions {
			spellValue(variable.DefaultValue)
		}
		spellSelection(operation.SelectionSet)
	}
	for _, fragment := range document.Fragments {
		spellSelection(fragment.SelectionSet)
	}
}

func spellSelection(set ast.SelectionSet) {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			for _, argument := range s.Arguments {
				spellValue(argument.Value)
			}
			spellSelection(s.SelectionSet)
		case *ast.InlineFragment:
			spellSelection(s.SelectionSet)
		}
	}
}

func spellValue(value *ast.Value) {
	if value == nil {
		return
	}
	if definition := value.Definition; definition != nil && definition.Kind == ast.Scalar && !definition.BuiltIn {
		switch value.Kind {
		case ast.IntValue, ast.FloatValue:
			value.Kind = ast.StringValue
		case ast.ObjectValue:
			spellMembers(value)
		}
		return
	}
	for _, child := range value.Children {
		spellValue(child.Value)
	}
}

// spellMembers gives an object and all values in it the form of model.Spelled. Some numbers already have it from
// checkNumber.
func spellMembers(value *ast.Value) {
	if value.Kind == ast.ObjectValue && value.Children.ForName(model.Spelled) != nil {
		return
	}
	for _, child := range value.Children {
		spellMembers(child.Value)
	}
	switch value.Kind {
	case ast.ObjectValue:
		members := &ast.Value{Kind: ast.ListValue}
		for _, child := range value.Children {
			member := &ast.Value{Kind: ast.ObjectValue, Children: ast.ChildValueList{child}}
			members.Children = append(members.Children, &ast.ChildValue{Value: member})
		}
		value.Children = ast.ChildValueList{{Name: model.Spelled, Value: members}}
	case ast.IntValue, ast.FloatValue:
		number := &ast.Value{Kind: ast.StringValue, Raw: value.Raw}
		value.Kind, value.Children = ast.ObjectValue, ast.ChildValueList{{Name: model.Spelled, Value: number}}
	}
}
