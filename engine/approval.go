package engine

import (
	"context"
	"errors"
	"time"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// maxWaitingCalls is how many calls of a company may wait for a person in a process while the client stays connected. A
// further turn is suspended, so that waiting turns do not use up the company's memory and slots.
const maxWaitingCalls = 50

// errSuspended is the cause when a turn ends because a call waits for a person.
var errSuspended = errors.New("a call waits for a person")

// awaitApproval returns once a person has approved the call. text is the contact's message.
func (s *chatTurn) awaitApproval(ctx context.Context, call *model.ToolCall, text string) error {
	s.openCalls.Add(1)
	if err := s.turn.RequestApproval(ctx, call, text); err != nil {
		return err
	}
	if *call.Approval == model.ToolCallApprovalPending {
		switch {
		case !s.isWorkers && s.waiting.TryEnter(s.tenant.CompanyID()):
			defer s.waiting.Leave(s.tenant.CompanyID())
		default:
			s.stop(errSuspended)
		}
	}
	if err := s.turn.AwaitAnswer(ctx, call); err != nil {
		return err
	}
	s.openCalls.Add(-1)
	if *call.Approval == model.ToolCallApprovalApproved {
		return nil
	}
	return callError(model.DeniedError(call.ApprovalNote))
}

// isSuspended reports whether a turn ended while a call waits for a person: the client disconnected, the process stops,
// or a worker answers. Such a turn continues after the person's answer.
func (s *chatTurn) isSuspended(ctx context.Context, err error) bool {
	return s.openCalls.Load() > 0 && (ctx.Err() != nil || errors.Is(err, errSuspended))
}

// reuseCallID returns the id for the call. If an earlier attempt to answer has asked a person about the same call, it
// returns the id of the earlier call, so that the person's answer counts.
func (t *turn) reuseCallID(call *model.ToolCall) string {
	t.waitingMutex.Lock()
	defer t.waitingMutex.Unlock()
	for i, asked := range t.awaitingApproval {
		if asked.TechnicalName == call.TechnicalName && asked.TargetID != nil && call.TargetID != nil &&
			*asked.TargetID == *call.TargetID && string(asked.Arguments) == string(call.Arguments) {
			t.awaitingApproval = append(t.awaitingApproval[:i:i], t.awaitingApproval[i+1:]...)
			return asked.ID
		}
	}
	return call.ID
}

// ContinueChat answers the contact in a chat whose turn ended while a call waited for a person. It does nothing if the
// chat has ended or was deleted, or if another turn holds the chat or has answered already.
func (e *Engine) ContinueChat(ctx context.Context, t *db.Tenant, id string, _ int32) error {
	held, err := t.BeginChatTurn(ctx, id, lease)
	if known, ok := errors.AsType[*model.Error](err); ok &&
		(known.Code == model.NotFound || known.Code == model.Conflict) {
		return nil
	}
	if err != nil {
		return &db.Later{In: time.Second, Err: err}
	}
	s := &chatTurn{Engine: e, tenant: t, turn: held, isWorkers: true}
	if held.Chat.WaitingText == nil {
		return held.Release(ctx, nil)
	}
	// A failure is announced to followers and logged. The contact can send the message again.
	_, _, _ = s.run(ctx, *held.Chat.WaitingText)
	return nil
}
