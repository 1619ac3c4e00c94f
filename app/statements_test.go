package app_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

const agentWithEverything = `
fragment everything on Agent {
	id name channel direction language tags createdAt updatedAt prompt promptVersion outboundWelcomeMessage
	inboundWelcomeMessage isCallTransferEnabled knowledgeBaseChatId knowledgeBaseChatName
	fields { name isMandatory isSystem }
	classificationTags { name definition isSystem }
	extractedValues { name definition type }
	tools { id name technicalName description parameters }
	subAgents { id name technicalName description agent { id name } }
	knowledgeBaseChat { id name datasetIds datasetNames datasets { id name chunkMethod } llmSettings { temperature } }
}`

// The number of statements is documented for two workloads: one agent with all its relations, and fifty such agents.
const (
	oneAgent    = `query One($id: ID!) { agent(id: $id) { ...everything } }` + agentWithEverything
	fiftyAgents = `query Fifty { agents(first: 50) { nodes { ...everything } } }` + agentWithEverything
)

// The statements read agents, tools, sub-agents with their agents, and datasets. The chat of one agent is read with the
// agent. Chats of several agents take a separate statement, because their settings are long.
const (
	promisedOfOne   = 4
	promisedOfFifty = 5
)

func TestStatementsDoNotGrowWithRows(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	for _, agents := range []int{2, 50} {
		tenant, key := g.company(t, fmt.Sprintf("Company with %d agents", agents))
		id := manyAgents(t, tenant, agents)
		g.must(t, key, `{ company { id } }`, nil, nil) // a key's first use takes another statement

		before := g.statements.Load()
		var one struct {
			Agent struct{ Tools, SubAgents []struct{ ID string } }
		}
		g.must(t, key, oneAgent, map[string]any{"id": id}, &one)
		require.Len(t, one.Agent.Tools, 3)
		require.Len(t, one.Agent.SubAgents, 2)
		require.EqualValues(t, promisedOfOne, g.statements.Load()-before, "one agent of %d", agents)

		before = g.statements.Load()
		var fifty struct {
			Agents struct {
				Nodes []struct {
					Tools, SubAgents  []struct{ ID string }
					KnowledgeBaseChat struct{ Datasets []struct{ ID string } }
				}
			}
		}
		g.must(t, key, fiftyAgents, nil, &fifty)
		require.Len(t, fifty.Agents.Nodes, agents)
		for _, agent := range fifty.Agents.Nodes {
			require.Len(t, agent.Tools, 3)
			require.Len(t, agent.SubAgents, 2)
			require.Len(t, agent.KnowledgeBaseChat.Datasets, 2)
		}
		require.EqualValues(t, promisedOfFifty, g.statements.Load()-before, "%d agents", agents)
	}
}

func TestNestedListsTakeOneStatementPerEdge(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Nested lists")
	manyAgents(t, tenant, 20)
	g.must(t, key, `{ company { id } }`, nil, nil)
	before := g.statements.Load()
	g.must(t, key, `{ agents { totalCount nodes {
		promptVersions(first: 2) { totalCount nodes { version } }
		simulationChats(first: 3) { totalCount nodes { id messages { text } } }
		tools { agents(first: 5) { totalCount nodes { id } } }
		knowledgeBaseChat { connectedAgentCount }
	} } }`, nil, nil)
	// The statements read agents and their total, each nested list twice, tools, chats and their counts.
	require.LessOrEqual(t, g.statements.Load()-before, int64(12))
}

// Repeated aliases of a list's pages, or of a row's relations, are not counted again.
func TestAliasesAreCountedOnce(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Counted once")
	campaign, _ := runningCampaign(t, tenant, 3)
	const aliases = 100 // more than a plan reads
	for name, c := range map[string]struct {
		field, want string
		most        int64
	}{
		"a row":           {`campaign(id: $id) { counts { total } }`, `{"counts":{"total":3}}`, 2},
		"pages of a list": {`campaignItems(campaignId: $id, first: $n) { totalCount }`, `{"totalCount":3}`, 2*aliases + 2},
		"pages below a row": {`campaign(id: $id) { items(first: $n) { totalCount } }`, `{"items":{"totalCount":3}}`, aliases +
			2},
	} {
		var query strings.Builder
		for i := range aliases {
			replaced := strings.NewReplacer("$id", strconv.Quote(campaign.ID), "$n", strconv.Itoa(i+1)).Replace(c.field)
			fmt.Fprintf(&query, " a%d: %s", i, replaced)
		}
		var got map[string]json.RawMessage
		g.must(t, key, "{"+query.String()+" }", nil, &got) // a key's first use takes another statement
		before := g.statements.Load()
		g.must(t, key, "{"+query.String()+" }", nil, &got)
		require.LessOrEqual(t, g.statements.Load()-before, c.most, name)
		require.Len(t, got, aliases)
		for _, one := range got {
			require.JSONEq(t, c.want, string(one), name)
		}
	}
}

// manyAgents creates agents, each with three tools, two sub-agents and a chat with two datasets, and returns the id of
// one.
func manyAgents(t testing.TB, tenant *db.Tenant, count int) string {
	t.Helper()
	ctx := t.Context()
	var toolIDs, datasetIDs, agentIDs []string
	for i := range 3 {
		tool, err := tenant.CreateTool(ctx, model.CreateToolInput{Name: "Tool", TechnicalName: fmt.Sprintf("tool_%d", i)})
		require.NoError(t, err)
		toolIDs = append(toolIDs, tool.ID)
	}
	for i := range 2 {
		dataset, err := tenant.CreateDataset(ctx, model.CreateDatasetInput{Name: fmt.Sprintf("Dataset %d", i)})
		require.NoError(t, err)
		datasetIDs = append(datasetIDs, dataset.ID)
	}
	for i := range count {
		agent, err := tenant.CreateAgent(ctx, model.CreateAgentInput{
			Name: fmt.Sprintf("Agent %d", i), Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en",
			Prompt: "Help.",
		})
		require.NoError(t, err)
		agentIDs = append(agentIDs, agent.ID)
	}
	for i, id := range agentIDs {
		chat, err := tenant.CreateKnowledgeBaseChat(ctx, model.CreateKnowledgeBaseChatInput{
			Name: fmt.Sprintf("Chat %d", i), DatasetIds: datasetIDs,
		})
		require.NoError(t, err)
		_, err = tenant.ConnectKnowledgeBaseChat(ctx, model.ConnectKnowledgeBaseChatInput{AgentID: id, ChatID: chat.ID})
		require.NoError(t, err)
		for _, toolID := range toolIDs {
			_, err = tenant.ConnectTool(ctx, model.ConnectToolInput{AgentID: id, ToolID: toolID})
			require.NoError(t, err)
		}
		for n := range 2 {
			_, _, err = tenant.AddSubAgent(ctx, model.AddSubAgentInput{
				AgentID: id, DelegateAgentID: agentIDs[(i+n+1)%count], Name: "Sub-agent", TechnicalName: fmt.Sprintf("delegate_%d",
					n),
			})
			require.NoError(t, err)
		}
	}
	return agentIDs[0]
}

func TestSecondMutationSeesTheFirst(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Two mutations")
	agentID := manyAgents(t, tenant, 2)
	agent, err := tenant.Agent(t.Context(), agentID)
	require.NoError(t, err)

	var seen struct {
		First, Third struct {
			Agent struct{ KnowledgeBaseChat struct{ Name string } }
		}
	}
	g.must(t, key, `mutation ($agent: ID!, $chat: ID!) {
		first: connectKnowledgeBaseChat(input: {agentId: $agent, chatId: $chat}) { agent { knowledgeBaseChat { name } } }
		second: updateKnowledgeBaseChat(input: {chatId: $chat, name: "Renamed"}) { knowledgeBaseChat { name } }
		third: connectKnowledgeBaseChat(input: {agentId: $agent, chatId: $chat}) { agent { knowledgeBaseChat { name } } }
	}`, map[string]any{"agent": agentID, "chat": *agent.KnowledgeBaseChatID}, &seen)
	require.Equal(t, "Chat 0", seen.First.Agent.KnowledgeBaseChat.Name)
	require.Equal(t, "Renamed", seen.Third.Agent.KnowledgeBaseChat.Name)
}

func TestObjectsKeepTheOrderOfTheirKeys(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Order")
	const schema = `{"type":"object","properties":{"zebra":{"type":"string"},"apple":{"type":"number"},"mango":{"enum":[2,1.50,"x"]}},"required":["zebra"]}`
	var created struct {
		CreateTool struct {
			Tool struct{ Parameters json.RawMessage }
		}
	}
	g.must(t, key, `mutation ($in: CreateToolInput!) { createTool(input: $in) { tool { parameters } } }`,
		map[string]any{"in": map[string]any{"name": "T", "technicalName": "t", "parameters": json.RawMessage(schema)}},
		&created)
	require.Equal(t, schema, string(created.CreateTool.Tool.Parameters))
	var read struct {
		Tools struct {
			Nodes []struct{ Parameters json.RawMessage }
		}
	}
	g.must(t, key, `{ tools { nodes { parameters } } }`, nil, &read)
	require.Equal(t, schema, string(read.Tools.Nodes[0].Parameters))
}
