package app_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInvalidToolMockingIsRefused uses REST, which answers every fault with a 422 that names the fault.
func TestInvalidToolMockingIsRefused(t *testing.T) {
	t.Parallel()
	c := openClinic(t)
	tools := fmt.Sprintf("%s (book), %s (look_up)", c.book, c.lookUp)
	tool := func(id string, more mocking) mocking { return mocking{"mockedTools": []mocking{mockedTool(id, more)}} }
	for name, test := range map[string]struct {
		mocking mocking
		// faulty is the path of the fault. says is a part of the detail.
		faulty, says string
	}{
		"rules of a tool": {tool(c.book, mocking{"rules": []mocking{}}), "toolMocking.mockedTools.0.rules", "rules"},
		"rules of a sub-agent": {mocking{"mockedSubAgents": []mocking{{"subAgentId": c.expert, "rules": []mocking{}}}},
			"toolMocking.mockedSubAgents.0.rules", "rules"},
		"side effects":         {mocking{"sideEffects": "Deny"}, "toolMocking.sideEffects", "sideEffects"},
		"an unknown property":  {mocking{"mockEverything": true}, "toolMocking.mockEverything", "mockEverything"},
		"a tool without an id": {tool("", nil), "toolMocking.mockedTools.0.toolId", "toolId"},
		"a delay above its bound": {tool(c.book, mocking{"delaySeconds": 60.5}), "toolMocking.mockedTools.0.delaySeconds",
			"60"},
		"a delay below its bound": {tool(c.book, mocking{"delaySeconds": -1}), "toolMocking.mockedTools.0.delaySeconds",
			"0"},
		"an unknown tool": {tool("tool_of_nobody", nil), "toolMocking.mockedTools.0.toolId",
			`tool "tool_of_nobody" is not connected to the agent; connected: ` + tools},
		"the tool of a sub-agent": {tool(c.dig, nil), "toolMocking.mockedTools.0.toolId",
			fmt.Sprintf("tool %q is not connected to the agent; connected: %s", c.dig, tools)},
		"a sub-agent as a tool": {tool(c.expert, nil), "toolMocking.mockedTools.0.toolId", "connected: " + tools},
		"an unknown sub-agent": {mocking{"mockedSubAgents": []mocking{{"subAgentId": "sub_of_nobody"}}},
			"toolMocking.mockedSubAgents.0.subAgentId", fmt.Sprintf("connected: %s (ask_expert)", c.expert)},
		"the same tool twice": {mocking{"mockedTools": []mocking{mockedTool(c.book, nil), mockedTool(c.book, nil)}},
			"toolMocking.mockedTools.1.toolId", "is mocked twice"},
		"the same sub-agent twice": {
			mocking{"mockedSubAgents": []mocking{{"subAgentId": c.expert}, {"subAgentId": c.expert}}},
			"toolMocking.mockedSubAgents.1.subAgentId", "is mocked twice"},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := c.exchange(t, http.MethodPost, "/SimulationChat/start",
				map[string]any{"agentId": c.desk, "toolMocking": test.mocking})
			require.Equal(t, http.StatusUnprocessableEntity, status, string(body))
			var problem struct {
				Detail, Code string
				Errors       map[string][]string
			}
			require.NoError(t, json.Unmarshal(body, &problem))
			require.Equal(t, "UNPROCESSABLE", problem.Code)
			require.Equal(t, []string{test.faulty}, slices.Sorted(maps.Keys(problem.Errors)))
			require.Contains(t, problem.Detail, test.says)
		})
	}
	var chats struct{ SimulationChats struct{ TotalCount int } }
	a := c.ask(t, `{ simulationChats { totalCount } }`, nil)
	require.NoError(t, json.Unmarshal(a.Data, &chats))
	require.Zero(t, chats.SimulationChats.TotalCount)
}

// Only GraphQL can set rules and denied effects, but a chat that has them continues over REST.
func TestMockingRulesContinueOverREST(t *testing.T) {
	t.Parallel()
	c := openClinic(t, book, calls("look_up", `{}`), calls("book", `{"day":"Tuesday"}`), says("Tuesday it is."))
	a := c.ask(t, `mutation ($desk: ID!, $book: ID!) { startSimulationChat(input: {agentId: $desk, toolMocking: {
		sideEffects: Deny
		mockedTools: [{toolId: $book, resultTemplate: "Booked for {day}", rules: [
			{when: [{argument: "day", equals: "Monday"}], failure: {kind: HttpError, status: 503}}
		]}]
	}}) { simulationChat { id coverage { path technicalName effect } } }
		}`, map[string]any{"desk": c.desk, "book": c.book})
	require.Empty(t, a.Errors)
	var started struct {
		StartSimulationChat struct {
			SimulationChat struct {
				ID       string
				Coverage []struct {
					Path                  []string
					TechnicalName, Effect string
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(a.Data, &started))
	chat := started.StartSimulationChat.SimulationChat
	effects := map[string]string{}
	for _, covered := range chat.Coverage {
		effects[strings.Join(append(covered.Path, covered.TechnicalName), "/")] = covered.Effect
	}
	require.Equal(t, map[string]string{"book": "Mocked", "look_up": "Denied", "ask_expert": "Real",
		"transfer_call": "Denied", "ask_expert/dig": "Denied"}, effects)

	var sent restChat
	c.rest(t, http.MethodPost, "/SimulationChat/send-message", map[string]any{"simulationChatId": chat.ID,
		"message": "Book Monday"}, &sent)
	require.Equal(t, "Tuesday it is.", sent.Messages[1].Text)
	made := c.kept(t, chat.ID).ToolCalls
	require.Len(t, made, 3)
	require.Contains(t, *made[0].Error, "503")
	require.True(t, made[0].Mocked)
	require.Contains(t, *made[1].Error, "side effects are denied")
	require.Equal(t, "Booked for Tuesday", *made[2].Result)
}
