package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"github.com/agentgraph/agentgraph/model"
)

// axes returns the axes of a breakdown that the current field selects.
func axes(ctx context.Context) (selected model.ConsumptionAxes) {
	operation := graphql.GetOperationContext(ctx)
	for _, field := range graphql.CollectFieldsCtx(ctx, []string{"ConsumptionBreakdown"}) {
		switch field.Name {
		case "byChannel":
			selected.Channels = true
		case "byMonth":
			selected.Months = true
		case "byAgent":
			selected.Agents = true
			for _, of := range graphql.CollectFields(operation, field.Selections, []string{"AgentConsumption"}) {
				selected.Campaigns = selected.Campaigns || of.Name == "campaigns"
			}
		}
	}
	return selected
}
