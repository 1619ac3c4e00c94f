package db

import (
	"context"

	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/model"
)

// MeasuredTest describes a test by its earlier runs, to estimate the next one.
type MeasuredTest struct {
	// Rows is the number of runs in each repeat: one for each row of the test, or one if it has no rows.
	Rows int32
	// LastRun is the newest judged run, with only its id, claim, duration and Held. Runs of drafts, and runs that judge
	// earlier conversations again, do not count. The id is empty if the test has no such run.
	LastRun model.AgentTestRun `bun:"embed:run_"`
	// LastVotes is how often the judge evaluated each criterion of that run.
	LastVotes int32
}

// MeasuredTests returns the tests that exist, in any order.
func (t *Tenant) MeasuredTests(ctx context.Context, ids []string) ([]*MeasuredTest, error) {
	votes := t.db.Select((*model.AgentTestExecution)(nil)).Column("votes").
		Where("?TableAlias.id = agent_test_run.execution_id")
	last := t.db.Select((*model.AgentTestRun)(nil)).Column("id", "claim", "duration_ms", "held").
		ColumnExpr("(?) AS votes", votes).
		Where("?TableAlias.test_id = agent_test.id").Where(countsInHistory).
		Where("?TableAlias.status IN (?, ?)", model.AgentTestRunStatusPassed, model.AgentTestRunStatusFailed).
		OrderExpr("?TableAlias.created_at DESC, ?TableAlias.id DESC").Limit(1)
	tests := []*MeasuredTest{}
	err := t.db.Select((*model.AgentTestRow)(nil)).
		ColumnExpr("greatest(1, coalesce(json_array_length(?TableAlias.rows), 0)) AS rows").
		ColumnExpr("coalesce(run.id, '') AS run_id, coalesce(run.claim, 0) AS run_claim, run.duration_ms AS run_duration_ms").
		ColumnExpr("run.held AS run_held, coalesce(run.votes, 1) AS last_votes").
		Join("LEFT JOIN LATERAL (?) AS run ON true", last).
		Where("?TableAlias.id = ANY (?)", pgdialect.Array(ids)).Scan(ctx, &tests)
	return tests, err
}
