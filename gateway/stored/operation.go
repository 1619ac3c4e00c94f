// Package stored has GraphQL operations that the program itself stores in files, such as those behind REST routes and
// assistants' tools. It checks them against the schema, reads their input from JSON, runs them, and describes their
// input and output as JSON Schema. Start reading at Operation.
package stored

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/agentgraph/agentgraph/model"
)

// Read parses the operations of all files in the folder operations. Files share their fragments.
func Read(files fs.FS) (*ast.QueryDocument, error) {
	all := &ast.QueryDocument{}
	names, err := fs.Glob(files, "operations/*.graphql")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		document, err := parser.ParseQuery(&ast.Source{Name: name, Input: string(text)})
		if err != nil {
			return nil, err
		}
		for _, o := range document.Operations {
			if all.Operations.ForName(o.Name) != nil {
				return nil, fmt.Errorf("%s: there are two operations %q", name, o.Name)
			}
			all.Operations = append(all.Operations, o)
		}
		for _, f := range document.Fragments {
			if all.Fragments.ForName(f.Name) != nil {
				return nil, fmt.Errorf("%s: there are two fragments %q", name, f.Name)
			}
			all.Fragments = append(all.Fragments, f)
		}
	}
	return all, nil
}

// Operation is a stored operation that was checked against the schema. It is immutable.
type Operation struct {
	Name string
	// Kind is a query, a mutation or a subscription.
	Kind ast.Operation
	// Text is a document with the operation and its fragments.
	Text string
	// Variables are the operation's variables as input fields, with the bounds of the inputs that they fill. A variable
	// without a description has the description of its input.
	Variables ast.FieldList
	// variableByPath maps the path of an input in the schema to the variable that fills it.
	variableByPath map[string]string
	// Fields is the path to the result, which is the value of the last field.
	Fields []*ast.Field
	// before and after have the JSON around the result in the operation's data.
	before, after []byte
	// Members are the names of the result's members.
	Members []string
}

// New returns the named operation, checked against the schema. result is the path to the result. Each level of
// the path must have exactly one field.
func New(schema *ast.Schema, all *ast.QueryDocument, name, result string) (*Operation, error) {
	definition := all.Operations.ForName(name)
	if definition == nil {
		return nil, fmt.Errorf("no file holds the operation %q", name)
	}
	descriptions := map[string]string{}
	for _, v := range definition.VariableDefinitions {
		descriptions[v.Variable] = v.Description
	}
	document := &ast.QueryDocument{Operations: ast.OperationList{undescribed(definition)}}
	if err := addFragments(document, all, definition.SelectionSet); err != nil {
		return nil, err
	}
	var text strings.Builder
	formatter.NewFormatter(&text, formatter.WithCompacted()).FormatQueryDocument(document)

	parsed, err := parser.ParseQuery(&ast.Source{Name: name, Input: text.String()})
	if err != nil {
		return nil, err
	}
	if errs := validator.ValidateWithRules(schema, parsed, rules.NewDefaultRules()); len(errs) > 0 {
		return nil, errs
	}
	definition = parsed.Operations[0]
	o := &Operation{Name: name, Kind: definition.Operation, Text: text.String(), variableByPath: map[string]string{}}
	for _, v := range definition.VariableDefinitions {
		o.Variables = append(o.Variables, &ast.FieldDefinition{Name: v.Variable, Type: v.Type, DefaultValue: v.DefaultValue})
	}
	if err := o.locate(definition.SelectionSet, result); err != nil {
		return nil, err
	}
	o.describeBelow(o.Fields[len(o.Fields)-1].SelectionSet)
	for _, v := range o.Variables {
		v.Description = cmp.Or(descriptions[v.Name], v.Description)
	}
	return o, nil
}

// undescribed returns a copy of the operation without the descriptions of its variables, which the server does not
// need.
func undescribed(o *ast.OperationDefinition) *ast.OperationDefinition {
	plain := *o
	plain.VariableDefinitions = nil
	for _, v := range o.VariableDefinitions {
		short := *v
		short.Description = ""
		plain.VariableDefinitions = append(plain.VariableDefinitions, &short)
	}
	return &plain
}

// describeBelow copies descriptions to the variables that fill arguments below the result.
func (o *Operation) describeBelow(set ast.SelectionSet) {
	for _, field := range FieldsOf(set) {
		for _, argument := range field.Arguments {
			if definition := field.Definition.Arguments.ForName(argument.Name); argument.Value.Kind == ast.Variable {
				v := o.Variables.ForName(argument.Value.Raw)
				v.Description, v.Directives = definition.Description, definition.Directives
			}
		}
		o.describeBelow(field.SelectionSet)
	}
}

func addFragments(document, all *ast.QueryDocument, set ast.SelectionSet) error {
	for _, selection := range set {
		var next ast.SelectionSet
		switch s := selection.(type) {
		case *ast.Field:
			next = s.SelectionSet
		case *ast.InlineFragment:
			next = s.SelectionSet
		case *ast.FragmentSpread:
			if document.Fragments.ForName(s.Name) != nil {
				continue
			}
			fragment := all.Fragments.ForName(s.Name)
			if fragment == nil {
				return fmt.Errorf("no file holds the fragment %q", s.Name)
			}
			document.Fragments = append(document.Fragments, fragment)
			next = fragment.SelectionSet
		}
		if err := addFragments(document, all, next); err != nil {
			return err
		}
	}
	return nil
}

// locate finds the result, and on the path to it the inputs that the variables fill.
func (o *Operation) locate(set ast.SelectionSet, result string) error {
	var field *ast.Field
	for _, name := range strings.Split(result, ".") {
		if len(set) == 1 {
			field, _ = set[0].(*ast.Field)
		}
		if len(set) != 1 || field == nil || field.Alias != name {
			return fmt.Errorf("the result path %q is ambiguous: select only the field %q at its level", result, name)
		}
		for _, argument := range field.Arguments {
			path := argument.Name
			if path == "input" {
				path = ""
			}
			definition := field.Definition.Arguments.ForName(argument.Name)
			o.bindVariables(path, argument.Value,
				&ast.FieldDefinition{Description: definition.Description, Directives: definition.Directives})
		}
		o.Fields = append(o.Fields, field)
		o.before = append(o.before, `{"`+name+`":`...)
		o.after = append(o.after, '}')
		set = field.SelectionSet
	}
	if field.Definition.Type.Elem != nil || len(set) == 0 {
		return fmt.Errorf("the result %q is not an object", result)
	}
	for _, member := range FieldsOf(set) {
		o.Members = append(o.Members, member.Alias)
	}
	return nil
}

// bindVariables records which variables fill an input or parts of it, and copies the input's description to the
// variable.
func (o *Operation) bindVariables(path string, value *ast.Value, definition *ast.FieldDefinition) {
	switch value.Kind {
	case ast.Variable:
		o.variableByPath[path] = value.Raw
		variable := o.Variables.ForName(value.Raw)
		variable.Description, variable.Directives = definition.Description, definition.Directives
	case ast.ObjectValue:
		for _, child := range value.Children {
			o.bindVariables(join(path, child.Name), child.Value, value.Definition.Fields.ForName(child.Name))
		}
	}
}

// Scopes returns the scopes that a credential needs to run the operation, without scopes that another of these scopes
// includes.
func (o *Operation) Scopes() []model.APIKeyScope {
	all := scopesOf(nil, ast.SelectionSet{o.Fields[0]})
	return slices.DeleteFunc(slices.Clone(all), func(scope model.APIKeyScope) bool {
		return slices.ContainsFunc(all, func(other model.APIKeyScope) bool {
			return other != scope && model.Principal{Scopes: []model.APIKeyScope{other}}.Can(scope)
		})
	})
}

func scopesOf(scopes []model.APIKeyScope, set ast.SelectionSet) []model.APIKeyScope {
	for _, field := range FieldsOf(set) {
		if d := field.Definition.Directives.ForName("requires"); d != nil {
			if scope := model.APIKeyScope(d.Arguments.ForName("scope").Value.Raw); !slices.Contains(scopes, scope) {
				scopes = append(scopes, scope)
			}
		}
		scopes = scopesOf(scopes, field.SelectionSet)
	}
	return scopes
}

// Execute runs a query or mutation, and returns the response. The response is nil if ctx ended before it began.
func Execute(ctx context.Context, exec graphql.GraphExecutor, params *graphql.RawParams) *graphql.Response {
	operation, errs := exec.CreateOperationContext(ctx, params)
	if errs != nil {
		return exec.DispatchError(graphql.WithOperationContext(ctx, operation), errs)
	}
	next, ctx := exec.DispatchOperation(ctx, operation)
	return next(ctx)
}

// ErrorOf converts an error of the executor's presenter. An error without a code becomes an internal error.
func ErrorOf(err *gqlerror.Error) *model.Error {
	code, ok := err.Extensions["code"].(string)
	if !ok {
		return model.Errorf(model.Internal, "internal error")
	}
	fields, _ := err.Extensions["fields"].(model.Fields)
	return &model.Error{Code: model.Code(code), Message: err.Message, Fields: fields}
}

// FieldsOf returns the fields of a selection, including the fields of its fragments.
func FieldsOf(set ast.SelectionSet) (fields []*ast.Field) {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			fields = append(fields, s)
		case *ast.InlineFragment:
			fields = append(fields, FieldsOf(s.SelectionSet)...)
		case *ast.FragmentSpread:
			fields = append(fields, FieldsOf(s.Definition.SelectionSet)...)
		}
	}
	return fields
}

// Extract returns the bytes of the result. It returns false if the result is null.
func (o *Operation) Extract(data []byte) ([]byte, bool) {
	data, begins := bytes.CutPrefix(data, o.before)
	data, ends := bytes.CutSuffix(data, o.after)
	return data, begins && ends && !IsNull(data)
}

// CallerFields translates the paths of faults into names that the caller used. It returns nil if nothing changes.
func (o *Operation) CallerFields(faults model.Fields, spelled map[string]string) model.Fields {
	changed := false
	out := make(model.Fields, len(faults))
	for path, texts := range faults {
		name := o.callersName(path)
		if member, _, _ := strings.Cut(name, "."); spelled[member] != "" {
			name = spelled[member] + name[len(member):]
		}
		changed = changed || name != path
		out[name] = append(out[name], texts...)
	}
	if !changed {
		return nil
	}
	return out
}

func (o *Operation) callersName(path string) string {
	for end := len(path); end > 0; end = strings.LastIndexByte(path[:end], '.') {
		if variable, found := o.variableByPath[path[:end]]; found {
			return variable + path[end:]
		}
	}
	return path
}

// Has reports whether the operation has the variable with one of the types.
func (o *Operation) Has(variable string, types ...string) bool {
	v := o.Variables.ForName(variable)
	return v != nil && slices.Contains(types, v.Type.String())
}
