package graph_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
)

// events resolves only the subscription campaignItemUpdated.
type events struct {
	graph.ResolverRoot
	graph.SubscriptionResolver
	items chan *model.CampaignItem
}

func (e events) Subscription() graph.SubscriptionResolver { return e }

func (e events) CampaignItemUpdated(context.Context, string, int32) (<-chan *model.CampaignItem, error) {
	return e.items, nil
}

func TestOpenSubscriptionHoldsNoSentEvent(t *testing.T) {
	t.Parallel()
	source := events{items: make(chan *model.CampaignItem, 1)}
	anybody := func(ctx context.Context, _ any, next graphql.Resolver, _ model.APIKeyScope, _ bool) (any, error) {
		return next(ctx)
	}
	exec := executor.New(graph.NewSchema(graph.Config{Resolvers: source,
		Directives: graph.DirectiveRoot{Requires: anybody}}))
	ctx := graphql.StartOperationTrace(t.Context())
	operation, errs := exec.CreateOperationContext(ctx, &graphql.RawParams{
		Query: `subscription { campaignItemUpdated(campaignId: "c") { id } }`})
	require.Empty(t, errs)
	next, ctx := exec.DispatchOperation(graphql.WithOperationContext(ctx, operation), operation)

	id := strings.Repeat("x", 1<<20)
	source.items <- &model.CampaignItem{ID: id}
	response := next(ctx)
	require.JSONEq(t, `{"campaignItemUpdated":{"id":"`+id+`"}}`, string(response.Data))
	data := weak.Make(&response.Data[0])
	response = nil
	runtime.GC()
	require.Nil(t, data.Value(), "the subscription still holds the response")

	close(source.items)
	require.Nil(t, next(ctx), "there are no more events")
}
