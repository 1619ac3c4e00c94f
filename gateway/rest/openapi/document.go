// Package openapi describes the REST routes as an OpenAPI document, and renders that document for people. It runs when
// code is generated; the program embeds the results. Start reading at Describe.
package openapi

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/gateway/rest"
	"github.com/agentgraph/agentgraph/gateway/stored"
	"github.com/agentgraph/agentgraph/model"
)

// Describe returns routes and exports as an OpenAPI 3.1 document. Parameters, bodies and responses follow from the
// table, the stored operations and the schema. It returns an error if it cannot describe a type.
func Describe(schema *ast.Schema, routes []rest.Route, exports []rest.Export) (*openapi3.T, error) {
	examples, err := readExamples()
	if err != nil {
		return nil, err
	}
	d := &describer{document: newDocument(), examples: examples, Describer: stored.Describer{
		Schema: schema, Definitions: map[string]*jsonschema.Schema{}, Prefix: schemaPrefix, V1: true,
	}}
	for _, r := range routes {
		d.addOperation(r.Path, r.Method, resultOf(r).Definition.Type, d.operation(r))
	}
	for _, e := range exports {
		d.addOperation(e.Path, http.MethodGet, ast.NamedType(e.RowType, nil), d.export(e))
	}
	discriminators := d.discriminate()
	for name, definition := range d.Definitions {
		d.document.Components.Schemas[name] = d.schemaRef(definition)
		d.document.Components.Schemas[name].Value.Discriminator = discriminators[name]
	}
	return d.document, d.Err
}

// discriminate lets clients tell the types of a union apart by the property kind: a type such as SimulationTest has the
// value that its name begins with. It returns the discriminators by the name of the union.
func (d *describer) discriminate() map[string]*openapi3.Discriminator {
	discriminators := map[string]*openapi3.Discriminator{}
	for name, union := range d.Definitions {
		mapping := map[string]openapi3.MappingRef{}
		for _, one := range union.OneOf {
			variant := strings.TrimPrefix(one.Ref, schemaPrefix)
			kinds := d.Schema.Types[d.Schema.Types[variant].Fields.ForName("kind").Type.Name()].EnumValues
			i := slices.IndexFunc(kinds, func(v *ast.EnumValueDefinition) bool { return strings.HasPrefix(variant, v.Name) })
			d.Definitions[variant].Properties["kind"] = &jsonschema.Schema{Type: "string", Enum: []any{kinds[i].Name},
				Description: kinds[i].Description}
			mapping[kinds[i].Name] = openapi3.MappingRef{Ref: one.Ref}
		}
		if len(mapping) > 0 {
			discriminators[name] = &openapi3.Discriminator{PropertyName: "kind", Mapping: mapping}
		}
	}
	return discriminators
}

// schemaPrefix precedes the name of a component in references.
const schemaPrefix = "#/components/schemas/"

func componentSchema(name string) *openapi3.SchemaRef {
	return &openapi3.SchemaRef{Ref: schemaPrefix + name}
}

// schemaRef converts a schema to the type of the OpenAPI library, through its JSON.
func (d *describer) schemaRef(schema *jsonschema.Schema) *openapi3.SchemaRef {
	text, err := json.Marshal(schema)
	converted := &openapi3.SchemaRef{}
	if err == nil {
		err = json.Unmarshal(text, converted)
	}
	d.Err = cmp.Or(d.Err, err)
	return converted
}

// resultOf returns the field whose value is the response body.
func resultOf(r rest.Route) *ast.Field { return r.Fields[len(r.Fields)-1] }

// counterpart is the extension that names an operation's field of the schema, such as Query.dataset.documents.
const counterpart = "x-graphql-field"

type describer struct {
	stored.Describer
	document *openapi3.T
	examples map[string]example
}

// addOperation adds an operation to the document, under the tag of its path's first segment. A tag has the description
// of the type with its name. Without such a type, it has the description of its first operation's response.
func (d *describer) addOperation(path, method string, answer *ast.Type, o *openapi3.Operation) {
	tag := strings.Split(path, "/")[1]
	o.Tags = []string{tag}
	if d.document.Tags.Get(tag) == nil {
		what := d.Schema.Types[tag]
		if what == nil || what == d.Schema.Subscription {
			what = d.Schema.Types[answer.Name()]
		}
		d.document.Tags = append(d.document.Tags, &openapi3.Tag{Name: tag, Description: what.Description})
	}
	d.document.AddOperation(path, method, o)
}

func (d *describer) operation(r rest.Route) *openapi3.Operation {
	root := r.Fields[0]
	what, names := root, []string{root.ObjectDefinition.Name, root.Name}
	if r.Method == http.MethodGet {
		what = resultOf(r)
		for _, field := range r.Fields[1:] {
			names = append(names, field.Name)
		}
	}
	description := cmp.Or(r.About, what.Definition.Description)
	summary, _, _ := strings.Cut(description, ". ")
	o := &openapi3.Operation{
		OperationID: r.Operation, Summary: strings.TrimSuffix(summary, "."), Description: description,
		Deprecated: r.IsDeprecated, Security: securityOf(r.Scopes),
		Extensions: map[string]any{counterpart: strings.Join(names, ".")},
	}
	for _, variable := range r.InPath {
		o.Parameters = append(o.Parameters, d.parameter("path", variable))
	}
	for _, variable := range r.InQuery {
		o.Parameters = append(o.Parameters, d.parameter("query", variable))
	}
	if len(r.InBody) > 0 || r.Upload != nil {
		o.RequestBody = d.body(r)
	}
	if r.Method == http.MethodPost {
		o.Parameters = append(o.Parameters, &openapi3.ParameterRef{Ref: "#/components/parameters/" + idempotencyKey})
	}
	if r.TakesMatch {
		o.Parameters = append(o.Parameters, &openapi3.ParameterRef{Ref: "#/components/parameters/" + ifMatch})
	}
	o.Responses = openapi3.NewResponses()
	o.Responses.Delete("default")
	if r.HasTag && r.Method == http.MethodGet {
		o.Parameters = append(o.Parameters, &openapi3.ParameterRef{Ref: "#/components/parameters/" + ifNoneMatch})
		unchanged := openapi3.NewResponse().WithDescription("The resource still has the ETag in If-None-Match.")
		unchanged.Headers = answerHeaders("ETag")
		o.Responses.Set(strconv.Itoa(http.StatusNotModified), &openapi3.ResponseRef{Value: unchanged})
	}
	o.Responses.Set(strconv.Itoa(r.Status), &openapi3.ResponseRef{Value: d.success(r)})
	for _, status := range failures(r) {
		o.Responses.Set(strconv.Itoa(status), &openapi3.ResponseRef{Ref: "#/components/responses/" + problemName(status)})
	}
	d.illustrate(o)
	return o
}

func (d *describer) parameter(in string, v *ast.FieldDefinition) *openapi3.ParameterRef {
	schema := d.Input(v)
	if in == "path" || v.Type.Name() == "ID" {
		schema.MinLength = new(1)
	}
	return &openapi3.ParameterRef{Value: &openapi3.Parameter{
		Name: v.Name, In: in, Description: v.Description, Required: v.Type.NonNull && v.DefaultValue == nil,
		Schema: d.schemaRef(schema),
	}}
}

func (d *describer) body(r rest.Route) *openapi3.RequestBodyRef {
	object := d.InputObject(r.InBody, r.IsStrict)
	// Only a POST without required properties may omit the body.
	body := &openapi3.RequestBody{Required: len(object.Required) > 0 || r.Method != http.MethodPost,
		Content: openapi3.Content{}}
	name := r.Operation + "Body"
	d.Definitions[name] = object
	body.Content["application/json"] = &openapi3.MediaType{Schema: componentSchema(name)}
	if r.Upload != nil {
		form := openapi3.NewObjectSchema().WithoutAdditionalProperties()
		for _, member := range r.InBody {
			form.WithPropertyRef(member.Name, d.schemaRef(d.Input(member)))
		}
		form.WithProperty(r.Upload.Name, &openapi3.Schema{Description: r.Upload.Description,
			ContentMediaType: "application/octet-stream"})
		form.Required = []string{r.Upload.Name}
		body.Content["multipart/form-data"] = &openapi3.MediaType{Schema: &openapi3.SchemaRef{Value: form}}
	}
	return &openapi3.RequestBodyRef{Value: body}
}

func (d *describer) success(r rest.Route) *openapi3.Response {
	response := openapi3.NewResponse().WithDescription("Done.")
	response.Headers = answerHeaders()
	if r.HasTag {
		response.Headers["ETag"] = &openapi3.HeaderRef{Ref: "#/components/headers/ETag"}
	}
	if r.HasLocation {
		response.Headers["Location"] = &openapi3.HeaderRef{Ref: "#/components/headers/Location"}
	}
	if r.Method == http.MethodPost {
		response.Headers["Idempotent-Replayed"] = &openapi3.HeaderRef{Ref: "#/components/headers/Idempotent-Replayed"}
	}
	if r.IsDeprecated {
		for _, name := range []string{"Deprecation", "Sunset"} {
			d.document.Components.Headers[name] = describeHeader(name)
			response.Headers[name] = &openapi3.HeaderRef{Ref: "#/components/headers/" + name}
		}
	}
	if r.Status == http.StatusNoContent {
		return response
	}
	response.WithDescription("The response.")
	result := resultOf(r)
	schema := d.Object(d.Schema.Types[result.Definition.Type.NamedType], result.SelectionSet, r.Operation+"Result")
	for _, number := range r.Page {
		page := d.Definitions[strings.TrimPrefix(schema.Ref, schemaPrefix)]
		property := d.Input(number)
		property.Default = nil
		page.Properties[number.Name] = property
		page.Required = append(page.Required, number.Name)
	}
	response.Content = openapi3.Content{"application/json": &openapi3.MediaType{Schema: d.schemaRef(schema)}}
	return response
}

// anyFailure are the failure statuses of every route.
var anyFailure = []int{
	http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotAcceptable,
	http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable,
}

// failures returns the failure statuses of a route.
func failures(r rest.Route) []int {
	statuses := slices.Clone(anyFailure)
	names := func(v *ast.FieldDefinition) bool { return v.Type.Name() == "ID" }
	if r.MayBeAbsent || slices.ContainsFunc(r.Variables, names) {
		statuses = append(statuses, http.StatusNotFound)
	}
	if r.Method != http.MethodGet {
		statuses = append(statuses, http.StatusConflict, http.StatusUnprocessableEntity)
	}
	if r.TakesMatch {
		statuses = append(statuses, http.StatusPreconditionFailed)
	}
	if len(r.InBody) > 0 {
		statuses = append(statuses, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if r.Upload != nil {
		statuses = append(statuses, http.StatusRequestTimeout)
	}
	if r.Fields[0].Definition.Directives.ForName("modelDriven") != nil {
		statuses = append(statuses, http.StatusBadGateway)
	}
	slices.Sort(statuses)
	return statuses
}

func (d *describer) export(e rest.Export) *openapi3.Operation {
	o := &openapi3.Operation{
		OperationID: e.Name, Summary: strings.TrimSuffix(e.Description, "."),
		Description: e.Description + " The response has no size limit. If the server fails while it sends the response, " +
			"it breaks the connection.",
		Security: securityOf([]model.APIKeyScope{e.Scope}),
	}
	for _, member := range e.InQuery {
		o.Parameters = append(o.Parameters, d.parameter("query", member))
	}
	row := openapi3.NewObjectSchema()
	for _, field := range d.Schema.Types[e.RowType].Fields {
		if slices.Contains(e.Columns, field.Name) {
			row.WithPropertyRef(field.Name, d.schemaRef(d.Output(field.Type, nil, field.Description)))
		}
	}
	row.Required = e.Columns
	moment := func() *openapi3.SchemaRef {
		return d.schemaRef(d.Output(ast.NonNullNamedType("DateTime", nil), nil, ""))
	}
	all := openapi3.NewObjectSchema().WithPropertyRef("periodFrom", moment()).WithPropertyRef("periodTo", moment()).
		WithProperty(e.List, openapi3.NewArraySchema().WithItems(row))
	all.Required = []string{"periodFrom", "periodTo", e.List}
	d.document.Components.Schemas[e.Name+"Result"] = &openapi3.SchemaRef{Value: all}
	response := openapi3.NewResponse().WithDescription("The rows, oldest first.")
	response.Headers = answerHeaders()
	response.Content = openapi3.Content{
		"application/json": &openapi3.MediaType{Schema: componentSchema(e.Name + "Result")},
		"text/csv": &openapi3.MediaType{
			Schema: &openapi3.SchemaRef{Value: &openapi3.Schema{Type: &openapi3.Types{"string"}}}},
	}
	o.Responses = openapi3.NewResponses()
	o.Responses.Delete("default")
	o.Responses.Set("200", &openapi3.ResponseRef{Value: response})
	for _, status := range anyFailure {
		o.Responses.Set(strconv.Itoa(status), &openapi3.ResponseRef{Ref: "#/components/responses/" + problemName(status)})
	}
	d.illustrate(o)
	return o
}
