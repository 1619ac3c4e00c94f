package app_test

import (
	"context"
	"iter"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/evaluation"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/model"
)

// failing is a model that fails a number of times, and then delegates to another model.
type failing struct {
	llm.Model
	failures atomic.Int64
}

func (f *failing) Chat(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	if f.failures.Add(-1) >= 0 {
		return func(yield func(llm.Chunk, error) bool) {
			yield(llm.Chunk{}, &llm.Error{Cause: llm.Rejected, Message: "no credit"})
		}
	}
	return f.Model.Chat(ctx, req)
}

// Values are extracted after a chat ends for any reason, and are charged once. Failures of the model or the process are
// retried.
func TestValuesAreExtractedFromChatsAndRuns(t *testing.T) {
	t.Parallel()
	store := dbtest.Open(t, dbtest.URL(t), dbtest.Options())
	extractor := &failing{Model: offline.Extractor()}
	extractor.failures.Store(1)
	e := engine.New(offline.New(), engine.Options{
		Log: slog.New(slog.DiscardHandler), Prices: model.Prices{Message: model.Credit, InputTokens: model.Credit},
	})
	v := evaluation.New(e, evaluation.Options{
		Extractor: extractor, Contact: offline.Contact(), Judge: offline.Judge(), Log: slog.New(slog.DiscardHandler),
	})
	g := &gatewayUnderTest{store: store, url: serveEngine(t, store, e, v)}
	tenant, key := g.company(t, "Extraction")
	agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
		Name: "Desk", Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en", Prompt: "Help.",
		ExtractedValues: []*model.ExtractedValue{{Name: "callerName", Definition: "Full name of the caller.",
			Type: model.ExtractedValueTypeNom}},
	})
	require.NoError(t, err)
	plain, _ := newAgentWithTest(t, tenant)
	ask := func(query string, variables map[string]any, into any) {
		t.Helper()
		g.must(t, key, query, variables, into)
	}
	chat := func(agentID, ended string) (id string) {
		var started struct {
			StartSimulationChat struct{ SimulationChat struct{ ID string } }
		}
		ask(`mutation ($a: ID!) { startSimulationChat(input: {agentId: $a}) { simulationChat { id } } }`,
			map[string]any{"a": agentID}, &started)
		id = started.StartSimulationChat.SimulationChat.ID
		for _, text := range []string{"Hello, my name is Ana Silva.", "Goodbye!"} {
			ask(`mutation ($c: ID!, $t: String!) { sendSimulationMessage(input: {simulationChatId: $c,
				text: $t}) { simulationChat { id } } }`, map[string]any{"c": id, "t": text}, nil)
			if ended == "client" {
				break
			}
		}
		if ended == "client" {
			ask(`mutation ($c: ID!) { endSimulationChat(input: {simulationChatId: $c}) { simulationChat { id } } }`,
				map[string]any{"c": id}, nil)
		}
		return id
	}
	type read struct {
		SimulationChat struct {
			Status          string
			Extracted       map[string]*string
			ExtractionError *string
		}
	}
	extraction := func(id string) (got read) {
		ask(`query ($c: ID!) { simulationChat(id: $c) { status extracted extractionError } }`, map[string]any{"c": id}, &got)
		return got
	}
	first, none := chat(agent.ID, "agent"), chat(plain, "client")
	require.Equal(t, "Ended", extraction(first).SimulationChat.Status, "ending the chat does not wait for the model")
	require.Nil(t, extraction(first).SimulationChat.Extracted)

	require.NoError(t, store.Work(t.Context(), 2, db.Workers{RunTest: v.RunTest, ExtractChat: v.ExtractChat}))
	t.Cleanup(func() { require.NoError(t, store.StopWork(context.Background())) })
	require.Eventually(t, func() bool { return extraction(first).SimulationChat.ExtractionError != nil }, time.Minute,
		50*time.Millisecond)
	require.Contains(t, *extraction(first).SimulationChat.ExtractionError, "no credit")
	second := chat(agent.ID, "client")
	for _, id := range []string{first, second} {
		require.Eventually(t, func() bool { return extraction(id).SimulationChat.Extracted != nil },
			time.Minute, 50*time.Millisecond)
		require.Equal(t, map[string]*string{"callerName": new("Ana Silva")}, extraction(id).SimulationChat.Extracted)
		require.Nil(t, extraction(id).SimulationChat.ExtractionError)
	}
	require.Nil(t, extraction(none).SimulationChat.Extracted)
	require.Nil(t, extraction(none).SimulationChat.ExtractionError)

	extractedOnce := func() (n int) {
		conn := store.Tenant(tenant.CompanyID())
		for entry, err := range conn.UsageEntries(t.Context(), model.ConsumptionRange{From: time.Now().Add(-time.Hour),
			End: time.Now().Add(time.Hour)}) {
			require.NoError(t, err)
			if entry.IdempotencyKey == model.OwnUsageKeys+first+":extracted" {
				n++
			}
		}
		return n
	}
	require.Equal(t, 1, extractedOnce())
	require.NoError(t, v.ExtractChat(t.Context(), tenant, first, 7), "a repeated job does nothing")
	require.Equal(t, 1, extractedOnce())

	test, err := tenant.CreateSimulationTest(t.Context(), model.CreateSimulationTestInput{
		AgentID: agent.ID, Name: "Introduces", Scenario: "Introduce yourself.", MaxTurns: 1,
		ContactSays: []*string{new("Hello, my name is {who}.")},
		Variables:   model.JSONObject(`{"who":"Bo Lind"}`),
		Checks: []*model.TestCheck{
			{Expect: model.TestExpectation{Extracts: &model.ExtractsExpectation{Name: "callerName", Equals: new("{who}")}}}},
	})
	require.NoError(t, err)
	execution, err := tenant.StartAgentTestExecution(t.Context(),
		model.StartAgentTestExecutionInput{TestIds: []string{test.ID}, Repeats: 1, Concurrency: 1})
	require.NoError(t, err)
	var runs struct {
		AgentTestRuns struct {
			Nodes []struct {
				Status       string
				Extracted    map[string]string
				CheckResults []struct{ Expected, Observed string }
			}
		}
	}
	require.Eventually(t, func() bool {
		ask(`query ($e: ID!) { agentTestRuns(executionId: $e) { nodes { status extracted checkResults { expected observed } }
			} }`, map[string]any{"e": execution.ID}, &runs)
		return model.AgentTestRunStatus(runs.AgentTestRuns.Nodes[0].Status).IsFinal()
	}, time.Minute, 50*time.Millisecond)
	run := runs.AgentTestRuns.Nodes[0]
	require.Equal(t, "Passed", run.Status, run.CheckResults)
	require.Equal(t, map[string]string{"callerName": "Bo Lind"}, run.Extracted)
	require.Equal(t, `extracts callerName = "Bo Lind"`, run.CheckResults[0].Expected)
	require.Equal(t, `"Bo Lind"`, run.CheckResults[0].Observed)
}
