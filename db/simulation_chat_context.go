package db

import (
	"context"
	"reflect"
	"slices"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// Bounds of the context of a turn, so that its cost does not grow with the length of the chat.
const (
	// maxContextMessages and maxContextCalls bound the number of recent messages and calls.
	maxContextMessages = 200
	maxContextCalls    = 400
	// maxContextBytes bounds the texts of the messages and, separately, the texts of the calls: real transfers first, then
	// from the newest on. The message or call that reaches it is the last one included.
	maxContextBytes = 256 << 10
)

// ChatTurnContext is the part of the chat's history that a turn gets.
type ChatTurnContext struct {
	// Messages are the last messages of the chat, in order, with sequence, role and text.
	Messages []*model.SimulationChatMessage
	// Calls are the last calls by the chat's own agent, without retrievals, and all real transfers. The last calls are
	// those in the turns of Messages, and in failed turns after them. Calls is in the order in which the calls started.
	Calls []*model.ToolCall
	// Mocked is how often the chat's own agent has called each mocked target in saved turns, by the target's id. It is
	// empty when the mocking does not depend on these numbers.
	Mocked map[string]int32
}

// Context reads the history that the turn needs, and the wanted rows.
func (u *ChatTurn) Context(ctx context.Context, wants ...pg.Want) (*ChatTurnContext, [][]model.Row, error) {
	t := u.tenant
	messages, calls, mocked := []*model.SimulationChatMessage{}, []*model.ToolCall{}, []*mockedCalls{}
	// The context contains no older message, however short the messages are.
	oldest := u.Chat.LastSequence + 1 - maxContextMessages
	own, wanted := []pg.Bound{pg.Bind(lastMessages, &messages, u.Chat.ID), pg.Bind(lastCalls, &calls, u.Chat.ID, oldest)},
		[]pg.Bound{}
	if u.Chat.ToolMocking.CountsCalls() {
		own = append(own, pg.Bind(countMocked, &mocked, u.Chat.ID))
	}
	for _, want := range wants {
		wanted = append(wanted, pg.BindWant(want))
	}
	if err := t.db.Query(ctx, append(own, wanted...)...); err != nil {
		return nil, nil, err
	}
	c := &ChatTurnContext{Messages: messages, Calls: calls, Mocked: map[string]int32{}}
	first := u.Chat.LastSequence + 1
	if len(messages) > 0 {
		first = messages[0].Sequence
	}
	c.Calls = slices.DeleteFunc(calls, func(call *model.ToolCall) bool {
		isRealTransfer := call.Kind == model.ToolCallKindCallTransfer && !call.Mocked
		return call.MessageSequence < first && !isRealTransfer
	})
	for _, counted := range mocked {
		c.Mocked[counted.TargetID] = counted.Calls
	}
	return c, t.db.Wanted(wanted), nil
}

// lastMessages is the statement for the last messages of a chat.
var lastMessages = pg.NewQuery(func(t *pg.Tables) (string, []string) {
	last := t.Select((*model.SimulationChatMessage)(nil)).
		ColumnExpr("?TableAlias.sequence, ?TableAlias.role, ?TableAlias.text").
		ColumnExpr("sum(octet_length(?TableAlias.text)) OVER (ORDER BY ?TableAlias.sequence DESC) - "+
			"octet_length(?TableAlias.text) AS newer").
		Where("?TableAlias.chat_id = ?", pg.Param(2)).OrderExpr("?TableAlias.sequence DESC").Limit(maxContextMessages)
	return t.NewSelect().Model((*model.SimulationChatMessage)(nil)).ModelTableExpr("(?) AS ?TableAlias", last).
			Column("sequence", "role", "text").Where("newer < ?", maxContextBytes).OrderExpr("sequence").String(),
		[]string{"sequence", "role", "text"}
})

// lastCalls is the statement for the last calls of a chat from a message on, and for all of its real transfers.
var lastCalls = pg.NewQuery(func(t *pg.Tables) (string, []string) {
	// Real transfers come before all other calls, so that none is left out.
	const newest = "?TableAlias.kind = 'CallTransfer' AND NOT ?TableAlias.mocked DESC, " +
		"?TableAlias.message_sequence DESC, ?TableAlias.started_at DESC, ?TableAlias.position DESC"
	const size = "octet_length(?TableAlias.arguments::text) + coalesce(octet_length(?TableAlias.result), 0) + " +
		"coalesce(octet_length(?TableAlias.error), 0)"
	last := t.Select((*model.ToolCall)(nil)).ColumnExpr("?TableColumns").
		ColumnExpr("sum("+size+") OVER (ORDER BY "+newest+") - ("+size+") AS newer").
		Where("?TableAlias.chat_id = ?", pg.Param(2)).
		WhereGroup(" AND ", func(q *bun.SelectQuery) *bun.SelectQuery {
			return q.Where("?TableAlias.message_sequence >= ? AND ?TableAlias.delegation_id IS NULL AND ?TableAlias.kind <> "+
				"'Retrieval'", pg.Param(3)).
				WhereOr("?TableAlias.kind = 'CallTransfer' AND NOT ?TableAlias.mocked")
		}).OrderExpr(newest).Limit(maxContextCalls)
	columns := t.ColumnsToRead(reflect.TypeFor[model.ToolCall](), nil)
	return t.NewSelect().Model((*model.ToolCall)(nil)).ModelTableExpr("(?) AS ?TableAlias", last).Column(columns...).
		Where("newer < ?", maxContextBytes).OrderExpr("message_sequence, started_at, position").String(), columns
})

type mockedCalls struct {
	TargetID string
	Calls    int32
}

// countMocked is the statement that counts the calls of a chat by mocked target, in saved turns.
var countMocked = pg.NewQuery(func(t *pg.Tables) (string, []string) {
	return t.Select((*model.ToolCall)(nil)).ColumnExpr("?TableAlias.target_id, count(*)::int AS calls").
			Where("?TableAlias.chat_id = ?", pg.Param(2)).Where("?TableAlias.mocked AND ?TableAlias.is_turn_kept AND " +
			"?TableAlias.delegation_id IS NULL").
			Where("?TableAlias.target_id IS NOT NULL AND ?TableAlias.kind <> 'Retrieval'").GroupExpr("?TableAlias.target_id").
			String(),
		[]string{"target_id", "calls"}
})
