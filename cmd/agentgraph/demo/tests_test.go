package demo

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/endpoint"
	"github.com/agentgraph/agentgraph/engine/evaluation"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/model"
)

// startWorkers runs workers with the offline models until the Go test ends.
func startWorkers(t *testing.T, store *db.Store) {
	t.Helper()
	caller, err := endpoint.New(endpoint.Options{Allow: []string{"127.0.0.1"}})
	require.NoError(t, err)
	t.Cleanup(caller.Close)
	log := slog.New(slog.DiscardHandler)
	e := engine.New(offline.New(), engine.Options{Caller: caller, Log: log})
	v := evaluation.New(e, evaluation.Options{Contact: offline.Contact(), Judge: offline.Judge(),
		Classifier: offline.Classifier(), Log: log})
	require.NoError(t, store.Work(t.Context(), 4, db.Workers{RunTest: v.RunTest, Index: e.Knowledge().Index}))
	t.Cleanup(func() { require.NoError(t, store.StopWork(context.Background())) })
}

// runTests runs tests and returns their runs in order.
func runTests(t *testing.T, tenant *db.Tenant, in model.StartAgentTestExecutionInput) []*model.AgentTestRun {
	t.Helper()
	in.VirtualTime = true
	execution, err := tenant.StartAgentTestExecution(t.Context(), in)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		execution, err = tenant.AgentTestExecution(t.Context(), execution.ID)
		return err == nil && execution.IsFinished()
	}, time.Minute, 20*time.Millisecond)
	runs, err := dbtest.Pages[*model.AgentTestRun](t.Context(), tenant, db.RunsOfExecutions, nil, []string{execution.ID},
		wholeList)
	require.NoError(t, err)
	ordered := make([]*model.AgentTestRun, len(runs))
	for _, run := range runs {
		ordered[run.Position] = run
	}
	return ordered
}

// describeRun describes a run with an unexpected result.
func describeRun(run *model.AgentTestRun) string {
	var b strings.Builder
	for _, m := range run.Messages {
		fmt.Fprintf(&b, "  %s: %s\n", m.Role, m.Text)
	}
	for _, c := range run.ToolCalls {
		fmt.Fprintf(&b, "  %d %s %s\n", c.MessageSequence, c.TechnicalName, c.Arguments)
	}
	for _, r := range run.CriteriaResults {
		fmt.Fprintf(&b, "  %t %s: %s\n", r.Passed, r.Criterion, r.Rationale)
	}
	if r := run.ClassificationResult; r != nil {
		fmt.Fprintf(&b, "  %s\n", r.Rationale)
	}
	if run.Error != nil {
		fmt.Fprintf(&b, "  %s: %s\n", run.Error.Cause, run.Error.Message)
	}
	return b.String()
}

// With the program's workers and the offline models, every test has the verdict that its file expects.
func TestDemoTestsHaveTheirExpectedVerdicts(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	shown, err := Seed(t.Context(), store)
	require.NoError(t, err)
	index(t, store)
	startWorkers(t, store)
	tenant := store.Tenant(shown.ID)
	expected := map[string]model.AgentTestRunStatus{}
	var tests []about
	for _, group := range mustRead(t, "merrowby").AgentTests {
		for _, s := range group.Simulations {
			tests, expected[s.Name] = append(tests, s.about), s.Expect
		}
		for _, c := range group.Classifications {
			tests, expected[c.Name] = append(tests, c.about), c.Expect
		}
	}
	require.Len(t, expected, len(tests), "test names are unique")
	counts := map[model.AgentTestRunStatus]int{}
	_, agents := agentsOf(t, tenant)
	for _, id := range agents {
		in := model.StartAgentTestExecutionInput{AgentID: &id, Repeats: 1, Concurrency: 10}
		for _, run := range runTests(t, tenant, in) {
			counts[run.Status]++
			if expected[run.TestName] != run.Status {
				t.Errorf("%s: %s, not %s\n%s", run.TestName, run.Status, expected[run.TestName], describeRun(run))
			} else {
				t.Logf("%s: %s\n%s", run.TestName, run.Status, describeRun(run))
			}
		}
	}
	t.Log(counts)
}
