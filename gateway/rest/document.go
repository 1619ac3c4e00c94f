package rest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/model"
)

// Describe returns the routes as an OpenAPI 3.1 document: parameters, bodies and answers follow from the table, the
// stored operations and the schema. It fails if the schema has a type that it cannot describe.
func Describe(schema *ast.Schema) (*openapi3.T, error) {
	all, err := readStored(stored)
	if err != nil {
		return nil, err
	}
	endpoints, err := newEndpoints(schema, all, routes)
	if err != nil {
		return nil, err
	}
	return describe(schema, endpoints, []export{ledgerExport(nil), auditExport(nil)})
}

// OpenAPI returns the routes as an OpenAPI 3.1 document in JSON, as Describe does.
func (t *Transport) OpenAPI() ([]byte, error) {
	document, err := t.document()
	if err != nil {
		return nil, err
	}
	return json.Marshal(document)
}

// counterpart is the extension that names the field of the schema behind an operation: Query.dataset.documents.
const counterpart = "x-graphql-field"

// describer writes a document.
type describer struct {
	schema   *ast.Schema
	document *openapi3.T
	examples map[string]example
	// selections are the fragments and types that components describe, by the component's name.
	selections map[string]string
	// fault is the first thing that could not be described.
	fault error
}

func describe(schema *ast.Schema, endpoints []*endpoint, exports []export) (*openapi3.T, error) {
	examples, err := readExamples()
	if err != nil {
		return nil, err
	}
	d := &describer{schema: schema, document: newDocument(), examples: examples, selections: map[string]string{}}
	for _, e := range endpoints {
		d.add(e.path, e.method, e.operation.result().Definition.Type, d.operation(e))
	}
	for _, e := range exports {
		d.add(e.path, http.MethodGet, ast.NamedType(e.rowType, nil), d.export(e))
	}
	return d.document, d.fault
}

func (d *describer) fail(format string, args ...any) {
	d.fault = cmp.Or(d.fault, fmt.Errorf(format, args...))
}

// add puts an operation into the document, under the tag of its path's first segment. A tag without a type of its name is
// described as the type of the first operation's answer.
func (d *describer) add(path, method string, answer *ast.Type, o *openapi3.Operation) {
	tag := segments(path)[0]
	o.Tags = []string{tag}
	if d.document.Tags.Get(tag) == nil {
		what := d.schema.Types[tag]
		if what == nil || what == d.schema.Subscription {
			what = d.schema.Types[answer.Name()]
		}
		d.document.Tags = append(d.document.Tags, &openapi3.Tag{Name: tag, Description: what.Description})
	}
	d.document.AddOperation(path, method, o)
}

func (d *describer) operation(e *endpoint) *openapi3.Operation {
	root := e.operation.fields[0]
	what, names := root, []string{root.ObjectDefinition.Name, root.Name}
	if e.method == http.MethodGet {
		what = e.operation.result()
		for _, field := range e.operation.fields[1:] {
			names = append(names, field.Name)
		}
	}
	description := cmp.Or(e.about, what.Definition.Description)
	summary, _, _ := strings.Cut(description, ". ")
	o := &openapi3.Operation{
		OperationID: e.operation.name, Summary: strings.TrimSuffix(summary, "."), Description: description,
		Deprecated: e.isDeprecated, Security: d.security(e.operation),
		Extensions: map[string]any{counterpart: strings.Join(names, ".")},
	}
	for _, segment := range e.segments {
		if name, ok := parameter(segment); ok {
			o.Parameters = append(o.Parameters, d.parameter("path", e.operation.variables.ForName(name)))
		}
	}
	if e.paged {
		o.Parameters = append(o.Parameters, componentParameter(pageNumber.name), componentParameter(pageSize.name))
	}
	if !e.takesBody() {
		for _, member := range e.members {
			o.Parameters = append(o.Parameters, d.parameter("query", member))
		}
	} else if len(e.members) > 0 || e.upload != "" {
		o.RequestBody = d.body(e)
	}
	if e.method == http.MethodPost {
		o.Parameters = append(o.Parameters, componentParameter(idempotencyKey))
	}
	o.Responses = openapi3.NewResponses()
	o.Responses.Delete("default")
	o.Responses.Set(strconv.Itoa(e.status), &openapi3.ResponseRef{Value: d.success(e)})
	for _, status := range e.failures() {
		o.Responses.Set(strconv.Itoa(status), &openapi3.ResponseRef{Ref: "#/components/responses/" + problemName(status)})
	}
	d.illustrate(o)
	return o
}

// parameter describes a variable that stands in the path or the query string.
func (d *describer) parameter(in string, v *ast.FieldDefinition) *openapi3.ParameterRef {
	schema := d.input(v)
	if in == "path" {
		schema.Value.MinLength = 1
	}
	return &openapi3.ParameterRef{Value: &openapi3.Parameter{
		Name: v.Name, In: in, Description: v.Description, Required: v.Type.NonNull && v.DefaultValue == nil, Schema: schema,
	}}
}

func (d *describer) body(e *endpoint) *openapi3.RequestBodyRef {
	body := &openapi3.RequestBody{Required: e.needsBody(), Content: openapi3.Content{}}
	name := e.operation.name + "Body"
	d.document.Components.Schemas[name] = &openapi3.SchemaRef{Value: d.inputObject(e.members, e.strict)}
	body.Content["application/json"] = &openapi3.MediaType{Schema: componentSchema(name)}
	if e.upload != "" {
		form := openapi3.NewObjectSchema()
		for _, member := range e.members {
			form.WithPropertyRef(member.Name, d.input(member))
		}
		form.WithProperty(e.upload, &openapi3.Schema{
			Description: e.operation.variables.ForName(e.upload).Description, ContentMediaType: "application/octet-stream",
		})
		form.Required = []string{e.upload}
		body.Content["multipart/form-data"] = &openapi3.MediaType{Schema: &openapi3.SchemaRef{Value: form}}
	}
	return &openapi3.RequestBodyRef{Value: body}
}

func (d *describer) success(e *endpoint) *openapi3.Response {
	response := openapi3.NewResponse().WithDescription("Done.")
	response.Headers = answerHeaders()
	if e.location != "" {
		response.Headers["Location"] = &openapi3.HeaderRef{Ref: "#/components/headers/Location"}
	}
	if e.method == http.MethodPost {
		response.Headers["Idempotent-Replayed"] = &openapi3.HeaderRef{Ref: "#/components/headers/Idempotent-Replayed"}
	}
	if e.isDeprecated {
		for _, name := range []string{"Deprecation", "Sunset"} {
			d.document.Components.Headers[name] = describeHeader(name)
			response.Headers[name] = &openapi3.HeaderRef{Ref: "#/components/headers/" + name}
		}
	}
	if e.status == http.StatusNoContent {
		return response
	}
	response.WithDescription("The answer.")
	result := e.operation.result()
	schema := d.object(d.schema.Types[result.Definition.Type.NamedType], result.SelectionSet, e.operation.name+"Result")
	if e.paged {
		page := d.document.Components.Schemas[strings.TrimPrefix(schema.Ref, schemaPrefix)].Value
		for _, p := range []pageParameter{pageNumber, pageSize} {
			page.WithProperty(p.name, p.schema())
			page.Required = append(page.Required, p.name)
		}
	}
	response.Content = openapi3.Content{"application/json": &openapi3.MediaType{Schema: schema}}
	return response
}

// anyFailure are the statuses of the problems that every route may answer with.
var anyFailure = []int{
	http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotAcceptable,
	http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable,
}

// failures are the statuses of the problems that the route may answer with.
func (e *endpoint) failures() []int {
	statuses := slices.Clone(anyFailure)
	names := func(v *ast.FieldDefinition) bool { return v.Type.Name() == "ID" }
	if e.absent != "" || slices.ContainsFunc(e.operation.variables, names) {
		statuses = append(statuses, http.StatusNotFound)
	}
	if e.method != http.MethodGet {
		statuses = append(statuses, http.StatusConflict, http.StatusUnprocessableEntity)
	}
	if e.takesBody() && len(e.members) > 0 {
		statuses = append(statuses, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if e.operation.fields[0].Definition.Directives.ForName("modelDriven") != nil {
		statuses = append(statuses, http.StatusBadGateway)
	}
	slices.Sort(statuses)
	return statuses
}

// export describes a path that streams rows.
func (d *describer) export(e export) *openapi3.Operation {
	o := &openapi3.Operation{
		OperationID: e.name, Summary: strings.TrimSuffix(e.description, "."),
		Description: e.description + " The answer is as long as what it tells of. If it fails on the way, the connection breaks.",
		Security:    securityOf([]string{string(e.scope)}),
	}
	for _, member := range exportQuery.members {
		o.Parameters = append(o.Parameters, d.parameter("query", member))
	}
	row := openapi3.NewObjectSchema()
	for _, field := range d.schema.Types[e.rowType].Fields {
		if slices.Contains(e.header, field.Name) {
			row.WithPropertyRef(field.Name, d.output(field.Type, nil, field.Description))
		}
	}
	row.Required = e.header
	moment := func() *openapi3.SchemaRef { return d.output(ast.NonNullNamedType("DateTime", nil), nil, "") }
	all := openapi3.NewObjectSchema().WithPropertyRef("periodFrom", moment()).WithPropertyRef("periodTo", moment()).
		WithProperty(e.list, openapi3.NewArraySchema().WithItems(row))
	all.Required = []string{"periodFrom", "periodTo", e.list}
	d.document.Components.Schemas[e.name+"Result"] = &openapi3.SchemaRef{Value: all}
	response := openapi3.NewResponse().WithDescription("The rows, oldest first.")
	response.Headers = answerHeaders()
	response.Content = openapi3.Content{
		"application/json": &openapi3.MediaType{Schema: componentSchema(e.name + "Result")},
		"text/csv":         &openapi3.MediaType{Schema: &openapi3.SchemaRef{Value: &openapi3.Schema{Type: &openapi3.Types{"string"}}}},
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

// security names the scopes that an operation needs for what it selects, without those that others of them hold.
func (d *describer) security(o *operation) *openapi3.SecurityRequirements {
	scopes := scopesOf(nil, ast.SelectionSet{o.fields[0]})
	var needed []string
	for _, scope := range scopes {
		isHeld := func(other string) bool {
			return other != scope && model.Principal{Scopes: []model.APIKeyScope{model.APIKeyScope(other)}}.Can(model.APIKeyScope(scope))
		}
		if !slices.ContainsFunc(scopes, isHeld) {
			needed = append(needed, scope)
		}
	}
	return securityOf(needed)
}

func scopesOf(scopes []string, set ast.SelectionSet) []string {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			if d := s.Definition.Directives.ForName("requires"); d != nil {
				if scope := d.Arguments.ForName("scope").Value.Raw; !slices.Contains(scopes, scope) {
					scopes = append(scopes, scope)
				}
			}
			scopes = scopesOf(scopes, s.SelectionSet)
		case *ast.InlineFragment:
			scopes = scopesOf(scopes, s.SelectionSet)
		case *ast.FragmentSpread:
			scopes = scopesOf(scopes, s.Definition.SelectionSet)
		}
	}
	return scopes
}
