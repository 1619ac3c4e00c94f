package gateway

import (
	"context"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/model"
)

// A query or mutation that costs heavyCost or more is heavy; the base cost of mutations does not count. A query with
// heavyFields root fields is heavy too, because each field can run a statement. Subscriptions are never heavy.
const (
	heavyCost   = 1_000
	heavyFields = 50
)

// Slots shares slots between companies. Enter waits for a slot, or returns the context's error. After a nil error the
// caller must call Leave.
type Slots interface {
	Enter(ctx context.Context, companyID string) error
	Leave(companyID string)
}

// heavy is an extension that queues heavy operations. Each uses a processor for tens of milliseconds, and one company's
// operations must not delay those of all others. Mutations that call a language model are exempt: they mostly wait.
type heavy struct {
	extensionBase
	slots Slots
}

// InterceptResponse waits for a slot before anything is executed.
func (h heavy) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	operation := graphql.GetOperationContext(ctx)
	if operation.Operation == nil || !isHeavy(ctx, operation) {
		return next(ctx)
	}
	principal, _ := model.PrincipalOf(ctx)
	if h.slots.Enter(ctx, principal.CompanyID) != nil {
		fault := model.Errorf(model.Unavailable, "too many heavy operations of the company are in progress. Nothing was "+
			"done: try again, or request less at a time")
		return &graphql.Response{Errors: gqlerror.List{publicError(ctx, fault)}}
	}
	defer h.slots.Leave(principal.CompanyID)
	return next(ctx)
}

func isHeavy(ctx context.Context, operation *graphql.OperationContext) bool {
	rec, _ := ctx.Value(recordKey{}).(*record)
	if rec == nil {
		return false
	}
	switch operation.Operation.Operation {
	case ast.Query:
		return rec.cost >= heavyCost || len(slices.Collect(rootFields(operation))) >= heavyFields
	case ast.Mutation:
		return rec.cost-mutationCost*len(mutations(ctx)) >= heavyCost && modelDrivenFields(operation) == 0
	default:
		return false
	}
}
