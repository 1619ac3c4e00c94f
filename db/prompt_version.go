package db

import (
	"context"
	"database/sql"
	"errors"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// Lists of a company's prompt versions: by their ids, and by their agents.
var (
	PromptVersionRows      = pg.Rows{Type: "prompt version", Model: (*model.PromptVersion)(nil), Key: pg.ByID}
	PromptVersionsOfAgents = pg.List{Model: (*model.PromptVersion)(nil), Of: "?TableAlias.agent_id = ?1",
		Order: pg.NewestFirst}
)

// runsPerVersion is how many runs of each test TestRunsOfPromptVersions counts per version.
const runsPerVersion = 20

// TestRunsOfPromptVersions returns the results of the agent's tests for each prompt version, by the version's id. It
// counts the last 20 runs of each existing test that passed or failed with the version. Runs of drafts, and runs that
// judge earlier conversations again, do not count.
func (t *Tenant) TestRunsOfPromptVersions(ctx context.Context,
	ids []string) (map[string]model.PromptVersionTestRuns, error) {
	rows := []struct {
		ID   string
		Runs model.PromptVersionTestRuns `bun:"embed:"`
	}{}
	last := t.db.Select((*model.AgentTestRun)(nil)).Column("status").Where("?TableAlias.test_id = test.id").
		Where("?TableAlias.prompt_version = prompt_version.version").
		Where("?TableAlias.status IN (?)", bun.List(judgedStatuses)).
		Where(countsInHistory).OrderExpr("?TableAlias.created_at DESC, ?TableAlias.id DESC").Limit(runsPerVersion)
	err := t.db.Select((*model.PromptVersion)(nil)).ColumnExpr("?TableAlias.id").
		ColumnExpr("count(*) AS judged, count(*) FILTER (WHERE run.status = ?) AS passed", model.AgentTestRunStatusPassed).
		Join(`JOIN agent_tests AS test
			ON test.company_id = ?TableAlias.company_id AND test.agent_id = ?TableAlias.agent_id AND test.deleted_at IS NULL`).
		Join("CROSS JOIN LATERAL (?) AS run", last).
		Where("?TableAlias.id IN (?)", bun.List(ids)).GroupExpr("?TableAlias.id").Scan(ctx, &rows)
	results := make(map[string]model.PromptVersionTestRuns, len(rows))
	for _, row := range rows {
		results[row.ID] = row.Runs
	}
	return results, err
}

var judgedStatuses = []model.AgentTestRunStatus{model.AgentTestRunStatusPassed, model.AgentTestRunStatusFailed}

// PromptOfVersion returns the prompt of an agent in one of its versions.
func (t *Tenant) PromptOfVersion(ctx context.Context, agentID string, version int32) (string, error) {
	found := &model.PromptVersion{}
	err := t.db.Select(found).Column("prompt").Where("agent_id = ?", agentID).Where("version = ?", version).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return "", model.Errorf(model.NotFound, "agent %q has no prompt version %d", agentID, version)
	}
	return found.Prompt, err
}

// UpdateAgentPrompt replaces the prompt of an agent. A different prompt becomes a new version.
func (t *Tenant) UpdateAgentPrompt(ctx context.Context, in model.UpdateAgentPromptInput) (*model.Agent, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	return t.UpdateAgent(ctx, model.UpdateAgentInput{AgentID: in.AgentID, Prompt: &in.Prompt,
		ExpectedVersion: in.ExpectedVersion, ExpectedUpdatedAt: in.ExpectedUpdatedAt, PromptNote: in.Note})
}

// EditAgentPrompt replaces parts of the prompt of an agent. A different prompt becomes a new version.
func (t *Tenant) EditAgentPrompt(ctx context.Context, in model.EditAgentPromptInput) (*model.Agent, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	return t.updateAgent(ctx, model.UpdateAgentInput{AgentID: in.AgentID, ExpectedVersion: in.ExpectedVersion,
		ExpectedUpdatedAt: in.ExpectedUpdatedAt, PromptNote: in.Note}, in.Edits)
}

// UpdatePromptVersion replaces the note of a version.
func (t *Tenant) UpdatePromptVersion(ctx context.Context,
	in model.UpdatePromptVersionInput) (*model.PromptVersion, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	version := &model.PromptVersion{}
	return version, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if err := t.lock(ctx, PromptVersionRows.Type, in.PromptVersionID, version, forUpdate); err != nil {
			return err
		}
		version.SetNote(&in.Note)
		return exec(ctx, t.db.Update(version).Column("note").WherePK())
	})
}

// RestoreAgentPrompt writes the prompt of an earlier version again. Unless it is the current prompt, it becomes a new
// version.
func (t *Tenant) RestoreAgentPrompt(ctx context.Context, in model.RestoreAgentPromptInput) (*model.Agent, error) {
	var agent *model.Agent
	err := t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if _, err := t.Agent(ctx, in.AgentID); err != nil {
			return err
		}
		prompt, err := t.PromptOfVersion(ctx, in.AgentID, in.Version)
		if err != nil {
			return err
		}
		agent, err = t.UpdateAgentPrompt(ctx, model.UpdateAgentPromptInput{AgentID: in.AgentID, Prompt: prompt,
			ExpectedVersion: in.ExpectedVersion})
		return err
	})
	return agent, err
}

// recordPrompt writes the agent's current prompt as its current version. note may be nil.
func (t *Tenant) recordPrompt(ctx context.Context, agent *model.Agent, note *string) error {
	version := &model.PromptVersion{
		ID: model.NewID("prompt"), AgentID: agent.ID, Version: agent.PromptVersion,
		Prompt: agent.Prompt, CreatedAt: agent.UpdatedAt, APIKeyID: t.keyID,
	}
	version.SetNote(note)
	return pg.Insert(ctx, t.db, version)
}
