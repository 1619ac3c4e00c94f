package db

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// Types with many dependent rows are soft-deleted. A short transaction marks the row with the time of deletion. From
// then on all queries leave out the row and its dependent rows. The sweeper removes the rows in parts, each part in
// its own transaction, and the marked row last, so that a crash leaves nothing behind.

// removalTimeout bounds how long one sweep removes rows of one kind, before it looks for lost workers. Tests raise it,
// because they check what remains after one sweep, and machines may be slow.
var removalTimeout = 2 * time.Second

// At most rowsPerRemoval rows are removed at a time, and at most runsPerDetach runs are detached from their test at a
// time. Either takes well below a second. Detaching a run writes it to all of its indexes again.
const (
	rowsPerRemoval = 500
	runsPerDetach  = 200
)

// types are the row structs that need special treatment: marked rows and their dependent rows are not read. Only few
// rows are marked at any time, and each statement reads the marks only once, however many rows it returns.
var types = map[reflect.Type]pg.Type{
	reflect.TypeFor[model.Agent]():          {Visible: "?TableAlias." + notDeleted},
	reflect.TypeFor[model.PromptVersion]():  {Visible: parentNotDeleted("?TableAlias.agent_id", "agents")},
	reflect.TypeFor[model.SimulationChat](): {Visible: parentNotDeleted("?TableAlias.agent_id", "agents")},
	reflect.TypeFor[model.Campaign]():       {Visible: "?TableAlias." + notDeleted},
	reflect.TypeFor[model.CampaignItem](): {
		Visible: parentNotDeleted("?TableAlias.campaign_id", "campaigns"), Count: countByCounters,
	},
	reflect.TypeFor[model.AgentTestRow](): {
		Visible: "?TableAlias." + notDeleted, Always: "kind", // kind decides the type of the row
		Row: func(row any) model.Row { return row.(*model.AgentTestRow).Test().(model.Row) },
	},
	reflect.TypeFor[model.AgentTestExecution](): {Visible: "?TableAlias." + notDeleted},
	reflect.TypeFor[model.BlameSearch]():        {Visible: parentNotDeleted("?TableAlias.test_id", "agent_tests")},
	reflect.TypeFor[model.CriterionLabel](): {
		Visible: parentNotDeleted("?TableAlias.execution_id", "agent_test_executions"),
	},
	reflect.TypeFor[model.AgentTestRun](): {
		Visible:     parentNotDeleted("?TableAlias.execution_id", "agent_test_executions"),
		Expressions: map[string]string{testIDColumn: existingTest},
	},
}

// parentNotDeleted selects rows whose parent is not marked as deleted. column has the id of the parent, and table is
// the parent's table. The CASE makes Postgres expect that nearly all rows pass. With an inequality, Postgres would
// expect that none pass if all rows have the same parent.
func parentNotDeleted(column, table string) string {
	return "CASE WHEN " + column + " = ANY (ARRAY(SELECT deleted.id FROM " + table + ` AS deleted
		WHERE deleted.company_id = ?0 AND deleted.deleted_at IS NOT NULL)) THEN NULL ELSE true END IS NOT NULL`
}

var markedTables = []string{"agent_test_executions", "agent_tests", "campaigns", "agents"}

// testIDColumn is the column of runs with the id of their test. It reads as NULL once the test is marked.
const testIDColumn = "test_id"

// existingTest is the test of a run, ?0.?1, unless the test is marked. ?3 is the company.
const existingTest = "(SELECT test.id FROM agent_tests AS test WHERE test.company_id = ?3 AND test.id = ?0.?1 AND " +
	"test.deleted_at IS NULL)"

// removeMarked removes marked rows, one part of each company at a time.
func (s *Store) removeMarked(ctx context.Context) error {
	companies, err := s.companiesWithMarks(ctx)
	return errors.Join(err, s.roundRobin(companies, func(t *Tenant) (bool, error) { return t.removePart(ctx) }))
}

// roundRobin calls part for each company in turn, for removalTimeout at most. The next sweep continues.
func (s *Store) roundRobin(companies []string, part func(*Tenant) (hasMore bool, err error)) error {
	_, err := roundRobin(companies, removalTimeout, func(id string) (bool, error) { return part(s.Tenant(id)) })
	return err
}

// deleteOldest deletes the rows of every company whose column is before end, the oldest first.
func (s *Store) deleteOldest(ctx context.Context, nilRow any, column string, end any) error {
	before := column + " < ?"
	companies, err := s.companiesWith(ctx, nilRow, before, end)
	return errors.Join(err, s.roundRobin(companies, func(t *Tenant) (bool, error) {
		oldest := t.db.Select(nilRow).Column("id").Where(before, end).Order(column, "id").Limit(rowsPerRemoval)
		// The second condition keeps rows that were changed after their ids were read.
		result, err := t.db.Delete(nilRow).Where("id IN (?)", oldest).Where(before, end).Exec(ctx)
		return isFull(result, err, rowsPerRemoval)
	}))
}

// roundRobin calls part for each element in turn while part reports more. It returns the elements that remain when the
// time is over. An error of one element does not stop the others.
func roundRobin[T any](waiting []T, limit time.Duration, part func(T) (hasMore bool, err error)) ([]T, error) {
	var errs []error
	for start := time.Now(); len(waiting) > 0 && time.Since(start) < limit; {
		next := waiting[0]
		waiting = waiting[1:]
		hasMore, err := part(next)
		if errs = append(errs, err); hasMore && err == nil {
			waiting = append(waiting, next)
		}
	}
	return waiting, errors.Join(errs...)
}

// companiesWithMarks returns the companies with marked rows, in any order.
func (s *Store) companiesWithMarks(ctx context.Context) ([]string, error) {
	return queryAllCompanies[string](ctx, s, func(ofCompany func(string) pg.Selection) scanner {
		marks := make([]string, len(markedTables))
		for i, table := range markedTables {
			marks[i] = s.db.Program().NewSelect().TableExpr(table).Column("company_id").Where("deleted_at IS NOT NULL").
				Apply(ofCompany("company_id")).String()
		}
		return s.db.Program().NewRaw(strings.Join(marks, " UNION "))
	})
}

// removePart removes some marked rows and reports whether there may be more.
func (t *Tenant) removePart(ctx context.Context) (hasMore bool, err error) {
	for _, remove := range []func(tenantTx, context.Context) (bool, error){
		tenantTx.removeFromExecution, tenantTx.removeFromTest, tenantTx.removeFromCampaign, tenantTx.removeFromAgent,
	} {
		err := t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
			found, err := remove(t, ctx)
			hasMore = hasMore || found
			return err
		})
		if err != nil {
			return false, err
		}
	}
	return hasMore, nil
}

// firstMarked returns the id of the first marked row of a table, or "" if there is none.
func (t *Tenant) firstMarked(ctx context.Context, table, order string, args ...any) (string, error) {
	ids := []string{}
	err := t.db.NewSelect().TableExpr("? AS marked", bun.Ident(table)).Column("id").
		Where("marked.company_id = ?", t.CompanyID()).
		Where("marked.deleted_at IS NOT NULL").OrderExpr(order, args...).Limit(1).Scan(ctx, &ids)
	return strings.Join(ids, ""), err
}

// childIDs returns the ids of some rows of a table that satisfy a condition, even if their parents are marked. It reads
// them by the list's index, which skips rows that were deleted. A table scan would start at the beginning each time.
func (t *Tenant) childIDs(ctx context.Context, table, condition, id string, limit int) ([]string, error) {
	ids := []string{}
	err := t.db.NewSelect().TableExpr("? AS part", bun.Ident(table)).Column("id").
		Where("part.company_id = ?", t.CompanyID()).
		Where(condition, id).OrderExpr("part.created_at DESC, part.id DESC").Limit(int64(limit)).Scan(ctx, &ids)
	return ids, err
}

// removeFromExecution removes runs of a marked execution, and finally the execution. Executions that judged its
// conversations again are removed first.
func (t tenantTx) removeFromExecution(ctx context.Context) (bool, error) {
	id, err := t.firstMarked(ctx, "agent_test_executions", `EXISTS (SELECT 1 FROM agent_test_executions AS again
		WHERE again.company_id = ? AND again.rejudge_of_id = marked.id), marked.id`, t.CompanyID())
	if err != nil || id == "" {
		return false, err
	}
	ids, err := t.childIDs(ctx, "agent_test_runs", "part.execution_id = ?", id, rowsPerRemoval)
	if err != nil {
		return false, err
	}
	// An older program may have made one of these the last run of its test since.
	if err := t.replaceLastRuns(ctx, bun.List(ids), id); err != nil {
		return false, err
	}
	if _, err := t.db.Delete((*model.AgentTestRun)(nil)).Where("id IN (?)", bun.List(ids)).Exec(ctx); err != nil ||
		len(ids) == rowsPerRemoval {
		return true, err
	}
	if _, err := t.db.Update((*model.AgentTestExecution)(nil)).Set("retry_of_id = NULL").Where("retry_of_id = ?", id).
		Exec(ctx); err != nil {
		return true, err
	}
	_, err = t.db.Delete((*model.AgentTestExecution)(nil)).Where("id = ?", id).Exec(ctx)
	return true, err
}

// removeFromTest detaches runs from a marked test, and finally removes the test.
func (t tenantTx) removeFromTest(ctx context.Context) (bool, error) {
	id, err := t.firstMarked(ctx, "agent_tests", "marked.id")
	if err != nil || id == "" {
		return false, err
	}
	ids, err := t.childIDs(ctx, "agent_test_runs", "part.test_id = ?", id, runsPerDetach)
	if err != nil {
		return false, err
	}
	if err := t.detach(ctx, ids); err != nil || len(ids) == runsPerDetach {
		return true, err
	}
	_, err = t.db.Delete((*model.AgentTestRow)(nil)).Where("id = ?", id).Exec(ctx)
	return true, err
}

// detach removes the test from runs. It locks their executions first, as every change of runs does, to avoid a
// deadlock.
func (t tenantTx) detach(ctx context.Context, runIDs []string) error {
	moving := []*model.AgentTestExecution{}
	executionIDs := t.db.Select((*model.AgentTestRun)(nil)).Column("execution_id").Where("id IN (?)", bun.List(runIDs))
	if err := t.db.Select(&moving).Column("id").Where("unfinished > 0").Where("id IN (?)", executionIDs).Order("id").
		For(string(forUpdate)).Scan(ctx); err != nil {
		return err
	}
	return exec(ctx, t.db.UpdateAll((*model.AgentTestRun)(nil)).Set("test_id = NULL").Where("id IN (?)", bun.List(runIDs)))
}

// removeFromCampaign removes items of a marked campaign, and finally the campaign.
func (t tenantTx) removeFromCampaign(ctx context.Context) (bool, error) {
	id, err := t.firstMarked(ctx, "campaigns", "marked.id")
	if err != nil || id == "" {
		return false, err
	}
	ids, err := t.childIDs(ctx, "campaign_items", "part.campaign_id = ?", id, rowsPerRemoval)
	if err != nil {
		return false, err
	}
	if _, err := t.db.Delete((*model.CampaignItem)(nil)).Where("id IN (?)", bun.List(ids)).Exec(ctx); err != nil ||
		len(ids) == rowsPerRemoval {
		return true, err
	}
	_, err = t.db.Delete((*model.Campaign)(nil)).Where("id = ?", id).Exec(ctx)
	return true, err
}

// removeFromAgent removes chats and prompt versions of a marked agent, and finally the agent, after its tests and
// campaigns.
func (t tenantTx) removeFromAgent(ctx context.Context) (bool, error) {
	id, err := t.firstMarked(ctx, "agents", "marked.id")
	if err != nil || id == "" {
		return false, err
	}
	remaining, err := t.detachExecutions(ctx, id, rowsPerRemoval)
	if err != nil {
		return false, err
	}
	for _, hanging := range []struct {
		table string
		none  any
		limit int
	}{{"simulation_chats", (*model.SimulationChat)(nil), chatsPerPart}, {"prompt_versions", (*model.PromptVersion)(nil),
		rowsPerRemoval}} {
		ids, err := t.childIDs(ctx, hanging.table, "part.agent_id = ?", id, hanging.limit)
		if err != nil {
			return false, err
		}
		if _, err := t.db.Delete(hanging.none).Where("id IN (?)", bun.List(ids)).Exec(ctx); err != nil {
			return false, err
		}
		remaining += len(ids)
	}
	if remaining > 0 {
		return true, nil
	}
	// Tests and campaigns are marked and removed separately, except those that an older program has created since.
	if err := t.markCampaigns(ctx, pg.Where("agent_id = ?", id)); err != nil {
		return false, err
	}
	if err := t.deleteTestsOfAgent(ctx, id); err != nil {
		return false, err
	}
	for _, table := range []string{"agent_tests", "campaigns"} {
		ids, err := t.childIDs(ctx, table, "part.agent_id = ?", id, 1)
		if err != nil {
			return false, err
		}
		remaining += len(ids)
	}
	if remaining > 0 {
		return true, nil
	}
	_, err = t.db.Delete((*model.Agent)(nil)).Where("id = ?", id).Exec(ctx)
	return true, err
}
