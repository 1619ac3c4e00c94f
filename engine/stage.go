package engine

import (
	"context"
	"time"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/endpoint"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// stage is what is around one turn: the rows that it starts from, the outside that it calls, those
// who watch, and what is kept of it.
type stage struct {
	*Engine
	tenant *db.Tenant
	turn   *db.Turn
	// calls are those that were made, in the order in which they began.
	calls []*model.ToolCall
	// agent is the chat's own, and meter counts what its turn costs.
	agent *model.Agent
	meter meter
}

// answer lets the agent answer the message while the chat is held, and keeps both with what was called.
func (s *stage) answer(ctx context.Context, message *model.SimulationChatMessage) (*model.SimulationChatMessage, *model.SimulationChat, error) {
	conversation, err := s.load(ctx, message.Text)
	if err != nil {
		return nil, nil, err
	}
	said, err := s.play(ctx, conversation)
	if err != nil {
		return nil, nil, err
	}
	answer := &model.SimulationChatMessage{
		Text: said.text, Timestamp: now(), IsConversationEnded: said.endReason != nil, EndReason: said.endReason,
	}
	s.turn.Spent = s.spent(s.agent, &s.meter, 1)
	chat, err := s.turn.Finish(ctx, message, answer, s.calls)
	return answer, chat, err
}

// load reads what the turn starts from.
func (s *stage) load(ctx context.Context, message string) (*conversation, error) {
	chat := s.turn.Chat
	speaker, err := loadSpeaker(ctx, s.tenant, chat.AgentID)
	if err != nil {
		return nil, err
	}
	s.agent = speaker.agent
	messages, err := s.tenant.MessagesOfChats(ctx, []string{chat.ID})
	if err != nil {
		return nil, err
	}
	calls, err := s.tenant.ToolCallsOfChats(ctx, []string{chat.ID})
	if err != nil {
		return nil, err
	}
	variables, err := chat.Variables()
	if err != nil {
		return nil, err
	}
	t := &turn{
		model: s.meter.of(s.model), limits: s.limits, effects: s.effects(s.tenant, chat.ID, chat.AgentID), schemas: s.schemas,
		variables: variables, mocking: &chat.ToolMocking,
	}
	said := append(history(messages, calls), llm.Message{Role: llm.RoleUser, Text: message})
	return t.converse(speaker, said, mockedBefore(calls))
}

// effects are those on the real world, of a conversation with the tenant's agent.
func (e *Engine) effects(t *db.Tenant, conversationID, agentID string) effects {
	real := effects{
		now: now, wait: wait,
		call: func(ctx context.Context, tool *model.Tool, arguments model.JSONObject) (string, error) {
			headers, err := t.HeadersOf(tool)
			if err != nil {
				return "", err
			}
			return e.caller.Call(ctx, *tool.Endpoint, headers, arguments)
		},
		open: func(ctx context.Context, sub *model.SubAgent) (*speaker, error) {
			return loadSpeaker(ctx, t, sub.DelegateAgentID)
		},
	}
	if e.canTransfer() {
		real.transfer = func(ctx context.Context, reason string) error {
			return e.caller.Transfer(ctx, e.webhook, endpoint.Transfer{ConversationID: conversationID, AgentID: agentID, Reason: reason})
		}
	}
	return real
}

// wait returns after the time, or as soon as ctx ends with its error.
func wait(ctx context.Context, delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// play runs the conversation while the chat is held, and announces and collects what happens in it.
func (s *stage) play(ctx context.Context, c *conversation) (*reply, error) {
	held, stop := s.turn.Hold(ctx)
	defer stop()
	for event, err := range c.events(held) {
		switch {
		case err != nil && held.Err() != nil && ctx.Err() == nil:
			// The chat was ended, or another turn took it over.
			return nil, context.Cause(held)
		case err != nil:
			return nil, err
		case event.reply != nil:
			if failure := event.reply.failure; failure != nil {
				s.log.WarnContext(ctx, "model failed after the conversation was over", "chat", s.turn.Chat.ID, "model", s.model.Name(),
					"error", failure, reasonsOf(failure))
			}
			return event.reply, nil
		case event.started != nil:
			s.start(event.started)
		case event.finished != nil:
			s.finish(ctx, event.finished)
		default:
			s.turn.Write(event.text)
		}
	}
	return nil, model.Errorf(model.Internal, "the turn ended without a reply")
}

func (s *stage) start(call *model.ToolCall) {
	s.calls = append(s.calls, call)
	s.turn.Announce(model.ToolCallStarted{
		ID: call.ID, Kind: call.Kind, TargetID: call.TargetID, TechnicalName: call.TechnicalName, Arguments: call.Arguments,
		MessageSequence: s.turn.Chat.LastSequence + 1, DelegationID: call.DelegationID,
	})
}

func (s *stage) finish(ctx context.Context, done *finished) {
	for i, call := range s.calls {
		if call.ID == done.call.ID {
			s.calls[i] = &done.call
		}
	}
	call := &done.call
	s.turn.Announce(model.ToolCallFinished{
		ID: call.ID, TechnicalName: call.TechnicalName, Result: call.Result, Mocked: call.Mocked,
		DurationMs: call.DurationMs, Error: call.Error,
	})
	if done.cause != nil {
		s.log.WarnContext(ctx, "call failed", "chat", s.turn.Chat.ID, "call", call.ID, "name", call.TechnicalName, "error", done.cause, reasonsOf(done.cause))
	}
	if len(done.unknown) > 0 {
		s.log.InfoContext(ctx, "placeholders without a value, in a mock or a sub-agent's prompt", "chat", s.turn.Chat.ID, "call", call.ID,
			"name", call.TechnicalName, "placeholders", done.unknown)
	}
}
