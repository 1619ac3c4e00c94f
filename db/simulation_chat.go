package db

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

const simulationChat = "simulation chat"

// SimulationChat returns one chat, or NOT_FOUND.
func (t *Tenant) SimulationChat(ctx context.Context, id string) (*model.SimulationChat, error) {
	chat := &model.SimulationChat{}
	err := t.db.Select(chat).Where("?TableAlias.id = ?", id).ApplyQueryBuilder(t.reachable).Scan(ctx)
	return chat, pg.OrMissing(simulationChat, id, err)
}

// reachable narrows a statement to the simulated chats within the Tenant's reach.
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

// Lists of a company's simulated chats: by their ids, in pages, and by their agents. The other lists have messages of
// chats: all in order, the last one, or the contact's first one, which only a welcome message can precede.
var (
	SimulationChatRows      = pg.Rows{Type: simulationChat, Model: (*model.SimulationChat)(nil), Key: pg.ByID}
	SimulationChatList      = pg.List{Model: (*model.SimulationChat)(nil), Order: pg.NewestFirst}
	SimulationChatsOfAgents = pg.List{Model: (*model.SimulationChat)(nil), Of: "?TableAlias.agent_id = ?1",
		Order: pg.NewestFirst}
	MessagesOfChats = pg.Rows{Model: (*model.SimulationChatMessage)(nil), Key: "?TableAlias.chat_id",
		Order: "?TableAlias.sequence"}
	LastMessageOfChats = pg.Rows{
		Model: (*model.SimulationChatMessage)(nil), Key: "relation.id",
		Join: joinChat + " AND relation.last_sequence = ?TableAlias.sequence",
	}
	FirstContactMessageOfChats = pg.Rows{
		Model: (*model.SimulationChatMessage)(nil), Key: "relation.id",
		Join: joinChat + " AND ?TableAlias.sequence <= 2 AND ?TableAlias.role = 'user'",
	}
)

const joinChat = "JOIN simulation_chats AS relation " +
	"ON relation.company_id = ?TableAlias.company_id AND relation.id = ?TableAlias.chat_id"

// awaitsApproval finds chats in which a call waits for a person. Few chats have a waiting_text.
const awaitsApproval = `?TableAlias.waiting_text IS NOT NULL AND ?TableAlias.ended_at IS NULL AND EXISTS (
	SELECT 1 FROM tool_calls AS call WHERE call.company_id = ?TableAlias.company_id AND call.chat_id = ?TableAlias.id
		AND call.message_sequence > ?TableAlias.last_sequence AND call.approval = 'Pending' AND call.approval_until > now())`

// ChatsMatching returns the filter of a list of chats. wanted is valid or nil. A chat whose turn died is Open again, as
// its Status says. The state has no index, because every turn would have to write that index. Another index finds the
// chats that have not ended.
func ChatsMatching(wanted *model.SimulationChatFilter) (f pg.Filter) {
	if wanted == nil {
		return nil
	}
	switch {
	case wanted.AwaitsApproval == nil:
	case *wanted.AwaitsApproval:
		f = f.And(awaitsApproval, nil)
	default:
		f = f.And("NOT ("+awaitsApproval+")", nil)
	}
	if wanted.Statuses == nil {
		return f
	}
	if !slices.Contains(wanted.Statuses, model.SimulationChatStatusEnded) {
		f = f.And("?TableAlias.ended_at IS NULL", nil)
	}
	return f.And("CASE WHEN ?TableAlias.status = 'Replying' AND ?TableAlias.reply_until < now() THEN 'Open' ELSE "+
		"?TableAlias.status END"+
		" = ANY (?::text[])", wanted.Statuses)
}

// SimulationChats returns a page of the chats that pass the filter, newest first. They are the chats of one agent, or
// of all agents if agentID is nil. It returns NOT_FOUND if the agent does not exist.
func (t *Tenant) SimulationChats(
	ctx context.Context, args model.PageArgs, agentID *string, filter *model.SimulationChatFilter, columns ...string,
) (*model.Page[*model.SimulationChat], error) {
	if err := filter.Validate(); err != nil {
		return nil, err
	}
	if err := t.db.Exists(ctx, "agent", agentID, (*model.Agent)(nil)); err != nil {
		return nil, err
	}
	return pg.Page[*model.SimulationChat](ctx, t.db, SimulationChatList, args, columns,
		append(WhereAgent(agentID), ChatsMatching(filter)...))
}

// MessagesOfChats returns all messages of several chats, in order within each chat.
func (t *Tenant) MessagesOfChats(ctx context.Context, chatIDs []string) ([]*model.SimulationChatMessage, error) {
	return pg.Find[*model.SimulationChatMessage](ctx, t.db, MessagesOfChats, chatIDs)
}

// CreateSimulationChat creates a chat with the agent, data bag, mocking, warnings and draft of the argument. It starts
// with the messages, if there are any. Messages without a time get the current time. It returns BUDGET_EXCEEDED when
// the month's budget is used up.
func (t *Tenant) CreateSimulationChat(ctx context.Context, chat *model.SimulationChat,
	begin ...model.TestMessage) error {
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
	chat.LastSequence = int32(len(begin))
	w := t.db.Batch()
	w.Insert(chat)
	for i, m := range begin {
		message := &model.SimulationChatMessage{
			ChatID: chat.ID, Sequence: int32(i + 1), Role: m.Role, Text: m.Text, Timestamp: chat.CreatedAt,
			Citations: []model.Citation{},
		}
		if m.Timestamp != nil {
			message.Timestamp = *m.Timestamp
		}
		w.Insert(message)
	}
	return w.Send(ctx)
}

// EndSimulationChat ends a chat and returns it. It drops a turn that is in progress, and denies calls that wait for a
// person. Ending a chat again changes nothing.
func (t *Tenant) EndSimulationChat(ctx context.Context, id string) (*model.SimulationChat, error) {
	var chat *model.SimulationChat
	err := t.inTx(ctx, func(ctx context.Context, t tenantTx) (err error) {
		chat, err = changeChat(ctx, t.db.Update((*model.SimulationChat)(nil)).
			Set("status = ?", model.SimulationChatStatusEnded).Set("ended_at = ?", now()).Set("extraction_at = ?", now()).
			Set("reply_id = NULL").Set("reply_until = NULL").
			Where("id = ?", id).Where("status <> ?", model.SimulationChatStatusEnded).ApplyQueryBuilder(t.reachable))
		if err != nil || chat == nil {
			return err
		}
		if chat.WaitingText != nil {
			w := t.db.Batch()
			t.db.OnCommit(t.addGivenUp(w, chat, ""))
			err = w.Send(ctx)
		}
		t.wake(id)
		return err
	})
	if err == nil && chat == nil {
		return t.SimulationChat(ctx, id)
	}
	return chat, err
}

// changeChat runs a statement that changes at most one chat. It returns the changed chat, or nil when none changed.
func changeChat(ctx context.Context, query *bun.UpdateQuery) (*model.SimulationChat, error) {
	chats := []*model.SimulationChat{}
	if err := query.Returning("*").Scan(ctx, &chats); err != nil || len(chats) == 0 {
		return nil, err
	}
	return chats[0], nil
}

// DeleteSimulationChat deletes a chat with its messages and calls. It drops a turn that is in progress.
func (t *Tenant) DeleteSimulationChat(ctx context.Context, id string) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if _, err := t.SimulationChat(ctx, id); err != nil {
			return err
		}
		t.wake(id)
		return t.delete(ctx, simulationChat, id, (*model.SimulationChat)(nil))
	})
}
