package app_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// Starting an execution takes a fixed number of statements, up to the maximum number of runs.
func TestExecutionsOfManyTestsTakeTheSameStatements(t *testing.T) {
	t.Parallel()
	g, writer := countingGateway(t)
	var taken []int64
	for _, size := range []int{2, 1_319} {
		tenant, key := g.company(t, fmt.Sprintf("Company with %d", size))
		agent, first := newAgentWithTest(t, writer.Tenant(tenant.CompanyID()))
		ids := []string{first}
		for len(ids) < size {
			in := model.CreateAgentTestsInput{}
			for range min(100, size-len(ids)) {
				in.Tests = append(in.Tests, &model.CreateAgentTestInput{Simulation: &model.CreateSimulationTestInput{
					AgentID: agent, Name: fmt.Sprintf("Asks %d", len(ids)+len(in.Tests)), Scenario: "a", Criteria: []string{"b"},
					MaxTurns: 1,
				}})
			}
			tests, err := writer.Tenant(tenant.CompanyID()).CreateAgentTests(t.Context(), in)
			require.NoError(t, err)
			for _, test := range tests {
				ids = append(ids, test.Row().ID)
			}
		}
		g.must(t, key, `{ company { id } }`, nil, nil) // a key's first use takes another statement
		before := g.statements.Load()
		const start = `mutation ($input: StartAgentTestExecutionInput!) { startAgentTestExecution(input: $input) { execution {
			id counts { total } } } }`
		var started struct {
			StartAgentTestExecution struct {
				Execution struct {
					ID     string
					Counts struct{ Total int }
				}
			}
		}
		g.must(t, key, start, map[string]any{"input": map[string]any{"testIds": ids, "concurrency": 1}}, &started)
		require.Equal(t, size, started.StartAgentTestExecution.Execution.Counts.Total)
		var coverage struct {
			AgentTestExecutionCoverage struct{ Simulations int }
		}
		g.must(t, key, `query ($input: StartAgentTestExecutionInput!) { agentTestExecutionCoverage(input: $input) {
			simulations } }`,
			map[string]any{"input": map[string]any{"agentId": agent}}, &coverage)
		require.Equal(t, size, coverage.AgentTestExecutionCoverage.Simulations)
		taken = append(taken, g.statements.Load()-before)
	}
	require.LessOrEqual(t, taken[1], taken[0])
	_, key := g.company(t, "Too many")
	refused := g.query(t, key,
		`mutation ($ids: [ID!]) { startAgentTestExecution(input: {testIds: $ids}) { execution { id } } }`,
		map[string]any{"ids": make([]string, 4_001)})
	require.Equal(t, []string{"BAD_INPUT"}, refused.codes())
	require.Contains(t, refused.Errors[0].Extensions.Fields["testIds"], "must have at most 4000 entries, not 4001")
}
