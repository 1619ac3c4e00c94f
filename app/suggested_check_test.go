package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestSuggestedChecksAreReadable(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Suggested")
	agentID := manyAgents(t, tenant, 1)
	tool, err := tenant.CreateTool(t.Context(), model.CreateToolInput{Name: "Orders", TechnicalName: "get_order"})
	require.NoError(t, err)
	_, err = tenant.ConnectTools(t.Context(), agentID, tool.ID)
	require.NoError(t, err)
	_, err = tenant.CreateSimulationTest(t.Context(), model.CreateSimulationTestInput{AgentID: agentID, Name: "Orders",
		MaxTurns: 2, Scenario: "You want to know where your order is.",
		Criteria: []string{"is polite", "calls get_order in a gracious fashion", "calls get_order"}})
	require.NoError(t, err)
	var read struct {
		AgentTests struct {
			Nodes []struct {
				Obstacles       []string
				SuggestedChecks []struct {
					Criterion int
					Check     struct {
						Description string
						Expect      struct {
							Called struct{ TechnicalName string }
						}
					}
				}
			}
		}
	}
	g.must(t, key, `{ agentTests { nodes { ... on SimulationTest { obstacles suggestedChecks { criterion check {
		description expect { called { technicalName } } } } } } } }`, nil, &read)
	test := read.AgentTests.Nodes[0]
	require.Len(t, test.SuggestedChecks, 1)
	require.Equal(t, 1, test.SuggestedChecks[0].Criterion)
	require.Equal(t, "get_order", test.SuggestedChecks[0].Check.Expect.Called.TechnicalName)
	require.Contains(t, test.Obstacles, "criterion 2 needs the judge; the program could check this instead: "+
		test.SuggestedChecks[0].Check.Description)
}
