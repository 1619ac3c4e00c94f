package db_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/archive"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// oldCompany is a company with the tests and executions of several years. It has enough rows to be removed in several
// parts.
type oldCompany struct {
	store     *db.Store
	conn      *pgx.Conn
	tenant    *db.Tenant
	companyID string
	agent     *model.Agent
	test      string
	// The old execution has been judged again, and it has been repeated.
	first, old, again, retry, schedule string
	// held maps each of these executions to one of its runs.
	held map[string]*model.AgentTestRun
}

// moreRuns is how many runs are added to an execution: more than two parts.
const moreRuns = 1_100

func newOldCompany(t *testing.T) *oldCompany {
	t.Helper()
	a := &oldCompany{held: map[string]*model.AgentTestRun{}}
	a.store, a.conn = fresh(t)
	a.tenant, a.companyID = newCompany(t, a.store)
	a.agent = newAgent(t, a.tenant)
	a.test = newSimulationTest(t, a.tenant, a.agent.ID).ID
	for i, id := range []*string{&a.first, &a.old} {
		*id = start(t, a.tenant, a.test).ID
		run := runsOf(t, a.tenant, *id)[0]
		hold(t, a.tenant, run.ID, i == 0)
		a.held[*id] = run
	}
	again, err := a.tenant.RejudgeAgentTestExecution(t.Context(), model.RejudgeAgentTestExecutionInput{
		ExecutionID: a.old, Criteria: model.RejudgedCriteriaAsRun, Concurrency: 5,
	})
	require.NoError(t, err)
	a.again, a.held[again.ID] = again.ID, runsOf(t, a.tenant, again.ID)[0]
	require.NoError(t, finish(t, a.tenant, a.held[again.ID].ID, model.AgentTestRunStatusFailed))
	retry, err := a.tenant.RetryAgentTestExecution(t.Context(), model.RetryAgentTestExecutionInput{ExecutionID: a.old,
		Only: model.AgentTestRetryAll})
	require.NoError(t, err)
	a.retry, a.held[retry.ID] = retry.ID, runsOf(t, a.tenant, retry.ID)[0]
	schedule := newSchedule(t, a.tenant, func(in *model.CreateAgentTestScheduleInput) {
		in.AgentID,
			in.BaselineID = &a.agent.ID, &a.old
	})
	a.schedule = schedule.ID
	for id, run := range a.held {
		if id == a.first || id == a.retry {
			continue
		}
		for _, statement := range []string{
			`INSERT INTO agent_test_runs SELECT (jsonb_populate_record(run, jsonb_build_object('id', run.id || '_' || i,
				'position', i,
				'rejudge_of_id', run.rejudge_of_id || '_' || i))).* FROM agent_test_runs AS run, generate_series(1, $2) AS i
					WHERE run.id = $1`,
			`UPDATE agent_test_executions SET run_count = run_count + $2::int, failed_runs = failed_runs + $2::int
				WHERE id = (SELECT execution_id FROM agent_test_runs WHERE id = $1)`,
		} {
			_, err := a.conn.Exec(t.Context(), "SET session_replication_role = replica")
			require.NoError(t, err)
			_, err = a.conn.Exec(t.Context(), statement, run.ID, moreRuns)
			require.NoError(t, err)
			_, err = a.conn.Exec(t.Context(), "SET session_replication_role = DEFAULT")
			require.NoError(t, err)
		}
	}
	return a
}

func (a *oldCompany) count(t *testing.T, condition string) (n int) {
	t.Helper()
	require.NoError(t, a.conn.QueryRow(t.Context(), "SELECT count(*) FROM "+condition).Scan(&n))
	return n
}

// seen returns everything that readers see of the company's tests, executions and runs: rows and errors.
func (a *oldCompany) seen(t *testing.T) map[string]string {
	t.Helper()
	ctx, tenant, seen := t.Context(), a.tenant, map[string]string{}
	see := func(what string, value any, err error) {
		switch page := value.(type) {
		case *model.Page[*model.AgentTestRun]:
			value = nil
			if page != nil {
				value = page.Nodes
			}
		case *model.Page[model.AgentTest]:
			value = page.Nodes
		}
		text, encoding := json.Marshal(value)
		require.NoError(t, encoding)
		if err != nil {
			text = []byte(err.Error())
		}
		seen[what] = string(text)
	}
	executions := []string{a.first, a.old, a.again, a.retry}
	tests, runs := []string{a.test}, []string{}
	for _, id := range executions {
		run := a.held[id]
		runs = append(runs, run.ID, run.ID+"_7")
	}
	// Rows that depend on a test are read only after the test was found.
	there, err := tenant.Find(ctx, db.AgentTestRows, tests, "name")
	require.NoError(t, err)
	parents := []string{a.agent.ID}
	if len(there) == 0 {
		tests = nil
	}
	parents = append(parents, tests...)
	for _, id := range executions {
		execution, err := tenant.AgentTestExecution(ctx, id)
		see("execution "+id, execution, err)
		page, err := tenant.AgentTestRuns(ctx, model.PageArgs{First: 3}, model.AgentTestRunFilter{ExecutionID: &id})
		see("runs of "+id, page, err)
		_, err = tenant.FollowExecution(ctx, id)
		see("follow "+id, nil, err)
		_, err = tenant.CompareAgentTestExecutions(ctx, []string{a.first}, id,
			model.ComparedVariants{}, model.AgentTestCorrectionHolm)
		see("compare "+id, nil, err)
	}
	for name, rows := range map[string]pg.Rows{"runs": db.AgentTestRunRows, "executions": db.AgentTestExecutionRows,
		"tests": db.AgentTestRows} {
		found, err := tenant.Find(ctx, rows, slices.Concat(executions, []string{a.test}, runs))
		slices.SortFunc(found, func(x, y model.Row) int { return bytes.Compare([]byte(idOf(x)), []byte(idOf(y))) })
		see("rows of "+name, found, err)
	}
	for name, rows := range map[string]pg.Rows{"executions": db.RejudgementsOfExecutions, "runs": db.RejudgementsOfRuns} {
		found, err := tenant.Find(ctx, rows, slices.Concat(executions, runs))
		see("judged again of "+name, found, err)
	}
	for name, list := range map[string]pg.List{"runs": db.RunsOfTests, "executions": db.ExecutionsOfAgents,
		"tests": db.TestsOfAgents} {
		found, err := tenant.FindPages(ctx, list, nil, parents, model.PageArgs{First: 5})
		see("page of "+name, found, err)
		count, err := tenant.Count(ctx, list, nil, parents)
		see("number of "+name, count, err)
	}
	for name, status := range map[string]*model.AgentTestRunStatus{"all": nil,
		"failed": new(model.AgentTestRunStatusFailed)} {
		page, err := tenant.AgentTestRuns(ctx, model.PageArgs{First: 5}, model.AgentTestRunFilter{Status: status})
		require.NoError(t, err)
		total, err := page.TotalCount(ctx)
		see(name+" runs", []any{page.Nodes, total}, err)
	}
	page, err := tenant.AgentTestRuns(ctx, model.PageArgs{First: 5}, model.AgentTestRunFilter{AgentID: &a.agent.ID})
	see("runs of the agent", page, err)
	list, err := tenant.AgentTestExecutions(ctx, model.PageArgs{First: 5}, nil, nil)
	require.NoError(t, err)
	total, err := list.TotalCount(ctx)
	see("executions", []any{list.Nodes, total}, err)
	flaky, err := tenant.AgentTests(ctx, model.PageArgs{First: 5}, nil, model.AgentTestFilter{IsFlaky: new(false)})
	see("tests that are not flaky", flaky, err)
	types, err := tenant.Types(ctx, slices.Concat(executions, []string{a.test}, runs))
	see("types", types, err)
	for name, read := range map[string]func() (any, error){
		"counts":     func() (any, error) { return tenant.CountsOfExecutions(ctx, executions) },
		"tallies":    func() (any, error) { return tenant.TalliesOfExecutions(ctx, executions) },
		"tests":      func() (any, error) { return tenant.TestsOfExecutions(ctx, []string{a.first, a.retry}) },
		"versions":   func() (any, error) { return tenant.PromptVersionsOfExecutions(ctx, executions) },
		"agreements": func() (any, error) { return tenant.AgreementsOfExecutions(ctx, executions) },
		"histories":  func() (any, error) { return tenant.HistoriesOfTests(ctx, tests, 5, nil) },
		"failures":   func() (any, error) { return tenant.FailuresOfTests(ctx, tests) },
		"flaky":      func() (any, error) { return tenant.FlakyTests(ctx, tests) },
		"snapshots": func() (any, error) {
			runs, err := tenant.RunsWithSnapshots(ctx, []string{a.held[a.first].ID, a.held[a.old].ID})
			slices.SortFunc(runs, func(x, y *model.AgentTestRun) int { return strings.Compare(x.ID, y.ID) })
			return runs, err
		},
		"schedule": func() (any, error) {
			return dbtest.Find[*model.AgentTestSchedule](ctx, tenant, db.AgentTestScheduleRows, []string{a.schedule},
				"baseline_id")
		},
	} {
		value, err := read()
		see(name, value, err)
	}
	file := &bytes.Buffer{}
	manifest, err := archive.Export(ctx, a.store, a.companyID, file, archive.ExportOptions{})
	require.NoError(t, err)
	delete(manifest.Rows, "audit_events") // each export adds one
	see("archive", manifest.Rows, nil)
	return seen
}

func idOf(row model.Row) string {
	text, _ := json.Marshal(row)
	return string(text)
}

// removed removes the marked rows part by part. It requires that readers see no difference between the parts, and
// returns the number of parts.
func (a *oldCompany) removed(t *testing.T) (parts int) {
	t.Helper()
	seen := a.seen(t)
	for hasMore := true; hasMore; {
		var err error
		hasMore, err = db.RemovePart(t.Context(), a.tenant)
		require.NoError(t, err)
		if hasMore {
			parts++
		}
		now := a.seen(t)
		for _, what := range slices.Sorted(maps.Keys(seen)) {
			require.Equal(t, seen[what], now[what], "%s, after %d parts", what, parts)
		}
	}
	return parts
}

func TestLargeExecutionIsRemovedInParts(t *testing.T) {
	t.Parallel()
	a := newOldCompany(t)
	ctx := t.Context()
	follower, err := a.tenant.FollowExecution(ctx, a.retry)
	require.NoError(t, err)
	lastRun(t, a.tenant, a.test, a.held[a.retry].ID, model.AgentTestRunStatusQueued)
	all := a.count(t, "agent_test_runs")
	require.Equal(t, 4+2*moreRuns, all)

	require.NoError(t, a.tenant.DeleteAgentTestExecution(ctx, a.old))
	require.Equal(t, all, a.count(t, "agent_test_runs"), "nothing is removed by the request")
	for _, id := range []string{a.old, a.again} {
		fails(t, a.tenant.DeleteAgentTestExecution(ctx, id), model.NotFound)
		_, err := a.tenant.RetryAgentTestExecution(ctx, model.RetryAgentTestExecutionInput{ExecutionID: id,
			Only: model.AgentTestRetryAll})
		fails(t, err, model.NotFound)
		_, err = a.tenant.RejudgeAgentTestExecution(ctx, model.RejudgeAgentTestExecutionInput{ExecutionID: id,
			Criteria: model.RejudgedCriteriaAsRun, Concurrency: 5})
		fails(t, err, model.NotFound)
		_, err = a.tenant.CancelAgentTestExecution(ctx, model.CancelAgentTestExecutionInput{ExecutionID: id})
		fails(t, err, model.NotFound)
		_, err = a.tenant.AgentTestRuns(ctx, model.PageArgs{First: 1}, model.AgentTestRunFilter{ExecutionID: &id})
		fails(t, err, model.NotFound)
	}
	// Only the queued run of the retry and the oldest run remain.
	require.NoError(t, finish(t, a.tenant, a.held[a.retry].ID, model.AgentTestRunStatusFailed))
	<-follower
	lastRun(t, a.tenant, a.test, a.held[a.retry].ID, model.AgentTestRunStatusFailed)
	page, err := a.tenant.AgentTestRuns(ctx, model.PageArgs{First: 5}, model.AgentTestRunFilter{})
	require.NoError(t, err)
	total, err := page.TotalCount(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 2, total)
	require.Len(t, page.Nodes, 2)

	require.Equal(t, 6, a.removed(t), "three parts of each of two executions")
	require.Equal(t, 2, a.count(t, "agent_test_runs"))
	require.Equal(t, 2, a.count(t, "agent_test_executions"))
	require.Equal(t, 0, a.count(t,
		"agent_test_snapshots WHERE execution_id NOT IN (SELECT id FROM agent_test_executions)"))
}

// If a removal fails between two parts, for example because the process dies, the next sweep of any process continues
// it.
func TestRemovalContinuesAfterAnError(t *testing.T) {
	t.Parallel()
	a := newOldCompany(t)
	require.NoError(t, a.tenant.DeleteAgentTestExecution(t.Context(), a.old))
	_, err := db.RemovePart(t.Context(), a.tenant)
	require.NoError(t, err)
	left := a.count(t, "agent_test_runs")
	for _, statement := range []string{
		"CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM " +
			"pg_terminate_backend(pg_backend_pid()); RETURN OLD; END $$",
		"CREATE TRIGGER die BEFORE DELETE ON agent_test_runs FOR EACH ROW WHEN (OLD.position % 10 = 9) EXECUTE FUNCTION " +
			"die()",
	} {
		_, err := a.conn.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	require.Error(t, db.Sweep(a.store)(t.Context()))
	require.Equal(t, left, a.count(t, "agent_test_runs"), "an interrupted part removes nothing")
	_, err = a.conn.Exec(t.Context(), "DROP TRIGGER die ON agent_test_runs")
	require.NoError(t, err)
	other := dbtest.Reopen(t, a.store)
	require.NoError(t, db.Sweep(other)(t.Context()))
	require.Equal(t, 2, a.count(t, "agent_test_runs"))
	require.Zero(t, a.count(t, "agent_test_executions WHERE deleted_at IS NOT NULL"))
}

func TestTestWithManyRunsIsRemovedInParts(t *testing.T) {
	t.Parallel()
	a := newOldCompany(t)
	ctx := t.Context()
	running, err := a.tenant.ClaimRun(ctx, a.held[a.retry].ID, 1)
	require.NoError(t, err)
	require.NoError(t, a.tenant.DeleteAgentTests(ctx, []string{a.test}))
	require.Equal(t, 4+2*moreRuns, a.count(t, "agent_test_runs WHERE test_id IS NOT NULL"),
		"the request leaves them as they are")
	fails(t, a.tenant.DeleteAgentTest(ctx, a.test), model.NotFound)
	_, err = a.tenant.StartAgentTestExecution(ctx, model.StartAgentTestExecutionInput{TestIds: []string{a.test},
		Repeats: 1, Concurrency: 1})
	fails(t, err, model.NotFound)
	_, err = a.tenant.RetryAgentTestExecution(ctx, model.RetryAgentTestExecutionInput{ExecutionID: a.old,
		Only: model.AgentTestRetryAll})
	faults(t, err, model.Unprocessable, "executionId", "were all deleted")
	for _, run := range runsOf(t, a.tenant, a.first) {
		require.Nil(t, run.TestID)
	}
	follower, err := a.tenant.FollowRuns(ctx, a.retry)
	require.NoError(t, err)
	running.Status = model.AgentTestRunStatusFailed
	require.NoError(t, a.tenant.FinishRun(ctx, running), "the run has its own copy of the test")
	for run := range follower {
		require.Nil(t, run.TestID)
	}

	require.Equal(t, 12, a.removed(t), "two hundred runs at a time")
	require.Zero(t, a.count(t, "agent_test_runs WHERE test_id IS NOT NULL"))
	require.Zero(t, a.count(t, "agent_tests"))
	require.Equal(t, 4+2*moreRuns, a.count(t, "agent_test_runs"))
}

// Rows that are marked for removal do not block the deletion of their parents or children.
func TestSoftDeletedRowsDoNotBlockDeletes(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(t *testing.T, a *oldCompany, folder string){
		"the agent": func(t *testing.T, a *oldCompany, _ string) {
			require.NoError(t, a.tenant.DeleteAgent(t.Context(), a.agent.ID))
		},
		"the folder": func(t *testing.T, a *oldCompany, folder string) {
			require.NoError(t, a.tenant.DeleteAgentTestFolder(t.Context(), folder))
		},
		"the executions": func(t *testing.T, a *oldCompany, _ string) {
			require.NoError(t, a.tenant.DeleteAgentTestExecution(t.Context(), a.old))
			require.NoError(t, a.tenant.DeleteAgentTestExecution(t.Context(), a.first))
		},
		"the company": func(t *testing.T, a *oldCompany, _ string) {
			require.NoError(t, a.store.DeleteCompany(t.Context(), a.companyID, func(string, int64) {}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newOldCompany(t)
			folder := newFolder(t, a.tenant, a.agent.ID, "Smoke")
			_, err := a.tenant.MoveAgentTests(t.Context(), model.MoveAgentTestsInput{TestIds: []string{a.test},
				FolderID: &folder.ID})
			require.NoError(t, err)
			require.NoError(t, a.tenant.DeleteAgentTestExecution(t.Context(), a.again))
			require.NoError(t, a.tenant.DeleteAgentTest(t.Context(), a.test))
			remove(t, a, folder.ID)
			require.NoError(t, db.Sweep(a.store)(t.Context()))
			require.Zero(t, a.count(t, "agent_tests"))
			require.Zero(t, a.count(t, "agent_test_executions WHERE deleted_at IS NOT NULL"))
		})
	}
}

// No statement changes more rows than one part has, so every statement is short.
func TestSweepStatementsChangeAtMostOnePart(t *testing.T) {
	t.Parallel()
	a := newOldCompany(t)
	ctx := t.Context()
	execute := func(statement string, values ...any) {
		_, err := a.conn.Exec(ctx, statement, values...)
		require.NoError(t, err)
	}
	execute(`INSERT INTO idempotent_requests (company_id, id, fingerprint, claim_id, until)
		SELECT $1, sha256(i::text::bytea), sha256('body'), 'claim', now() - interval '1 hour' FROM generate_series(1,
			1200) AS i`, a.companyID)
	execute(`CREATE FUNCTION at_most_a_part() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF (SELECT count(*) FROM gone) > 1000 THEN RAISE 'a statement changes % rows of %', (SELECT count(*) FROM gone),
			TG_TABLE_NAME; END IF; RETURN NULL; END $$`)
	for _, table := range []string{"idempotent_requests", "agent_test_runs", "agent_test_executions",
		"agent_test_snapshots", "agent_tests", "prompt_versions"} {
		execute("CREATE TRIGGER removed AFTER DELETE ON " + table +
			" REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION at_most_a_part()")
		execute("CREATE TRIGGER changed AFTER UPDATE ON " + table +
			" REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION at_most_a_part()")
	}
	require.NoError(t, a.tenant.DeleteAgentTestExecution(ctx, a.again))
	require.NoError(t, a.tenant.DeleteAgent(ctx, a.agent.ID))
	sweep := db.Sweep(a.store)
	for range 3 {
		require.NoError(t, sweep(ctx))
	}
	require.Zero(t, a.count(t, "idempotent_requests"))
	require.Zero(t, a.count(t, "agents"))
	require.Equal(t, 3+moreRuns, a.count(t, "agent_test_runs"))
}
