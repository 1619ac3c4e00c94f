package app_test

import (
	"context"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/evaluation"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// reviewer is a judge that finds that each contact played its part.
type reviewer struct{ referee }

func (r reviewer) Chat(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	if !strings.HasPrefix(req.System, "You check the simulation") {
		return r.referee.Chat(ctx, req)
	}
	return func(yield func(llm.Chunk, error) bool) {
		yield(llm.Chunk{
			Text:   `{"evidence":[],"rationale":"It did.","onRole":true,"loops":false,"leaked":false,"completed":true}`,
			Finish: llm.FinishStop, Usage: llm.Usage{InputTokens: 10, OutputTokens: 5},
		}, nil)
	}
}

// An execution is estimated from the last runs of its tests. Tests that never ran count like the average of the others.
func TestExecutionIsEstimatedByLastRuns(t *testing.T) {
	t.Parallel()
	s := dbtest.NewEnvironment(t)
	log := slog.New(slog.DiscardHandler)
	e := engine.New(&cast{}, engine.Options{Log: log, Prices: model.Prices{
		Message: model.Credit, InputTokens: model.Credit}})
	v := evaluation.New(e, evaluation.Options{Judge: reviewer{referee{"lenient", "true"}}, Log: log, ReviewContact: true})
	require.NoError(t, s.Store.Work(t.Context(), 2, db.Workers{RunTest: v.RunTest}))
	t.Cleanup(func() { require.NoError(t, s.Store.StopWork(context.Background())) })
	g := &gatewayUnderTest{store: s.Store, url: serveEngine(t, s.Store, e, v)}
	_, key := g.keyOf(t, s.Tenant.CompanyID(), model.APIKeyScopeAdmin)
	tests := s.Tests(t, 2)
	type shown struct {
		Runs, RunsAtMost int
		Seconds, Credits *float64
		NoticedFalls     []model.NoticedFall
	}
	estimate := func(key string, input map[string]any) shown {
		t.Helper()
		var read struct{ AgentTestExecutionEstimate shown }
		g.must(t, key, `query ($input: StartAgentTestExecutionInput!) { agentTestExecutionEstimate(input: $input) {
			runs runsAtMost seconds credits noticedFalls { repeats passRate } } }`, map[string]any{"input": input}, &read)
		return read.AgentTestExecutionEstimate
	}
	both := map[string]any{"testIds": tests, "repeats": 5}
	unknown := estimate(key, both)
	require.Nil(t, unknown.Seconds)
	require.Nil(t, unknown.Credits)
	require.Equal(t, []model.NoticedFall{{Repeats: 5, PassRate: new(0.1)}, {Repeats: 20, PassRate: new(0.6)}},
		unknown.NoticedFalls)

	_, err := s.Tenant.UpdateSimulationTest(t.Context(), model.UpdateSimulationTestInput{
		TestID: tests[0], Criteria: []string{"Is never rude"},
	})
	require.NoError(t, err)
	var started struct {
		StartAgentTestExecution struct{ Execution struct{ ID string } }
	}
	g.must(t, key, `mutation ($test: ID!) { startAgentTestExecution(input: {testIds: [$test]}) { execution { id } } }`,
		map[string]any{"test": tests[0]}, &started)
	require.Eventually(t, func() bool {
		execution, err := s.Tenant.AgentTestExecution(t.Context(), started.StartAgentTestExecution.Execution.ID)
		return err == nil && execution.FinishedAt != nil
	}, 10*time.Second, 10*time.Millisecond)
	_, err = s.Tenant.UpdateSimulationTest(t.Context(), model.UpdateSimulationTestInput{
		TestID: tests[1], Rows: []*model.TestRow{{Values: model.JSONObject(`{"n":1}`)}, {Values: model.JSONObject(`{"n":2}`)}, {Values: model.JSONObject(`{"n":3}`)}},
	})
	require.NoError(t, err)
	spent := s.Count(t, "SELECT coalesce(sum(micro_credits), 0) FROM usage_entries")
	require.Positive(t, spent)

	known := estimate(key, both)
	require.Equal(t, 20, known.Runs, "the rows of a test count separately")
	require.Equal(t, 20, known.RunsAtMost)
	require.InDelta(t, 20*float64(spent)/1e6, *known.Credits, 1e-9)
	require.Positive(t, *known.Seconds)
	serial := estimate(key, map[string]any{"testIds": tests, "repeats": 5, "concurrency": 1})
	require.InEpsilon(t, 5**known.Seconds, *serial.Seconds, 0.001)

	talked := s.Count(t, "SELECT (held->>'spentMicro')::int + (held->>'reviewMicro')::int FROM agent_test_runs")
	require.Less(t, talked, spent)
	voted := estimate(key, map[string]any{"testIds": tests, "repeats": 5, "votes": 3})
	require.InDelta(t, 20*float64(3*spent-2*talked)/1e6, *voted.Credits, 1e-9, "only judging costs three times as much")

	early := estimate(key, map[string]any{"testIds": tests, "repeats": 20, "stopRepeating": map[string]any{
		"good": 0.9, "bad": 0.5}})
	require.Equal(t, []int{24, 80}, []int{early.Runs, early.RunsAtMost})
	require.Equal(t, []model.NoticedFall{{Repeats: 20, PassRate: new(0.5)}}, early.NoticedFalls)

	// Each simulation is reviewed once.
	var read struct {
		AgentTestExecutionEstimate struct{ Credits, ReviewCredits *float64 }
	}
	asked := `query ($input: StartAgentTestExecutionInput!) {
		agentTestExecutionEstimate(input: $input) { credits reviewCredits } }`
	g.must(t, key, asked, map[string]any{"input": both}, &read)
	require.InDelta(t, 20*10/1000., *read.AgentTestExecutionEstimate.ReviewCredits, 1e-9)
	unreviewed := &gatewayUnderTest{store: s.Store, url: serveEngine(t, s.Store, e, evaluation.New(e, evaluation.Options{
		Judge: referee{"lenient", "true"}, Log: log}))}
	reviews := *read.AgentTestExecutionEstimate.ReviewCredits
	unreviewed.must(t, key, asked, map[string]any{"input": both}, &read)
	require.Nil(t, read.AgentTestExecutionEstimate.ReviewCredits)
	require.InDelta(t, *known.Credits-reviews, *read.AgentTestExecutionEstimate.Credits, 1e-9)

	_, foreign := g.company(t, "Other")
	refused := g.query(t, foreign, `query ($tests: [ID!]) { agentTestExecutionEstimate(input: {testIds: $tests}) { runs } }`,
		map[string]any{"tests": tests})
	require.Equal(t, []string{"NOT_FOUND"}, refused.codes())
}
