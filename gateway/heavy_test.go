package gateway

import (
	"context"
	"errors"
	"fmt"
	"testing"

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
		takes     bool
	}{
		{"a heavy query", ast.Query, field(), heavyCost, true},
		{"a light query", ast.Query, field(), heavyCost - 1, false},
		{"a light query of many fields", ast.Query, many(heavyFields), heavyFields, true},
		{"a light query of fewer", ast.Query, many(heavyFields - 1), heavyFields, false},
		{"a mutation with a heavy payload", ast.Mutation, field(), mutationCost + heavyCost, true},
		{"a mutation", ast.Mutation, field(), mutationCost + heavyCost - 1, false},
		{"a mutation that waits for a model", ast.Mutation, field(&ast.Directive{Name: "modelDriven"}), 5 * mutationCost, false},
		{"a subscription", ast.Subscription, field(), heavyCost, false},
	} {
		slots, isDone := &noSlots{}, false
		ctx := graphql.WithOperationContext(t.Context(),
			&graphql.OperationContext{Operation: &ast.OperationDefinition{Operation: c.operation, SelectionSet: c.root}})
		ctx = context.WithValue(model.WithPrincipal(ctx, model.Principal{CompanyID: "c1"}), recordKey{},
			&record{cost: c.cost})
		response := heavy{slots: slots}.InterceptResponse(ctx, func(context.Context) *graphql.Response {
			isDone = true
			return &graphql.Response{}
		})
		require.Equal(t, c.takes, len(slots.asked) == 1 && slots.asked[0] == "c1", c.name)
		require.Equal(t, !c.takes, isDone, c.name)
		if c.takes {
			require.Equal(t, string(model.Unavailable), codeOf(response.Errors[0]))
		}
	}
}
