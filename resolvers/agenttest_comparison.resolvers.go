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

func (r *queryResolver) CompareAgentTestExecutions(ctx context.Context, baseID string, headID string, moreBaseIds []string, baseVariant *string, headVariant *string, correction model.AgentTestCorrection) (*model.AgentTestComparison, error) {
	return r.tenant(ctx).CompareAgentTestExecutions(ctx, append([]string{baseID}, moreBaseIds...), headID,
		model.ComparedVariants{Base: baseVariant, Head: headVariant}, correction)
}

func (r *Resolver) AgentTestComparisonTest() graph.AgentTestComparisonTestResolver {
	return &agentTestComparisonTestResolver{r}
}

type agentTestComparisonTestResolver struct{ *Resolver }
