package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// executed returns the id of an execution that ran each test twice, with alternating outcomes.
func executed(t *testing.T, tenant *db.Tenant, tests []string, outcomes ...model.AgentTestRunStatus) string {
	t.Helper()
	execution, err := tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{TestIds: tests,
		Repeats: 2, Concurrency: 50})
	require.NoError(t, err)
	runs, err := dbtest.Pages[*model.AgentTestRun](t.Context(), tenant, db.RunsOfExecutions, nil, []string{execution.ID},
		model.PageArgs{First: 100})
	require.NoError(t, err)
	for _, r := range runs {
		run, err := tenant.ClaimRun(t.Context(), r.ID, 1)
		require.NoError(t, err)
		run.Status = outcomes[int(r.Attempt-1)%len(outcomes)]
		if run.Status == model.AgentTestRunStatusError {
			run.Error = &model.RunError{Cause: model.RunErrorCauseAgent, Message: "the model did not answer"}
		}
		require.NoError(t, tenant.FinishRun(t.Context(), run))
	}
	return execution.ID
}

// countingGateway returns a gateway that counts its statements, and a second store whose writes are not counted.
func countingGateway(t *testing.T, about ...string) (*gatewayUnderTest, *db.Store) {
	t.Helper()
	address, counted, options := dbtest.URL(t), &statements{about: strings.Join(about, " ")}, dbtest.Options()
	options.Tracer = counted
	g := &gatewayUnderTest{store: dbtest.Open(t, address, options), statements: counted}
	g.url = serveStore(t, g.store)
	return g, dbtest.Open(t, address, dbtest.Options())
}

func TestComparisonsTakeTheSameStatements(t *testing.T) {
	t.Parallel()
	g, writer := countingGateway(t)
	const query = `query ($base: ID!, $head: ID!) { compareAgentTestExecutions(baseId: $base, headId: $head) {
		base { id agent { name } flakyTestIds passHatK passHatKTests passRateInterval { low high } } bases { id } head { id
			counts { total judged passRate } flakyTestIds }
		tests {
			testId testName test { id name isFlaky agent { name } } base { ...counts } head { ...counts }
			baseRuns { id status } headRuns { id status } change isFlakyInBase isFlakyInHead pValue adjustedPValue conclusion
				decidingRepeats
		}
		newlyFailing newlyPassing flaky baseCounts { ...counts } headCounts { ...counts } pValue stratifiedPValue correction
			conclusion
	} }
	fragment counts on AgentTestRunCounts { total queued running passed failed error cancelled judged passRate
		passRateInterval { low high } }`
	for _, size := range []int{2, 40} {
		company, err := writer.CreateCompany(t.Context(), fmt.Sprintf("Company with %d tests", size))
		require.NoError(t, err)
		tenant := writer.Tenant(company.ID)
		_, key := g.keyOf(t, company.ID, model.APIKeyScopeAdmin)
		agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
			Name: "Tested", Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en", Prompt: "Help.",
		})
		require.NoError(t, err)
		var tests []string
		for i := range size {
			test, err := tenant.CreateSimulationTest(t.Context(), model.CreateSimulationTestInput{
				AgentID: agent.ID, Name: fmt.Sprintf("Test %d", i), Scenario: "Ask.", Criteria: []string{"It helps."}, MaxTurns: 1,
			})
			require.NoError(t, err)
			tests = append(tests, test.ID)
		}
		base := executed(t, tenant, tests, model.AgentTestRunStatusPassed)
		head := executed(t, tenant, tests[:size-1], model.AgentTestRunStatusFailed, model.AgentTestRunStatusPassed)
		require.NoError(t, tenant.DeleteAgentTest(t.Context(), tests[0]))
		g.must(t, key, `{ company { id } }`, nil, nil) // a key's first use takes another statement

		before := g.statements.Load()
		var got struct {
			CompareAgentTestExecutions struct {
				Base, Head struct {
					ID           string
					FlakyTestIDs []string
				}
				Tests []struct {
					TestID, TestName, Change, Conclusion string
					Test                                 *struct{ IsFlaky bool }
					Base, Head                           *struct{ Judged, Passed int }
					BaseRuns, HeadRuns                   []struct{ ID, Status string }
					PValue                               *float64
				}
				NewlyFailing, Flaky int
				PValue              *float64
				Conclusion          string
				HeadCounts          struct{ PassRate float64 }
			}
		}
		g.must(t, key, query, map[string]any{"base": base, "head": head}, &got)
		// The statements read both executions and their tests; the agent, counts and tallies of each execution; and the
		// agent and flakiness of each test.
		require.EqualValues(t, 8, g.statements.Load()-before, "%d tests", size)

		c := got.CompareAgentTestExecutions
		require.Len(t, c.Tests, size)
		require.Equal(t, []string{base, head}, []string{c.Base.ID, c.Head.ID})
		require.Empty(t, c.Base.FlakyTestIDs)
		require.Equal(t, tests[:size-1], c.Head.FlakyTestIDs)
		require.Equal(t, []int{size - 1, size - 1}, []int{c.NewlyFailing, c.Flaky})
		require.InDelta(t, 0.5, c.HeadCounts.PassRate, 0)
		require.Equal(t, map[int]string{2: "CannotDecide", 40: "Regressed"}[size], c.Conclusion)
		for i, test := range c.Tests {
			require.Equal(t, i == 0, test.Test == nil, "the first was deleted")
			require.Contains(t, test.TestName, "Test ")
			require.Len(t, test.BaseRuns, 2)
			require.Equal(t, "Passed", test.BaseRuns[0].Status)
			require.Len(t, test.HeadRuns, 2*min(1, size-1-i))
			require.Equal(t, "CannotDecide", test.Conclusion)
			if i == size-1 {
				require.Equal(t, "Removed", test.Change)
				require.Nil(t, test.Head)
				require.Nil(t, test.PValue)
				require.False(t, test.Test.IsFlaky)
				continue
			}
			require.Equal(t, "NewlyFailing", test.Change)
			require.Equal(t, 2, test.Head.Judged)
			require.Equal(t, 1, test.Head.Passed)
			require.InDelta(t, 1, *test.PValue, 1e-9)
			require.True(t, i == 0 || test.Test.IsFlaky)
		}
		a := g.query(t, key, query, map[string]any{"base": base, "head": "execution_none"})
		require.Equal(t, []string{"NOT_FOUND"}, a.codes())
	}
}

const testFromChat = `mutation ($in: CreateTestFromSimulationChatInput!) { createTestFromSimulationChat(input: $in) {
	agentTest {
		id name kind isFlaky conversationMessages { role text } variables
		toolMocking { mockAllTools mockedSubAgents { subAgentId resultTemplate rules { callIndex } } sideEffects }
	}
	warnings
} }`

// The real calls of a chat become the mocks of the new test.
func TestChatBecomesTest(t *testing.T) {
	t.Parallel()
	c := openClinic(t, calls("ask_expert", askExpert), says("Stand up. {day}"), says("Just stand up."))
	var chat struct {
		StartSimulationChat struct{ SimulationChat struct{ ID string } }
	}
	a := c.ask(t, `mutation ($in: StartSimulationChatInput!) { startSimulationChat(input: $in) { simulationChat { id } }
		}`,
		map[string]any{"in": map[string]any{"agentId": c.desk, "toolMocking": mocking{"mockAllTools": true,
			"sideEffects": "Deny"}, "dataBag": map[string]any{"odd": "1"}}})
	require.NoError(t, json.Unmarshal(a.Data, &chat))
	id := chat.StartSimulationChat.SimulationChat.ID
	c.ask(t, `mutation ($in: SendSimulationMessageInput!) { sendSimulationMessage(input: $in) { newMessages { text } } }`,
		map[string]any{"in": map[string]any{"simulationChatId": id, "text": "How do I get up?"}})

	var made struct {
		CreateTestFromSimulationChat struct {
			AgentTest struct {
				ID, Name, Kind       string
				IsFlaky              bool
				ConversationMessages []struct{ Role, Text string }
				Variables            map[string]string
				ToolMocking          struct {
					MockAllTools    bool
					MockedSubAgents []struct {
						SubAgentID, ResultTemplate string
						Rules                      []any
					}
					SideEffects string
				}
			}
			Warnings []string
		}
	}
	in := map[string]any{"simulationChatId": id, "name": "Getting up", "scenario": "You lie in bed.",
		"criteria": []string{"says \"up\""}}
	a = c.ask(t, testFromChat, map[string]any{"in": in})
	require.NoError(t, json.Unmarshal(a.Data, &made))
	test, warnings := made.CreateTestFromSimulationChat.AgentTest, made.CreateTestFromSimulationChat.Warnings
	require.Equal(t, "Getting up", test.Name)
	require.Equal(t, "Simulation", test.Kind)
	require.False(t, test.IsFlaky)
	require.Equal(t, "Just stand up.", test.ConversationMessages[len(test.ConversationMessages)-1].Text)
	require.Equal(t, "How do I get up?", test.ConversationMessages[len(test.ConversationMessages)-2].Text)
	require.Equal(t, "1", test.Variables["odd"])
	require.True(t, test.ToolMocking.MockAllTools)
	require.Equal(t, "Deny", test.ToolMocking.SideEffects)
	require.Len(t, test.ToolMocking.MockedSubAgents, 1)
	require.Equal(t, c.expert, test.ToolMocking.MockedSubAgents[0].SubAgentID)
	require.Equal(t, "Stand up. {day|literal}", test.ToolMocking.MockedSubAgents[0].ResultTemplate)
	require.Empty(t, test.ToolMocking.MockedSubAgents[0].Rules)
	require.Equal(t, []string{`the variable "odd" is not a field of the agent. It is kept, but check its name`}, warnings)

	in["upToSequence"] = len(test.ConversationMessages) + 1
	a = c.ask(t, testFromChat, map[string]any{"in": in})
	require.Equal(t, []string{"UNPROCESSABLE"}, a.codes())
	require.Contains(t, a.Errors[0].Extensions.Fields["upToSequence"][0],
		fmt.Sprintf("at most %d, the sequence of the chat", len(test.ConversationMessages)))
	in["simulationChatId"] = "simchat_none"
	require.Equal(t, []string{"NOT_FOUND"}, c.ask(t, testFromChat, map[string]any{"in": in}).codes())
	in["simulationChatId"], in["criteria"], in["upToSequence"] = id, []string{}, 0
	a = c.ask(t, testFromChat, map[string]any{"in": in})
	require.Contains(t, a.Errors[0].Extensions.Fields["criteria"][0], "at least one")
}
