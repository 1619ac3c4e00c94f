package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/model"
)

// Retrieval takes separate statements for each chat, so the number of chats in one operation is bounded.
func TestRetrievalsOfOneOperationAreBounded(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Many chats")
	dataset, err := tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: "Hours"})
	require.NoError(t, err)
	for i := range 60 {
		_, err := tenant.CreateKnowledgeBaseChat(t.Context(), model.CreateKnowledgeBaseChatInput{
			Name: fmt.Sprintf("Chat %d", i), DatasetIds: []string{dataset.ID},
		})
		require.NoError(t, err)
	}
	g.must(t, key, `{ company { id } }`, nil, nil) // a key's first use takes another statement
	const list = `query ($first: Int!) { knowledgeBaseChats(first: $first) { nodes { retrieve(question:
		"When are you open?") { content } } } }`
	const most = 9

	before := g.statements.Load()
	g.must(t, key, list, map[string]any{"first": most}, nil)
	taken := g.statements.Load() - before
	require.LessOrEqual(t, taken, int64(2+12*most))

	before = g.statements.Load()
	a := g.query(t, key, list, map[string]any{"first": most + 1})
	require.Equal(t, []string{"LIMIT_EXCEEDED"}, a.codes())
	require.Empty(t, a.Data)
	var aliases strings.Builder
	for i := range most + 1 {
		fmt.Fprintf(&aliases, ` c%d: retrieve(question: "When?") { content }`, i)
	}
	a = g.query(t, key, `{ knowledgeBaseChats(first: 1) { nodes { `+aliases.String()+` } } }`, nil)
	require.Equal(t, []string{"LIMIT_EXCEEDED"}, a.codes())
	require.LessOrEqual(t, g.statements.Load()-before, int64(2), "nothing but the key was read")
}

// If all agents delegate to each other, a short query returns far more than its estimated cost.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Everybody knows everybody")
	const agents = 12
	ids := make([]string, agents)
	for i := range ids {
		agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
			Name: fmt.Sprintf("Agent %d", i), Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en",
			Prompt: strings.Repeat("x", 50_000),
		})
		require.NoError(t, err)
		ids[i] = agent.ID
	}
	for _, from := range ids {
		for j, to := range ids {
			if from == to {
				continue
			}
			_, _, err := tenant.AddSubAgent(t.Context(), model.AddSubAgentInput{
				AgentID: from, DelegateAgentID: to, Name: "Other", TechnicalName: fmt.Sprintf("other_%d", j),
			})
			require.NoError(t, err)
		}
	}
	levels := func(n int, leaf string) string {
		return "{ agents { nodes { " + strings.Repeat("subAgents { agent { ", n) + leaf + strings.Repeat(" } }", n) + " } } }"
	}
	g.must(t, key, levels(3, "id"), nil, nil)
	g.must(t, key, levels(1, "prompt"), nil, nil)
	for _, query := range []string{levels(5, "id"), levels(2, "prompt")} {
		a := g.query(t, key, query, nil)
		require.Equal(t, []string{"LIMIT_EXCEEDED"}, a.codes(), query)
		require.JSONEq(t, "null", string(a.Data))
	}
	response := g.do(t, http.MethodGet, "/Agent/"+ids[0], key, "")
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
}

// A frontend that draws agents with their nested sub-agents sends this query first.
func TestFiveLevelsOfSubAgentsAreAnswered(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "A chain")
	var above string
	for i := range 6 {
		agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
			Name: fmt.Sprintf("Agent %d", i), Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en",
			Prompt: "Help.",
		})
		require.NoError(t, err)
		if above != "" {
			_, _, err := tenant.AddSubAgent(t.Context(), model.AddSubAgentInput{AgentID: above, DelegateAgentID: agent.ID,
				Name: "Next", TechnicalName: "next"})
			require.NoError(t, err)
		}
		above = agent.ID
	}
	const tests = "name tests(first: 5) { nodes { lastRun { status } } } "
	var answer struct{ Agents struct{ Nodes []any } }
	g.must(t, key, "{ agents(first: 10) { nodes { "+strings.Repeat(tests+"subAgents { agent { ", 5)+tests+
		strings.Repeat(" } }", 5)+" } } }", nil, &answer)
	require.Len(t, answer.Agents.Nodes, 6)
	require.Contains(t, fmt.Sprint(answer.Agents.Nodes), "Agent 5")
}

// The executor resolves the tests and runs of an execution one by one. The largest execution, of 4,000 runs, is within
// the limit. This test scales both down to a fifth.
func TestLargestExecutionIsShown(t *testing.T) {
	t.Parallel()
	settings := gateway.DefaultSettings()
	settings.ResponseWork /= 5
	store := dbtest.New(t)
	company, err := store.CreateCompany(t.Context(), "Large")
	require.NoError(t, err)
	tenant := store.Tenant(company.ID)
	_, key, err := tenant.CreateAPIKey(t.Context(),
		model.CreateAPIKeyInput{Name: "read", Scopes: []model.APIKeyScope{model.APIKeyScopeRead}})
	require.NoError(t, err)
	execution := dbtest.Execute(t, tenant, dbtest.Tests(t, tenant, 40, 1), 20, 1)
	s := shape{query: `{ agentTestExecution(id: "` + execution.ID +
		`") { __typename id status repeats passHatK counts { total judged }
		tests { __typename testId rowNumber rowName runs { __typename id attempt status promptVersion durationMs } } } }`}
	o := transports["POST"](t, serveWith(t, store, settings), s, key)
	require.Empty(t, o.code)
	require.Greater(t, o.bytes, 800*100)

	s.query = strings.Replace(s.query, "tests {", "tests { again: runs { id attempt status promptVersion durationMs } "+
		"oncemore: runs { id attempt status promptVersion durationMs } ", 1)
	o = transports["POST"](t, serveWith(t, store, settings), s, key)
	require.Equal(t, "LIMIT_EXCEEDED", o.code)
}
