package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/gateway"
)

// A mutation that would read too many bytes of stored texts is refused before it changes anything.
func TestMutationsReadWithinBounds(t *testing.T) {
	t.Parallel()
	store := dbtest.Open(t, dbtest.URL(t), dbtest.Options())
	settings := gateway.DefaultSettings()
	settings.ResponseBytes = 1 << 20
	g := &gatewayUnderTest{url: serveWith(t, store, settings), store: store}
	key, _ := g.demo(t)
	agent := g.firstID(t, key, `{ list: agents { nodes { id } } }`)
	messages := make([]map[string]any, 60)
	for i := range messages {
		messages[i] = map[string]any{"role": []string{"user", "assistant"}[i%2], "text": strings.Repeat("long ", 2000)}
	}
	ids := make([]string, 3)
	for i := range ids {
		var made struct {
			CreateSimulationTest struct{ AgentTest struct{ ID string } }
		}
		g.must(t, key, `mutation ($in: CreateSimulationTestInput!) { createSimulationTest(input: $in) { agentTest { id } } }`,
			map[string]any{"in": map[string]any{
				"agentId": agent, "name": fmt.Sprint("Large ", i), "scenario": "Asks.", "criteria": []string{"Answers."},
				"conversationContext": messages,
			}}, &made)
		ids[i] = made.CreateSimulationTest.AgentTest.ID
	}
	const count = `{ agentTests(filter: {nameContains: "Large"}) { totalCount } agentTestExecutions { totalCount } }`
	var before, after any
	g.must(t, key, count, nil, &before)
	mutations := []string{
		`mutation ($ids: [ID!]!) { copyAgentTests(input: {testIds: $ids}) { agentTests { id } } }`,
		`mutation ($ids: [ID!]!) { startAgentTestExecution(input: {testIds: $ids}) { execution { id } } }`,
	}
	for _, mutation := range mutations {
		refused := g.query(t, key, mutation, map[string]any{"ids": ids})
		require.Equal(t, []string{"LIMIT_EXCEEDED"}, refused.codes())
		require.Equal(t, "the mutation would read more than 3145728 bytes: give it fewer or smaller objects at a time",
			refused.Errors[0].Message)
		g.must(t, key, count, nil, &after)
		require.Equal(t, before, after)
	}
	for _, mutation := range mutations {
		g.must(t, key, mutation, map[string]any{"ids": ids[:1]}, nil)
	}
}
