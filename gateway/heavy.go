package gateway

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

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

// heavyBody is the size in bytes from which a request body is heavy too. Decoding a MiB takes up to 20 ms.
const heavyBody = 64 << 10

// Slots shares slots between companies. Enter waits for a slot, or returns the context's error. After a nil error the
// caller must call Leave.
type Slots interface {
	Enter(ctx context.Context, companyID string) error
	Leave(companyID string)
}

// heavy is an extension that queues heavy operations. Each uses a processor for tens of milliseconds, and one company's
// operations must not delay all others. Operations that use a model mostly wait, but hold memory for minutes. They
// queue for slots of their own.
type heavy struct {
	extensionBase
	// slots are for heavy operations, and models for those that use a model. Nil means no bound.
	slots, models Slots
	// patience is how long an operation waits for a slot of models.
	patience time.Duration
}

// InterceptResponse waits for a slot before anything is executed.
func (h heavy) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	operation := graphql.GetOperationContext(ctx)
	slots, busy, waiting := h.slots, tooManyHeavy, ctx
	switch {
	case operation.Operation == nil || len(graphql.GetErrors(ctx)) > 0: // it was refused, and only says so
		return next(ctx)
	case modelDrivenFields(operation) > 0:
		slots, busy = h.models, tooManyModelDriven
		patient, cancel := context.WithTimeout(ctx, h.patience)
		defer cancel()
		waiting = patient
	case !isHeavy(ctx, operation):
		return next(ctx)
	}
	if slots == nil {
		return next(ctx)
	}
	principal, _ := model.PrincipalOf(ctx)
	if slots.Enter(waiting, principal.CompanyID) != nil {
		return &graphql.Response{Errors: gqlerror.List{publicError(ctx, busy())}}
	}
	defer slots.Leave(principal.CompanyID)
	return next(ctx)
}

func tooManyModelDriven() *model.Error {
	return model.Errorf(model.Unavailable, "too many operations that use a model are in progress. Nothing was done: try "+
		"again")
}

func tooManyHeavy() *model.Error {
	return model.Errorf(model.Unavailable, "too many heavy operations of the company are in progress. Nothing was "+
		"done: try again, or request less at a time")
}

// WaitToDecode waits for a slot if a body of that many bytes is heavy. The caller must call leave, at least once, after
// it has decoded the body. It must do so before it executes an operation, which may wait for a slot itself. Without a
// slot in time, WaitToDecode sets Retry-After and returns UNAVAILABLE.
func (s *Server) WaitToDecode(w http.ResponseWriter, r *http.Request, bytes int) (leave func(), _ *model.Error) {
	if s.slots == nil || bytes < heavyBody {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.settings.RequestTimeout)
	defer cancel()
	principal, _ := model.PrincipalOf(ctx)
	if s.slots.Enter(ctx, principal.CompanyID) != nil {
		w.Header().Set("Retry-After", retryAfter)
		return nil, tooManyHeavy()
	}
	return sync.OnceFunc(func() { s.slots.Leave(principal.CompanyID) }), nil
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
		return rec.cost-mutationCost*len(mutations(ctx)) >= heavyCost
	default:
		return false
	}
}
