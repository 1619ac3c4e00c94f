package engine

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// StartSimulationChat starts a chat with an agent of the tenant, with the agent's welcome message if it
// has one. UNPROCESSABLE when a mandatory field has no value, and when something is to be mocked.
func (e *Engine) StartSimulationChat(ctx context.Context, t *db.Tenant, in model.StartSimulationChatInput) (*model.SimulationChat, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	given, err := in.Variables()
	if err != nil {
		return nil, err
	}
	agent, err := t.Agent(ctx, in.AgentID)
	if err != nil {
		return nil, err
	}
	opening, err := begin(agent, given, now())
	if err != nil {
		return nil, err
	}
	unused, err := unusedOf(ctx, t, agent)
	if err != nil {
		return nil, err
	}
	if len(unused) > 0 {
		opening.warn("the agent has %s, which simulated chats do not use yet", strings.Join(unused, ", "))
	}
	bag, err := model.ObjectOf(opening.values)
	if err != nil {
		return nil, err
	}
	chat := &model.SimulationChat{AgentID: agent.ID, DataBag: bag, Warnings: opening.warnings}
	return chat, t.CreateSimulationChat(ctx, chat, opening.welcome)
}

// unusedOf names what the agent has beyond its prompt.
func unusedOf(ctx context.Context, t *db.Tenant, agent *model.Agent) ([]string, error) {
	var unused []string
	tools, err := t.ToolsOfAgents(ctx, []string{agent.ID})
	if err != nil {
		return nil, err
	}
	if len(tools) > 0 {
		unused = append(unused, "tools")
	}
	subAgents, err := t.SubAgentsOfAgents(ctx, []string{agent.ID})
	if err != nil {
		return nil, err
	}
	if len(subAgents) > 0 {
		unused = append(unused, "sub-agents")
	}
	if agent.KnowledgeBaseChatID != nil {
		unused = append(unused, "a knowledge base chat")
	}
	if agent.IsCallTransferEnabled {
		unused = append(unused, "call transfer")
	}
	return unused, nil
}

// SendSimulationMessage lets the agent answer the contact's message, and returns the chat after the
// reply with the two messages. CONFLICT when the chat has ended, is ended meanwhile, or another message is being
// answered; UPSTREAM_FAILED when the language model failed. With any error nothing is kept.
func (e *Engine) SendSimulationMessage(ctx context.Context, t *db.Tenant, in model.SendSimulationMessageInput) (*model.SimulationChat, []*model.SimulationChatMessage, error) {
	if err := in.Validate(); err != nil {
		return nil, nil, err
	}
	turn, err := t.BeginTurn(ctx, in.SimulationChatID, e.lease)
	if err != nil {
		return nil, nil, err
	}
	message := &model.SimulationChatMessage{Text: in.Text, Timestamp: now()}
	answer, chat, err := e.answer(ctx, t, turn, message)
	if err != nil {
		e.release(ctx, turn)
		e.log.WarnContext(ctx, "turn failed", "chat", turn.Chat.ID, "model", e.model.Name(), "error", err, reasonsOf(err))
		return nil, nil, err
	}
	return chat, []*model.SimulationChatMessage{message, answer}, nil
}

// EndSimulationChat ends a chat; a reply that is being written is dropped. Ending it again changes nothing.
func (e *Engine) EndSimulationChat(ctx context.Context, t *db.Tenant, in model.EndSimulationChatInput) (*model.SimulationChat, error) {
	return t.EndSimulationChat(ctx, in.SimulationChatID)
}

// answer holds the chat while the agent answers the message, and keeps both.
func (e *Engine) answer(ctx context.Context, t *db.Tenant, turn *db.Turn, message *model.SimulationChatMessage) (*model.SimulationChatMessage, *model.SimulationChat, error) {
	prompt, history, err := e.load(ctx, t, turn.Chat)
	if err != nil {
		return nil, nil, err
	}
	said, err := e.speak(ctx, turn, prompt, append(history, llm.Message{Role: llm.RoleUser, Text: message.Text}))
	if err != nil {
		return nil, nil, err
	}
	answer := &model.SimulationChatMessage{
		Text: said.text, Timestamp: now(), IsConversationEnded: said.endReason != nil, EndReason: said.endReason,
	}
	chat, err := turn.Finish(ctx, message, answer)
	return answer, chat, err
}

// load returns the agent's prompt, filled with the chat's values, and what was said in the chat.
func (e *Engine) load(ctx context.Context, t *db.Tenant, chat *model.SimulationChat) (string, []llm.Message, error) {
	agent, err := t.Agent(ctx, chat.AgentID)
	if err != nil {
		return "", nil, err
	}
	messages, err := t.MessagesOfChats(ctx, []string{chat.ID})
	if err != nil {
		return "", nil, err
	}
	values, err := chat.Variables()
	if err != nil {
		return "", nil, err
	}
	prompt, _, err := render(agent.Prompt, values)
	history := make([]llm.Message, len(messages), len(messages)+1)
	for i, m := range messages {
		history[i] = llm.Message{Role: llm.RoleAssistant, Text: m.Text}
		if m.Role == model.MessageRoleUser {
			history[i].Role = llm.RoleUser
		}
	}
	return prompt, history, err
}

// errTooSlow ends a reply that takes longer than it may.
var errTooSlow = errors.New("the reply takes too long")

// speak lets the agent say its reply to the chat's subscribers.
func (e *Engine) speak(ctx context.Context, turn *db.Turn, prompt string, messages []llm.Message) (*reply, error) {
	held, stop := turn.Hold(ctx)
	defer stop()
	limited, cancel := context.WithTimeoutCause(held, e.replyTimeout, errTooSlow)
	defer cancel()
	for event, err := range converse(limited, e.model, prompt, messages) {
		if err != nil {
			return nil, e.whyStopped(ctx, limited, err)
		}
		if event.reply != nil {
			return event.reply, nil
		}
		turn.Write(event.text)
	}
	return nil, model.Errorf(model.Internal, "the turn ended without a reply")
}

// whyStopped tells a reply that was broken off from one that failed.
func (e *Engine) whyStopped(ctx, limited context.Context, err error) error {
	if limited.Err() == nil || ctx.Err() != nil {
		return err
	}
	cause := context.Cause(limited)
	if errors.Is(cause, errTooSlow) {
		return errors.Join(model.Errorf(model.UpstreamFailed, "the language model %s did not finish its reply within %s", e.model.Name(), e.replyTimeout), err)
	}
	return cause
}

const releaseTimeout = 5 * time.Second

// release gives the chat back although ctx may have ended: the client may be gone.
func (e *Engine) release(ctx context.Context, turn *db.Turn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := turn.Release(ctx); err != nil {
		e.log.WarnContext(ctx, "chat not released; its lease ends by itself", "chat", turn.Chat.ID, "error", err)
	}
}

// reasonsOf is what the log is told of a model's failure and clients are not.
func reasonsOf(err error) slog.Attr {
	var failure *llm.Error
	if !errors.As(err, &failure) {
		return slog.Attr{}
	}
	return slog.Group("provider", "cause", failure.Cause, "status", failure.Status, "error", failure.Err)
}
