package db_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// row can be inserted by bun and by a prepared statement.
type row interface {
	OwnBy(companyID string)
	Parent() string
}

// bun and a prepared statement insert the same row.
func TestPreparedStatementsWriteTheSameRowsAsBun(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, db.Options{})
	tenant, companyID := newCompany(t, store)
	agent := newAgent(t, tenant)
	conn := connect(t, address)
	at := time.Date(2026, 3, 1, 9, 30, 15, 123456000, time.FixedZone("east", 7200))
	odd := "Is it \"5'\"\\n\tor €?\nü"

	chats := []model.SimulationChat{
		{AgentID: agent.ID, DataBag: model.JSONObject(`{"a": {"b": [1, "ü\u2028"]}}`), Warnings: []string{}, CreatedAt: at,
			State: model.SimulationChatStatusOpen},
		{
			AgentID: agent.ID, Holder: append([]byte{0, 255, '\\', '\''}, make([]byte, 28)...), DataBag: nil,
			Warnings: []string{odd, ""}, IsDraft: true, DraftPrompt: &odd,
			LastSequence: 7, ReplyID: new("turn_1"), ReplyUntil: &at, CreatedAt: at, State: model.SimulationChatStatusReplying,
			ToolMocking: model.ToolMocking{SideEffects: model.SideEffectsDeny,
				MockedTools: []model.MockedTool{{ToolID: "tool_1", Mock: model.Mock{ResultTemplate: &odd}}}},
		},
		{AgentID: agent.ID, Warnings: []string{"odd"}, CreatedAt: at, EndedAt: &at, EndReason: new(""),
			State: model.SimulationChatStatusEnded},
	}
	for i := range chats {
		sameRow(t, conn, tenant, "simulation_chats", "id", func(key string) row { c := chats[i]; c.ID = key; return &c })
	}
	chat := newSimulationChat(t, tenant, agent.ID, nil)
	for _, m := range []model.SimulationChatMessage{
		{Role: model.MessageRoleUser, Text: odd, Timestamp: at, Citations: []model.Citation{}},
		{Role: model.MessageRoleAssistant, Text: "", Timestamp: at.UTC(), IsConversationEnded: true, EndReason: &odd,
			Citations: []model.Citation{{Number: 1, Content: odd}}},
	} {
		sequence := int32(0)
		sameRow(t, conn, tenant, "simulation_chat_messages", "sequence", func(string) row {
			sequence++
			m.ChatID, m.Sequence = chat.ID, sequence
			c := m
			return &c
		})
		_, err := conn.Exec(t.Context(), "DELETE FROM simulation_chat_messages WHERE company_id = $1", companyID)
		require.NoError(t, err)
	}
	for _, c := range []model.ToolCall{
		{Kind: model.ToolCallKindTool, TargetID: new("tool_1"), TechnicalName: "find",
			Arguments: model.JSONObject(`{"q": "\"ü"}`), Result: &odd, StartedAt: at, DurationMs: 5, MessageSequence: 1,
			IsTurnKept: true},
		{Kind: model.ToolCallKindCallTransfer, TechnicalName: "transfer", Mocked: true, MockRule: new(int32(0)),
			DelegationID: new("call_1"), Error: new(""), IsOutcomeUnknown: true, StartedAt: at, MessageSequence: 1},
	} {
		sameRow(t, conn, tenant, "tool_calls", "id", func(key string) row {
			c := c
			c.ID, c.ChatID = key,
				chat.ID
			return &c
		})
	}
	for _, credits := range []model.Credits{-1, 1_000_000_000_000} {
		sameRow(t, conn, tenant, "usage_entries", "idempotency_key", func(key string) row {
			return &model.UsageEntry{IdempotencyKey: key, Channel: model.ChannelPhone, AgentID: agent.ID, Credits: credits,
				At: at}
		})
		sameRow(t, conn, tenant, "usage_days", "agent_id", func(key string) row {
			return &model.UsageDay{Day: at.UTC().Truncate(24 * time.Hour), Channel: model.ChannelWeb, AgentID: key,
				Credits: credits, Entries: 1 << 40}
		})
		sameRow(t, conn, tenant, "usage_months", "agent_id", func(key string) row {
			return &model.UsageMonth{Month: model.MonthOf(at), Channel: model.ChannelWeb, AgentID: key, CampaignID: odd,
				Credits: credits, Entries: 1}
		})
	}
	fails(t, db.Write(t.Context(), tenant, &model.UsageEntry{IdempotencyKey: "a\x00b", Channel: model.ChannelWeb,
		AgentID: "a", At: at}), model.BadInput)
}

var madeKeys atomic.Int64

// sameRow inserts a row in both ways, with two keys, and requires that all other columns are equal.
func sameRow(t *testing.T, conn *pgx.Conn, tenant *db.Tenant, table, key string, make func(key string) row) {
	t.Helper()
	n := madeKeys.Add(1)
	require.NoError(t, db.Insert(t.Context(), tenant, make(fmt.Sprintf("key_%d_a", n))))
	require.NoError(t, db.Write(t.Context(), tenant, make(fmt.Sprintf("key_%d_b", n)), make(fmt.Sprintf("key_%d_c", n))))
	rows, err := conn.Query(t.Context(), fmt.Sprintf("SELECT (to_jsonb(r) - '%s')::text FROM %s AS r WHERE company_id = "+
		"$1 AND (%[1]s::text LIKE $2 OR $2 = '') ORDER BY %[1]s DESC LIMIT 3",
		key, table), tenant.CompanyID(), map[bool]string{true: "", false: fmt.Sprintf("key_%d_%%", n)}[key == "sequence"])
	require.NoError(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Len(t, found, 3)
	require.Equal(t, found[0], found[1])
	require.Equal(t, found[0], found[2])
}

// trips counts the round trips of statements whose context comes from its method in.
type trips struct{ statements }

func (s *trips) TraceBatchStart(ctx context.Context, conn *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return s.TraceQueryStart(ctx, conn, pgx.TraceQueryStartData{})
}

func TestTurnTakesFewRoundTrips(t *testing.T) {
	t.Parallel()
	dbtest.SkipIfPooled(t)
	dbtest.SkipIfSharded(t) // a cluster needs a transaction for several statements
	sent := &trips{}
	store := dbtest.Open(t, dbtest.URL(t), db.Options{Tracer: sent, MaxConnections: 2})
	tenant, chat := newSimulation(t, store, nil)
	ctx := sent.in(t.Context())
	turn := func() int64 {
		before := sent.n.Load()
		u, err := tenant.BeginChatTurn(ctx, chat.ID, lease)
		require.NoError(t, err)
		calls := make([]*model.ToolCall, 40)
		for i := range calls {
			calls[i] = &model.ToolCall{
				ID: model.NewID("call"), Kind: model.ToolCallKindTool, TechnicalName: "find", Arguments: model.JSONObject("{}"),
				Result:    new("found"),
				StartedAt: time.Now(),
			}
		}
		u.Spent = &model.UsageEntry{Channel: model.ChannelWeb, AgentID: chat.AgentID, Credits: 5}
		u.Warn(fmt.Sprint("warning ", before))
		message, answer := messages("Hello", "Good morning")
		ended, err := u.Finish(ctx, message, answer, calls)
		require.NoError(t, err)
		require.Len(t, ended.Warnings, int(ended.LastSequence)/2+1, "each turn adds one")
		return sent.n.Load() - before
	}
	turn()
	// One round trip claims the chat, and the other writes everything.
	require.Equal(t, int64(2), turn(), "the number of calls does not matter")
}

// A migration changes what a statement returns while the program runs. No message is lost, however many connections
// have prepared the statement.
func TestTurnsSucceedWhileAMigrationRuns(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	conn := connect(t, address)
	const connections = 6
	store := dbtest.Open(t, address, db.Options{MaxConnections: connections})
	tenant, chat := newSimulation(t, store, nil)
	for range 3 {
		require.Empty(t, together(connections, func(int) error {
			other := &model.SimulationChat{AgentID: chat.AgentID, Warnings: []string{}}
			if err := tenant.CreateSimulationChat(t.Context(), other); err != nil {
				return err
			}
			turn, err := tenant.BeginChatTurn(t.Context(), other.ID, lease)
			if err != nil {
				return err
			}
			message, answer := messages("Hello", "Good morning")
			_, err = turn.Finish(t.Context(), message, answer, nil)
			return err
		}))
	}
	change := func(size int) {
		_, err := conn.Exec(t.Context(), fmt.Sprintf("ALTER TABLE simulation_chats ALTER COLUMN end_reason TYPE varchar(%d)",
			size))
		require.NoError(t, err)
	}
	_, err := conn.Exec(t.Context(), "DROP SCHEMA company CASCADE")
	require.NoError(t, err)
	change(4000)
	turn, err := tenant.BeginChatTurn(t.Context(), chat.ID, lease)
	require.NoError(t, err)
	change(5000)
	turn.Warn("what \x00 cannot be kept \xff")
	message, answer := messages("Are you there?", "I am")
	ended, err := turn.Finish(t.Context(), message, answer, nil)
	require.NoError(t, err)
	require.Contains(t, ended.Warnings, "what  cannot be kept \uFFFD")
	said, err := tenant.MessagesOfChats(t.Context(), []string{chat.ID})
	require.NoError(t, err)
	require.Len(t, said, 2)
}
