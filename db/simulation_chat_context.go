package db

import (
	"context"
	"reflect"
	"slices"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// Bounds of what a turn knows of the turns before, so that it costs no more however long the chat is.
const (
	// maxContextMessages and maxContextCalls are how many of the last ones it knows.
	maxContextMessages = 200
	maxContextCalls    = 400
	// maxContextBytes bounds the texts of the messages, and those of the calls: none is known before the one that
	// goes beyond it.
	maxContextBytes = 256 << 10
)

// TurnContext is what a turn knows of the turns before.
type TurnContext struct {
	// Messages are the last ones of the chat, in order, with their sequence, role and text.
	Messages []*model.SimulationChatMessage
	// Calls are the last ones of the chat's own agent in the turns of the messages, retrievals left out, and all transfers
	// for real, in the order in which they began.
	Calls []*model.ToolCall
	// Mocked is how often each target was called that is mocked, in the turns that were kept; empty when the mocking
	// does not ask for it.
	Mocked map[string]int32
}

// Context reads what the turn knows of the turns before, and the rows that are wanted beside it.
func (u *Turn) Context(ctx context.Context, wants ...pg.Want) (*TurnContext, [][]model.Row, error) {
	t := u.tenant
	messages, calls, mocked := []*model.SimulationChatMessage{}, []*model.ToolCall{}, []*mockedCalls{}
	// No message that is known is older, however short they are.
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
	c := &TurnContext{Messages: messages, Calls: calls, Mocked: map[string]int32{}}
	first := u.Chat.LastSequence + 1
	if len(messages) > 0 {
		first = messages[0].Sequence
	}
	c.Calls = slices.DeleteFunc(calls, func(call *model.ToolCall) bool {
		isRealTransfer := call.Kind == model.ToolCallKindCallTransfer && !call.Mocked
		return call.MessageSequence < first && !isRealTransfer
	})
	for _, of := range mocked {
		c.Mocked[of.TargetID] = of.Calls
	}
	return c, t.db.Wanted(wanted), nil
}

// lastMessages is the statement for the last messages of a chat.
var lastMessages = pg.NewQuery(func(t *pg.Tables) (string, []string) {
	last := t.Select((*model.SimulationChatMessage)(nil)).
		ColumnExpr("?TableAlias.sequence, ?TableAlias.role, ?TableAlias.text").
		ColumnExpr("sum(octet_length(?TableAlias.text)) OVER (ORDER BY ?TableAlias.sequence DESC) - "+
			"octet_length(?TableAlias.text) AS newer").
		Where("?TableAlias.chat_id = ?", pg.Place(2)).OrderExpr("?TableAlias.sequence DESC").Limit(maxContextMessages)
	return t.NewSelect().Model((*model.SimulationChatMessage)(nil)).ModelTableExpr("(?) AS ?TableAlias", last).
			Column("sequence", "role", "text").Where("newer < ?", maxContextBytes).OrderExpr("sequence").String(),
		[]string{"sequence", "role", "text"}
})

// lastCalls is the statement for the last calls of a chat, behind a message, and its transfers for real.
var lastCalls = pg.NewQuery(func(t *pg.Tables) (string, []string) {
	// Transfers for real come before all others, so that none is left out.
	const newest = "?TableAlias.kind = 'CallTransfer' AND NOT ?TableAlias.mocked DESC, " +
		"?TableAlias.message_sequence DESC, ?TableAlias.started_at DESC, ?TableAlias.position DESC"
	const size = "octet_length(?TableAlias.arguments::text) + coalesce(octet_length(?TableAlias.result), 0) + " +
		"coalesce(octet_length(?TableAlias.error), 0)"
	last := t.Select((*model.ToolCall)(nil)).ColumnExpr("?TableColumns").
		ColumnExpr("sum("+size+") OVER (ORDER BY "+newest+") - ("+size+") AS newer").
		Where("?TableAlias.chat_id = ?", pg.Place(2)).
		WhereGroup(" AND ", func(q *bun.SelectQuery) *bun.SelectQuery {
			return q.Where("?TableAlias.message_sequence >= ? AND ?TableAlias.delegation_id IS NULL AND ?TableAlias.kind <> "+
				"'Retrieval'", pg.Place(3)).
				WhereOr("?TableAlias.kind = 'CallTransfer' AND NOT ?TableAlias.mocked")
		}).OrderExpr(newest).Limit(maxContextCalls)
	columns := t.Chosen(reflect.TypeFor[model.ToolCall](), nil)
	return t.NewSelect().Model((*model.ToolCall)(nil)).ModelTableExpr("(?) AS ?TableAlias", last).Column(columns...).
		Where("newer < ?", maxContextBytes).OrderExpr("message_sequence, started_at, position").String(), columns
})

type mockedCalls struct {
	TargetID string
	Calls    int32
}

// countMocked is the statement for the calls of a chat by the target that is mocked, in the turns that were kept.
var countMocked = pg.NewQuery(func(t *pg.Tables) (string, []string) {
	return t.Select((*model.ToolCall)(nil)).ColumnExpr("?TableAlias.target_id, count(*)::int AS calls").
			Where("?TableAlias.chat_id = ?", pg.Place(2)).Where("?TableAlias.mocked AND ?TableAlias.is_turn_kept AND " +
			"?TableAlias.delegation_id IS NULL").
			Where("?TableAlias.target_id IS NOT NULL AND ?TableAlias.kind <> 'Retrieval'").GroupExpr("?TableAlias.target_id").
			String(),
		[]string{"target_id", "calls"}
})
