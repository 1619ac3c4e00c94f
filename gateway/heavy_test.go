package gateway

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/model"
)

// noSlots records requests for a slot and grants none.
type noSlots struct{ asked []string }

func (n *noSlots) Enter(_ context.Context, companyID string) error {
	n.asked = append(n.asked, companyID)
	return errors.New("none")
}

func (*noSlots) Leave(string) { panic("nobody has entered") }

func TestOnlyHeavyOperationsQueue(t *testing.T) {
	t.Parallel()
	field := func(directives ...*ast.Directive) ast.SelectionSet {
		return ast.SelectionSet{&ast.Field{Name: "a", Alias: "a", Definition: &ast.FieldDefinition{Directives: directives}}}
	}
	many := func(n int) (set ast.SelectionSet) {
		for i := range n {
			set = append(set, &ast.Field{Name: "a", Alias: fmt.Sprint("a", i), Definition: &ast.FieldDefinition{}})
		}
		return ast.SelectionSet{&ast.InlineFragment{SelectionSet: set}}
	}
	for _, c := range []struct {
		name      string
		operation ast.Operation
		root      ast.SelectionSet
		cost      int
		// takes is set if it needs a slot of heavy operations. waits is set if it needs a slot of operations that use a
		// model.
		takes, waits bool
	}{
		{"a heavy query", ast.Query, field(), heavyCost, true, false},
		{"a light query", ast.Query, field(), heavyCost - 1, false, false},
		{"a light query of many fields", ast.Query, many(heavyFields), heavyFields, true, false},
		{"a light query of fewer", ast.Query, many(heavyFields - 1), heavyFields, false, false},
		{"a mutation with a heavy payload", ast.Mutation, field(), mutationCost + heavyCost, true, false},
		{"a mutation", ast.Mutation, field(), mutationCost + heavyCost - 1, false, false},
		{"a mutation that waits for a model", ast.Mutation, field(&ast.Directive{Name: "modelDriven"}), 5 * mutationCost, false, true},
		{"a subscription", ast.Subscription, field(), heavyCost, false, false},
	} {
		slots, models, isDone := &noSlots{}, &noSlots{}, false
		ctx := graphql.WithOperationContext(t.Context(),
			&graphql.OperationContext{Operation: &ast.OperationDefinition{Operation: c.operation, SelectionSet: c.root}})
		ctx = context.WithValue(model.WithPrincipal(ctx, model.Principal{CompanyID: "c1"}), recordKey{},
			&record{cost: c.cost})
		ctx = graphql.WithResponseContext(ctx, graphql.DefaultErrorPresenter, graphql.DefaultRecover)
		h := heavy{slots: slots, models: models, patience: time.Minute}
		response := h.InterceptResponse(ctx, func(context.Context) *graphql.Response {
			isDone = true
			return &graphql.Response{}
		})
		require.Equal(t, c.takes, len(slots.asked) == 1 && slots.asked[0] == "c1", c.name)
		isModelDriven := len(models.asked) == 1 && models.asked[0] == "c1"
		require.Equal(t, c.waits, isModelDriven, c.name)
		require.Equal(t, !c.takes && !c.waits, isDone, c.name)
		if !isDone {
			require.Equal(t, string(model.Unavailable), codeOf(response.Errors[0]))
		}
	}
}

// A refused operation needs no slot, so its client learns at once why it was refused.
func TestRefusedOperationsDoNotQueue(t *testing.T) {
	t.Parallel()
	ctx := graphql.WithOperationContext(t.Context(), &graphql.OperationContext{Operation: &ast.OperationDefinition{
		Operation: ast.Mutation, SelectionSet: ast.SelectionSet{&ast.Field{Name: "a", Alias: "a",
			Definition: &ast.FieldDefinition{Directives: ast.DirectiveList{{Name: "modelDriven"}}}}}}})
	ctx = graphql.WithResponseContext(ctx, graphql.DefaultErrorPresenter, graphql.DefaultRecover)
	graphql.AddError(ctx, model.Errorf(model.RateLimited, "later"))
	slots, refused := &noSlots{}, &graphql.Response{}
	require.Same(t, refused, heavy{slots: slots, models: slots}.InterceptResponse(ctx,
		func(context.Context) *graphql.Response { return refused }))
	require.Empty(t, slots.asked)
}

func TestSlotsForModelsFollowTheRateLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ key, company, model, slots int }{
		{600, 6_000, 60, 120},
		{600, 6_000, 6_000, 12_000},
		{600, 600, 60, minModelSlots},
		{600, 6_000, 0, 0},
		{0, 6_000, 60, 0},
		{600, 0, 60, 0},
	} {
		settings := Settings{RateLimit: c.key, CompanyRateLimit: c.company, ModelRateLimit: c.model}
		require.Equal(t, c.slots, settings.ModelSlots(), "%+v", c)
	}
}
