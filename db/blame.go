package db

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/model"
)

// BlamedRuns are the last run of a test that passed and the newest run that failed after it.
type BlamedRuns struct {
	// AgentID is the agent under test.
	AgentID   string
	Good, Bad *model.AgentTestRun
}

// BlamedRunsOfTests returns the runs to compare for each failing test that has passed before, by the test's id. For a
// test with several failing rows, it returns the runs of the row whose last passed run is oldest. The runs have their
// conversations and verdicts.
func (t *Tenant) BlamedRunsOfTests(ctx context.Context, ids []string) (map[string]*BlamedRuns, error) {
	rows := []*struct {
		Run     model.AgentTestRun `bun:"embed:"`
		AgentID string
	}{}
	ends := t.failureBounds(ids, "?TableAlias.created_at DESC, ?TableAlias.id DESC", "passed.created_at, passed.id").
		Where("passed.id IS NOT NULL")
	err := t.db.SelectColumns((*model.AgentTestRun)(nil), append([]string{"tested_id", "row_key", "claim", "messages",
		"check_results", "criteria_results", "classification_result"}, runSummary...)).
		ColumnExpr("test.agent_id").Apply(withTests).
		Join("JOIN (?) AS ends ON ?TableAlias.id = ANY (ARRAY[ends.passed_id, ends.failed_id])", ends).Scan(ctx, &rows)
	blamed := make(map[string]*BlamedRuns, len(rows)/2)
	for _, row := range rows {
		runs := blamed[row.Run.TestedID]
		if runs == nil {
			runs = &BlamedRuns{AgentID: row.AgentID}
			blamed[row.Run.TestedID] = runs
		}
		if row.Run.Status == model.AgentTestRunStatusPassed {
			runs.Good = &row.Run
		} else {
			runs.Bad = &row.Run
		}
	}
	return blamed, err
}

// AgentVersion identifies a version of the prompt of an agent.
type AgentVersion struct {
	AgentID string
	Version int32
}

// PromptsOf returns versions with their prompts, in any order. Versions that do not exist are left out.
func (t *Tenant) PromptsOf(ctx context.Context, versions []AgentVersion) ([]*model.PromptVersion, error) {
	agentIDs, numbers := make([]string, len(versions)), make([]int32, len(versions))
	for i, v := range versions {
		agentIDs[i], numbers[i] = v.AgentID, v.Version
	}
	found := []*model.PromptVersion{}
	return found, t.db.Select(&found).Column("agent_id", "version", "prompt").
		Where("(?TableAlias.agent_id, ?TableAlias.version) IN (SELECT * FROM unnest(?::text[], ?::int[]))",
			pgdialect.Array(agentIDs), pgdialect.Array(numbers)).Scan(ctx)
}

// CreditsOfRuns returns what each run cost, by its id. It leaves out runs that cost nothing, or whose entries in the
// ledger were summed up.
func (t *Tenant) CreditsOfRuns(ctx context.Context, runs []*model.AgentTestRun) (map[string]model.Credits, error) {
	keys, ids := make([]string, len(runs)), make(map[string]string, len(runs))
	for i, run := range runs {
		keys[i] = model.OwnUsageKeys + spendingKey(run)
		ids[keys[i]] = run.ID
	}
	entries := []*model.UsageEntry{}
	err := t.db.Select(&entries).Column("idempotency_key", "micro_credits").Where("idempotency_key IN (?)",
		bun.List(keys)).Scan(ctx)
	credits := make(map[string]model.Credits, len(entries))
	for _, entry := range entries {
		credits[ids[entry.IdempotencyKey]] = entry.Credits
	}
	return credits, err
}

// spendingKey is the key of a run's entry in the ledger, after the prefix model.OwnUsageKeys.
func spendingKey(run *model.AgentTestRun) string { return fmt.Sprintf("%s:%d", run.ID, run.Claim) }

// BlameSearchesOfTests returns the last search of each test, by the test's id.
func (t *Tenant) BlameSearchesOfTests(ctx context.Context, ids []string) (map[string]*model.BlameSearch, error) {
	rows := []*model.BlameSearch{}
	err := t.db.Select(&rows).Where("test_id IN (?)", bun.List(ids)).Scan(ctx)
	return model.MapOf(rows, func(row *model.BlameSearch) (string, *model.BlameSearch) { return row.TestID, row }), err
}
