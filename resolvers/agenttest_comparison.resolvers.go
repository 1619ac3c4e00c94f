package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *agentTestComparisonTestResolver) Test(ctx context.Context, obj *model.AgentTestComparisonTest) (model.AgentTest, error) {
	return query.One[model.AgentTest](ctx, obj)
}

func (r *queryResolver) CompareAgentTestExecutions(ctx context.Context, baseID string, headID string) (*model.AgentTestComparison, error) {
	return r.tenant(ctx).CompareAgentTestExecutions(ctx, baseID, headID)
}

func (r *Resolver) AgentTestComparisonTest() graph.AgentTestComparisonTestResolver {
	return &agentTestComparisonTestResolver{r}
}

type agentTestComparisonTestResolver struct{ *Resolver }
