package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/llm/provider"
	"github.com/agentgraph/agentgraph/model"
)

// After each run a separate judge decides whether the contact played its part. If not, the run ends with an error of
// the simulator, and its criteria are never judged.
func TestBadSimulationFailsNeitherAgentNorTest(t *testing.T) {
	t.Parallel()
	server := startProvider(t, map[string][]fixture{
		"speaker": {says("Which day?"), says("Which day?")},
		"caller":  {says("I booked it for you."), says("Please book a visit.")},
		"referee": {
			says(`{"evidence":[{"messageIndex":0,"quote":"I booked it for you"}],"rationale":"It speaks as the clinic.","onRole":false,"loops":false,"leaked":false,"completed":true}`),
			says(`{"evidence":[],"rationale":"It asks as it should.","onRole":true,"loops":false,"leaked":false,"completed":true}`),
			says(`{"evidence":[],"rationale":"It is.","applies":true,"passed":true}`),
			says(`{"evidence":[],"rationale":"It is.","applies":true,"passed":true}`),
		},
	})
	address := dbtest.URL(t)
	g := &gatewayUnderTest{store: dbtest.Open(t, address, dbtest.Options())}
	tenant, key := g.company(t, "Simulated")
	agentID, _ := frontDesk(t, tenant)
	test, err := tenant.CreateSimulationTest(t.Context(), model.CreateSimulationTestInput{
		AgentID: agentID, Name: "Books", Scenario: "You want a visit.", Criteria: []string{"The agent is never rude"},
		MaxTurns: 1,
	})
	require.NoError(t, err)
	s := serve(t, address, key, server.asks("speaker"), func(o *app.EngineOptions) {
		o.ReviewContacts = true
		o.Judge, o.Contact = provider.Config{Model: "referee"}, provider.Config{Model: "caller"}
	})
	type execution struct {
		ID, Verdict string
		FinishedAt  *string
		Counts      struct{ Passed, Error, Judged int }
		Runs        struct {
			Nodes []struct {
				Error *struct{ Cause, Message string }
			}
		}
	}
	read := func(id string) (e execution) {
		t.Helper()
		var got struct{ AgentTestExecution execution }
		require.Eventually(t, func() bool {
			s.must(t, key, `query ($id: ID!) { agentTestExecution(id: $id) {
				id verdict finishedAt counts { passed error judged } runs { nodes { error { cause message } } } }
					}`, map[string]any{"id": id}, &got)
			return got.AgentTestExecution.FinishedAt != nil
		}, 10*time.Second, 10*time.Millisecond)
		return got.AgentTestExecution
	}
	var started struct{ StartAgentTestExecution struct{ Execution execution } }
	s.must(t, key, `mutation ($test: ID!) { startAgentTestExecution(input: {testIds: [$test], repeats: 2,
		concurrency: 1}) { execution { id } } }`,
		map[string]any{"test": test.ID}, &started)
	held := read(started.StartAgentTestExecution.Execution.ID)
	require.Equal(t, struct{ Passed, Error, Judged int }{1, 1, 1}, held.Counts, "%+v", held.Runs)
	require.Nil(t, held.Runs.Nodes[0].Error)
	require.Equal(t, "Simulator", held.Runs.Nodes[1].Error.Cause)
	require.Equal(t, `the simulated contact: the judge finds that it left its role (message 0: "I booked it for you"): It speaks as the clinic.`, held.Runs.Nodes[1].Error.Message)

	var rejudged struct{ RejudgeAgentTestExecution struct{ Execution execution } }
	s.must(t, key, `mutation ($id: ID!) { rejudgeAgentTestExecution(input: {executionId: $id}) { execution { id } } }`,
		map[string]any{"id": held.ID}, &rejudged)
	again := read(rejudged.RejudgeAgentTestExecution.Execution.ID)
	require.Equal(t, "Passed", again.Verdict)
	require.Equal(t, 1, again.Counts.Judged)
	require.Len(t, server.asked(t, "referee"), 4, "a conversation is reviewed after its run, and not when it is "+
		"judged again")
}
