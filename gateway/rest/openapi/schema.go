package openapi

import (
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/gateway/rest"
)

const schemaPrefix = "#/components/schemas/"

func componentSchema(name string) *openapi3.SchemaRef {
	return &openapi3.SchemaRef{Ref: schemaPrefix + name}
}

// described maps the schema's scalars to OpenAPI schemas.
var described = map[string]openapi3.Schema{
	"ID":         {Type: &openapi3.Types{"string"}},
	"String":     {Type: &openapi3.Types{"string"}},
	"Boolean":    {Type: &openapi3.Types{"boolean"}},
	"Int":        {Type: &openapi3.Types{"integer"}, Format: "int32"},
	"Float":      {Type: &openapi3.Types{"number"}, Format: "double"},
	"Credits":    {Type: &openapi3.Types{"number"}},
	"DateTime":   {Type: &openapi3.Types{"string"}, Format: "date-time"},
	"DateBound":  {Type: &openapi3.Types{"string"}},
	"JSONObject": {Type: &openapi3.Types{"object"}, AdditionalProperties: openapi3.BoolSchema{Has: new(true)}},
}

// output describes a selection of a type. Many tools ignore a description next to a reference.
func (d *describer) output(t *ast.Type, set ast.SelectionSet, description string) *openapi3.SchemaRef {
	switch definition := d.schema.Types[t.Name()]; {
	case t.Elem != nil:
		list := openapi3.NewArraySchema()
		list.Description, list.Items = description, d.output(t.Elem, set, "")
		return orNull(&openapi3.SchemaRef{Value: list}, !t.NonNull, "")
	case definition.IsLeafType():
		return orNull(d.leaf(definition, description), !t.NonNull, description)
	default:
		return orNull(d.object(definition, set, ""), !t.NonNull, description)
	}
}

// leaf describes a scalar, or refers to an enum's component.
func (d *describer) leaf(definition *ast.Definition, description string) *openapi3.SchemaRef {
	if definition.Kind == ast.Enum {
		d.enum(definition)
		return componentSchema(definition.Name)
	}
	schema, known := described[definition.Name]
	if !known {
		d.fail("the scalar %s has no description", definition.Name)
	}
	schema.Description = description
	return &openapi3.SchemaRef{Value: &schema}
}

func (d *describer) enum(definition *ast.Definition) {
	schema := &openapi3.Schema{Type: &openapi3.Types{"string"}, Description: definition.Description}
	for _, value := range definition.EnumValues {
		schema.Enum = append(schema.Enum, value.Name)
		schema.Description += "\n- `" + value.Name + "`: " + strings.ReplaceAll(value.Description, "\n", " ")
	}
	d.document.Components.Schemas[definition.Name] = &openapi3.SchemaRef{Value: schema}
}

func orNull(schema *openapi3.SchemaRef, nullable bool, description string) *openapi3.SchemaRef {
	switch {
	case !nullable:
		return schema
	case schema.Ref != "":
		null := &openapi3.SchemaRef{Value: &openapi3.Schema{Type: &openapi3.Types{"null"}}}
		return &openapi3.SchemaRef{Value: &openapi3.Schema{Description: description,
			AnyOf: openapi3.SchemaRefs{schema, null}}}
	default:
		types := append(openapi3.Types{}, *schema.Value.Type...)
		types = append(types, "null")
		schema.Value.Type = &types
		return schema
	}
}

// object refers to the component for a selection of an object. The component's name comes from the fragment, the given
// name or the type.
func (d *describer) object(definition *ast.Definition, set ast.SelectionSet, name string) *openapi3.SchemaRef {
	if spread, ok := set[0].(*ast.FragmentSpread); ok && len(set) == 1 {
		name = strings.TrimSuffix(strings.TrimSuffix(spread.Name, "Resource"), "Result")
		set = spread.Definition.SelectionSet
		if d.schema.Types[name] != nil && d.schema.Types[name].IsAbstractType() && !definition.IsAbstractType() {
			name = definition.Name
		}
	} else if name == "" {
		name = definition.Name
	}
	selection := definition.Name + "{" + strings.Join(names(set), " ") + "}"
	if known, taken := d.selections[name]; taken {
		if known != selection {
			d.fail("the component %s would be both %s and %s", name, known, selection)
		}
		return componentSchema(name)
	}
	d.selections[name] = selection
	var schema *openapi3.Schema
	if definition.IsAbstractType() {
		schema = &openapi3.Schema{Description: definition.Description}
		for _, possible := range d.schema.GetPossibleTypes(definition) {
			schema.OneOf = append(schema.OneOf, d.object(possible, set, ""))
		}
	} else {
		schema = openapi3.NewObjectSchema()
		schema.Description = definition.Description
		d.properties(schema, definition, set)
	}
	d.document.Components.Schemas[name] = &openapi3.SchemaRef{Value: schema}
	return componentSchema(name)
}

// properties adds the selected fields of a concrete type. All of them are required.
func (d *describer) properties(schema *openapi3.Schema, of *ast.Definition, set ast.SelectionSet) {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			schema.WithPropertyRef(s.Alias, d.output(s.Definition.Type, s.SelectionSet, s.Definition.Description))
			schema.Required = append(schema.Required, s.Alias)
			if s.Definition.Directives.ForName("deprecated") != nil && schema.Properties[s.Alias].Ref == "" {
				schema.Properties[s.Alias].Value.Deprecated = true
			}
		case *ast.InlineFragment:
			if d.fits(of, s.TypeCondition) {
				d.properties(schema, of, s.SelectionSet)
			}
		case *ast.FragmentSpread:
			if d.fits(of, s.Definition.TypeCondition) {
				d.properties(schema, of, s.Definition.SelectionSet)
			}
		}
	}
}

// fits reports whether a fragment with the type condition applies to a concrete type.
func (d *describer) fits(of *ast.Definition, condition string) bool {
	for _, possible := range d.schema.GetPossibleTypes(d.schema.Types[condition]) {
		if possible.Name == of.Name {
			return true
		}
	}
	return condition == "" || condition == of.Name
}

// inputObject describes an object of a request. Null means absent.
func (d *describer) inputObject(fields ast.FieldList, strict bool) *openapi3.Schema {
	schema := openapi3.NewObjectSchema()
	if strict {
		schema.AdditionalProperties = openapi3.BoolSchema{Has: new(false)}
	}
	for _, field := range rest.OfV1(fields) {
		isRequired := field.Type.NonNull && field.DefaultValue == nil
		schema.WithPropertyRef(field.Name, orNull(d.input(field), !isRequired, field.Description))
		if isRequired {
			schema.Required = append(schema.Required, field.Name)
		}
	}
	return schema
}

// input describes a field of a request with its bounds and default.
func (d *describer) input(field *ast.FieldDefinition) *openapi3.SchemaRef {
	schema := d.inputType(field.Type)
	if schema.Ref != "" {
		return schema
	}
	schema.Value.Description = field.Description
	if field.DefaultValue != nil && field.DefaultValue.Kind != ast.Variable {
		value, err := field.DefaultValue.Value(nil)
		if err != nil {
			d.fail("the default of %s: %w", field.Name, err)
		}
		if list, ok := value.([]any); ok && list == nil {
			value = []any{}
		}
		schema.Value.Default = value
	}
	d.bound(schema.Value, field.Directives.ForName("bounds"))
	return schema
}

func (d *describer) inputType(t *ast.Type) *openapi3.SchemaRef {
	if t.Elem != nil {
		list := openapi3.NewArraySchema()
		list.Items = d.inputType(t.Elem)
		return &openapi3.SchemaRef{Value: list}
	}
	definition := d.schema.Types[t.NamedType]
	if definition.IsLeafType() {
		return d.leaf(definition, "")
	}
	schema := d.inputObject(definition.Fields, definition.Directives.ForName("strict") != nil)
	schema.Description = definition.Description
	d.document.Components.Schemas[definition.Name] = &openapi3.SchemaRef{Value: schema}
	return componentSchema(definition.Name)
}

// bound adds the bounds of @bounds: of characters to strings, and of entries to the list or object.
func (d *describer) bound(schema *openapi3.Schema, bounds *ast.Directive) {
	if bounds == nil {
		return
	}
	text := schema
	if schema.Type.Is("array") && schema.Items.Value != nil {
		text = schema.Items.Value
	}
	for _, argument := range bounds.Arguments {
		number, err := strconv.ParseFloat(argument.Value.Raw, 64)
		if err != nil {
			d.fail("@bounds of %s: %w", argument.Name, err)
		}
		switch count := uint64(max(number, 0)); argument.Name {
		case "min":
			schema.Min = &number
		case "max":
			schema.Max = &number
		case "minLength":
			text.MinLength = count
		case "maxLength":
			text.MaxLength = &count
		case "minItems":
			schema.MinItems = count
		case "maxItems":
			if schema.Type.Is("object") {
				schema.MaxProps = &count
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
