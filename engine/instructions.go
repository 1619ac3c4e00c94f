package engine

import (
	"context"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/model"
)

// Instructions are a model's instructions without the chunks of a knowledge base chat. Text is nil if there are none.
// Err is the reason if they cannot be rendered.
type Instructions struct {
	Text *string
	Err  error
}

// InstructionsOfChats returns the instructions for the next turn of each chat, by its id. It takes two statements.
func (e *Engine) InstructionsOfChats(ctx context.Context, t *db.Tenant, ids []string) (map[string]Instructions, error) {
	chats, err := t.Find(ctx, db.SimulationChatRows, ids, "agent_id", "data_bag", "draft_prompt")
	if err != nil {
		return nil, err
	}
	agentIDs := model.Map(chats, func(row model.Row) string { return row.(*model.SimulationChat).AgentID })
	found, err := t.AgentsByID(ctx, model.Unique(agentIDs), "prompt")
	if err != nil {
		return nil, err
	}
	agents := model.MapOf(found, func(agent *model.Agent) (string, *model.Agent) { return agent.ID, agent })
	instructions := make(map[string]Instructions, len(chats))
	for _, row := range chats {
		chat := row.(*model.SimulationChat)
		agent := agents[chat.AgentID]
		if agent == nil { // the agent was deleted concurrently, and its chats are about to be deleted
			continue
		}
		variables, err := content.ValuesOf(chat.DataBag)
		if err != nil {
			return nil, err
		}
		instructions[chat.ID] = Instruct(agent.Trying(chat.DraftPrompt), variables)
	}
	return instructions, nil
}

// Instruct returns the instructions of an agent in a conversation, with its placeholders filled from the values.
func Instruct(agent *model.Agent, values content.Values) Instructions {
	prompt, _, err := content.Render(agent.Prompt, values)
	if err != nil {
		return Instructions{Err: err}
	}
	return Instructions{Text: new(prompt + instruction)}
}
