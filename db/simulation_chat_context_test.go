package db_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// longChat gives the chat 600 messages. Each message of the contact has a call of the agent, a call of a sub-agent and
// a retrieval. The outcome of a transfer in the first turn is unknown. The company has nine more such chats.
var longChat = []string{
	`INSERT INTO simulation_chats (company_id, id, agent_id, status, data_bag, tool_mocking, warnings, last_sequence,
		created_at)
		SELECT company_id, 'like_' || i, agent_id, status, data_bag, tool_mocking, warnings, 0, created_at
		FROM simulation_chats, generate_series(1, 9) AS i WHERE id = $1`,
	`UPDATE simulation_chats SET last_sequence = 600 WHERE company_id = (SELECT company_id FROM simulation_chats
		WHERE id = $1)`,
	`INSERT INTO simulation_chat_messages (company_id, chat_id, sequence, role, text, written_at, is_conversation_ended,
		citations)
		SELECT company_id, id, i, CASE WHEN i % 2 = 1 THEN 'user' ELSE 'assistant' END, 'text ' || i, created_at, false, '[]'
		FROM simulation_chats, generate_series(1, 600) AS i WHERE company_id = (SELECT company_id FROM simulation_chats
			WHERE id = $1)`,
	`INSERT INTO tool_calls (company_id, id, chat_id, position, kind, target_id, technical_name, arguments, result, mocked,
			message_sequence, delegation_id, started_at, duration_ms, is_turn_kept)
		SELECT company_id, format('%s_%s_%s', id, i, place), id, place, kind, 'target', 'call', '{}', 'result', kind = 'Tool',
			i,
			CASE WHEN kind = 'SubAgent' THEN 'another' END, created_at, 1, true
		FROM simulation_chats, generate_series(1, 599, 2) AS i, (VALUES (0, 'Tool'), (1, 'SubAgent'), (2,
			'Retrieval')) AS made (place, kind)
		WHERE company_id = (SELECT company_id FROM simulation_chats WHERE id = $1)`,
	`INSERT INTO tool_calls (company_id, id, chat_id, position, kind, technical_name, arguments, error, mocked,
			message_sequence, delegation_id, started_at, duration_ms, is_turn_kept)
		SELECT company_id, 'transfer', id, 3, 'CallTransfer', 'transfer_call', '{}', 'not known', false, 1, 'another',
			created_at, 1, false
		FROM simulation_chats WHERE id = $1`,
}

func TestTurnReadsTheEndOfItsChat(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), dbtest.URL(t)
	asked := &recorder{}
	tenant, chat := newSimulation(t, dbtest.Open(t, address, db.Options{Tracer: asked}), nil)
	conn := connect(t, address)
	for _, statement := range longChat {
		_, err := conn.Exec(ctx, statement, chat.ID)
		require.NoError(t, err)
	}
	_, err := conn.Exec(ctx, "VACUUM ANALYZE")
	require.NoError(t, err)
	turn, err := tenant.BeginChatTurn(ctx, chat.ID, lease)
	require.NoError(t, err)

	asked.asked = nil
	known, _, err := turn.Context(ctx)
	require.NoError(t, err)
	require.Len(t, known.Messages, 200)
	for i, m := range known.Messages {
		require.EqualValues(t, 401+i, m.Sequence)
	}
	require.Equal(t, "text 401", known.Messages[0].Text)
	require.Equal(t, model.MessageRoleUser, known.Messages[0].Role)
	require.Len(t, known.Calls, 101)
	require.Equal(t, "transfer", known.Calls[0].ID)
	for i, call := range known.Calls[1:] {
		require.Equal(t, model.ToolCallKindTool, call.Kind)
		require.EqualValues(t, 401+2*i, call.MessageSequence)
	}
	require.Empty(t, known.Mocked)
	require.Len(t, asked.asked, 2)
	boundByPolicies(t, conn)
	values := []any{"company", chat.ID, 401}
	for i, indexes := range [][]string{{"simulation_chat_messages_pkey"},
		{"tool_calls_turn_idx", "tool_calls_transfer_idx"}} {
		plan := planOf(t, conn, asked.asked[i], values[:i+2]...)
		require.NotContains(t, plan, "Seq Scan")
		for _, index := range indexes {
			require.Contains(t, plan, index)
		}
	}
}

// Not only the number of messages is bounded, but also the length of their texts: a turn reads no messages before the
// one that exceeds the bound.
func TestContextOfATurnIsBounded(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), dbtest.URL(t)
	tenant, chat := newSimulation(t, dbtest.Open(t, address, db.Options{}), nil)
	conn := connect(t, address)
	for _, statement := range longChat {
		_, err := conn.Exec(ctx, statement, chat.ID)
		require.NoError(t, err)
	}
	long := strings.Repeat("é", 140<<10)
	_, err := conn.Exec(ctx, "UPDATE simulation_chat_messages SET text = $2 WHERE chat_id = $1 AND sequence = 591",
		chat.ID, long)
	require.NoError(t, err)
	_, err = conn.Exec(ctx, "UPDATE tool_calls SET result = $2 WHERE chat_id = $1 AND kind = 'Tool' AND "+
		"message_sequence = 595", chat.ID, long)
	require.NoError(t, err)
	turn, err := tenant.BeginChatTurn(ctx, chat.ID, lease)
	require.NoError(t, err)
	known, _, err := turn.Context(ctx)
	require.NoError(t, err)
	require.Len(t, known.Messages, 10)
	require.Equal(t, long, known.Messages[0].Text)
	require.Len(t, known.Calls, 4)
	require.Equal(t, "transfer", known.Calls[0].ID)
	require.EqualValues(t, 595, known.Calls[1].MessageSequence)
}

func TestTurnCountsMockedCalls(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), dbtest.URL(t)
	tenant, chat := newSimulation(t, dbtest.Open(t, address, db.Options{}), nil)
	conn := connect(t, address)
	for _, statement := range append(longChat,
		`UPDATE simulation_chats SET tool_mocking =
			'{"sideEffects": "Allow", "mockedTools": [{"toolId": "target", "rules": [{"callIndex": 3}]}]}' WHERE id = $1`,
		`UPDATE tool_calls SET is_turn_kept = false WHERE chat_id = $1 AND message_sequence > 200`,
	) {
		_, err := conn.Exec(ctx, statement, chat.ID)
		require.NoError(t, err)
	}
	turn, err := tenant.BeginChatTurn(ctx, chat.ID, lease)
	require.NoError(t, err)
	known, _, err := turn.Context(ctx)
	require.NoError(t, err)
	require.Equal(t, map[string]int32{"target": 100}, known.Mocked)
}
