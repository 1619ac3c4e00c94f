package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// Filters of execution lists use the same status and verdict that each execution reports.
func TestExecutionsAreListedByStatusAndVerdict(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, dbtest.Options())
	g := &gatewayUnderTest{store: store, url: serveStore(t, store)}
	tenant, key := g.company(t, "Verdicts")
	agent, test := newAgentWithTest(t, tenant)
	newAgentWithTest(t, tenant)
	for _, outcomes := range [][]model.AgentTestRunStatus{
		{"Passed"}, {"Failed", "Error"}, {"Error", "Passed"}, {"Passed", "Cancelled"},
	} {
		executed(t, tenant, []string{test}, outcomes...)
	}
	for _, steps := range []struct{ claimed, cancelled bool }{{}, {claimed: true}, {cancelled: true}, {true, true}} {
		execution, err := tenant.StartAgentTestExecution(t.Context(),
			model.StartAgentTestExecutionInput{TestIds: []string{test}, Repeats: 1, Concurrency: 1})
		require.NoError(t, err)
		if steps.claimed {
			runs, err := dbtest.Pages[*model.AgentTestRun](t.Context(), tenant, db.RunsOfExecutions, nil, []string{execution.ID},
				model.PageArgs{First: 1})
			require.NoError(t, err)
			_, err = tenant.ClaimRun(t.Context(), runs[0].ID, 1)
			require.NoError(t, err)
		}
		if steps.cancelled {
			_, err = tenant.CancelAgentTestExecution(t.Context(), model.CancelAgentTestExecutionInput{ExecutionID: execution.ID})
			require.NoError(t, err)
		}
	}
	type shown struct{ ID, Status, Verdict string }
	type list struct {
		TotalCount int
		Nodes      []shown
	}
	const query = `query ($agent: ID!, $filter: AgentTestExecutionFilter) {
		agentTestExecutions(agentId: $agent, filter: $filter) { totalCount nodes { id status verdict } }
		agent(id: $agent) { testExecutions(filter: $filter) { totalCount nodes { id status verdict } } }
	}`
	read := func(filter map[string]any) []shown {
		t.Helper()
		var got struct {
			AgentTestExecutions list
			Agent               struct{ TestExecutions list }
		}
		g.must(t, key, query, map[string]any{"agent": agent, "filter": filter}, &got)
		require.Equal(t, got.AgentTestExecutions, got.Agent.TestExecutions)
		require.Len(t, got.AgentTestExecutions.Nodes, got.AgentTestExecutions.TotalCount)
		return got.AgentTestExecutions.Nodes
	}
	all := read(nil)
	require.Len(t, all, 8)
	narrowed := func(is func(shown) bool) []shown {
		kept := []shown{}
		for _, execution := range all {
			if is(execution) {
				kept = append(kept, execution)
			}
		}
		return kept
	}
	for _, status := range model.AllAgentTestExecutionStatus {
		want := narrowed(func(e shown) bool { return e.Status == string(status) })
		require.NotEmpty(t, want, status)
		require.Equal(t, want, read(map[string]any{"statuses": []string{string(status)}}), status)
	}
	for _, verdict := range model.AllAgentTestVerdict {
		want := narrowed(func(e shown) bool { return e.Verdict == string(verdict) })
		require.NotEmpty(t, want, verdict)
		require.Equal(t, want, read(map[string]any{"verdicts": []string{string(verdict)}}), verdict)
	}
	require.Len(t, read(map[string]any{"statuses": []string{"Queued", "Running"}}), 2)
	require.Len(t, read(map[string]any{"statuses": []string{"Cancelled"}, "verdicts": []string{"Inconclusive", "Passed"}}),
		1)
	require.Empty(t, read(map[string]any{"statuses": []string{}}))

	prompt := "Help in one sentence."
	draft, err := tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{
		TestIds: []string{test}, Repeats: 1, Concurrency: 1, Prompt: &prompt,
	})
	require.NoError(t, err)
	require.Equal(t, all, read(map[string]any{"isDraft": false}))
	drafts := read(map[string]any{"isDraft": true})
	require.Len(t, drafts, 1)
	require.Equal(t, draft.ID, drafts[0].ID)
	refused := g.query(t, key, query,
		map[string]any{"agent": agent, "filter": map[string]any{"verdicts": []string{"Passed", "Passed", "Passed", "Passed",
			"Passed"}}})
	require.Equal(t, []string{"BAD_INPUT", "BAD_INPUT"}, refused.codes())
}

// newAgentWithTest returns the ids of a new agent and its test.
func newAgentWithTest(t *testing.T, tenant *db.Tenant) (agentID, testID string) {
	t.Helper()
	agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
		Name: "Desk", Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en", Prompt: "Help.",
	})
	require.NoError(t, err)
	test, err := tenant.CreateSimulationTest(t.Context(), model.CreateSimulationTestInput{
		AgentID: agent.ID, Name: "Asks", Scenario: "a", Criteria: []string{"b"}, MaxTurns: 1,
	})
	require.NoError(t, err)
	return agent.ID, test.ID
}
