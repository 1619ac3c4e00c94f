package gateway

import (
	"context"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/model"
)

// An operation of heavyCost or more, a thousandth of the largest cost, takes turns with others. The cost that each
// mutation has does not count. A query with heavyFields fields of its root takes turns too, since each may be a
// statement of its own.
const (
	heavyCost   = 1_000
	heavyFields = 50
)

// Slots shares slots between companies. Enter waits for one, which the company has to Leave, or returns the context's
// error.
type Slots interface {
	Enter(ctx context.Context, companyID string) error
	Leave(companyID string)
}

// heavy is an extension by which heavy operations take turns. Each takes a processor for tens of milliseconds, and
// however many of them one company sends at a time, others must not wait for all of them. What waits for a language
// model is left alone: it takes no processor meanwhile.
type heavy struct {
	ours
	slots Slots
}

// InterceptResponse waits for a turn before anything is done.
func (h heavy) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	operation := graphql.GetOperationContext(ctx)
	if operation.Operation == nil || !isHeavy(ctx, operation) {
		return next(ctx)
	}
	principal, _ := model.PrincipalOf(ctx)
	if h.slots.Enter(ctx, principal.CompanyID) != nil {
		fault := model.Errorf(model.Unavailable, "too many heavy operations of the company are in progress; nothing was "+
			"done, try again, or request less at a time")
		return &graphql.Response{Errors: gqlerror.List{shownTo(ctx, fault)}}
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
		return rec.cost-mutated*len(mutations(ctx)) >= heavyCost && modelDrivenFields(operation) == 0
	default:
		return false
	}
}
