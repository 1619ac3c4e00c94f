package db

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentgraph/agentgraph/model"
)

// ToolCallsOfChats are the calls of simulated chats, each chat's in the order in which they began.
var ToolCallsOfChats = Rows{
	none: (*model.ToolCall)(nil), key: "?TableAlias.chat_id",
	order: "?TableAlias.message_sequence, ?TableAlias.started_at, ?TableAlias.position",
}

// ToolCallsOfChats returns the calls of several chats, each chat's in the order in which they began.
func (t *Tenant) ToolCallsOfChats(ctx context.Context, chatIDs []string) ([]*model.ToolCall, error) {
	return of[*model.ToolCall](ctx, t, ToolCallsOfChats, chatIDs, nil)
}

// HeadersOf returns the headers of a tool's endpoint with their values, which are secrets.
func (t *Tenant) HeadersOf(tool *model.Tool) (map[string]string, error) {
	headers := map[string]string{}
	if tool.Endpoint == nil || len(tool.Endpoint.SealedHeaders) == 0 {
		return headers, nil
	}
	text, err := t.store.sealer.Open(t.companyID+"/"+tool.ID, tool.Endpoint.SealedHeaders)
	if err != nil {
		return nil, fmt.Errorf("decrypt the headers of tool %s: %w", tool.ID, err)
	}
	return headers, json.Unmarshal(text, &headers)
}

// BeginCall keeps that a call is about to be made, as one of which the outcome is not known. A call that has
// effects must not be made when it fails: with CONFLICT, because the claim was lost. The claim is prolonged.
func (u *Turn) BeginCall(ctx context.Context, call *model.ToolCall) error {
	begun := *call
	begun.Begin()
	u.place(&begun)
	return u.tenant.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		chat, err := changeChat(ctx, u.change(t.Tenant).Set(untilLeaseEnds, u.lease.Microseconds()))
		if err != nil {
			return err
		}
		if chat == nil {
			return t.whyNot(ctx, u.Chat.ID)
		}
		return insert(ctx, t.Tenant, &begun)
	})
}

// EndCall keeps what came of a call that BeginCall has kept.
func (u *Turn) EndCall(ctx context.Context, call *model.ToolCall) error {
	_, err := u.tenant.change(call).Column("result", "error", "duration_ms", "is_outcome_unknown").Where("id = ?", call.ID).Exec(ctx)
	return translate(err)
}

// record keeps the calls of a turn on the chat, those that were begun and those that were not.
func (u *Turn) record(ctx context.Context, t *Tenant, calls []*model.ToolCall, kept bool) error {
	if len(calls) == 0 {
		return nil
	}
	for i, call := range calls {
		u.place(call)
		call.Position, call.IsTurnKept = int32(i), kept
		call.OwnBy(t.companyID)
	}
	_, err := t.db.NewInsert().Model(&calls).On("CONFLICT (company_id, id) DO UPDATE").
		Set("position = EXCLUDED.position").Set("result = EXCLUDED.result").Set("error = EXCLUDED.error").
		Set("is_outcome_unknown = EXCLUDED.is_outcome_unknown").Set("duration_ms = EXCLUDED.duration_ms").Set("is_turn_kept = EXCLUDED.is_turn_kept").Returning("NULL").Exec(ctx)
	return translate(err)
}

// place gives a call its place in the chat.
func (u *Turn) place(call *model.ToolCall) {
	call.ChatID, call.MessageSequence = u.Chat.ID, u.Chat.LastSequence+1
}
