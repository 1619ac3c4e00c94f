package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *mutationResolver) UpdatePromptVersion(ctx context.Context, input model.UpdatePromptVersionInput) (*model.UpdatePromptVersionPayload, error) {
	version, err := r.tenant(ctx).UpdatePromptVersion(ctx, input)
	return &model.UpdatePromptVersionPayload{PromptVersion: version}, err
}

func (r *mutationResolver) RestoreAgentPrompt(ctx context.Context, input model.RestoreAgentPromptInput) (*model.RestoreAgentPromptPayload, error) {
	agent, err := r.tenant(ctx).RestoreAgentPrompt(ctx, input)
	return &model.RestoreAgentPromptPayload{Agent: agent}, err
}

func (r *promptVersionResolver) WrittenBy(ctx context.Context, obj *model.PromptVersion) (*string, error) {
	key, err := query.One[*model.APIKey](ctx, obj)
	if err != nil || key == nil {
		return nil, err
	}
	return &key.Name, nil
}

func (r *promptVersionResolver) TestRuns(ctx context.Context, obj *model.PromptVersion) (*model.PromptVersionTestRuns, error) {
	runs, err := query.Value(ctx, obj, "test runs", query.ReadMethod((*db.Tenant).TestRunsOfPromptVersions))
	return &runs, err
}

func (r *Resolver) PromptVersion() graph.PromptVersionResolver { return &promptVersionResolver{r} }

type promptVersionResolver struct{ *Resolver }
