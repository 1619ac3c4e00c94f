package db

import (
	"context"

	"github.com/uptrace/bun"

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

// Context reads what the turn knows of the turns before.
func (u *Turn) Context(ctx context.Context) (*TurnContext, error) {
	c := &TurnContext{Messages: []*model.SimulationChatMessage{}, Calls: []*model.ToolCall{}, Mocked: map[string]int32{}}
	if err := u.lastMessages(ctx, &c.Messages); err != nil {
		return nil, translate(err)
	}
	first := u.Chat.LastSequence + 1
	if len(c.Messages) > 0 {
		first = c.Messages[0].Sequence
	}
	if err := u.lastCalls(ctx, first, &c.Calls); err != nil {
		return nil, translate(err)
	}
	if !u.Chat.ToolMocking.CountsCalls() {
		return c, nil
	}
	counts := []struct {
		TargetID string
		Calls    int32
	}{}
	err := u.tenant.find((*model.ToolCall)(nil)).ColumnExpr("?TableAlias.target_id, count(*) AS calls").
		Where("?TableAlias.chat_id = ?", u.Chat.ID).Where("?TableAlias.mocked AND ?TableAlias.is_turn_kept AND ?TableAlias.delegation_id IS NULL").
		Where("?TableAlias.target_id IS NOT NULL AND ?TableAlias.kind <> 'Retrieval'").GroupExpr("?TableAlias.target_id").Scan(ctx, &counts)
	for _, of := range counts {
		c.Mocked[of.TargetID] = of.Calls
	}
	return c, translate(err)
}

func (u *Turn) lastMessages(ctx context.Context, into *[]*model.SimulationChatMessage) error {
	last := u.tenant.find((*model.SimulationChatMessage)(nil)).
		ColumnExpr("?TableAlias.sequence, ?TableAlias.role, ?TableAlias.text").
		ColumnExpr("sum(octet_length(?TableAlias.text)) OVER (ORDER BY ?TableAlias.sequence DESC) - octet_length(?TableAlias.text) AS newer").
		Where("?TableAlias.chat_id = ?", u.Chat.ID).OrderExpr("?TableAlias.sequence DESC").Limit(maxContextMessages)
	return u.tenant.db.NewSelect().Model(into).ModelTableExpr("(?) AS ?TableAlias", last).Column("sequence", "role", "text").
		Where("newer < ?", maxContextBytes).OrderExpr("sequence").Scan(ctx)
}

func (u *Turn) lastCalls(ctx context.Context, first int32, into *[]*model.ToolCall) error {
	// Transfers for real come before all others, so that none is left out.
	const newest = "?TableAlias.kind = 'CallTransfer' AND NOT ?TableAlias.mocked DESC, " +
		"?TableAlias.message_sequence DESC, ?TableAlias.started_at DESC, ?TableAlias.position DESC"
	const size = "octet_length(?TableAlias.arguments::text) + coalesce(octet_length(?TableAlias.result), 0) + coalesce(octet_length(?TableAlias.error), 0)"
	last := u.tenant.find((*model.ToolCall)(nil)).ColumnExpr("?TableColumns").
		ColumnExpr("sum("+size+") OVER (ORDER BY "+newest+") - ("+size+") AS newer").Where("?TableAlias.chat_id = ?", u.Chat.ID).
		WhereGroup(" AND ", func(q *bun.SelectQuery) *bun.SelectQuery {
			return q.Where("?TableAlias.message_sequence >= ? AND ?TableAlias.delegation_id IS NULL AND ?TableAlias.kind <> 'Retrieval'", first).
				WhereOr("?TableAlias.kind = 'CallTransfer' AND NOT ?TableAlias.mocked")
		}).OrderExpr(newest).Limit(maxContextCalls)
	return u.tenant.db.NewSelect().Model(into).ModelTableExpr("(?) AS ?TableAlias", last).ColumnExpr("?TableColumns").
		Where("newer < ?", maxContextBytes).OrderExpr("message_sequence, started_at, position").Scan(ctx)
}
