// Package query answers GraphQL queries by compiled plans. A plan contains the statements that read everything that an
// operation selects. Each round trip sends all statements whose keys are known, from arguments or from rows already
// read. The JSON response is written directly from Postgres's values. gqlgen's generated executor answers everything
// that plans do not support, and every query whose response has an error. Plans and the executor return the same bytes.
// Start reading at Schema.Exec for plans, and at Loading for resolvers.
package query

import (
	"context"
	"errors"
	"log/slog"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/model"
)

// Schema answers queries by plans where possible, and otherwise through the schema that it wraps. Both return the same
// bytes.
type Schema struct {
	graphql.ExecutableSchema

	table *Table
	plans planCache
}

// Plan returns the schema with plans.
func (t *Table) Plan(schema graphql.ExecutableSchema) *Schema {
	return &Schema{ExecutableSchema: schema, table: t, plans: newPlanCache()}
}

// Exec returns the response handler for the operation of the context.
func (s *Schema) Exec(ctx context.Context) graphql.ResponseHandler {
	operation := graphql.GetOperationContext(ctx)
	principal, known := model.PrincipalOf(ctx)
	// Only resolvers check the reach of a restricted caller.
	if operation.Operation.Operation != ast.Query || !known || principal.Reach != nil {
		return s.ExecutableSchema.Exec(ctx)
	}
	plan := s.plans.loadOrCompile(operation, s.table)
	if plan == nil || !plan.permits(principal) {
		return s.ExecutableSchema.Exec(ctx)
	}
	answered := false
	return func(ctx context.Context) *graphql.Response {
		if answered {
			return nil
		}
		answered = true
		data, err := plan.run(ctx, s.table.store.Tenant(principal.CompanyID), operation.Variables, func() []byte {
			return s.execFallback(ctx, operation, plan.fallbackFields)
		})
		switch {
		case err == nil:
			return &graphql.Response{Data: data}
		case errors.Is(err, model.ErrTooLarge):
			// The middleware that set the budget reports the error.
			return &graphql.Response{Data: []byte("null")}
		case !errors.Is(err, errUnplanned) && ctx.Err() == nil:
			s.logFailure(ctx, plan, err)
		}
		return s.ExecutableSchema.Exec(ctx)(ctx)
	}
}

// logFailure logs, once per plan, that Postgres rejected a plan. The client still gets the response, more slowly, from
// the generated executor.
func (s *Schema) logFailure(ctx context.Context, plan *queryPlan, err error) {
	var known *model.Error
	if errors.As(err, &known) && known.Code == model.BadInput {
		// Postgres refused a value of the request, such as a text with U+0000. The generated executor reports that.
		return
	}
	plan.failing.Do(func() { s.table.log.LogAttrs(ctx, slog.LevelWarn, "a planned query failed", slog.Any("error", err)) })
}

// execFallback answers fields of an operation through the wrapped schema.
func (s *Schema) execFallback(ctx context.Context, from *graphql.OperationContext, fields ast.SelectionSet) []byte {
	definition := *from.Operation
	definition.SelectionSet = fields
	ctx = graphql.WithOperationContext(ctx, &graphql.OperationContext{
		RawQuery: from.RawQuery, Variables: from.Variables, OperationName: from.OperationName, Doc: from.Doc,
		Extensions: from.Extensions, Headers: from.Headers,
		Operation: &definition, DisableIntrospection: from.DisableIntrospection,
		RecoverFunc: from.RecoverFunc, ResolverMiddleware: from.ResolverMiddleware,
		RootResolverMiddleware: from.RootResolverMiddleware, Stats: from.Stats,
	})
	response := s.ExecutableSchema.Exec(ctx)(ctx)
	if response == nil {
		return nil
	}
	return response.Data
}

// errUnplanned is returned when the generated executor must answer, because there is an error to report or no plan.
var errUnplanned = errors.New("the operation has no query plan")
