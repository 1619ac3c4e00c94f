package gateway

import (
	"context"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/introspection"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/cache"
)

// cachedSchemas bounds the cached introspection responses, in bytes.
const cachedSchemas = 4 << 20

// schemaRequest identifies the response to an operation without variables.
type schemaRequest struct{ query, operation string }

// exactIntrospection is an extension that returns null for the fields of __Type that do not apply to the type's kind,
// as the specification requires. gqlgen returns empty lists and false, so tools cannot distinguish "none" from "does
// not apply". The extension also caches the responses to operations that read only the schema.
type exactIntrospection struct {
	extensionBase
	responses *cache.Cache[schemaRequest, []byte]
}

func newExactIntrospection() exactIntrospection {
	return exactIntrospection{responses: cache.New(cachedSchemas, func(request schemaRequest, data []byte) int {
		return len(request.query) + len(data)
	})}
}

// MutateOperationContext wraps the fields of operations that introspect, and no others.
func (exactIntrospection) MutateOperationContext(_ context.Context,
	operation *graphql.OperationContext) *gqlerror.Error {
	if some, _ := introspects(operation); some {
		around := operation.ResolverMiddleware
		operation.ResolverMiddleware = func(ctx context.Context, next graphql.Resolver) (any, error) {
			return around(ctx, func(ctx context.Context) (any, error) { return exactField(ctx, next) })
		}
	}
	return nil
}

// InterceptResponse returns the cached response, or caches the response that it gets.
func (e exactIntrospection) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	operation := graphql.GetOperationContext(ctx)
	if operation.Operation == nil || len(operation.Operation.VariableDefinitions) > 0 {
		return next(ctx)
	}
	if _, only := introspects(operation); !only {
		return next(ctx)
	}
	key := schemaRequest{operation.RawQuery, operation.OperationName}
	if data, ok := e.responses.Get(key); ok {
		return &graphql.Response{Data: data}
	}
	response := next(ctx)
	if response != nil && len(response.Errors) == 0 && len(response.Extensions) == 0 {
		e.responses.Add(key, slices.Clip(response.Data))
	}
	return response
}

// introspects reports whether the operation reads the schema, and whether it reads nothing else.
func introspects(operation *graphql.OperationContext) (some, only bool) {
	only = true
	for field := range rootFields(operation) {
		isSchema := field.Name == "__schema" || field.Name == "__type"
		some, only = some || isSchema, only && isSchema
	}
	return some, some && only
}

// kindsOfFields maps fields of __Type to the kinds of types that have them. All kinds have the other fields.
var kindsOfFields = map[string][]ast.DefinitionKind{
	"fields":        {ast.Object, ast.Interface},
	"interfaces":    {ast.Object, ast.Interface},
	"possibleTypes": {ast.Interface, ast.Union},
	"enumValues":    {ast.Enum},
	"inputFields":   {ast.InputObject},
	"isOneOf":       {ast.InputObject},
}

func exactField(ctx context.Context, next graphql.Resolver) (any, error) {
	field := graphql.GetFieldContext(ctx)
	if field.Object != "__Type" {
		return next(ctx)
	}
	if kinds, isLimited := kindsOfFields[field.Field.Name]; isLimited {
		if parent := typeOf(field.Parent); parent != nil && !slices.Contains(kinds, ast.DefinitionKind(parent.Kind())) {
			return nil, nil
		}
	}
	value, err := next(ctx)
	if types, ok := value.([]introspection.Type); ok && field.Field.Name == "possibleTypes" {
		// gqlgen also lists interfaces that implement the interface.
		value = slices.DeleteFunc(types, func(t introspection.Type) bool { return t.Kind() != string(ast.Object) })
	}
	return value, err
}

func typeOf(parent *graphql.FieldContext) *introspection.Type {
	switch result := parent.Result.(type) {
	case *introspection.Type:
		return result
	case **introspection.Type:
		return *result
	}
	return nil
}
