package engine

import (
	"context"
	"errors"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/model"
)

// StartSimulationChat starts a chat with an agent of the tenant. The chat begins with the messages of the input. If
// there are none, it begins with the agent's welcome message, or with the opener of its knowledge base chat. The error
// is UNPROCESSABLE if a mandatory field has no value, or if a mocked target is not connected to the agent or is mocked
// twice.
func (e *Engine) StartSimulationChat(ctx context.Context, t *db.Tenant,
	in model.StartSimulationChatInput) (*model.SimulationChat, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	given, err := content.ValuesOf(in.DataBag)
	if err != nil {
		return nil, err
	}
	s, err := loadSpeaker(ctx, t, in.AgentID)
	if err != nil {
		return nil, err
	}
	s.Agent = s.Agent.Trying(in.Prompt)
	opener := ""
	if s.chat != nil {
		opener = s.chat.PromptSettings.Opener
	}
	opening, err := Begin(s.Agent, opener, given, Now())
	if err != nil {
		return nil, err
	}
	mocking := MockingOf(in.ToolMocking)
	if err := mocking.Check(s.Tools, s.SubAgents); err != nil {
		return nil, err
	}
	if len(opening.unknownValues(s.Agent)) > 0 {
		delegates, err := e.Delegates(ctx, t, []*model.SimulationChat{{AgentID: s.Agent.ID, ToolMocking: *mocking}},
			map[string]*Speaker{s.Agent.ID: s})
		if err != nil {
			return nil, err
		}
		opening.checkValues(s.Agent, delegates[""])
	}
	targets := s.targets(mocking, e.canTransfer())
	opening.warnings = append(opening.warnings, unfillable(targets, opening.Values)...)
	if s.chat != nil {
		_, unknown, err := renderKnowledge(s.chat.PromptSettings.Prompt, opening.Values, "")
		if err != nil {
			return nil, err
		}
		opening.warnings = append(opening.warnings, content.Unfilled(promptOfKnowledge, unknown)...)
	}
	bag, err := opening.Values.InOrderOf(in.DataBag)
	if err != nil {
		return nil, err
	}
	chat := &model.SimulationChat{
		AgentID: s.Agent.ID, DataBag: bag, ToolMocking: *mocking, Warnings: model.Unique(opening.warnings),
		IsDraft: in.Prompt != nil, DraftPrompt: in.Prompt,
	}
	var first []model.TestMessage
	switch {
	case len(in.Messages) > 0:
		for _, message := range in.Messages {
			first = append(first, *message)
		}
	case opening.Welcome != nil:
		first = []model.TestMessage{{Role: model.MessageRoleAssistant, Text: *opening.Welcome}}
	}
	return chat, t.CreateSimulationChat(ctx, chat, first...)
}

// SendSimulationMessage sends the contact's message to the agent. It returns the chat after the reply, and both
// messages. The error is CONFLICT if the chat has ended or ends during the turn, or if another message is being
// answered. It is UPSTREAM_FAILED if the language model failed. But if the model had already transferred the contact or
// ended the conversation, the chat ends with the text so far. A real transfer is recorded even if ctx has ended. After
// an error, no messages are stored. The agent's calls are stored even then, as evidence. If calls of an earlier message
// wait for a person, that message is stored first and its calls are denied.
func (e *Engine) SendSimulationMessage(ctx context.Context, t *db.Tenant,
	in model.SendSimulationMessageInput) (*model.SimulationChat, []*model.SimulationChatMessage, error) {
	if err := in.Validate(); err != nil {
		return nil, nil, err
	}
	claimed, err := t.BeginChatTurn(ctx, in.SimulationChatID, lease)
	if err != nil {
		return nil, nil, err
	}
	if waiting := claimed.Chat.WaitingText; waiting != nil && *waiting != in.Text {
		if err := claimed.KeepWaiting(ctx); err != nil {
			writing, cancel := detached(ctx)
			defer cancel()
			// The message may be saved already, or still wait. Release would undo that.
			return nil, nil, errors.Join(err, claimed.Suspend(writing, nil))
		}
	}
	return (&chatTurn{Engine: e, tenant: t, turn: claimed}).run(ctx, in.Text)
}

// run answers the text, and fails the turn if there is no answer.
func (s *chatTurn) run(ctx context.Context, text string) (*model.SimulationChat, []*model.SimulationChatMessage,
	error) {
	message := &model.SimulationChatMessage{Text: text, Timestamp: Now()}
	s.turn.Announce(model.TurnStarted{TurnID: s.turn.ID, MessageSequence: s.turn.Chat.LastSequence + 1, Text: text})
	answer, chat, err := s.answer(ctx, message)
	if err != nil {
		return nil, nil, s.fail(ctx, err)
	}
	return chat, []*model.SimulationChatMessage{message, answer}, nil
}
