package stored

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/vektah/gqlparser/v2/ast"
)

// Describer describes types of the schema as JSON Schema. With Definitions, an object or enum is described once there,
// and schemas refer to it. Otherwise schemas contain everything.
type Describer struct {
	Schema *ast.Schema
	// Definitions are the schemas of objects and enums by name, or nil. Prefix precedes the name in references.
	Definitions map[string]*jsonschema.Schema
	Prefix      string
	// V1 omits inputs with @beyondV1, and lets others be null, which means absent.
	V1 bool
	// IsBrief leaves descriptions out of outputs.
	IsBrief bool
	// Err is the error of the first type that could not be described.
	Err error

	// selections maps the names of definitions to the fragments and types that they describe.
	selections map[string]string
}

func (d *Describer) fail(format string, args ...any) {
	d.Err = cmp.Or(d.Err, fmt.Errorf(format, args...))
}

// scalarSchemas maps the schema's scalars to JSON Schemas.
var scalarSchemas = map[string]jsonschema.Schema{
	"ID":         {Type: "string"},
	"String":     {Type: "string"},
	"Boolean":    {Type: "boolean"},
	"Int":        {Type: "integer", Format: "int32"},
	"Float":      {Type: "number", Format: "double"},
	"Credits":    {Type: "number", Format: "double"},
	"DateTime":   {Type: "string", Format: "date-time"},
	"DateBound":  {Type: "string"},
	"JSONObject": {Type: "object", AdditionalProperties: &jsonschema.Schema{}},
}

// define adds a definition and returns a reference to it, or the schema itself if there are no definitions.
func (d *Describer) define(name string, schema *jsonschema.Schema) *jsonschema.Schema {
	if d.Definitions == nil {
		return schema
	}
	d.Definitions[name] = schema
	return &jsonschema.Schema{Ref: d.Prefix + name}
}

// Output describes a selection of a type. An object that cannot be null gets no description here, because many tools
// ignore a description next to a reference.
func (d *Describer) Output(t *ast.Type, set ast.SelectionSet, description string) *jsonschema.Schema {
	if d.IsBrief {
		description = ""
	}
	switch definition := d.Schema.Types[t.Name()]; {
	case t.Elem != nil:
		list := &jsonschema.Schema{Type: "array", Description: description, Items: d.Output(t.Elem, set, "")}
		return orNull(list, !t.NonNull, "")
	case definition.IsLeafType():
		leaf := d.leaf(definition, description)
		if d.IsBrief {
			leaf.Description = ""
		}
		return orNull(leaf, !t.NonNull, description)
	default:
		return orNull(d.Object(definition, set, ""), !t.NonNull, description)
	}
}

// leaf describes a scalar or an enum.
func (d *Describer) leaf(definition *ast.Definition, description string) *jsonschema.Schema {
	if definition.Kind == ast.Enum {
		return d.define(definition.Name, enumSchema(definition))
	}
	schema, known := scalarSchemas[definition.Name]
	if !known {
		d.fail("the scalar %s has no description", definition.Name)
	}
	schema.Description = description
	return &schema
}

func enumSchema(definition *ast.Definition) *jsonschema.Schema {
	schema := &jsonschema.Schema{Type: "string", Description: definition.Description}
	for _, value := range definition.EnumValues {
		schema.Enum = append(schema.Enum, value.Name)
		schema.Description += "\n- `" + value.Name + "`: " + strings.ReplaceAll(value.Description, "\n", " ")
	}
	return schema
}

func orNull(schema *jsonschema.Schema, nullable bool, description string) *jsonschema.Schema {
	switch {
	case !nullable:
		return schema
	case schema.Type == "": // a reference, or one of several
		null := &jsonschema.Schema{Type: "null"}
		return &jsonschema.Schema{Description: description, AnyOf: []*jsonschema.Schema{schema, null}}
	default:
		schema.Type, schema.Types = "", []string{schema.Type, "null"}
		if schema.Enum != nil {
			schema.Enum = append(schema.Enum, nil)
		}
		return schema
	}
}

// Object describes a selection of an object or interface. The name of its definition comes from the fragment, the given
// name or the type.
func (d *Describer) Object(definition *ast.Definition, set ast.SelectionSet, name string) *jsonschema.Schema {
	if spread, ok := set[0].(*ast.FragmentSpread); ok && len(set) == 1 {
		name = strings.TrimSuffix(strings.TrimSuffix(spread.Name, "Resource"), "Result")
		set = spread.Definition.SelectionSet
		if d.Schema.Types[name] != nil && d.Schema.Types[name].IsAbstractType() && !definition.IsAbstractType() {
			name = definition.Name
		}
	} else if name == "" {
		name = definition.Name
	}
	if d.isKnown(name, definition.Name+"{"+strings.Join(names(set), " ")+"}") {
		return &jsonschema.Schema{Ref: d.Prefix + name}
	}
	schema := &jsonschema.Schema{Description: definition.Description}
	if d.IsBrief {
		schema.Description = ""
	}
	if definition.IsAbstractType() {
		for _, possible := range d.Schema.GetPossibleTypes(definition) {
			if !d.selects(possible, set) {
				continue
			}
			schema.OneOf = append(schema.OneOf, d.Object(possible, set, ""))
		}
		if d.IsBrief {
			return anyOf(schema.OneOf)
		}
	} else {
		schema.Type = "object"
		d.properties(schema, definition, set)
	}
	return d.define(name, schema)
}

// anyOf describes a value of one of several types. With oneOf, a client would refuse a value that matches two of them.
func anyOf(types []*jsonschema.Schema) *jsonschema.Schema {
	types = slices.CompactFunc(types, func(a, b *jsonschema.Schema) bool { return reflect.DeepEqual(a, b) })
	if len(types) == 1 {
		return types[0]
	}
	return &jsonschema.Schema{AnyOf: types}
}

// selects reports whether a selection has fields of a concrete type.
func (d *Describer) selects(concrete *ast.Definition, set ast.SelectionSet) bool {
	return slices.ContainsFunc(set, func(selection ast.Selection) bool {
		switch s := selection.(type) {
		case *ast.InlineFragment:
			return d.applies(concrete, s.TypeCondition) && d.selects(concrete, s.SelectionSet)
		case *ast.FragmentSpread:
			return d.applies(concrete, s.Definition.TypeCondition) && d.selects(concrete, s.Definition.SelectionSet)
		}
		return true
	})
}

// isKnown reports whether the selection is already defined. It fails if another one has the name.
func (d *Describer) isKnown(name, selection string) bool {
	if d.Definitions == nil {
		return false
	}
	known, taken := d.selections[name]
	if taken && known != selection {
		d.fail("the component %s would be both %s and %s", name, known, selection)
	}
	if d.selections == nil {
		d.selections = map[string]string{}
	}
	d.selections[name] = selection
	return taken
}

// properties adds the selected fields of a concrete type. All of them are required,
// except those that a variable includes.
func (d *Describer) properties(schema *jsonschema.Schema, concrete *ast.Definition, set ast.SelectionSet) {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			property := d.Output(s.Definition.Type, s.SelectionSet, s.Definition.Description)
			property.Deprecated = s.Definition.Directives.ForName("deprecated") != nil && property.Ref == ""
			addProperty(schema, s.Alias, property, s.Directives.ForName("include") == nil)
		case *ast.InlineFragment:
			if d.applies(concrete, s.TypeCondition) {
				d.properties(schema, concrete, s.SelectionSet)
			}
		case *ast.FragmentSpread:
			if d.applies(concrete, s.Definition.TypeCondition) {
				d.properties(schema, concrete, s.Definition.SelectionSet)
			}
		}
	}
}

func addProperty(schema *jsonschema.Schema, name string, property *jsonschema.Schema, isRequired bool) {
	if schema.Properties == nil {
		schema.Properties = map[string]*jsonschema.Schema{}
	}
	if schema.Properties[name] == nil {
		schema.PropertyOrder = append(schema.PropertyOrder, name)
	}
	schema.Properties[name] = property
	if isRequired && !slices.Contains(schema.Required, name) {
		schema.Required = append(schema.Required, name)
	}
}

// applies reports whether a fragment with the type condition applies to a concrete type.
func (d *Describer) applies(concrete *ast.Definition, condition string) bool {
	return condition == "" || condition == concrete.Name ||
		slices.ContainsFunc(d.Schema.GetPossibleTypes(d.Schema.Types[condition]),
			func(possible *ast.Definition) bool { return possible.Name == concrete.Name })
}

// InputObject describes an object of a request.
func (d *Describer) InputObject(fields ast.FieldList, strict bool) *jsonschema.Schema {
	schema := &jsonschema.Schema{Type: "object"}
	if strict {
		schema.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	if d.V1 {
		fields = V1Fields(fields)
	}
	for _, field := range fields {
		isRequired := field.Type.NonNull && field.DefaultValue == nil
		addProperty(schema, field.Name, orNull(d.Input(field), d.V1 && !isRequired, field.Description), isRequired)
	}
	return schema
}

// Input describes a field of a request with its bounds and default.
func (d *Describer) Input(field *ast.FieldDefinition) *jsonschema.Schema {
	schema := d.inputType(field.Type)
	if schema.Ref != "" {
		return schema
	}
	schema.Description = field.Description
	if field.DefaultValue != nil && field.DefaultValue.Kind != ast.Variable {
		value, err := field.DefaultValue.Value(nil)
		if err != nil {
			d.fail("the default of %s: %w", field.Name, err)
		}
		if list, ok := value.([]any); ok && list == nil {
			value = []any{}
		}
		schema.Default, err = json.Marshal(value)
		if err != nil {
			d.fail("the default of %s: %w", field.Name, err)
		}
	}
	d.bound(schema, field.Directives.ForName("bounds"))
	return schema
}

func (d *Describer) inputType(t *ast.Type) *jsonschema.Schema {
	if t.Elem != nil {
		return &jsonschema.Schema{Type: "array", Items: orNull(d.inputType(t.Elem), !t.Elem.NonNull, "")}
	}
	definition := d.Schema.Types[t.NamedType]
	if definition.IsLeafType() {
		schema := d.leaf(definition, "")
		if definition.Name == "ID" && t.NonNull { // "" can mean none if the id is optional
			schema.MinLength = new(1)
		}
		return schema
	}
	schema := d.InputObject(definition.Fields, definition.Directives.ForName("strict") != nil)
	schema.Description = definition.Description
	return d.define(definition.Name, schema)
}

// bound adds the bounds of @bounds: of values to numbers, of characters to strings, and of entries to the list or
// object. For a list, the first two apply to its elements.
func (d *Describer) bound(schema *jsonschema.Schema, bounds *ast.Directive) {
	if bounds == nil {
		return
	}
	value := schema
	if schema.Type == "array" && schema.Items.Ref == "" {
		value = schema.Items
	}
	for _, argument := range bounds.Arguments {
		number, err := strconv.ParseFloat(argument.Value.Raw, 64)
		if err != nil {
			d.fail("@bounds of %s: %w", argument.Name, err)
		}
		switch count := int(number); argument.Name {
		case "min":
			value.Minimum = &number
		case "max":
			value.Maximum = &number
		case "minLength":
			value.MinLength = &count
		case "maxLength":
			value.MaxLength = &count
		case "minItems":
			schema.MinItems = &count
		case "maxItems":
			if schema.Type == "object" {
				schema.MaxProperties = &count
			} else {
				schema.MaxItems = &count
			}
		}
	}
}

// names returns the names of a selection's fields and fragments.
func names(set ast.SelectionSet) []string {
	var all []string
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			all = append(all, s.Alias)
		case *ast.InlineFragment:
			all = append(all, names(s.SelectionSet)...)
		case *ast.FragmentSpread:
			all = append(all, s.Name)
		}
	}
	return all
}
