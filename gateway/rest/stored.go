package rest

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/formatter"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/agentgraph/agentgraph/model"
)

//go:embed operations/*.graphql
var stored embed.FS

// readStored parses every stored operation. Files share their fragments.
func readStored(files fs.FS) (*ast.QueryDocument, error) {
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

type operation struct {
	name string
	// text is a document with the operation and its fragments.
	text string
	// variables are the operation's variables as input fields, with the descriptions and bounds of the inputs that they
	// fill.
	variables ast.FieldList
	// renamed maps the path of an input in the schema to the variable that fills it.
	renamed map[string]string
	// fields is the path to the result, which is the value of the last field.
	fields []*ast.Field
	// before and after have the JSON around the result in the operation's data.
	before, after []byte
	// members are the names of the result's members.
	members []string
}

// newOperation returns the named operation, checked against the schema. result is the path to the result. Each level of
// the path must have exactly one field.
func newOperation(schema *ast.Schema, all *ast.QueryDocument, name, result string) (*operation, error) {
	definition := all.Operations.ForName(name)
	if definition == nil {
		return nil, fmt.Errorf("no file holds the operation %q", name)
	}
	document := &ast.QueryDocument{Operations: ast.OperationList{definition}}
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
	o := &operation{name: name, text: text.String(), renamed: map[string]string{}}
	for _, v := range definition.VariableDefinitions {
		o.variables = append(o.variables, &ast.FieldDefinition{Name: v.Variable, Type: v.Type, DefaultValue: v.DefaultValue})
	}
	return o, o.locate(definition.SelectionSet, result)
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
func (o *operation) locate(set ast.SelectionSet, result string) error {
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
			of := field.Definition.Arguments.ForName(argument.Name)
			o.rename(path, argument.Value, &ast.FieldDefinition{Description: of.Description, Directives: of.Directives})
		}
		o.fields = append(o.fields, field)
		o.before = append(o.before, `{"`+name+`":`...)
		o.after = append(o.after, '}')
		set = field.SelectionSet
	}
	if field.Definition.Type.Elem != nil || len(set) == 0 {
		return fmt.Errorf("the result %q is not an object", result)
	}
	for _, member := range FieldsOf(set) {
		o.members = append(o.members, member.Alias)
	}
	return nil
}

// rename records which variables fill an input or parts of it, and copies the input's description to the variable.
func (o *operation) rename(path string, value *ast.Value, of *ast.FieldDefinition) {
	switch value.Kind {
	case ast.Variable:
		o.renamed[path] = value.Raw
		variable := o.variables.ForName(value.Raw)
		variable.Description, variable.Directives = of.Description, of.Directives
	case ast.ObjectValue:
		for _, child := range value.Children {
			o.rename(join(path, child.Name), child.Value, value.Definition.Fields.ForName(child.Name))
		}
	}
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

// extract returns the bytes of the result. It returns false if the result is null.
func (o *operation) extract(data []byte) ([]byte, bool) {
	data, begins := bytes.CutPrefix(data, o.before)
	data, ends := bytes.CutSuffix(data, o.after)
	return data, begins && ends && !isNull(data)
}

// named translates the paths of faults into names that the caller used. It returns nil if nothing changes.
func (o *operation) named(faults model.Fields, spelled map[string]string) model.Fields {
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

func (o *operation) callersName(path string) string {
	for end := len(path); end > 0; end = strings.LastIndexByte(path[:end], '.') {
		if variable, found := o.renamed[path[:end]]; found {
			return variable + path[end:]
		}
	}
	return path
}

// has reports whether the operation has the variable with one of the types.
func (o *operation) has(variable string, types ...string) bool {
	v := o.variables.ForName(variable)
	return v != nil && slices.Contains(types, v.Type.String())
}
