package app_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/evaluation"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/model"
)

// The judge passes everything. A person labels the runs in the order of the queue, without seeing the verdicts.
func TestLabelsCorrectThePassRate(t *testing.T) {
	t.Parallel()
	s := dbtest.NewEnvironment(t)
	e := engine.New(&cast{}, engine.Options{Log: slog.New(slog.DiscardHandler)})
	v := evaluation.New(e, evaluation.Options{Judge: referee{"lenient", "true"}, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, s.Store.Work(t.Context(), 2, db.Workers{RunTest: v.RunTest}))
	t.Cleanup(func() { require.NoError(t, s.Store.StopWork(context.Background())) })
	g := &gatewayUnderTest{store: s.Store, url: serveEngine(t, s.Store, e, v)}
	resolved := &gatewayUnderTest{store: s.Store, url: servePlanned(t, s.Store, gateway.DefaultSettings(), false)}
	_, key := g.keyOf(t, s.Tenant.CompanyID(), model.APIKeyScopeAdmin)
	testID := s.Tests(t, 1)[0]
	_, err := s.Tenant.UpdateSimulationTest(t.Context(), model.UpdateSimulationTestInput{
		TestID: testID, Criteria: []string{"Is never rude"}})
	require.NoError(t, err)
	var started struct {
		StartAgentTestExecution struct {
			Execution struct{ ID, AgentID string }
		}
	}
	g.must(t, key, `mutation ($test: ID!) { startAgentTestExecution(input: {testIds: [$test], repeats: 20,
		concurrency: 10}) { execution { id agentId } } }`, map[string]any{"test": testID}, &started)
	execution := started.StartAgentTestExecution.Execution
	var read struct {
		AgentTestExecution struct {
			FinishedAt        *string
			PassRate          float64
			CorrectedPassRate *struct {
				Rate     float64
				Interval struct{ Low, High float64 }
				Labels   int
			}
			Runs struct {
				Nodes []struct {
					JudgeModel, JudgePrompt string
					Labels                  []struct {
						Person string
						Holds  bool
						Note   *string
					}
				}
			}
		}
	}
	const document = `query ($id: ID!) { agentTestExecution(id: $id) { finishedAt passRate
		correctedPassRate { rate interval { low high } labels }
		runs { nodes { judgeModel judgePrompt labels { person holds note } } } } }`
	byID := map[string]any{"id": execution.ID}
	require.Eventually(t, func() bool {
		g.must(t, key, document, byID, &read)
		return read.AgentTestExecution.FinishedAt != nil
	}, 20*time.Second, 20*time.Millisecond)
	require.Nil(t, read.AgentTestExecution.CorrectedPassRate)
	require.Equal(t, "lenient", read.AgentTestExecution.Runs.Nodes[0].JudgeModel)
	require.Len(t, read.AgentTestExecution.Runs.Nodes[0].JudgePrompt, 8)

	var queue struct {
		CriterionQueue struct {
			TotalCount int
			Entries    []struct {
				RunID, Criterion string
				Passed           *bool
				Run              struct{ Messages []struct{ Text string } }
			}
		}
	}
	g.must(t, key, `query ($agent: ID!) { criterionQueue(agentId: $agent, isBlind: true, first: 50) { totalCount
		entries { runId criterion passed run { messages { text } } } } }`, map[string]any{"agent": execution.AgentID}, &queue)
	require.Len(t, queue.CriterionQueue.Entries, 20)
	require.Nil(t, queue.CriterionQueue.Entries[0].Passed)
	require.NotEmpty(t, queue.CriterionQueue.Entries[0].Run.Messages)
	for i, entry := range queue.CriterionQueue.Entries {
		g.must(t, key, `mutation ($run: ID!, $criterion: String!, $holds: Boolean!) { labelCriterionResult(input:
			{runId: $run, criterion: $criterion, holds: $holds, note: "Seen."}) { label { id } } }`,
			map[string]any{"run": entry.RunID, "criterion": entry.Criterion, "holds": i%2 == 0}, nil)
	}
	for _, server := range []*gatewayUnderTest{g, resolved} {
		server.must(t, key, document, byID, &read)
		labeled := read.AgentTestExecution
		require.InDelta(t, 1, labeled.PassRate, 1e-12)
		require.InDelta(t, 0.5, labeled.CorrectedPassRate.Rate, 0.02)
		require.Less(t, labeled.CorrectedPassRate.Interval.High, 0.75)
		require.Equal(t, 20, labeled.CorrectedPassRate.Labels)
		require.Equal(t, "test", labeled.Runs.Nodes[0].Labels[0].Person, "the name of the key")
		require.Equal(t, "Seen.", *labeled.Runs.Nodes[0].Labels[0].Note)
	}
	var figures struct {
		JudgeFigures []struct {
			Criterion     *string
			JudgeModel    string
			FalsePasses   struct{ Count, Of int }
			Disagreements []struct{ Run struct{ TestName string } }
		}
	}
	g.must(t, key, `query ($agent: ID!) { judgeFigures(agentId: $agent) { criterion judgeModel falsePasses { count of }
		disagreements { run { testName } } } }`, map[string]any{"agent": execution.AgentID}, &figures)
	require.Len(t, figures.JudgeFigures, 2)
	require.Equal(t, struct{ Count, Of int }{10, 20}, figures.JudgeFigures[0].FalsePasses)
	require.Len(t, figures.JudgeFigures[0].Disagreements, 10)
	require.NotEmpty(t, figures.JudgeFigures[0].Disagreements[0].Run.TestName)
	require.Nil(t, figures.JudgeFigures[0].Criterion)
	refused := g.query(t, key, `query ($agent: ID!) { criterionQueue(agentId: $agent, first: 51) { totalCount } }`,
		map[string]any{"agent": execution.AgentID})
	require.Equal(t, []string{"BAD_INPUT"}, refused.codes())
}
