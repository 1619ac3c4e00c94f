package db

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
)

// CreateTestFromSimulationChat creates a simulation test that goes on from a message of a chat, and returns it
// with warnings of what it does not repeat.
func (t *Tenant) CreateTestFromSimulationChat(
	ctx context.Context, in model.CreateTestFromSimulationChatInput,
) (test *model.SimulationTest, warnings []string, err error) {
	err = t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		recording, err := t.chatRecording(ctx, in.SimulationChatID)
		if err != nil {
			return err
		}
		if test, warnings, err = model.NewTestFromSimulationChat(in, recording, now()); err != nil {
			return err
		}
		if in.Name == nil { // the name is ours, so it is ours to find a free one
			if err := t.number(ctx, []*model.AgentTestRow{test.Row()}); err != nil {
				return err
			}
		}
		return t.createTest(ctx, test.Row())
	})
	return test, warnings, err
}

// chatRecording returns a chat with all that is on record of it, and its agent, which is held. Turns that
// others add meanwhile are after the chat's last message as it is known here.
func (t tenantTx) chatRecording(ctx context.Context, id string) (r model.ChatRecording, err error) {
	if r.Chat, err = t.SimulationChat(ctx, id); err != nil {
		return r, err
	}
	if r.Agent, err = t.lockAgent(ctx, r.Chat.AgentID, forUpdate); err != nil {
		return r, err
	}
	agents, chats := []string{r.Chat.AgentID}, []string{id}
	if r.Tools, err = t.ToolsOfAgents(ctx, agents, "technical_name"); err != nil {
		return r, err
	}
	if r.SubAgents, err = t.SubAgentsOfAgents(ctx, agents, "technical_name"); err != nil {
		return r, err
	}
	if r.Messages, err = t.MessagesOfChats(ctx, chats); err != nil {
		return r, err
	}
	r.Calls, err = t.ToolCallsOfChats(ctx, chats)
	return r, err
}
