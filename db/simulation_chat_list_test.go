package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// longChats are 25 chats of the company with 1,000 messages each, like the one with the id.
var longChats = []string{
	`INSERT INTO simulation_chats (company_id, id, agent_id, status, data_bag, tool_mocking, warnings, last_sequence,
		created_at)
		SELECT company_id, 'like_' || i, agent_id, status, data_bag, tool_mocking, warnings, 1000, created_at
		FROM simulation_chats, generate_series(1, 25) AS i WHERE id = $1`,
	`INSERT INTO simulation_chat_messages (company_id, chat_id, sequence, role, text, written_at, is_conversation_ended,
		citations)
		SELECT company_id, id, i, CASE WHEN i % 2 = 0 THEN 'user' ELSE 'assistant' END, 'text ' || i, created_at, false, '[]'
		FROM simulation_chats, generate_series(1, 1000) AS i
		WHERE company_id = (SELECT company_id FROM simulation_chats WHERE id = $1) AND last_sequence = 1000`,
}

func TestChatListReadsOneMessagePerChat(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	asked := &recorder{}
	tenant, chat := newSimulation(t, dbtest.Open(t, address, db.Options{Tracer: asked}), nil)
	conn := connect(t, address)
	for _, statement := range longChats {
		_, err := conn.Exec(t.Context(), statement, chat.ID)
		require.NoError(t, err)
	}
	_, err := conn.Exec(t.Context(), "VACUUM ANALYZE")
	require.NoError(t, err)
	page, err := tenant.SimulationChats(t.Context(), model.PageArgs{First: 26}, nil, nil)
	require.NoError(t, err)
	ids := make([]string, len(page.Nodes))
	for i, node := range page.Nodes {
		ids[i] = node.ID
	}
	for name, test := range map[string]struct {
		rows pg.Rows
		text string
	}{"last": {db.LastMessageOfChats, "text 1000"}, "the contact's first": {db.FirstContactMessageOfChats, "text 2"}} {
		asked.asked = nil
		found, err := dbtest.Find[*model.SimulationChatMessage](t.Context(), tenant, test.rows, ids)
		require.NoError(t, err)
		require.Len(t, found, 25, "a chat without messages has none")
		for _, message := range found {
			require.Equal(t, test.text, message.Text, name)
			require.Equal(t, message.ChatID, message.Parent())
		}
		require.Len(t, asked.asked, 1)
		plan := planOf(t, conn, asked.asked[0], "company", "{a,b}")
		require.Regexp(t, `Index Cond: .*sequence`, plan, name)
		require.NotContains(t, plan, "Seq Scan on simulation_chat_messages", name)
	}
}

func TestChatsAreFilteredByStatus(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), dbtest.URL(t)
	tenant, open := newSimulation(t, dbtest.Open(t, address, db.Options{}), nil)
	replying, dead := newSimulationChat(t, tenant, open.AgentID, nil), newSimulationChat(t, tenant, open.AgentID, nil)
	ended := newSimulationChat(t, tenant, open.AgentID, nil)
	for _, chat := range []*model.SimulationChat{replying, dead} {
		_, err := tenant.BeginChatTurn(ctx, chat.ID, time.Hour)
		require.NoError(t, err)
	}
	_, err := connect(t, address).Exec(ctx, "UPDATE simulation_chats SET reply_until = now() - interval '1 second' "+
		"WHERE id = $1", dead.ID)
	require.NoError(t, err)
	_, err = tenant.EndSimulationChat(ctx, ended.ID)
	require.NoError(t, err)

	const isOpen, isReplying, isEnded = model.SimulationChatStatusOpen, model.SimulationChatStatusReplying,
		model.SimulationChatStatusEnded
	for name, test := range map[string]struct {
		statuses []model.SimulationChatStatus
		ids      []string
	}{
		"all":      {nil, []string{ended.ID, dead.ID, replying.ID, open.ID}},
		"none":     {[]model.SimulationChatStatus{}, []string{}},
		"open":     {[]model.SimulationChatStatus{isOpen}, []string{dead.ID, open.ID}},
		"replying": {[]model.SimulationChatStatus{isReplying}, []string{replying.ID}},
		"two":      {[]model.SimulationChatStatus{isEnded, isReplying}, []string{ended.ID, replying.ID}},
	} {
		page, err := tenant.SimulationChats(ctx, model.PageArgs{First: 10}, &open.AgentID,
			&model.SimulationChatFilter{Statuses: test.statuses})
		require.NoError(t, err)
		ids := []string{}
		for _, chat := range page.Nodes {
			ids = append(ids, chat.ID)
			if test.statuses != nil {
				require.Contains(t, test.statuses, chat.Status())
			}
		}
		require.Equal(t, test.ids, ids, name)
		total, err := page.TotalCount(ctx)
		require.NoError(t, err)
		require.EqualValues(t, len(test.ids), total, name)
	}
	_, err = tenant.SimulationChats(ctx, model.PageArgs{First: 10}, nil,
		&model.SimulationChatFilter{Statuses: []model.SimulationChatStatus{isOpen, isOpen, isOpen, isOpen}})
	fails(t, err, model.BadInput)
}

func TestChatsThatAwaitAnApprovalAreFound(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), dbtest.URL(t)
	tenant, open := newSimulation(t, dbtest.Open(t, address, db.Options{}), nil)
	waiting := newSimulationChat(t, tenant, open.AgentID, nil)
	turn, err := tenant.BeginChatTurn(ctx, waiting.ID, time.Hour)
	require.NoError(t, err)
	call := &model.ToolCall{ID: model.NewID("call"), Kind: model.ToolCallKindTool, TechnicalName: "refund",
		Arguments: model.JSONObject(`{}`), StartedAt: waiting.CreatedAt}
	require.NoError(t, turn.RequestApproval(ctx, call, "Refund me"))
	requireFound := func(filter model.SimulationChatFilter, want ...string) {
		t.Helper()
		for _, agentID := range []*string{nil, &open.AgentID} {
			page, err := tenant.SimulationChats(ctx, model.PageArgs{First: 10}, agentID, &filter)
			require.NoError(t, err)
			ids := []string{}
			for _, chat := range page.Nodes {
				ids = append(ids, chat.ID)
			}
			require.Equal(t, append([]string{}, want...), ids)
			total, err := page.TotalCount(ctx)
			require.NoError(t, err)
			require.EqualValues(t, len(want), total)
		}
	}
	awaits, others := model.SimulationChatFilter{AwaitsApproval: new(true)},
		model.SimulationChatFilter{AwaitsApproval: new(false)}
	requireFound(awaits, waiting.ID)
	requireFound(others, open.ID)
	requireFound(model.SimulationChatFilter{AwaitsApproval: new(true),
		Statuses: []model.SimulationChatStatus{model.SimulationChatStatusReplying}}, waiting.ID)
	requireFound(model.SimulationChatFilter{AwaitsApproval: new(true),
		Statuses: []model.SimulationChatStatus{model.SimulationChatStatusOpen}})
	_, err = connect(t, address).Exec(ctx, "UPDATE tool_calls SET approval_until = now() - interval '1 second'")
	require.NoError(t, err)
	requireFound(awaits)
	requireFound(others, waiting.ID, open.ID)
}
