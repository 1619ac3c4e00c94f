package engine

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/endpoint"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// chatTurn connects one turn of a chat to the rows that it reads and writes, the systems that it calls, and its
// followers.
type chatTurn struct {
	*Engine
	tenant *db.Tenant
	turn   *db.ChatTurn
	// calls are the calls made, in the order in which they began.
	calls []*model.ToolCall
	// agent is the chat's own agent, and meter counts the tokens of the turn.
	agent *model.Agent
	meter Meter
	// openCalls counts the calls that wait for a person.
	openCalls atomic.Int32
	// isWorkers is set if a worker runs the turn. A worker does not wait for a person.
	isWorkers bool
	// The function stop ends the turn with a cause.
	stop context.CancelCauseFunc
}

// saveTimeout bounds writing the outcome of a turn, even after the client has disconnected.
const saveTimeout = 5 * time.Second

func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
}

// answer runs the agent on the message while the turn holds the chat. It stores both messages and the calls.
func (s *chatTurn) answer(ctx context.Context, message *model.SimulationChatMessage) (*model.SimulationChatMessage,
	*model.SimulationChat, error) {
	conversation, err := s.load(ctx, message)
	if err != nil {
		return nil, nil, err
	}
	reply, err := s.runConversation(ctx, conversation)
	if err != nil {
		s.turn.Spent = s.Spent(s.agent, &s.meter, 0)
		return nil, nil, err
	}
	answer := &model.SimulationChatMessage{
		Text: reply.Text, Timestamp: Now(), IsConversationEnded: reply.EndReason != nil, EndReason: reply.EndReason,
		Citations: reply.citations,
	}
	s.turn.Spent = s.Spent(s.agent, &s.meter, 1)
	answer.Usage = s.usageOf(reply, &s.meter, s.turn.Spent.Credits)
	ctx, cancel := detached(ctx)
	defer cancel()
	chat, err := s.turn.Finish(ctx, message, answer, s.calls)
	return answer, chat, err
}

// fail releases or suspends the chat, tells its followers why there is no answer, and returns the error for the client:
// err, or CONFLICT if a call waits for a person.
func (s *chatTurn) fail(ctx context.Context, err error) error {
	writing, cancel := detached(ctx)
	defer cancel()
	end, isSuspended := s.turn.Release, s.isSuspended(ctx, err)
	if isSuspended {
		end = s.turn.Suspend
		err = model.Errorf(model.Conflict, "a call waits for a person's approval; the agent answers after that")
	} else {
		s.warn(ctx, "turn failed", "model", s.modelName(), "error", err, llm.ErrorAttr(err))
	}
	if err := end(writing, s.calls); err != nil {
		s.warn(ctx, "could not release the chat; its lease will expire", "calls", len(s.calls), "error", err)
	}
	reason := messageForModel(err)
	switch {
	case errors.Is(err, context.Canceled):
		reason = "the client disconnected before the agent answered"
	case errors.Is(err, context.DeadlineExceeded):
		reason = "the answer took too long"
	}
	s.turn.Announce(model.TurnFailed{TurnID: s.turn.ID, MessageSequence: s.turn.Chat.LastSequence + 1, Reason: reason,
		IsSuspended: isSuspended})
	return err
}

// modelName returns the name of the model of the chat's own agent, for the log.
func (s *chatTurn) modelName() string {
	if s.agent != nil && s.agent.Model != nil {
		return *s.agent.Model
	}
	return s.model.Name()
}

// warn logs a problem of the turn, with the ids of the chat and of the request's trace.
func (s *chatTurn) warn(ctx context.Context, message string, attributes ...any) {
	s.log.WarnContext(ctx, message, slices.Concat([]any{"chat", s.turn.Chat.ID}, attributes,
		[]any{"traceId", s.traceID(ctx)})...)
}

func (s *chatTurn) load(ctx context.Context, message *model.SimulationChatMessage) (*conversation, error) {
	chat := s.turn.Chat
	before, found, err := s.turn.Context(ctx, wantSpeakers([]string{chat.AgentID})...)
	if err != nil {
		return nil, err
	}
	speaker := speakersOf(found)[chat.AgentID]
	if speaker == nil {
		return nil, model.Missing("agent", chat.AgentID)
	}
	speaker.Agent = speaker.Agent.Trying(chat.DraftPrompt)
	s.agent = speaker.Agent
	variables, err := content.ValuesOf(chat.DataBag)
	if err != nil {
		return nil, err
	}
	t := &turn{
		chooseModel: s.modelChooser(&s.meter, s.model), rephraser: s.meter.Wrap(s.rephraser), limits: s.limits,
		effects: s.effects(s.tenant, chat.ID, chat.AgentID), checks: s.checks,
		variables: variables, mocking: &chat.ToolMocking, samples: s.samples,
	}
	t.effects.beginCall = s.turn.BeginCall
	t.effects.approve = func(ctx context.Context, agentID string, tool *model.Tool, call *model.ToolCall) error {
		return s.awaitApproval(ctx, agentID, tool, call, message.Text)
	}
	if t.awaitingApproval, err = s.turn.WaitingCalls(ctx); err != nil {
		return nil, err
	}
	t.transfer.restore(before.Calls)
	next := &model.SimulationChatMessage{Sequence: chat.LastSequence + 1, Role: model.MessageRoleUser, Text: message.Text}
	return t.converse(speaker, history(append(before.Messages, next), before.Calls), before.Mocked)
}

// usageOf returns the usage of an answer, with the tokens that the meter has counted for it.
func (e *Engine) usageOf(said *Reply, m *Meter, spent model.Credits) *model.AnswerUsage {
	used, tokens := said.Usage, m.total()
	used.InputTokens, used.CachedTokens, used.OutputTokens = int32(tokens.InputTokens), int32(tokens.CachedTokens),
		int32(tokens.OutputTokens)
	used.Credits = spent
	return &used
}

// effects returns the real effects of a conversation with the tenant's agent.
func (e *Engine) effects(t *db.Tenant, conversationID, agentID string) effects {
	real := effects{
		now: Now, wait: Wait,
		beginCall: func(context.Context, *model.ToolCall) error { return nil },
		approve:   func(context.Context, string, *model.Tool, *model.ToolCall) error { return errNoApprover },
		call: func(ctx context.Context, tool *model.Tool, arguments model.JSONObject) (result string, err error) {
			ctx, ended := e.observe(ctx, tool.TechnicalName)
			defer func() { ended(err) }()
			if tool.McpServerID != nil {
				return e.callMcp(ctx, t, tool, arguments)
			}
			headers, err := t.DecryptHeaders(tool.ID, tool.Endpoint)
			if err != nil {
				return "", err
			}
			return e.caller.Call(ctx, *tool.Endpoint, headers, arguments)
		},
		reload: func(ctx context.Context, tool *model.Tool) (*model.Tool, error) { return e.reload(ctx, t, tool) },
		open: func(ctx context.Context, sub *model.SubAgent) (*Speaker, error) {
			return loadSpeaker(ctx, t, sub.DelegateAgentID)
		},
		retrieve: func(ctx context.Context, chat *model.KnowledgeBaseChat, question string) ([]*model.RetrievedChunk, error) {
			return e.base.Retrieve(ctx, t, chat, question)
		},
	}
	if e.canTransfer() {
		real.transfer = func(ctx context.Context, reason string) (err error) {
			// A disconnected client cannot undo the call, so its outcome must still be recorded.
			ctx, ended := e.observe(context.WithoutCancel(ctx), llm.TransferCall)
			defer func() { ended(err) }()
			return e.caller.Transfer(ctx, e.webhook, endpoint.Transfer{ConversationID: conversationID, AgentID: agentID,
				Reason: reason})
		}
	}
	return real
}

// Wait returns after the delay, or with ctx's error as soon as ctx ends.
func Wait(ctx context.Context, delay time.Duration) error {
	select {
	case <-time.After(delay):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// runConversation runs the conversation while the turn holds the chat, and announces and collects its events.
func (s *chatTurn) runConversation(ctx context.Context, c *conversation) (*Reply, error) {
	leaseCtx, stop := s.turn.KeepAlive(ctx)
	defer stop()
	leaseCtx, s.stop = context.WithCancelCause(leaseCtx)
	defer s.stop(nil)
	for event, err := range c.events(leaseCtx) {
		switch {
		case err != nil && leaseCtx.Err() != nil && ctx.Err() == nil:
			// The chat was ended, or another turn took it over.
			return nil, context.Cause(leaseCtx)
		case err != nil:
			return nil, err
		case event.reply != nil:
			if failure := event.reply.failure; failure != nil {
				s.warn(ctx, "model failed after the conversation had ended", "model", s.modelName(), "error", failure,
					llm.ErrorAttr(failure))
			}
			return event.reply, nil
		case event.started != nil:
			s.recordStart(event.started, event.isUnreadable)
		case event.finished != nil:
			s.recordFinish(ctx, event.finished)
		default:
			s.turn.Write(event.text)
		}
	}
	return nil, model.Errorf(model.Internal, "the turn ended without a reply")
}

func (s *chatTurn) recordStart(call *model.ToolCall, isUnreadable bool) {
	s.calls = append(s.calls, call)
	arguments := call.Arguments
	if isUnreadable {
		arguments = nil
	}
	s.turn.Announce(model.ToolCallStarted{
		ID: call.ID, Kind: call.Kind, TargetID: call.TargetID, TechnicalName: call.TechnicalName, Arguments: arguments,
		MessageSequence: s.turn.Chat.LastSequence + 1, DelegationID: call.DelegationID,
	})
}

func (s *chatTurn) recordFinish(ctx context.Context, done *finished) {
	for i, call := range s.calls {
		if call.ID == done.call.ID {
			s.calls[i] = &done.call
		}
	}
	call := &done.call
	if call.IsReal() {
		s.saveOutcome(ctx, call)
	}
	s.turn.Announce(model.ToolCallFinished{
		ID: call.ID, Kind: call.Kind, TargetID: call.TargetID, TechnicalName: call.TechnicalName,
		MessageSequence: s.turn.Chat.LastSequence + 1, DelegationID: call.DelegationID, Result: call.Result,
		Mocked: call.Mocked, IsReal: call.IsReal(), MockRule: call.MockRule, DurationMs: call.DurationMs, Error: call.Error,
	})
	if done.cause != nil {
		s.warn(ctx, "call failed", "call", call.ID, "name", call.TechnicalName, "error", done.cause,
			llm.ErrorAttr(done.cause))
	}
	for _, warning := range done.warnings {
		s.turn.Warn(warning)
	}
}

// saveOutcome records the outcome of a real call immediately.
func (s *chatTurn) saveOutcome(ctx context.Context, call *model.ToolCall) {
	writing, cancel := detached(ctx)
	defer cancel()
	if err := s.turn.EndCall(writing, call); err != nil {
		s.warn(ctx, "could not save the outcome of a call before the end of the "+
			"turn", "call", call.ID, "name", call.TechnicalName,
			"error", err)
	}
}
