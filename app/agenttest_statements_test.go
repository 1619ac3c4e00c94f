package app_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// everythingOfTests selects all relations between agents, tests, folders, executions and runs.
const everythingOfTests = `{
	agents { nodes {
		testFolders { name agent { name } tests(first: 3) { totalCount nodes { name } } }
		tests(first: 50) { totalCount nodes {
			name isFlaky failingSince { promptVersion run { id executionId } lastPassed { promptVersion } } history(first: 3) {
				id status createdAt }
			agent { name } folder { name body }
			lastRun { status messages { text } execution { status } }
			runs(first: 2) { totalCount nodes { attempt status isDraft draftPrompt } }
			... on SimulationTest { criteria toolMocking { mockAllTools } }
			... on ClassificationTest { tagExpected }
		} }
		testExecutions { totalCount nodes {
			verdict passRate passHatK flakyTestIds counts { total judged } agent { name }
			runs(status: Failed, first: 3) { totalCount nodes { testName test { name agent { name } } toolCalls { technicalName }
				} }
		} }
	} }
}`

// matrices selects the tests and runs of executions.
const matrices = `{ agentTestExecutions(first: 20) { nodes {
	promptVersions tests { testId testName folderId folder { name } test { name } runs { id attempt status promptVersion
		durationMs } }
} } }`

func TestRelationsOfTestsTakeAFixedNumberOfStatements(t *testing.T) {
	t.Parallel()
	g, writer := countingGateway(t)
	var taken []int64
	for _, size := range []int{2, 20} {
		company, err := writer.CreateCompany(t.Context(), fmt.Sprintf("Company with %d tests", size))
		require.NoError(t, err)
		tenant := writer.Tenant(company.ID)
		_, key := g.keyOf(t, company.ID, model.APIKeyScopeAdmin)
		for i := range size {
			agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
				Name: fmt.Sprintf("Agent %d", i), Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en",
				Prompt:             "Help.",
				ClassificationTags: []*model.ClassificationTag{{Name: "Done"}},
			})
			require.NoError(t, err)
			folder, err := tenant.CreateAgentTestFolder(t.Context(), model.CreateAgentTestFolderInput{AgentID: agent.ID,
				Name: "Smoke", Color: "#000000"})
			require.NoError(t, err)
			simulation, err := tenant.CreateSimulationTest(t.Context(), model.CreateSimulationTestInput{
				AgentID: agent.ID, FolderID: &folder.ID, Name: "Asks", Scenario: "Ask.", Criteria: []string{"It helps."},
				MaxTurns: 1,
			})
			require.NoError(t, err)
			tagged, err := tenant.CreateClassificationTest(t.Context(), model.CreateClassificationTestInput{
				AgentID: agent.ID, FolderID: &folder.ID, Name: "Tags", TagExpected: "Done",
				ConversationContext: &model.ConversationContext{
					Messages: []model.TestMessage{{Role: model.MessageRoleUser, Text: "Thanks"}}},
			})
			require.NoError(t, err)
			executed(t, tenant, []string{simulation.ID, tagged.ID}, model.AgentTestRunStatusFailed,
				model.AgentTestRunStatusPassed)
		}
		g.must(t, key, `{ company { id } }`, nil, nil) // a key's first use takes another statement

		before := g.statements.Load()
		var got struct {
			Agents struct {
				Nodes []struct {
					TestFolders []struct{ Tests struct{ TotalCount int } }
					Tests       struct {
						Nodes []struct {
							IsFlaky      bool
							FailingSince *struct{ LastPassed *struct{ PromptVersion int } }
							History      []struct{ ID, Status string }
						}
					}
					TestExecutions struct {
						Nodes []struct{ Runs struct{ TotalCount int } }
					}
				}
			}
			AgentTestExecutions struct {
				Nodes []struct {
					PromptVersions []int
					Tests          []struct {
						TestName string
						Folder   struct{ Name string }
						Test     *struct{ Name string }
						Runs     []struct {
							Attempt int
							Status  string
						}
					}
				}
			}
		}
		g.must(t, key, everythingOfTests, nil, &got)
		g.must(t, key, matrices, nil, &got)
		taken = append(taken, g.statements.Load()-before)
		require.Len(t, got.Agents.Nodes, size)
		for _, agent := range got.Agents.Nodes {
			require.Equal(t, 2, agent.TestFolders[0].Tests.TotalCount)
			require.Len(t, agent.Tests.Nodes, 2)
			require.True(t, agent.Tests.Nodes[0].IsFlaky)
			require.Nil(t, agent.Tests.Nodes[0].FailingSince, "its last run passed")
			require.Len(t, agent.Tests.Nodes[0].History, 2)
			require.Equal(t, 2, agent.TestExecutions.Nodes[0].Runs.TotalCount)
		}
		require.Len(t, got.AgentTestExecutions.Nodes, size)
		for _, execution := range got.AgentTestExecutions.Nodes {
			require.Equal(t, []int{1}, execution.PromptVersions)
			require.Len(t, execution.Tests, 2)
			for _, test := range execution.Tests {
				require.Equal(t, "Smoke", test.Folder.Name)
				require.Equal(t, test.TestName, test.Test.Name)
				require.Len(t, test.Runs, 2)
				require.Equal(t, "Failed", test.Runs[0].Status)
				require.Equal(t, 2, test.Runs[1].Attempt)
			}
		}
	}
	t.Logf("%d statements", taken[0])
	require.Equal(t, taken[0], taken[1], "statements do not grow with the rows")
}
