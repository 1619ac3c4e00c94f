package db

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/model"
)

// snapshotOfRun is the snapshot of a run: its own copy in old runs, otherwise the one that its execution stores for all
// runs. ?0 is the company. The company of each table is compared with ?0, because otherwise Citus locks no rows.
const snapshotOfRun = `coalesce(?TableAlias.snapshot, (
	SELECT json_build_object('test', test.definition, 'agent', agent.definition, 'virtualTime', execution.virtual_time,
		'votes', execution.votes,
		'judgeModel', coalesce(execution.judge_model, ''))
	FROM agent_test_snapshots AS test
	JOIN agent_test_snapshots AS agent ON agent.company_id = test.company_id AND agent.execution_id = test.execution_id
		AND agent.id = test.agent_id || coalesce('/' || ?TableAlias.variant, '')
	JOIN agent_test_executions AS execution ON execution.company_id = test.company_id AND execution.id = test.execution_id
	WHERE test.company_id = ?0 AND agent.company_id = ?0 AND execution.company_id = ?0
		AND test.execution_id = ?TableAlias.execution_id
		AND test.id = ?TableAlias.tested_id)) AS snapshot`

// delegateVersions has the prompt versions of the agents that an agent delegates to, directly or through others, by
// their ids: the nearest 1,000. Runs with the snapshot use these prompts. ?0 is the company.
const delegateVersions = `(WITH RECURSIVE delegate AS (
		SELECT delegate_agent_id AS id FROM sub_agents WHERE company_id = ?0 AND agent_id = ?TableAlias.id
		UNION SELECT delegate_agent_id FROM sub_agents AS relation JOIN delegate ON relation.agent_id = delegate.id
		WHERE relation.company_id = ?0)
	SELECT json_object_agg(id, prompt_version) FROM (SELECT id, prompt_version FROM agents AS each
		WHERE company_id = ?0 AND id IN (SELECT id FROM delegate LIMIT 1000)) AS found) AS delegate_versions`

// withSnapshots selects all columns of runs, with their snapshots.
func (t *Tenant) withSnapshots(q *bun.SelectQuery) *bun.SelectQuery {
	return t.withoutSnapshots(q).ColumnExpr(snapshotOfRun, t.CompanyID())
}

// withoutSnapshots selects all columns of runs except their snapshots.
func (t *Tenant) withoutSnapshots(q *bun.SelectQuery) *bun.SelectQuery {
	return t.withExistingTest(q.ExcludeColumn("snapshot", testIDColumn))
}

// withExistingTest selects the test of each run. It is NULL if the test is marked as deleted.
func (t *Tenant) withExistingTest(q *bun.SelectQuery) *bun.SelectQuery {
	return q.ColumnExpr(strings.NewReplacer("?0", "?TableAlias", "?1", testIDColumn, "?3",
		"?0").Replace(existingTest)+" AS "+
		testIDColumn, t.CompanyID())
}

// RunsWithSnapshots returns the runs with the ids, in any order, each with its snapshot. It reads the given columns
// in addition to those that identify and order rows, or all of them when none is given. Ids that do not exist are
// left out. Other methods return runs without snapshots.
func (t *Tenant) RunsWithSnapshots(ctx context.Context, ids []string,
	columns ...string) ([]*model.AgentTestRun, error) {
	runs := []*model.AgentTestRun{}
	q := t.db.Select(&runs).Apply(t.withSnapshots)
	if len(columns) > 0 {
		q = t.db.SelectColumns(&runs, columns).ColumnExpr(snapshotOfRun, t.CompanyID())
	}
	return runs, q.Where("?TableAlias.id IN (?)", bun.List(ids)).Scan(ctx)
}

// saveSnapshots stores the tests and agents of an execution's runs, each once. The id of a variant's agent contains the
// variant's label.
func (t *Tenant) saveSnapshots(batch *pgx.Batch, runs []*model.AgentTestRun) error {
	var ids, definitions []string
	var agents []*string
	kept := map[string]bool{}
	addSnapshot := func(id string, agentID *string, definition any) error {
		if kept[id] {
			return nil
		}
		kept[id] = true
		text, err := json.Marshal(definition)
		ids, agents, definitions = append(ids, id), append(agents, agentID), append(definitions, string(text))
		return err
	}
	for _, run := range runs {
		agent, test := run.Snapshot.Agent, run.Snapshot.Test
		agentID := agent.ID
		if run.Variant != nil {
			agentID += "/" + *run.Variant
		}
		if err := addSnapshot(agentID, nil, agent); err != nil {
			return err
		}
		if err := addSnapshot(run.TestedID, &agent.ID, test); err != nil {
			return err
		}
	}
	batch.Queue(`INSERT INTO agent_test_snapshots (company_id, execution_id, id, agent_id, definition)
		SELECT $1, $2, kept.id, kept.agent_id, kept.definition::json FROM unnest($3::text[], $4::text[],
			$5::text[]) AS kept (id, agent_id, definition)`,
		t.CompanyID(), runs[0].ExecutionID, ids, agents, definitions)
	return nil
}
