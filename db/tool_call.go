package db

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/model"
)

// ToolCallsOfChats returns the calls of several chats, each chat's in the order in which they began.
func (t *Tenant) ToolCallsOfChats(ctx context.Context, chatIDs []string) ([]*model.ToolCall, error) {
	calls := []*model.ToolCall{}
	err := t.find(&calls).ColumnExpr("?TableColumns").ColumnExpr("?TableAlias.chat_id AS parent_id").
		Where("?TableAlias.chat_id IN (?)", bun.List(chatIDs)).
		OrderExpr("?TableAlias.chat_id, ?TableAlias.message_sequence, ?TableAlias.started_at, ?TableAlias.position").Scan(ctx)
	return calls, translate(err)
}

// HeadersOf returns the headers of a tool's endpoint with their values, which are secrets.
func (t *Tenant) HeadersOf(tool *model.Tool) (map[string]string, error) {
	headers := map[string]string{}
	if tool.Endpoint == nil || len(tool.Endpoint.SealedHeaders) == 0 {
		return headers, nil
	}
	text, err := t.store.sealer.open(t.companyID+"/"+tool.ID, tool.Endpoint.SealedHeaders)
	if err != nil {
		return nil, fmt.Errorf("decrypt the headers of tool %s: %w", tool.ID, err)
	}
	return headers, json.Unmarshal(text, &headers)
}

// record keeps the calls of a turn on the chat.
func (u *Turn) record(ctx context.Context, t *Tenant, calls []*model.ToolCall, kept bool) error {
	for i, call := range calls {
		call.ChatID, call.Position, call.IsTurnKept = u.Chat.ID, int32(i), kept
		call.MessageSequence = u.Chat.LastSequence + 1
	}
	return insert(ctx, t, calls...)
}
