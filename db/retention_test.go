package db_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func TestExpiredRowsAreDeleted(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, companyID := newCompany(t, store)
	keeper, keeperID := newCompany(t, store)
	count := func(table, companyID string) (n int) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM "+table+" WHERE company_id = $1", companyID).
			Scan(&n))
		return n
	}
	tables := []string{"simulation_chats", "agent_test_executions", "agent_test_runs", "campaign_items",
		"campaign_item_events", "tombstones"}
	counts := func(companyID string) (all []int) {
		for _, table := range tables {
			all = append(all, count(table, companyID))
		}
		return all
	}
	for _, tenant := range []*db.Tenant{tenant, keeper} {
		agent := newAgent(t, tenant)
		for range 2 {
			chat := newSimulationChat(t, tenant, agent.ID, nil)
			say(t, tenant, chat.ID, "One", "Two")
			run := newRun(t, tenant)
			require.NoError(t, finish(t, tenant, run.ID, model.AgentTestRunStatusPassed))
		}
		newRun(t, tenant) // not finished, so never too old
		campaign := newCampaign(t, tenant)
		for i, item := range add(t, tenant, campaign.ID, 3) {
			if i > 0 {
				report(t, tenant, item, model.CampaignItemStatusCalling)
				report(t, tenant, item, model.CampaignItemStatusProcessingResult)
				report(t, tenant, item, model.CampaignItemStatusProcessed)
			}
		}
		require.NoError(t, tenant.DeleteAgent(t.Context(), newAgent(t, tenant).ID))
	}
	all := counts(companyID)
	require.Equal(t, []int{2, 3, 3, 3, 6, 1}, all)
	// Half of the rows are too old.
	for _, statement := range []string{
		"UPDATE simulation_chats SET created_at = created_at - interval '100 days'",
		"UPDATE simulation_chat_messages SET written_at = written_at - interval '100 days' WHERE chat_id IN (SELECT " +
			"min(id) FROM simulation_chats GROUP BY company_id)",
		"UPDATE agent_test_executions SET created_at = created_at - interval '100 days'",
		"UPDATE agent_test_executions SET finished_at = finished_at - interval '100 days' WHERE id IN (SELECT min(id) FROM " +
			"agent_test_executions GROUP BY company_id)",
		"UPDATE campaign_items SET created_at = created_at - interval '100 days'",
		`UPDATE campaign_items SET last_call_date = last_call_date - interval '100 days'
			WHERE id IN (SELECT min(id) FROM campaign_items WHERE running_status = 'Processed' GROUP BY company_id)`,
		"UPDATE tombstones SET deleted_at = deleted_at - interval '100 days'",
	} {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	sweep := func() { require.NoError(t, db.Sweep(store)(t.Context())) }
	sweep()
	require.Equal(t, all, counts(companyID), "without a retention, everything is kept")

	for _, kind := range model.AllRetentionKinds {
		require.NoError(t, tenant.SetRetention(t.Context(), model.SetRetentionInput{Kind: kind, Days: 101}))
	}
	sweep()
	require.Equal(t, all, counts(companyID), "nothing has expired")
	for _, kind := range model.AllRetentionKinds {
		require.NoError(t, tenant.SetRetention(t.Context(), model.SetRetentionInput{Kind: kind, Days: 99}))
	}
	retentions, err := tenant.Retentions(t.Context())
	require.NoError(t, err)
	require.Len(t, retentions, len(model.AllRetentionKinds))
	sweep()
	require.Equal(t, []int{1, 2, 2, 2, 3, 0}, counts(companyID))
	require.Equal(t, all, counts(keeperID))

	require.NoError(t, tenant.SetRetention(t.Context(), model.SetRetentionInput{Kind: model.RetentionChats, Days: 0}))
	retentions, err = tenant.Retentions(t.Context())
	require.NoError(t, err)
	require.False(t, slices.ContainsFunc(retentions,
		func(r *model.Retention) bool { return r.Kind == model.RetentionChats }))
	var events int
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM audit_events WHERE company_id = $1 AND action = "+
		"'ChangeRetention'", companyID).Scan(&events))
	require.Equal(t, 2*len(model.AllRetentionKinds)+1, events)
	faults(t, tenant.SetRetention(t.Context(), model.SetRetentionInput{Kind: "Agents", Days: 1}), model.BadInput, "kind",
		"Chats")
	faults(t, tenant.SetRetention(t.Context(), model.SetRetentionInput{Kind: model.RetentionChats, Days: -1}),
		model.BadInput, "days", "40000")
}

func TestExpirySkipsUnavailableCompanies(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	near, nearID := newCompany(t, store)
	away, awayID := newCompany(t, store)
	for _, tenant := range []*db.Tenant{near, away} {
		require.NoError(t, tenant.SetRetention(t.Context(), model.SetRetentionInput{Kind: model.RetentionTombstones,
			Days: 30}))
		require.NoError(t, tenant.DeleteAgent(t.Context(), newAgent(t, tenant).ID))
	}
	_, err := conn.Exec(t.Context(), "UPDATE tombstones SET deleted_at = deleted_at - interval '100 days'")
	require.NoError(t, err)
	dbtest.SimulateNodeDown(t, conn, "retentions", awayID)
	require.ErrorContains(t, db.Sweep(store)(t.Context()), "remote node postgres@db-2:5432")
	for companyID, left := range map[string]int{nearID: 0, awayID: 1} {
		var n int
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM tombstones WHERE company_id = $1", companyID).
			Scan(&n))
		require.Equal(t, left, n)
	}
}

func TestContactIsErased(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	const number, digits = "+4930901820", "4930901820"
	agent := newAgent(t, tenant)
	for _, text := range []string{"Call me on +4930901820, please", "Or on " + digits, "At home: (030) 90 18-20",
		"+49 (0)30 / 901820", "Hello"} {
		say(t, tenant, newSimulationChat(t, tenant, agent.ID, nil).ID, text, "Yes")
	}
	say(t, tenant, newSimulationChat(t, tenant, agent.ID, nil).ID, "Another one is +4930000000, the order 8309018201",
		"Yes")
	mocked := newSimulationChat(t, tenant, agent.ID, nil)
	_, err := conn.Exec(t.Context(),
		`UPDATE simulation_chats SET tool_mocking = '{"look_up": "+49 30 901820"}' WHERE id = $1`, mocked.ID)
	require.NoError(t, err)
	for _, text := range []string{"My number is 00" + digits, "I have none"} {
		run, err := tenant.ClaimRun(t.Context(), newRun(t, tenant).ID, 1)
		require.NoError(t, err)
		run.Status = model.AgentTestRunStatusPassed
		run.Messages = []model.TestMessage{{Role: model.MessageRoleUser, Text: text}}
		require.NoError(t, tenant.FinishRun(t.Context(), run))
	}
	for column, text := range map[string]string{
		"check_results": `[{"observed": "` + digits + `"}]`, "classification_result": `{"tag": "` + digits + `"}`,
		"row_name": number,
	} {
		run := newRun(t, tenant)
		require.NoError(t, finish(t, tenant, run.ID, model.AgentTestRunStatusPassed))
		_, err := conn.Exec(t.Context(), "UPDATE agent_test_runs SET "+column+
			" = $1, row_key = 'one', row_number = 1, row_values = '{}' WHERE id = $2", text, run.ID)
		require.NoError(t, err)
		_, err = conn.Exec(t.Context(), "UPDATE agent_test_executions SET left_out_tests = jsonb_build_array($1::text) "+
			"WHERE id = $2", number, run.ExecutionID)
		require.NoError(t, err)
	}
	campaign := newCampaign(t, tenant)
	added, err := tenant.AddCampaignItems(t.Context(), model.AddCampaignItemsInput{CampaignID: campaign.ID,
		Items: []*model.CampaignItemInput{
			{PhoneNumber: number},
			{PhoneNumber: "+4930901821",
				DataBag: model.JSONObject(`{"partner":"+49\u00a030 901820","order":"8309018201","long":"149309018201",` +
					`"wide":"４９３０９０１８２０","hyphens":"(+49‐30)‐90‐18‐20","030/901820":"a","+4930901820":"b"}`)},
		}})
	require.NoError(t, err)
	folder := newAgent(t, tenant)
	_, err = conn.Exec(t.Context(), "UPDATE agents SET prompt = 'Call 030/901820' WHERE id = $1", folder.ID)
	require.NoError(t, err)
	for _, prompt := range []string{"Or call +49 30 901820", "Hello"} {
		_, err = tenant.UpdateAgentPrompt(t.Context(), model.UpdateAgentPromptInput{AgentID: agent.ID, Prompt: prompt})
		require.NoError(t, err)
	}
	for _, statement := range []string{
		"UPDATE agent_test_runs SET test_name = 'Books for 030/901820' WHERE row_name IS NOT NULL",
		"UPDATE agent_test_executions SET is_draft = true, draft_prompt = 'Call 030 901820' WHERE left_out_tests IS NOT NULL",
		`UPDATE agent_test_snapshots SET definition = jsonb_build_object('030/901820', definition, '030901820', 1)::json
			WHERE execution_id IN (SELECT id FROM agent_test_executions WHERE left_out_tests IS NOT NULL)`,
	} {
		_, err = conn.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	left := []model.ErasureLeft{{Table: "agents", Rows: 1, IDs: []string{folder.ID}}}
	whole := model.Erasure{Items: 1, OtherItems: 1, Chats: 5, Runs: 4, Executions: 3, Snapshots: 6, PromptVersions: 1,
		Left: left}

	_, err = tenant.EraseContact(t.Context(), model.EraseContactInput{PhoneNumber: "030 901820"})
	faults(t, err, model.BadInput, "phoneNumber", "")
	before := rowsOf(t, conn)
	tried, err := tenant.EraseContact(t.Context(), model.EraseContactInput{PhoneNumber: number, IsDryRun: true})
	require.NoError(t, err)
	ids := tried.IDs
	require.Equal(t, []string{added.Items[0].ID}, ids["campaign_items"])
	require.Equal(t, []string{added.Items[1].ID}, ids["other_campaign_items"])
	require.Len(t, ids["simulation_chats"], 5)
	require.Len(t, ids["agent_test_runs"], 4)
	tried.IDs = nil
	require.Equal(t, whole, tried)
	require.Equal(t, before, rowsOf(t, conn))
	erased, err := tenant.EraseContact(t.Context(), model.EraseContactInput{PhoneNumber: number})
	require.NoError(t, err)
	require.Equal(t, ids, erased.IDs)
	erased.IDs = nil
	require.Equal(t, whole, erased)
	for action, want := range map[string]int{"DeleteCampaignItem": 1, "DeleteSimulationChat": 5, "EraseContact": 1} {
		var events int
		const query = "SELECT count(*) FROM audit_events WHERE company_id = $1 AND action = $2"
		require.NoError(t, conn.QueryRow(t.Context(), query,
			tenant.CompanyID(), action).Scan(&events))
		require.Equal(t, want, events, action)
	}
	other := reread(t, tenant, added.Items[1])
	require.JSONEq(t, `{"partner":"99999999","order":"8309018201","long":"149309018201","wide":"99999999","hyphens":"99999999",`+
		`"99999999":"a","99999999-2":"b"}`, string(other.DataBag), "no two members have the same name")
	require.Greater(t, other.Version, added.Items[1].Version)
	for company, rows := range rowsOf(t, conn) {
		for _, row := range rows {
			require.NotContains(t, strings.ReplaceAll(row, "149309018201", ""), digits, company)
		}
	}
	var masked string
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT string_agg(DISTINCT test_name, '') || (SELECT
		string_agg(DISTINCT draft_prompt, '') FROM agent_test_executions) || (SELECT string_agg(prompt, '')
		FROM prompt_versions WHERE agent_id = $1 AND version = 2) || (SELECT string_agg(DISTINCT name, ' ' ORDER BY name)
		FROM agent_test_snapshots, json_object_keys(definition) AS name WHERE name ~ '9') FROM agent_test_runs
		WHERE row_name IS NOT NULL`, agent.ID).Scan(&masked))
	require.Equal(t, "Books for 99999999Call 99999999Or call 9999999999999999 99999999-2", masked)
	chats, err := tenant.SimulationChats(t.Context(), model.PageArgs{First: 10}, nil, nil)
	require.NoError(t, err)
	require.Len(t, chats.Nodes, 2)
	erased, err = tenant.EraseContact(t.Context(), model.EraseContactInput{PhoneNumber: number})
	require.NoError(t, err)
	require.Equal(t, model.Erasure{Left: left}, erased)
}

// The digits that replace a number can be the number itself.
func TestErasureOfNinesEnds(t *testing.T) {
	t.Parallel()
	tenant, _ := newCompany(t, dbtest.New(t))
	_, err := tenant.AddCampaignItems(t.Context(), model.AddCampaignItemsInput{CampaignID: newCampaign(t, tenant).ID,
		Items: []*model.CampaignItemInput{{PhoneNumber: "+4930901821",
			DataBag: model.JSONObject(`{"+4799999999":"a","99 99 99 99":"b"}`)}}})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	erased, err := tenant.EraseContact(ctx, model.EraseContactInput{PhoneNumber: "+4799999999"})
	require.NoError(t, err)
	require.EqualValues(t, 1, erased.OtherItems)
}

func TestDeletingACompanyDeletesItsRows(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	own, other := newFixture(t, store, "OWN"), newFixture(t, store, "OTHER")
	ownID, otherID := own.tenant.CompanyID(), other.tenant.CompanyID()
	before := rowsOf(t, conn)
	require.NotEmpty(t, before[ownID])
	var key string
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT id FROM api_keys WHERE company_id = $1 AND revoked_at IS NULL",
		ownID).Scan(&key))
	session := []model.CredentialRef{{KeyRef: model.KeyRef{CompanyID: ownID, KeyID: key}}}
	revoked, err := store.Revoked(t.Context(), session)
	require.NoError(t, err)
	require.Empty(t, revoked)
	run := newRun(t, own.tenant)
	require.NoError(t, finish(t, own.tenant, run.ID, model.AgentTestRunStatusFailed))
	_, err = own.tenant.RetryAgentTestExecution(t.Context(),
		model.RetryAgentTestExecutionInput{ExecutionID: run.ExecutionID, Only: model.AgentTestRetryAll})
	require.NoError(t, err)
	tables := map[string]int64{}
	require.NoError(t, store.DeleteCompany(t.Context(), ownID, func(table string, rows int64) { tables[table] = rows }))
	after := rowsOf(t, conn)
	require.Empty(t, after[ownID])
	require.Equal(t, before[otherID], after[otherID])
	require.Positive(t, tables["agent_test_runs"])
	require.EqualValues(t, 1, tables["companies"])
	revoked, err = store.Revoked(t.Context(), session)
	require.NoError(t, err)
	require.Equal(t, session, revoked, "open sockets of the company must be closed")
	fails(t, store.DeleteCompany(t.Context(), ownID, nil), model.NotFound)
}

func TestExecutionIsDeletedWithItsRuns(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	first := newRun(t, tenant)
	require.Contains(t, fails(t, tenant.DeleteAgentTestExecution(t.Context(), first.ExecutionID), model.Conflict),
		"is not finished")
	require.NoError(t, finish(t, tenant, first.ID, model.AgentTestRunStatusFailed))
	retry, err := tenant.RetryAgentTestExecution(t.Context(),
		model.RetryAgentTestExecutionInput{ExecutionID: first.ExecutionID, Only: model.AgentTestRetryAll})
	require.NoError(t, err)
	second := runsOf(t, tenant, retry.ID)[0]
	require.NoError(t, finish(t, tenant, second.ID, model.AgentTestRunStatusPassed))
	third := runsOf(t, tenant, start(t, tenant, first.TestedID).ID)[0]
	require.NoError(t, finish(t, tenant, third.ID, model.AgentTestRunStatusError))

	require.NoError(t, tenant.DeleteAgentTestExecution(t.Context(), third.ExecutionID))
	lastRun(t, tenant, first.TestedID, second.ID, model.AgentTestRunStatusPassed)
	require.NoError(t, tenant.DeleteAgentTestExecution(t.Context(), first.ExecutionID))
	lastRun(t, tenant, first.TestedID, second.ID, model.AgentTestRunStatusPassed)
	kept, err := tenant.AgentTestExecution(t.Context(), retry.ID)
	require.NoError(t, err)
	require.Nil(t, kept.RetryOfID, "the retried execution is deleted")
	require.NoError(t, tenant.DeleteAgentTestExecution(t.Context(), retry.ID))
	require.Nil(t, testByID(t, tenant, first.TestedID).Row().LastRunID)
	fails(t, tenant.DeleteAgentTestExecution(t.Context(), retry.ID), model.NotFound)
	runs, err := tenant.AgentTestRuns(t.Context(), model.PageArgs{First: 10}, model.AgentTestRunFilter{})
	require.NoError(t, err)
	require.Empty(t, runs.Nodes)
}

func TestCampaignIsDeletedWithItsItems(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	campaign := newCampaign(t, tenant)
	items := add(t, tenant, campaign.ID, 3)
	require.Contains(t, fails(t, tenant.DeleteCampaign(t.Context(), campaign.ID), model.Conflict), "is not archived")
	become(t, tenant, campaign.ID, model.CampaignStatusArchived)
	require.NoError(t, tenant.DeleteCampaign(t.Context(), campaign.ID))
	fails(t, tenant.DeleteCampaign(t.Context(), campaign.ID), model.NotFound)
	_, err := tenant.CampaignItem(t.Context(), campaign.ID, items[0].ID)
	fails(t, err, model.NotFound)
	events, err := tenant.AuditEvents(t.Context(), model.PageArgs{First: 1}, nil)
	require.NoError(t, err)
	require.Equal(t, model.AuditActionDeleteCampaign, events.Nodes[0].Action)
}

func TestChatIsDeletedWhileItIsAnswered(t *testing.T) {
	t.Parallel()
	store, _ := fresh(t)
	tenant, chat := newSimulation(t, store, nil)
	say(t, tenant, chat.ID, "One", "Two")
	follower, err := tenant.FollowMessages(t.Context(), chat.ID, 2)
	require.NoError(t, err)
	turn, err := tenant.BeginChatTurn(t.Context(), chat.ID, lease)
	require.NoError(t, err)
	require.NoError(t, tenant.DeleteSimulationChat(t.Context(), chat.ID))
	message, reply := messages("Three", "Four")
	_, err = turn.Finish(t.Context(), message, reply, nil)
	fails(t, err, model.NotFound)
	_, isOpen := receive(t, follower)
	require.False(t, isOpen)
	fails(t, tenant.DeleteSimulationChat(t.Context(), chat.ID), model.NotFound)
}
