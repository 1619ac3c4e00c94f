package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/db/seal"
	"github.com/agentgraph/agentgraph/model"
)

// ToolCallsOfChats are the calls of simulated chats, in the order in which they started in each chat.
var ToolCallsOfChats = pg.Rows{
	Model: (*model.ToolCall)(nil), Key: "?TableAlias.chat_id",
	Order: "?TableAlias.message_sequence, ?TableAlias.started_at, ?TableAlias.position",
}

// ToolCallsOfChats returns the calls of several chats, in the order in which they started in each chat.
func (t *Tenant) ToolCallsOfChats(ctx context.Context, chatIDs []string) ([]*model.ToolCall, error) {
	return pg.Find[*model.ToolCall](ctx, t.db, ToolCallsOfChats, chatIDs)
}

// DecryptHeaders returns the headers of an endpoint with their secret values. id identifies the tool or MCP server.
func (t *Tenant) DecryptHeaders(id string, e *model.ToolEndpoint) (map[string]string, error) {
	headers := map[string]string{}
	if e == nil || len(e.SealedHeaders) == 0 {
		return headers, nil
	}
	text, err := t.store.sealer.Open(t.CompanyID()+"/"+id, e.SealedHeaders)
	if err != nil {
		return nil, fmt.Errorf("decrypt the headers of %s: %w", id, err)
	}
	return headers, json.Unmarshal(text, &headers)
}

// CheckSecretKey returns an error if stored secrets were encrypted with another secret key than the Store's. It tries
// one tool, one MCP server and one webhook.
func (s *Store) CheckSecretKey(ctx context.Context) error {
	const hasHeaders = "endpoint ->> 'sealedHeaders' IS NOT NULL"
	tools, servers, webhooks := []*model.Tool{}, []*model.McpServer{}, []*model.Webhook{}
	for _, kind := range []struct {
		rows      any
		condition string
	}{{&tools, hasHeaders}, {&servers, hasHeaders}, {&webhooks, "TRUE"}} {
		companies, err := s.companiesWith(ctx, kind.rows, kind.condition)
		if err == nil && len(companies) > 0 {
			err = s.Tenant(companies[0]).db.Select(kind.rows).Where(kind.condition).Limit(1).Scan(ctx)
		}
		if err != nil {
			return err
		}
	}
	for _, tool := range tools {
		if _, err := s.Tenant(tool.CompanyID).DecryptHeaders(tool.ID, tool.Endpoint); err != nil {
			return err
		}
	}
	for _, server := range servers {
		if _, err := s.Tenant(server.CompanyID).DecryptHeaders(server.ID, server.Endpoint); err != nil {
			return err
		}
	}
	for _, webhook := range webhooks {
		if _, err := s.sealer.Open(webhook.CompanyID+"/"+webhook.ID, webhook.SealedSecret); err != nil {
			return fmt.Errorf("decrypt the secret of %s: %w", webhook.ID, err)
		}
	}
	return nil
}

// checkHeaders returns an error if the row has headers that this server cannot decrypt.
func (i *CompanyImport) checkHeaders(row any) (err error) {
	switch row := row.(type) {
	case *model.Tool:
		_, err = i.tenant.DecryptHeaders(row.ID, row.Endpoint)
	case *model.McpServer:
		_, err = i.tenant.DecryptHeaders(row.ID, row.Endpoint)
	}
	if errors.Is(err, seal.ErrNoKey) {
		return errors.New("endpoint.sealedHeaders are encrypted, but this server has no secret key: set it to the key of " +
			"the other server")
	}
	if err != nil {
		return errors.New("endpoint.sealedHeaders were encrypted with another secret key than this server's")
	}
	return nil
}

// BeginCall records that a call is about to be made, with an unknown outcome, and renews the claim. If it fails, do
// not make a call that has effects. It returns CONFLICT when the claim was lost.
func (u *ChatTurn) BeginCall(ctx context.Context, call *model.ToolCall) error {
	started := *call
	started.Begin()
	u.assignToTurn(&started)
	w := u.tenant.db.Batch()
	u.requireTurn(w)
	prolonged := u.addRenewal(w)
	if started.Approval == nil {
		w.Insert(&started)
	} else { // RequestApproval has inserted the row
		started.WaitsUntil = nil
		w.Update(&started, started.ID, "result", "error", "is_outcome_unknown", "is_real", "approval_until")
	}
	isKept, err := w.Commit(ctx)
	if err == nil && (!isKept || len(*prolonged) == 0) { // the agent may have been deleted between the two statements
		return u.tenant.turnConflict(ctx, u.Chat.ID)
	}
	return err
}

// EndCall records the outcome of a call that BeginCall has recorded.
func (u *ChatTurn) EndCall(ctx context.Context, call *model.ToolCall) error {
	w := u.tenant.db.Batch()
	w.Update(call, call.ID, "result", "error", "duration_ms", "is_outcome_unknown")
	return w.Send(ctx)
}

// addCalls adds the calls of a turn to the chat, whether BeginCall recorded them or not. Calls of a saved turn remain
// saved, even if the caller did not learn that it was saved. A turn that lost its claim does not overwrite a call that
// the next turn saved. Nor does it overwrite a person's answer that it has not read.
func (u *ChatTurn) addCalls(w *pg.Batch, calls []*model.ToolCall, kept bool) {
	for i, call := range calls {
		u.assignToTurn(call)
		call.Position, call.IsTurnKept = int32(i), kept
		w.InsertOr("CONFLICT (company_id, id) DO UPDATE", "position = EXCLUDED.position, result = EXCLUDED.result, error = "+
			"EXCLUDED.error, "+
			"is_outcome_unknown = EXCLUDED.is_outcome_unknown, is_real = EXCLUDED.is_real, "+
			"approval = EXCLUDED.approval, approval_until = "+
			"EXCLUDED.approval_until, approval_note = EXCLUDED.approval_note, duration_ms = EXCLUDED.duration_ms, is_turn_kept = "+
			"tool_call.is_turn_kept OR EXCLUDED.is_turn_kept WHERE EXCLUDED.is_turn_kept OR NOT tool_call.is_turn_kept AND "+
			"(EXCLUDED.approval IS DISTINCT FROM 'Pending' OR tool_call.approval = 'Pending')", call)
	}
}

// assignToTurn assigns a call to the message of the turn.
func (u *ChatTurn) assignToTurn(call *model.ToolCall) {
	call.ChatID, call.MessageSequence = u.Chat.ID, u.Chat.LastSequence+1
}
