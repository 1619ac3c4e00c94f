package rest

import (
	"slices"
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/gateway/stored"
	"github.com/agentgraph/agentgraph/model"
)

// Route describes a route for the OpenAPI document. Variables have the descriptions of the inputs that they fill.
type Route struct {
	Method, Path string
	// Operation is the name of the stored operation. Fields is the path to the result, which is the value of the last
	// field.
	Operation string
	Fields    []*ast.Field
	// About describes the route. If it is "", use the schema's description.
	About string
	// Variables are all variables of the operation. InPath, InQuery and InBody are the inputs of each part of the request.
	Variables, InPath, InQuery, InBody ast.FieldList
	// Upload is the variable that a form's file fills, or nil.
	Upload *ast.FieldDefinition
	// Page has the numbers that a paged list returns in addition to data and total. It is nil for other routes.
	Page ast.FieldList
	// Status is the HTTP status of a success.
	Status int
	// Scopes are the scopes that the credential needs.
	Scopes []model.APIKeyScope
	// MayBeAbsent is set if the result can be null, which is a 404. IsStrict is set if the body must not have unknown
	// properties.
	MayBeAbsent, IsStrict, HasLocation, IsDeprecated bool
	// HasTag is set if a success has an ETag, and TakesMatch if the route accepts If-Match.
	HasTag, TakesMatch bool
}

// Routes returns all routes. It returns an error if the table does not match the schema.
func Routes(schema *ast.Schema) ([]Route, error) {
	all, err := stored.Read(operations)
	if err != nil {
		return nil, err
	}
	endpoints, err := newEndpoints(schema, all, routes)
	if err != nil {
		return nil, err
	}
	return model.Map(endpoints, func(e *endpoint) Route { return e.describe() }), nil
}

// Exports returns all paths that stream rows.
func Exports() []Export { return []Export{ledgerExport(nil).Export, auditExport(nil).Export} }

func (e *endpoint) describe() Route {
	r := Route{
		Method: e.method, Path: e.path, Operation: e.operation.Name, Fields: e.operation.Fields, About: e.about,
		Variables: e.operation.Variables, Upload: e.operation.Variables.ForName(e.upload), Status: e.status,
		Scopes:      e.operation.Scopes(),
		MayBeAbsent: e.nullMessage != "", IsStrict: e.strict, HasLocation: e.location != "", IsDeprecated: e.isDeprecated,
		HasTag: e.hasTag(), TakesMatch: e.current != nil,
	}
	for _, segment := range e.segments {
		if name, ok := parameter(segment); ok {
			r.InPath = append(r.InPath, e.operation.Variables.ForName(name))
		}
	}
	if e.paged {
		r.Page = ast.FieldList{pageNumber.describe(), pageSize.describe()}
		r.InQuery = slices.Clone(r.Page)
	}
	if e.takesBody() {
		r.InBody = stored.V1Fields(e.members)
	} else {
		r.InQuery = append(r.InQuery, e.members...)
	}
	return r
}

func (p pageParameter) describe() *ast.FieldDefinition {
	number := func(n int64) *ast.Value { return &ast.Value{Raw: strconv.FormatInt(n, 10), Kind: ast.IntValue} }
	return &ast.FieldDefinition{
		Name: p.name, Description: p.description, Type: ast.NonNullNamedType("Int", nil), DefaultValue: number(p.standard),
		Directives: ast.DirectiveList{{Name: "bounds", Arguments: ast.ArgumentList{
			{Name: "min", Value: number(1)}, {Name: "max", Value: number(p.limit)},
		}}},
	}
}
