package db

import (
	"context"
	"database/sql"
	"errors"

	"github.com/agentgraph/agentgraph/model"
)

// Versions of prompts of a company, by their ids, and by their agents.
var (
	PromptVersionRows      = Rows{typeName: "prompt version", none: (*model.PromptVersion)(nil), key: byOwnID}
	PromptVersionsOfAgents = List{none: (*model.PromptVersion)(nil), of: "?TableAlias.agent_id = ?1", order: newestFirst}
)

// UpdateAgentPrompt replaces the prompt of an agent; one that differs becomes a new version.
func (t *Tenant) UpdateAgentPrompt(ctx context.Context, in model.UpdateAgentPromptInput) (*model.Agent, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	return t.UpdateAgent(ctx, model.UpdateAgentInput{AgentID: in.AgentID, Prompt: &in.Prompt, ExpectedVersion: in.ExpectedVersion, ExpectedUpdatedAt: in.ExpectedUpdatedAt})
}

// RestoreAgentPrompt writes the prompt of an earlier version again, as a new version.
func (t *Tenant) RestoreAgentPrompt(ctx context.Context, in model.RestoreAgentPromptInput) (*model.Agent, error) {
	var agent *model.Agent
	err := t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if _, err := t.Agent(ctx, in.AgentID); err != nil {
			return err
		}
		version := &model.PromptVersion{}
		err := t.find(version).Where("agent_id = ?", in.AgentID).Where("version = ?", in.Version).Scan(ctx)
		if errors.Is(err, sql.ErrNoRows) {
			return model.Errorf(model.NotFound, "agent %q has no prompt version %d", in.AgentID, in.Version)
		}
		if err != nil {
			return translate(err)
		}
		agent, err = t.UpdateAgentPrompt(ctx, model.UpdateAgentPromptInput{AgentID: in.AgentID, Prompt: version.Prompt, ExpectedVersion: in.ExpectedVersion})
		return err
	})
	return agent, err
}

// recordPrompt writes the agent's current prompt as its current version.
func (t *Tenant) recordPrompt(ctx context.Context, agent *model.Agent) error {
	return insert(ctx, t, &model.PromptVersion{
		ID: model.NewID("prompt"), AgentID: agent.ID, Version: agent.PromptVersion,
		Prompt: agent.Prompt, CreatedAt: agent.UpdatedAt, APIKeyID: t.keyID,
	})
}
