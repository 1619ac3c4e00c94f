package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// maxWaitingCalls is how many calls of a company may wait for a person in a process while the client stays connected. A
// further turn is suspended, so that waiting turns do not use up the company's memory and slots.
const maxWaitingCalls = 50

// errSuspended is the cause when a turn ends because a call waits for a person.
var errSuspended = errors.New("a call waits for a person")

// awaitApproval returns once a person has approved the agent's call of the tool. text is the contact's message.
func (s *chatTurn) awaitApproval(ctx context.Context, agentID string, tool *model.Tool, call *model.ToolCall,
	text string) error {
	s.openCalls.Add(1)
	mayWait := !s.isWorkers && s.waiting.TryEnter(s.tenant.CompanyID())
	if mayWait {
		defer s.waiting.Leave(s.tenant.CompanyID())
	}
	if err := s.turn.RequestApproval(ctx, call, text); err != nil {
		return err
	}
	if *call.Approval == model.ToolCallApprovalPending && !mayWait {
		s.stop(errSuspended)
	}
	if err := s.turn.AwaitAnswer(ctx, call); err != nil {
		return err
	}
	s.openCalls.Add(-1)
	if *call.Approval == model.ToolCallApprovalApproved {
		return s.requireUnchanged(ctx, agentID, tool, call.StartedAt)
	}
	return callError(model.DeniedError(call.ApprovalNote))
}

// requireUnchanged returns an error unless the agent still has the tool as it was when a person was asked: the person
// approved a call of that tool, and not of another address. tool was read when the turn began or continued.
func (s *chatTurn) requireUnchanged(ctx context.Context, agentID string, tool *model.Tool, asked time.Time) error {
	speaker, err := loadSpeaker(ctx, s.tenant, agentID)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(speaker.Tools, func(other *model.Tool) bool { return other.ID == tool.ID })
	if at < 0 {
		return errToolChanged
	}
	if now := speaker.Tools[at].UpdatedAt; now.After(asked) || !now.Equal(tool.UpdatedAt) {
		return errToolChanged
	}
	if tool.McpServerID == nil {
		return nil
	}
	server, err := s.tenant.McpServer(ctx, *tool.McpServerID)
	if err == nil && server.UpdatedAt.After(asked) {
		return errToolChanged
	}
	return err
}

// isSuspended reports whether a turn ended while a call waits for a person: the client disconnected, the process stops,
// or a worker answers. Such a turn continues after the person's answer.
func (s *chatTurn) isSuspended(ctx context.Context, err error) bool {
	return s.openCalls.Load() > 0 && (ctx.Err() != nil || errors.Is(err, errSuspended))
}

// resume gives the call the id and the start of the same call of an earlier attempt to answer, if that attempt has
// asked a person about it. So the person's answer counts.
func (t *turn) resume(call *model.ToolCall) {
	t.waitingMutex.Lock()
	defer t.waitingMutex.Unlock()
	for i, asked := range t.awaitingApproval {
		if asked.TechnicalName == call.TechnicalName && asked.TargetID != nil && call.TargetID != nil &&
			*asked.TargetID == *call.TargetID && string(asked.Arguments) == string(call.Arguments) {
			t.awaitingApproval = append(t.awaitingApproval[:i:i], t.awaitingApproval[i+1:]...)
			call.ID, call.StartedAt = asked.ID, asked.StartedAt
			return
		}
	}
}

// ContinueChat answers the contact in a chat whose turn ended while a call waited for a person. It does nothing if the
// chat has ended or was deleted, or if another turn holds the chat or has answered already.
func (e *Engine) ContinueChat(ctx context.Context, t *db.Tenant, id string, _ int32) error {
	claimed, err := t.BeginChatTurn(ctx, id, lease)
	if known, ok := errors.AsType[*model.Error](err); ok &&
		(known.Code == model.NotFound || known.Code == model.Conflict) {
		return nil
	}
	if err != nil {
		return &db.Later{In: time.Second, Err: err}
	}
	s := &chatTurn{Engine: e, tenant: t, turn: claimed, isWorkers: true}
	if claimed.Chat.WaitingText == nil {
		return claimed.Release(ctx, nil)
	}
	// A failure is announced to followers and logged. The contact can send the message again.
	_, _, _ = s.run(ctx, *claimed.Chat.WaitingText)
	return nil
}
