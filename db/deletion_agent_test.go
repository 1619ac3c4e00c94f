package db_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/archive"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// ofBusyAgent adds the rows of several years to the agent $2, its chat $3 and its campaign $4. There is more than one
// part of each type.
var ofBusyAgent = []string{
	`INSERT INTO simulation_chats SELECT (jsonb_populate_record(chat, jsonb_build_object('id', chat.id || '_' || i))).*
		FROM simulation_chats AS chat, generate_series(1, 250) AS i WHERE company_id = $1 AND id = $3 AND $2 <> $4`,
	`INSERT INTO simulation_chat_messages SELECT (jsonb_populate_record(m, jsonb_build_object('chat_id',
		m.chat_id || '_' || i))).*
		FROM simulation_chat_messages AS m, generate_series(1, 250) AS i WHERE company_id = $1 AND chat_id = $3 AND $2 <> $4`,
	`INSERT INTO prompt_versions SELECT (jsonb_populate_record(v, jsonb_build_object('id', v.id || '_' || i, 'version',
		i))).*
		FROM prompt_versions AS v, generate_series(2, 600) AS i WHERE company_id = $1 AND agent_id = $2 AND $3 <> $4`,
	`INSERT INTO campaign_items SELECT (jsonb_populate_record(item, jsonb_build_object('id', item.id || '_' || i,
		'version', 100 + i, 'phone_number', '+1202555' || lpad(i::text, 7, '0')))).*
		FROM campaign_items AS item, generate_series(1, 1100) AS i WHERE company_id = $1 AND campaign_id = $4 AND $2 <> $3`,
	`INSERT INTO agent_test_executions SELECT (jsonb_populate_record(e, jsonb_build_object('id', e.id || '_' || i))).*
		FROM agent_test_executions AS e, generate_series(1, 600) AS i WHERE company_id = $1 AND agent_id = $2 AND $3 <> $4`,
}

// A request to delete an agent with a very large number of rows is quick. The rows that remain are no longer visible.
func TestAgentWithManyChatsIsRemovedInParts(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, conn := fresh(t)
	tenant, companyID := newCompany(t, store)
	keeper, agent := newAgent(t, tenant), newOutboundAgent(t, tenant)
	_, _, err := tenant.AddSubAgent(ctx, model.AddSubAgentInput{AgentID: keeper.ID, DelegateAgentID: agent.ID, Name: "To",
		TechnicalName: "to"})
	require.NoError(t, err)
	tool := newTool(t, tenant, "find")
	_, err = tenant.ConnectTool(ctx, model.ConnectToolInput{AgentID: agent.ID, ToolID: tool.ID})
	require.NoError(t, err)
	chat, kept := newSimulationChat(t, tenant, agent.ID, nil), newSimulationChat(t, tenant, keeper.ID, nil)
	say(t, tenant, chat.ID, "One", "Two")
	campaign := newCampaign(t, tenant, func(in *model.CreateCampaignInput) { in.AgentID = agent.ID })
	item := add(t, tenant, campaign.ID, 1)[0]
	become(t, tenant, campaign.ID, model.CampaignStatusRunning)
	newFolder(t, tenant, agent.ID, "Smoke")
	run := runsOf(t, tenant, start(t, tenant, newSimulationTest(t, tenant, agent.ID).ID).ID)[0]
	require.NoError(t, finish(t, tenant, run.ID, model.AgentTestRunStatusPassed))
	for _, statement := range ofBusyAgent {
		_, err := conn.Exec(ctx, statement, companyID, agent.ID, chat.ID, campaign.ID)
		require.NoError(t, err)
	}
	count := func(table string) (n int) {
		require.NoError(t, conn.QueryRow(ctx, "SELECT count(*) FROM "+table).Scan(&n))
		return n
	}
	rows := func() map[string]int {
		return map[string]int{
			"simulation_chats": count("simulation_chats"), "simulation_chat_messages": count("simulation_chat_messages"),
			"prompt_versions": count("prompt_versions"), "campaign_items": count("campaign_items"), "agents": count("agents"),
			"agent_tests": count("agent_tests"), "campaigns": count("campaigns"),
			"of agents": count("agent_test_executions WHERE agent_id IS NOT NULL"),
		}
	}
	require.Equal(t, map[string]int{
		"simulation_chats": 252, "simulation_chat_messages": 502, "prompt_versions": 601, "campaign_items": 1_101,
		"agents":      2,
		"agent_tests": 1, "campaigns": 1, "of agents": 601,
	}, rows())
	messages, err := tenant.FollowMessages(ctx, chat.ID, 2)
	require.NoError(t, err)
	items, err := tenant.FollowCampaignItems(ctx, campaign.ID, item.Version)
	require.NoError(t, err)

	require.NoError(t, tenant.DeleteAgent(ctx, agent.ID))
	require.Equal(t, 252, count("simulation_chats"), "nothing is removed by the request")
	require.Equal(t, 1_101, count("campaign_items"))
	_, isOpen := receive(t, items)
	require.False(t, isOpen)
	db.Wake(tenant, chat.ID)
	_, isOpen = receive(t, messages)
	require.False(t, isOpen)

	seen := seenOfAgent(t, store, tenant, agent.ID, chat.ID, campaign.ID, item.ID)
	require.NotContains(t, seen, agent.Name+`"`+agent.ID)
	parts := 0
	for hasMore := true; hasMore; parts++ {
		hasMore, err = db.RemovePart(ctx, tenant)
		require.NoError(t, err)
		require.Equal(t, seen, seenOfAgent(t, store, tenant, agent.ID, chat.ID, campaign.ID, item.ID), "after %d parts",
			parts+1)
	}
	require.Greater(t, parts, 3)
	require.Equal(t, map[string]int{
		"simulation_chats": 1, "simulation_chat_messages": 0, "prompt_versions": 1, "campaign_items": 0, "agents": 1,
		"agent_tests": 0, "campaigns": 0, "of agents": 0,
	}, rows())
	_, err = tenant.SimulationChat(ctx, kept.ID)
	require.NoError(t, err)
}

// seenOfAgent returns the results of reading and writing an agent and its dependent rows.
func seenOfAgent(t *testing.T, store *db.Store, tenant *db.Tenant, agentID, chatID, campaignID, itemID string) string {
	t.Helper()
	ctx, seen := t.Context(), &bytes.Buffer{}
	see := func(what string, value any, err error) {
		if err != nil {
			value = err.Error()
		}
		text, encoding := json.Marshal(map[string]any{what: value})
		require.NoError(t, encoding)
		seen.Write(append(text, '\n'))
	}
	ids := []string{agentID, chatID, campaignID, itemID}
	for _, rows := range db.Nodes {
		found, err := tenant.Find(ctx, rows, ids)
		require.NoError(t, err)
		require.Empty(t, found, rows.Type)
	}
	types, err := tenant.Types(ctx, ids)
	require.NoError(t, err)
	require.Empty(t, types)
	for _, call := range []func() error{
		func() error { _, err := tenant.BeginChatTurn(ctx, chatID, lease); return err },
		func() error { _, err := tenant.EndSimulationChat(ctx, chatID); return err },
		func() error { return tenant.DeleteSimulationChat(ctx, chatID) },
		func() error { return tenant.DeleteAgent(ctx, agentID) },
		func() error { return tenant.DeleteCampaign(ctx, campaignID) },
		func() error {
			_, err := tenant.UpdateAgent(ctx, model.UpdateAgentInput{AgentID: agentID, Prompt: new("Other")})
			return err
		},
		func() error {
			_, _, err := tenant.ClaimCampaignItems(ctx, model.ClaimCampaignItemsInput{CampaignID: campaignID, Limit: 1,
				LeaseSeconds: 60})
			return err
		},
		func() error { _, err := tenant.CampaignItem(ctx, campaignID, itemID); return err },
		func() error { _, err := tenant.AddCampaignItems(ctx, contacts(campaignID, 1)); return err },
		func() error {
			_, err := tenant.CreateCampaign(ctx, model.CreateCampaignInput{AgentID: agentID, Name: "C", MaxAttempts: 1,
				RetryDelayMinutes: 30})
			return err
		},
		func() error { _, err := tenant.CreateSimulationTest(ctx, simulationInput(agentID)); return err },
		func() error { _, err := tenant.StartAgentTestExecution(ctx, ofAgent(agentID)); return err },
		func() error { _, err := tenant.FollowEvents(ctx, chatID); return err },
	} {
		fails(t, call(), model.NotFound)
	}
	total := func(prepare func() (func(context.Context) (int32, error), error)) (int32, error) {
		count, err := prepare()
		if err != nil {
			return 0, err
		}
		return count(ctx)
	}
	first := model.PageArgs{First: 3}
	chats, err := total(func() (func(context.Context) (int32, error), error) {
		page, err := tenant.SimulationChats(ctx, first, nil, nil)
		return page.TotalCount, err
	})
	see("chats", chats, err)
	agents, err := total(func() (func(context.Context) (int32, error), error) {
		page, err := tenant.Agents(ctx, first, &model.AgentFilter{NameContains: new("e")})
		return page.TotalCount, err
	})
	see("agents", agents, err)
	campaigns, err := total(func() (func(context.Context) (int32, error), error) {
		page, err := tenant.Campaigns(ctx, first, nil)
		return page.TotalCount, err
	})
	see("campaigns", campaigns, err)
	executions, err := tenant.AgentTestExecutions(ctx, first, nil, nil)
	require.NoError(t, err)
	for _, execution := range executions.Nodes {
		see("execution", execution, nil)
	}
	for name, list := range map[string]pg.List{"agents of the tool": db.AgentsOfTools, "parents": db.ParentsOfAgents} {
		parents := []string{agentID}
		tools, err := dbtest.Pages[*model.Tool](ctx, tenant, db.ToolList, nil, []string{""}, first)
		require.NoError(t, err)
		for _, tool := range tools {
			parents = append(parents, tool.ID)
		}
		found, err := tenant.FindPages(ctx, list, nil, parents, first)
		require.NoError(t, err)
		require.Empty(t, found, name)
	}
	edges, err := tenant.SubAgentsOfAgents(ctx, []string{agentID})
	require.NoError(t, err)
	require.Empty(t, edges)
	file := &bytes.Buffer{}
	manifest, err := archive.Export(ctx, store, tenant.CompanyID(), file, archive.ExportOptions{})
	require.NoError(t, err)
	delete(manifest.Rows, "audit_events") // each export adds one
	see("archive", manifest.Rows, nil)
	return seen.String()
}

func ofAgent(id string) model.StartAgentTestExecutionInput {
	return model.StartAgentTestExecutionInput{AgentID: &id, Repeats: 1, Concurrency: 1}
}
