package app_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// Back edges lead from an object to the objects that use it. They answer the question: what breaks if this changes?
func TestObjectsLeadBackToTheirUsers(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Edges")
	ctx := t.Context()
	agent := func(name string) string {
		made, err := tenant.CreateAgent(ctx, model.CreateAgentInput{Name: name, Channel: model.ChannelWeb,
			Direction: model.DirectionInbound, Language: "en", Prompt: "P"})
		require.NoError(t, err)
		return made.ID
	}
	first, second, expert := agent("First"), agent("Second"), agent("Expert")
	for i, parent := range []string{first, second, first} {
		_, _, err := tenant.AddSubAgent(ctx, model.AddSubAgentInput{AgentID: parent, DelegateAgentID: expert, Name: "E",
			TechnicalName: "ask_" + string(rune('a'+i))})
		require.NoError(t, err)
	}
	dataset, err := tenant.CreateDataset(ctx, model.CreateDatasetInput{Name: "D"})
	require.NoError(t, err)
	chat, err := tenant.CreateKnowledgeBaseChat(ctx, model.CreateKnowledgeBaseChatInput{Name: "C",
		DatasetIds: []string{dataset.ID}})
	require.NoError(t, err)
	_, err = tenant.ConnectKnowledgeBaseChat(ctx, model.ConnectKnowledgeBaseChatInput{AgentID: first, ChatID: chat.ID})
	require.NoError(t, err)

	before := g.statements.Load()
	a := g.query(t, key, `query ($dataset: ID!, $expert: ID!) {
		dataset(id: $dataset) { chats { totalCount nodes { name agents { nodes { name } } } } }
		agent(id: $expert) { parents(first: 1) { totalCount pageInfo { hasNextPage } nodes { name subAgents { technicalName
			parent { name } agent { name } } } } }
	}`, map[string]any{"dataset": dataset.ID, "expert": expert})
	require.Empty(t, a.Errors)
	require.LessOrEqual(t, g.statements.Load()-before, int64(10), "a statement for each level, and not for each row")
	require.JSONEq(t, `{
		"dataset": {"chats": {"totalCount": 1, "nodes": [{"name": "C", "agents": {"nodes": [{"name": "First"}]}}]}},
		"agent": {"parents": {"totalCount": 2, "pageInfo": {"hasNextPage": true}, "nodes": [
			{"name": "Second", "subAgents": [{"technicalName": "ask_b", "parent": {"name": "Second"}, "agent": {"name": "Expert"}}]}]}}
	}`, string(a.Data))
	var nobody struct {
		Agent struct{ Parents struct{ Nodes []any } }
	}
	require.NoError(t, json.Unmarshal(g.query(t, key, `query ($id: ID!) { agent(id: $id) { parents { nodes { id } } } }`,
		map[string]any{"id": first}).Data, &nobody))
	require.Empty(t, nobody.Agent.Parents.Nodes)
}
