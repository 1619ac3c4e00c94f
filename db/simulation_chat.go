package db

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/model"
)

const simulationChat = "simulation chat"

// SimulationChat returns one chat, or NOT_FOUND.
func (t *Tenant) SimulationChat(ctx context.Context, id string) (*model.SimulationChat, error) {
	chat := &model.SimulationChat{}
	err := t.find(chat).Where("?TableAlias.id = ?", id).ApplyQueryBuilder(t.reachable).Scan(ctx)
	return chat, found(simulationChat, id, err)
}

// reachable narrows a statement to the simulated chats that are within the Tenant's reach.
func (t *Tenant) reachable(q bun.QueryBuilder) bun.QueryBuilder {
	if t.reach == nil {
		return q
	}
	q = q.Where("?TableAlias.holder = ?", t.reach.Holder)
	if len(t.reach.AgentIDs) > 0 {
		q = q.Where("?TableAlias.agent_id IN (?)", bun.List(t.reach.AgentIDs))
	}
	return q
}

// Simulated chats of a company, by their ids, in pages, and by their agents; and the messages of chats, in order.
var (
	SimulationChatRows      = Rows{typeName: simulationChat, none: (*model.SimulationChat)(nil), key: byOwnID}
	SimulationChatList      = List{none: (*model.SimulationChat)(nil), order: newestFirst}
	SimulationChatsOfAgents = List{none: (*model.SimulationChat)(nil), of: "?TableAlias.agent_id = ?1", order: newestFirst}
	MessagesOfChats         = Rows{none: (*model.SimulationChatMessage)(nil), key: "?TableAlias.chat_id", order: "?TableAlias.sequence"}
)

// SimulationChats returns a page of the chats, newest first: all of them, or those with one agent.
// NOT_FOUND names an agent that does not exist.
func (t *Tenant) SimulationChats(ctx context.Context, args model.PageArgs, agentID *string, columns ...string) (*model.Page[*model.SimulationChat], error) {
	if err := t.exists(ctx, "agent", agentID, (*model.Agent)(nil)); err != nil {
		return nil, err
	}
	return list[*model.SimulationChat](ctx, t, SimulationChatList, args, columns, OfAgent(agentID))
}

// MessagesOfChats returns all messages of several chats, each chat's in order.
func (t *Tenant) MessagesOfChats(ctx context.Context, chatIDs []string) ([]*model.SimulationChatMessage, error) {
	return of[*model.SimulationChatMessage](ctx, t, MessagesOfChats, chatIDs, nil)
}

// CreateSimulationChat creates a chat of the agent, data bag, mocking and warnings that are set. A
// welcome, when there is one, becomes its first message.
func (t *Tenant) CreateSimulationChat(ctx context.Context, chat *model.SimulationChat, welcome *string) error {
	chat.ID, chat.CreatedAt, chat.State = model.NewID("simchat"), now(), model.SimulationChatStatusOpen
	if chat.ToolMocking.SideEffects == "" {
		chat.ToolMocking.SideEffects = model.SideEffectsAllow
	}
	if t.reach != nil {
		chat.Holder = t.reach.Holder
	}
	if err := t.checkBudget(ctx); err != nil {
		return err
	}
	if welcome == nil {
		return insert(ctx, t, chat)
	}
	chat.LastSequence = 1
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if err := insert(ctx, t.Tenant, chat); err != nil {
			return err
		}
		return insert(ctx, t.Tenant, &model.SimulationChatMessage{
			ChatID: chat.ID, Sequence: 1, Role: model.MessageRoleAssistant, Text: *welcome, Timestamp: chat.CreatedAt,
			Citations: []model.Citation{},
		})
	})
}

// EndSimulationChat ends a chat and returns it. A turn that is under way is dropped. A chat that has
// ended stays as it is.
func (t *Tenant) EndSimulationChat(ctx context.Context, id string) (*model.SimulationChat, error) {
	chat, err := changeChat(ctx, t.change((*model.SimulationChat)(nil)).
		Set("status = ?", model.SimulationChatStatusEnded).Set("ended_at = ?", now()).
		Set("reply_id = NULL").Set("reply_until = NULL").
		Where("id = ?", id).Where("status <> ?", model.SimulationChatStatusEnded).ApplyQueryBuilder(t.reachable))
	if err != nil {
		return nil, err
	}
	if chat == nil {
		return t.SimulationChat(ctx, id)
	}
	t.wake(id)
	return chat, nil
}

// changeChat runs a statement that changes one chat at most, and returns it as it is then; nil when it changed none.
func changeChat(ctx context.Context, query *bun.UpdateQuery) (*model.SimulationChat, error) {
	chats := []*model.SimulationChat{}
	if err := query.Returning("*").Scan(ctx, &chats); err != nil || len(chats) == 0 {
		return nil, translate(err)
	}
	return chats[0], nil
}
