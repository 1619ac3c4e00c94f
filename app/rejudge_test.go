package app_test

import (
	"context"
	"iter"
	"log/slog"
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

// referee is a judge that gives the same verdict on every criterion.
type referee struct {
	name    string
	verdict string
}

func (r referee) Name() string { return r.name }

func (r referee) Chat(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		if yield(llm.Chunk{Text: `{"evidence":[],"rationale":"So it is.","applies":true,"passed":` + r.verdict + `}`}, nil) {
			yield(llm.Chunk{Finish: llm.FinishStop, Usage: llm.Usage{InputTokens: 10, OutputTokens: 5}}, nil)
		}
	}
}

// An execution can be judged again with another model and other criteria. Both sets of verdicts can be compared.
func TestExecutionIsJudgedAgain(t *testing.T) {
	t.Parallel()
	s := dbtest.NewEnvironment(t)
	e := engine.New(&cast{}, engine.Options{
		Log: slog.New(slog.DiscardHandler), Prices: model.Prices{Message: model.Credit, InputTokens: 1000 * model.Credit,
			OutputTokens: 1000 * model.Credit},
	})
	v := evaluation.New(e, evaluation.Options{
		Judge: referee{"lenient", "true"}, Judges: []llm.Model{referee{"strict", "false"}},
		Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, s.Store.Work(t.Context(), 2, db.Workers{RunTest: v.RunTest}))
	t.Cleanup(func() { require.NoError(t, s.Store.StopWork(context.Background())) })
	g := &gatewayUnderTest{store: s.Store, url: serveEngine(t, s.Store, e, v)}
	_, key := g.keyOf(t, s.Tenant.CompanyID(), model.APIKeyScopeAdmin)
	testID := s.Tests(t, 1)[0]
	_, err := s.Tenant.UpdateSimulationTest(t.Context(), model.UpdateSimulationTestInput{
		TestID: testID, Criteria: []string{"Is never rude", `says "booked"`},
		Checks: []*model.TestCheck{{Expect: model.TestExpectation{TurnsAtMost: new(int32(30))}}},
	})
	require.NoError(t, err)
	spent := func() int { return s.Count(t, "SELECT coalesce(sum(micro_credits), 0) FROM usage_entries") }

	type run struct {
		ID, Status      string
		TestID          string
		Messages        []struct{ Text string }
		CriteriaResults []struct {
			Criterion string
			Passed    bool
			DecidedBy string
		}
		CheckResults []struct{ Passed bool }
		Error        *struct{ Message string }
		RejudgeOf    *struct{ ID, Status string }
		Rejudgements []struct{ ID, Status string }
	}
	type execution struct {
		ID, Verdict  string
		FinishedAt   *string
		JudgeModel   *string
		StartedBy    *string
		RejudgeOfID  *string
		RejudgeOf    *struct{ ID, Verdict string }
		Agreement    *model.JudgeAgreement
		Rejudgements []struct {
			ID, JudgeModel string
			Counts         struct{ Failed int }
		}
		Runs struct{ Nodes []run }
	}
	const fields = `id verdict finishedAt judgeModel startedBy rejudgeOfId rejudgeOf { id verdict } agreement { runs
		sameRuns criteria sameCriteria }
		rejudgements { id judgeModel counts { failed } }
		runs { nodes { id status testId messages { text } criteriaResults { criterion passed decidedBy } checkResults { passed
			} error { message }
			rejudgeOf { id status } rejudgements { id status } } }`
	read := func(id string) (e execution) {
		t.Helper()
		var got struct{ AgentTestExecution execution }
		require.Eventually(t, func() bool {
			g.must(t, key, `query ($id: ID!) { agentTestExecution(id: $id) { `+fields+` } }`, map[string]any{"id": id}, &got)
			return got.AgentTestExecution.FinishedAt != nil
		}, 10*time.Second, 10*time.Millisecond)
		return got.AgentTestExecution
	}
	var started struct{ StartAgentTestExecution struct{ Execution execution } }
	g.must(t, key, `mutation ($test: ID!) { startAgentTestExecution(input: {testIds: [$test]}) { execution { id } } }`,
		map[string]any{"test": testID}, &started)
	held := read(started.StartAgentTestExecution.Execution.ID)
	require.Equal(t, "Passed", held.Verdict)
	require.Equal(t, "test", *held.StartedBy)
	require.Nil(t, held.JudgeModel)
	before := spent()

	const again = `mutation ($input: RejudgeAgentTestExecutionInput!) { rejudgeAgentTestExecution(input: $input) {
		execution { id } } }`
	var rejudged struct{ RejudgeAgentTestExecution struct{ Execution execution } }
	g.must(t, key, again, map[string]any{"input": map[string]any{"executionId": held.ID, "model": "strict"}}, &rejudged)
	strict := read(rejudged.RejudgeAgentTestExecution.Execution.ID)
	require.Equal(t, "Failed", strict.Verdict, "%+v", strict.Runs.Nodes[0].Error)
	require.Equal(t, "strict", *strict.JudgeModel)
	require.Equal(t, "test", *strict.StartedBy)
	require.Equal(t, &model.JudgeAgreement{Runs: 1, Criteria: 2, SameCriteria: 1}, strict.Agreement)
	require.Equal(t, held.ID, strict.RejudgeOf.ID)
	require.Equal(t, "Passed", strict.RejudgeOf.Verdict, "the old verdicts are unchanged")
	judged := strict.Runs.Nodes[0]
	require.Equal(t, held.Runs.Nodes[0].Messages, judged.Messages)
	require.Equal(t, held.Runs.Nodes[0].ID, judged.RejudgeOf.ID)
	require.Equal(t, "Program", judged.CriteriaResults[1].DecidedBy)
	require.True(t, judged.CriteriaResults[1].Passed)
	require.True(t, judged.CheckResults[0].Passed)
	require.Equal(t, 15*int(model.Credit), spent()-before, "only the decisions of the judge cost credits")

	g.must(t, key, again, map[string]any{"input": map[string]any{"executionId": held.ID, "tests": []any{
		map[string]any{"testId": testID, "criteria": []any{`says "sorry"`}},
	}}}, &rejudged)
	reworded := read(rejudged.RejudgeAgentTestExecution.Execution.ID)
	require.Nil(t, reworded.Runs.Nodes[0].Error, "%+v", reworded)
	require.Equal(t, "Failed", reworded.Verdict)
	require.Equal(t, &model.JudgeAgreement{Runs: 1}, reworded.Agreement)
	held = read(held.ID)
	require.Equal(t, []string{reworded.ID, strict.ID}, []string{held.Rejudgements[0].ID, held.Rejudgements[1].ID})
	require.Equal(t, 1, held.Rejudgements[1].Counts.Failed)
	require.Len(t, held.Runs.Nodes[0].Rejudgements, 2)
	require.Nil(t, held.Agreement)

	refused := g.query(t, key, again, map[string]any{"input": map[string]any{"executionId": held.ID, "model": "dear"}})
	require.Equal(t, []string{"BAD_INPUT"}, refused.codes())
	var server struct {
		Server struct{ JudgeModels []string }
	}
	g.must(t, key, `{ server { judgeModels } }`, nil, &server)
	require.Equal(t, []string{"lenient", "strict"}, server.Server.JudgeModels)
	_, reader := g.keyOf(t, s.Tenant.CompanyID(), model.APIKeyScopeBrowse)
	require.Equal(t, []string{"FORBIDDEN"},
		g.query(t, reader, again, map[string]any{"input": map[string]any{"executionId": held.ID}}).codes())
}
