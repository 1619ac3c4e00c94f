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

// What may have very many rows behind it is deleted in two steps. A short transaction marks it with the time, and
// nobody finds it or what hangs on it from then on: find, change and the statements of reads leave it out. The sweeper
// removes the rows, a part at a time, each in a transaction, and what is marked last, so that one that dies leaves
// nothing behind.

// removeTime bounds how long one sweep removes rows of one kind: lost workers are looked for after it. Tests, which
// look at what is left after a sweep, have more, since machines may be slow.
var removeTime = 2 * time.Second

// How many rows are removed, and how many runs are detached from their test, at a time: what takes well below a second.
// To detach a run is to write it anew in all of its indexes.
const (
	rowsPerRemoval = 500
	runsPerDetach  = 200
)

// types are the structs of rows that have something special: what is marked as deleted, and what hangs on it, is not
// read. What is marked is few, and read once for a statement.
var types = map[reflect.Type]pg.Type{
	reflect.TypeFor[model.Agent]():          {Visible: "?TableAlias." + isKept},
	reflect.TypeFor[model.PromptVersion]():  {Visible: notOfMarked("?TableAlias.agent_id", "agents")},
	reflect.TypeFor[model.SimulationChat](): {Visible: notOfMarked("?TableAlias.agent_id", "agents")},
	reflect.TypeFor[model.Campaign]():       {Visible: "?TableAlias." + isKept},
	reflect.TypeFor[model.CampaignItem](): {
		Visible: notOfMarked("?TableAlias.campaign_id", "campaigns"), Count: countByCounters,
	},
	reflect.TypeFor[model.AgentTestRow](): {
		Visible: "?TableAlias." + isKept, Always: "kind", // which tells what the row is
		Row: func(row any) model.Row { return row.(*model.AgentTestRow).Test().(model.Row) },
	},
	reflect.TypeFor[model.AgentTestExecution](): {Visible: "?TableAlias." + isKept},
	reflect.TypeFor[model.AgentTestRun](): {
		Visible:     notOfMarked("?TableAlias.execution_id", "agent_test_executions"),
		Expressions: map[string]string{ofTest: existingTest},
	},
}

// notOfMarked selects rows that hang, by the column, on nothing of the table that is marked. It is worded so that
// Postgres expects nearly all rows: of an inequality it would expect none where all rows hang on the same.
func notOfMarked(column, table string) string {
	return "CASE WHEN " + column + " = ANY (ARRAY(SELECT deleted.id FROM " + table + ` AS deleted
		WHERE deleted.company_id = ?0 AND deleted.deleted_at IS NOT NULL)) THEN NULL ELSE true END IS NOT NULL`
}

var markedTables = []string{"agent_test_executions", "agent_tests", "campaigns", "agents"}

// ofTest is the column of runs that says which test they are of. It reads as NULL once that is marked.
const ofTest = "test_id"

// existingTest is the test of a run, ?0, that is not marked.
const existingTest = "(SELECT test.id FROM agent_tests AS test WHERE test.company_id = ?0.company_id AND test.id = " +
	"?0.?1 AND test.deleted_at IS NULL)"

// removeMarked removes, a part of each company's in turn, what is marked.
func (s *Store) removeMarked(ctx context.Context) error {
	companies, err := s.companiesWithMarks(ctx)
	return errors.Join(err, s.inTurns(companies, func(t *Tenant) (bool, error) { return t.removePart(ctx) }))
}

// inTurns is inTurns of companies, for removeTime at most: what is left then is found by the next sweep.
func (s *Store) inTurns(companies []string, part func(*Tenant) (hasMore bool, err error)) error {
	_, err := inTurns(companies, removeTime, func(id string) (bool, error) { return part(s.Tenant(id)) })
	return err
}

// inTurns calls part for each in turn, for as long as it says that there may be more, and returns those that are left
// when the time is over. What one cannot do keeps no other from it.
func inTurns[T any](waiting []T, most time.Duration, part func(T) (hasMore bool, err error)) ([]T, error) {
	var errs []error
	for begun := time.Now(); len(waiting) > 0 && time.Since(begun) < most; {
		next := waiting[0]
		waiting = waiting[1:]
		hasMore, err := part(next)
		if errs = append(errs, err); hasMore && err == nil {
			waiting = append(waiting, next)
		}
	}
	return waiting, errors.Join(errs...)
}

// companiesWithMarks returns the companies that have something marked, in any order.
func (s *Store) companiesWithMarks(ctx context.Context) ([]string, error) {
	return ofAll[string](ctx, s, func(ofCompany func(string) pg.Selection) scanner {
		marks := make([]string, len(markedTables))
		for i, table := range markedTables {
			marks[i] = s.db.Program().NewSelect().TableExpr(table).Column("company_id").Where("deleted_at IS NOT NULL").
				Apply(ofCompany("company_id")).String()
		}
		return s.db.Program().NewRaw(strings.Join(marks, " UNION "))
	})
}

// removePart removes some of what is marked, and reports whether there may be more.
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

// firstMarked returns the id of what is marked in a table and comes first, empty for none.
func (t *Tenant) firstMarked(ctx context.Context, table, order string) (string, error) {
	ids := []string{}
	err := t.db.NewSelect().TableExpr("? AS marked", bun.Ident(table)).Column("id").
		Where("marked.company_id = ?", t.CompanyID()).
		Where("marked.deleted_at IS NOT NULL").OrderExpr(order).Limit(1).Scan(ctx, &ids)
	return strings.Join(ids, ""), err
}

// someOf returns the ids of some of the rows of a table that a condition finds, whatever they hang on: in the order of
// the list, whose index leads past those that are gone. The table itself would be read from its beginning each time.
func (t *Tenant) someOf(ctx context.Context, table, condition, id string, most int) ([]string, error) {
	ids := []string{}
	err := t.db.NewSelect().TableExpr("? AS part", bun.Ident(table)).Column("id").
		Where("part.company_id = ?", t.CompanyID()).
		Where(condition, id).OrderExpr("part.created_at DESC, part.id DESC").Limit(int64(most)).Scan(ctx, &ids)
	return ids, err
}

// removeFromExecution removes runs of an execution that is marked, and the execution after the last one. What judged
// its conversations again goes before it.
func (t tenantTx) removeFromExecution(ctx context.Context) (bool, error) {
	id, err := t.firstMarked(ctx, "agent_test_executions", `EXISTS (SELECT 1 FROM agent_test_executions AS again
		WHERE again.company_id = marked.company_id AND again.rejudge_of_id = marked.id), marked.id`)
	if err != nil || id == "" {
		return false, err
	}
	ids, err := t.someOf(ctx, "agent_test_runs", "part.execution_id = ?", id, rowsPerRemoval)
	if err != nil {
		return false, err
	}
	// A program of before may have made one of these the last of its test since.
	if err := t.leaveRuns(ctx, bun.List(ids), id); err != nil {
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

// removeFromTest detaches runs from a test that is marked, and removes the test after the last one.
func (t tenantTx) removeFromTest(ctx context.Context) (bool, error) {
	id, err := t.firstMarked(ctx, "agent_tests", "marked.id")
	if err != nil || id == "" {
		return false, err
	}
	ids, err := t.someOf(ctx, "agent_test_runs", "part.test_id = ?", id, runsPerDetach)
	if err != nil {
		return false, err
	}
	if err := t.detach(ctx, ids); err != nil || len(ids) == runsPerDetach {
		return true, err
	}
	_, err = t.db.Delete((*model.AgentTestRow)(nil)).Where("id = ?", id).Exec(ctx)
	return true, err
}

// detach has runs lead to no test. Whoever changes runs locks their executions first, and so does this: it must not
// meet them among the runs.
func (t tenantTx) detach(ctx context.Context, runIDs []string) error {
	moving := []*model.AgentTestExecution{}
	of := t.db.Select((*model.AgentTestRun)(nil)).Column("execution_id").Where("id IN (?)", bun.List(runIDs))
	if err := t.db.Select(&moving).Column("id").Where("unfinished > 0").Where("id IN (?)", of).Order("id").
		For(string(forUpdate)).Scan(ctx); err != nil {
		return err
	}
	return exec(ctx, t.db.UpdateAll((*model.AgentTestRun)(nil)).Set("test_id = NULL").Where("id IN (?)", bun.List(runIDs)))
}

// removeFromCampaign removes items of a campaign that is marked, and the campaign after the last one.
func (t tenantTx) removeFromCampaign(ctx context.Context) (bool, error) {
	id, err := t.firstMarked(ctx, "campaigns", "marked.id")
	if err != nil || id == "" {
		return false, err
	}
	ids, err := t.someOf(ctx, "campaign_items", "part.campaign_id = ?", id, rowsPerRemoval)
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

// removeFromAgent removes chats and prompt versions of an agent that is marked, and the agent after the last ones and
// after its tests and campaigns.
func (t tenantTx) removeFromAgent(ctx context.Context) (bool, error) {
	id, err := t.firstMarked(ctx, "agents", "marked.id")
	if err != nil || id == "" {
		return false, err
	}
	left, err := t.detachExecutions(ctx, id, rowsPerRemoval)
	if err != nil {
		return false, err
	}
	for _, hanging := range []struct {
		table string
		none  any
		most  int
	}{{"simulation_chats", (*model.SimulationChat)(nil), chatsPerPart}, {"prompt_versions", (*model.PromptVersion)(nil),
		rowsPerRemoval}} {
		ids, err := t.someOf(ctx, hanging.table, "part.agent_id = ?", id, hanging.most)
		if err != nil {
			return false, err
		}
		if _, err := t.db.Delete(hanging.none).Where("id IN (?)", bun.List(ids)).Exec(ctx); err != nil {
			return false, err
		}
		left += len(ids)
	}
	if left > 0 {
		return true, nil
	}
	// Tests and campaigns are marked, and removed by themselves, but for those that a program of before has made since.
	if err := t.markCampaigns(ctx, pg.Where("agent_id = ?", id)); err != nil {
		return false, err
	}
	if err := t.leaveTests(ctx, id); err != nil {
		return false, err
	}
	for _, table := range []string{"agent_tests", "campaigns"} {
		ids, err := t.someOf(ctx, table, "part.agent_id = ?", id, 1)
		if err != nil {
			return false, err
		}
		left += len(ids)
	}
	if left > 0 {
		return true, nil
	}
	_, err = t.db.Delete((*model.Agent)(nil)).Where("id = ?", id).Exec(ctx)
	return true, err
}
