package db

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
)

// CreateTestFromSimulationChat creates a simulation test that continues from a message of a chat. It returns the
// test, with warnings about the parts that the test does not repeat.
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
		if in.Name == nil { // a default name must be unique, so find a free one
			if err := t.makeNamesUnique(ctx, []*model.AgentTestRow{test.Row()}); err != nil {
				return err
			}
		}
		return t.createTest(ctx, test.Row())
	})
	return test, warnings, err
}

// chatRecording returns a chat with its messages and tool calls, and its agent with tools and sub-agents. It locks the
// agent. Turns that are added at the same time come after the last message that it returns.
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
