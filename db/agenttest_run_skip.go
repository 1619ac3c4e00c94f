package db

import (
	"context"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/model"
)

// skipDecided ends the queued runs of tests that are already decided by their finished runs, and chooses the next runs
// that are needed. It applies only to executions that stop repeating decided tests.
func (t tenantTx) skipDecided(ctx context.Context, b *transitionBatch, at time.Time) error {
	for _, execution := range b.executions {
		if execution.StopRepeating == nil || execution.State == model.AgentTestExecutionStatusCancelled {
			continue
		}
		ended, follow := b.endedIn(execution), 0
		b.next = slices.DeleteFunc(b.next, func(p runPosition) bool {
			isOfIt := p.executionID == execution.ID
			if isOfIt {
				follow++
			}
			return isOfIt
		})
		if len(ended) == 0 {
			continue
		}
		first := execution.NextPosition - int32(len(ended))
		if err := t.skip(ctx, execution, ended, first, at); err != nil {
			return err
		}
		if err := t.nextNeeded(ctx, b, execution, first, follow); err != nil {
			return err
		}
	}
	return nil
}

// endedIn returns the runs of an execution that the batch ends.
func (b *transitionBatch) endedIn(execution *model.AgentTestExecution) (ended []*model.AgentTestRun) {
	for _, run := range b.changed {
		if run.ExecutionID == execution.ID && run.Status.IsFinal() {
			ended = append(ended, run)
		}
	}
	return ended
}

// tallyOfRow is the number of runs in each state, for a test, or a row of it, in a variant.
type tallyOfRow struct {
	TestedID string
	RowKey   string
	Variant  string
	Counts   model.AgentTestRunCounts `bun:"embed:"`
}

// rowColumns identifies a test or a row of it in a variant. Each is decided separately.
const rowColumns = "?TableAlias.tested_id, ?TableAlias.row_key, coalesce(?TableAlias.variant, '')"

// skip ends the queued runs from a position on whose test or row is decided. The runs in ended count too, although they
// are not written yet.
func (t tenantTx) skip(ctx context.Context, execution *model.AgentTestExecution, ended []*model.AgentTestRun,
	first int32, at time.Time) error {
	tested := model.Map(ended, func(run *model.AgentTestRun) string { return run.TestedID })
	before := []tallyOfRow{}
	if err := t.db.Select((*model.AgentTestRun)(nil)).ColumnExpr(rowColumns+" AS variant").Apply(counted).
		Where("execution_id = ?", execution.ID).Where("tested_id IN (?)",
		bun.List(model.Unique(tested))).GroupExpr(rowColumns).
		Scan(ctx, &before); err != nil {
		return err
	}
	var decided, rows, variants, decisive []string
	for _, tally := range before {
		last := ""
		for _, run := range ended {
			if run.TestedID == tally.TestedID && run.RowKey == tally.RowKey &&
				(run.Variant == nil || *run.Variant == tally.Variant) {
				tally.Counts.Add(run.Status)
				last = run.ID
			}
		}
		if last != "" && execution.StopRepeating.IsDecided(tally.Counts.Passed, tally.Counts.Failed) {
			decided, rows = append(decided, tally.TestedID), append(rows, tally.RowKey)
			variants, decisive = append(variants, tally.Variant), append(decisive, last)
		}
	}
	if len(decided) == 0 {
		return nil
	}
	skipped := []*model.AgentTestRun{}
	if err := t.db.Update((*model.AgentTestRun)(nil)).Set("status = ?", model.AgentTestRunStatusSkipped).
		Set("finished_at = ?", at).
		Set("version = ?", execution.Version+1).Where("execution_id = ?", execution.ID).
		Where("("+rowColumns+") IN (SELECT * FROM unnest(?::text[], ?::text[], ?::text[]))", pgdialect.Array(decided),
			pgdialect.Array(rows), pgdialect.Array(variants)).
		Where("status = ?", model.AgentTestRunStatusQueued).Where("position >= ?", first).Returning("id").
		Scan(ctx, &skipped); err != nil {
		return err
	}
	if len(skipped) == 0 {
		return nil
	}
	execution.EndQueued(int32(len(skipped)), at)
	ids := idsOf(skipped)
	// The run that decided a test becomes its last run, instead of a skipped one. The transition writes the status of that
	// run to the test.
	return exec(ctx, t.db.Update((*model.AgentTestRow)(nil)).
		TableExpr("unnest(?::text[], ?::text[]) AS decided (test_id, run_id)", pgdialect.Array(decided),
			pgdialect.Array(decisive)).
		Set("last_run_id = decided.run_id").Where("?TableAlias.id = decided.test_id").
		Where("last_run_id IN (?)", bun.List(ids)))
}

// nextNeeded adds queued runs of an execution to the batch: the first ones from a position on, at most follow of them.
func (t *Tenant) nextNeeded(ctx context.Context, b *transitionBatch, execution *model.AgentTestExecution, from int32,
	follow int) error {
	runs := []*model.AgentTestRun{}
	if follow > 0 {
		if err := t.db.Select(&runs).Column("position").Where("execution_id = ?", execution.ID).
			Where("status = ?", model.AgentTestRunStatusQueued).
			Where("position >= ?", from).Order("position").Limit(int64(follow)).Scan(ctx); err != nil {
			return err
		}
	}
	for _, run := range runs {
		b.next = append(b.next, runPosition{execution.ID, run.Position})
		execution.NextPosition = run.Position + 1
	}
	return nil
}
