package db

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/db/schema"
	"github.com/agentgraph/agentgraph/model"
)

// runsPerInsert bounds the runs in one statement, because each contains its test, its agent and its conversation.
const runsPerInsert = 50

// AgentTestHistory is a set of tests of existing agents, with finished executions.
type AgentTestHistory struct {
	Folders    []*model.AgentTestFolder
	Tests      []*model.AgentTestRow
	Executions []*model.AgentTestExecution
	Runs       []*model.AgentTestRun
}

// ImportAgentTests adds tests with their history in one transaction. It writes all values exactly as given, including
// times, and checks only the constraints of the database. The newest run of each test becomes its last run. It enqueues
// nothing, so it refuses an execution that is not finished. It returns NOT_FOUND when an agent of the tests or folders
// does not exist.
func (t *Tenant) ImportAgentTests(ctx context.Context, h AgentTestHistory) error {
	for _, execution := range h.Executions {
		if !execution.IsFinished() {
			return fmt.Errorf("import agent tests: execution %s is not finished", execution.ID)
		}
	}
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if _, err := t.lockAgents(ctx, h.agentIDs(), forShare); err != nil {
			return err
		}
		if err := pg.Insert(ctx, t.db, h.Folders...); err != nil {
			return err
		}
		if err := pg.Insert(ctx, t.db, h.Tests...); err != nil {
			return err
		}
		if err := pg.Insert(ctx, t.db, h.Executions...); err != nil {
			return err
		}
		for some := range slices.Chunk(h.Runs, runsPerInsert) {
			if err := pg.Insert(ctx, t.db, some...); err != nil {
				return err
			}
		}
		if err := t.countEnds(ctx, h.Executions); err != nil {
			return err
		}
		return t.importLastRuns(ctx, h.Runs)
	})
}

// countEnds counts the runs of finished executions by final status.
func (t tenantTx) countEnds(ctx context.Context, executions []*model.AgentTestExecution) error {
	ids := idsOf(executions)
	return exec(ctx, t.db.Update((*model.AgentTestExecution)(nil)).Set(schema.EndsOfRuns("?"), t.CompanyID()).
		Where("?TableAlias.id IN (?)", bun.List(ids)))
}

// agentIDs returns the ids of the agents that the tests and folders belong to, in order.
func (h AgentTestHistory) agentIDs() []string {
	ids := model.Map(h.Folders, func(folder *model.AgentTestFolder) string { return folder.AgentID })
	for _, test := range h.Tests {
		ids = append(ids, test.AgentID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// lockAgents locks agents until the end of the transaction and returns them in the order of the ids, or NOT_FOUND.
func (t tenantTx) lockAgents(ctx context.Context, ids []string, strength rowLock) ([]*model.Agent, error) {
	locked := []*model.Agent{}
	err := t.db.Select(&locked).Where("id IN (?)", bun.List(ids)).Order("id").For(string(strength)).Scan(ctx)
	if err != nil {
		return nil, err
	}
	return inOrder("agent", ids, locked)
}

// importLastRuns makes the newest run of each test its last run.
func (t *Tenant) importLastRuns(ctx context.Context, runs []*model.AgentTestRun) error {
	newest := map[string]*model.AgentTestRun{}
	for _, run := range runs {
		last := newest[run.TestedID]
		if last == nil || run.CreatedAt.After(last.CreatedAt) || run.ExecutionID == last.ExecutionID &&
			run.Attempt > last.Attempt {
			newest[run.TestedID] = run
		}
	}
	var tests, ids, statuses, times []string
	for id, run := range newest {
		tests, ids = append(tests, id), append(ids, run.ID)
		statuses, times = append(statuses, string(run.Status)), append(times, run.FinishedAt.Format(time.RFC3339Nano))
	}
	return exec(ctx, t.db.Update((*model.AgentTestRow)(nil)).
		TableExpr("unnest(?::text[], ?::text[], ?::text[], ?::timestamptz[]) AS newest (test_id, run_id, status, at)",
			pgdialect.Array(tests), pgdialect.Array(ids), pgdialect.Array(statuses), pgdialect.Array(times)).
		Set("last_run_id = newest.run_id").Set("last_run_status = newest.status").Set("last_run_at = newest.at").
		Where("?TableAlias.id = newest.test_id"))
}

// DateAgent backdates an agent. prompts has the time of each prompt version, oldest first. The first of them also
// becomes the agent's time of creation. It returns NOT_FOUND when the agent does not exist.
func (t *Tenant) DateAgent(ctx context.Context, id string, prompts []time.Time) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if _, err := t.lockAgent(ctx, id, forUpdate); err != nil {
			return err
		}
		_, err := t.db.Update((*model.Agent)(nil)).Set("created_at = ?", prompts[0]).
			Set("updated_at = ?", prompts[len(prompts)-1]).
			Where("id = ?", id).Exec(ctx)
		if err != nil {
			return err
		}
		times := model.Map(prompts, func(at time.Time) string { return at.Format(time.RFC3339Nano) })
		return exec(ctx, t.db.Update((*model.PromptVersion)(nil)).
			TableExpr("unnest(?::timestamptz[]) WITH ORDINALITY AS written (at, version)", pgdialect.Array(times)).
			Set("created_at = written.at").Where("?TableAlias.agent_id = ?", id).Where("?TableAlias.version = written.version"))
	})
}
