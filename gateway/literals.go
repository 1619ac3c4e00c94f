package gateway

import "github.com/vektah/gqlparser/v2/ast"

// keepSpelling makes texts of the numbers in a validated document that stand for custom scalars. gqlparser would
// read them as floats, and a decimal number would no longer be what the client wrote.
func keepSpelling(document *ast.QueryDocument) {
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
	isNumber := value.Kind == ast.IntValue || value.Kind == ast.FloatValue
	if of := value.Definition; isNumber && of != nil && of.Kind == ast.Scalar && !of.BuiltIn {
		value.Kind = ast.StringValue
	}
	for _, child := range value.Children {
		spellValue(child.Value)
	}
}
