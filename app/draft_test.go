package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/model"
)

func TestDraftsAreMarked(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	company, err := g.store.CreateCompany(t.Context(), "Drafts")
	require.NoError(t, err)
	tenant, key := g.keyOf(t, company.ID, model.APIKeyScopeAdmin)
	_, reader := g.keyOf(t, company.ID, model.APIKeyScopeRead)
	desk, _ := frontDesk(t, tenant)
	test, err := tenant.CreateSimulationTest(t.Context(), model.CreateSimulationTestInput{
		AgentID: desk, Name: "Asks", Scenario: "Ask.", Criteria: []string{"It helps."}, MaxTurns: 1,
	})
	require.NoError(t, err)
	var started struct {
		Chat struct {
			SimulationChat struct {
				ID           string
				IsDraft      bool
				DraftPrompt  *string
				Instructions *string
				Messages     []struct{ Role, Text string }
			}
		}
		Execution struct {
			Execution struct {
				ID          string
				IsDraft     bool
				DraftPrompt *string
				Runs        struct {
					Nodes []struct {
						ID           string
						IsDraft      bool
						DraftPrompt  *string
						Instructions *string
						Test         struct{ LastRunID *string }
					}
				}
			}
		}
	}
	g.must(t, key, `mutation ($agent: ID!, $test: ID!) {
		chat: startSimulationChat(input: {agentId: $agent, dataBag: {name: "Ana"}, prompt: "Try {name}.", messages: [
			{role: user, text: "Hello"}, {role: assistant, text: "Yes?"}
		]}) { simulationChat { id isDraft draftPrompt instructions messages { role text } } }
		execution: startAgentTestExecution(input: {testIds: [$test], prompt: "Try {name}."}) { execution {
			id isDraft draftPrompt runs { nodes { id isDraft draftPrompt instructions test { lastRunId } } }
		} }
	}`, map[string]any{"agent": desk, "test": test.ID}, &started)
	chat, execution := started.Chat.SimulationChat, started.Execution.Execution
	require.True(t, chat.IsDraft)
	require.Equal(t, "Try {name}.", *chat.DraftPrompt)
	require.Contains(t, *chat.Instructions, "Try Ana.")
	require.Len(t, chat.Messages, 2)
	require.True(t, execution.IsDraft)
	require.Equal(t, "Try {name}.", *execution.DraftPrompt)
	run := execution.Runs.Nodes[0]
	require.True(t, run.IsDraft)
	require.Equal(t, "Try {name}.", *run.DraftPrompt)
	require.Nil(t, run.Instructions, "it has not started")
	require.Nil(t, run.Test.LastRunID)

	for _, query := range []string{`{ simulationChat(id: "` + chat.ID + `") { instructions } }`, `{ agentTestRun(id: "` +
		run.ID + `") { instructions } }`} {
		a := g.query(t, reader, query, nil)
		require.Equal(t, []string{"FORBIDDEN"}, a.codes(), query)
		g.must(t, key, query, nil, nil)
	}
}

func TestAgentShowsCoverageBeforeAChat(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Coverage")
	desk, book := frontDesk(t, tenant)
	type calls struct {
		Coverage []struct{ TechnicalName, Effect string }
	}
	var read struct {
		Agent struct {
			Bare, Mocked, Denied []struct{ TechnicalName, Effect string }
		}
	}
	g.must(t, key, `query ($agent: ID!, $book: ID!) { agent(id: $agent) {
		bare: coverage { technicalName effect }
		mocked: coverage(toolMocking: {mockedTools: [{toolId: $book}, {toolId: "tool_of_nobody"}]}) { technicalName effect }
		denied: coverage(toolMocking: {sideEffects: Deny}) { technicalName effect }
	} }`, map[string]any{"agent": desk, "book": book}, &read)
	require.Equal(t, "Unavailable", read.Agent.Bare[0].Effect)
	require.Equal(t, "Mocked", read.Agent.Mocked[0].Effect)
	require.Equal(t, "Denied", read.Agent.Denied[0].Effect)
	a := g.query(t, key, `query ($agent: ID!) { agent(id: $agent) { coverage(toolMocking: {mockedTools: [{toolId: "x",
		delaySeconds: 61}]}) { effect } } }`,
		map[string]any{"agent": desk})
	require.Equal(t, []string{"BAD_INPUT"}, a.codes())

	// The coverage of a list takes the same number of statements for any number of agents.
	var taken []int64
	for range 2 {
		before := g.statements.Load()
		var list struct{ Agents struct{ Nodes []calls } }
		g.must(t, key, `{ agents { nodes { coverage(toolMocking: {mockAllTools: true}) { technicalName effect } } } }`, nil,
			&list)
		taken = append(taken, g.statements.Load()-before)
		for _, agent := range list.Agents.Nodes {
			require.Equal(t, "Mocked", agent.Coverage[0].Effect)
		}
		for range 5 {
			agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
				Name: "Another", Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en", Prompt: "Help.",
			})
			require.NoError(t, err)
			_, err = tenant.ConnectTool(t.Context(), model.ConnectToolInput{AgentID: agent.ID, ToolID: book})
			require.NoError(t, err)
		}
	}
	require.Equal(t, taken[0], taken[1], "statements do not grow with the agents")
}

func TestServerReportsItsVersionAndModel(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Server")
	g.url = serveApp(t, app.Options{
		Store: g.store, Engine: engine.New(offline.New(), engine.Options{}), Settings: gateway.DefaultSettings(), Plan: true,
		Version: "v1.2.3", Workers: 7,
	})
	a := g.query(t, key, `{ server { version model isOffline embeddingModel workers } }`, nil)
	require.Empty(t, a.Errors)
	require.JSONEq(t, `{"server":{"version":"v1.2.3","model":"offline","isOffline":true,"embeddingModel":null,"workers":7}}`, string(a.Data))
	require.Equal(t, []string{"UNAUTHENTICATED"}, g.query(t, "", `{ server { version } }`, nil).codes())
}
