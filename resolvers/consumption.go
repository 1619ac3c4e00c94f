package resolvers

import (
	"context"
	"slices"

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
			selected.Channels = selected.Channels || selects(operation, field, "byChannel")
		case "byDay":
			selected.Days = true
			selected.Channels = selected.Channels || selects(operation, field, "byChannel")
		case "byAgent":
			selected.Agents = true
			selected.Campaigns = selected.Campaigns || selects(operation, field, "campaigns")
		}
	}
	return selected
}

// selects reports whether a field of an object type selects a field with the name.
func selects(operation *graphql.OperationContext, field graphql.CollectedField, name string) bool {
	selected := graphql.CollectFields(operation, field.Selections, []string{field.Definition.Type.Name()})
	return slices.ContainsFunc(selected, func(f graphql.CollectedField) bool { return f.Name == name })
}
