package db

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// KnowledgeBaseChat returns one chat, or NOT_FOUND.
func (t *Tenant) KnowledgeBaseChat(ctx context.Context, id string) (*model.KnowledgeBaseChat, error) {
	chat := &model.KnowledgeBaseChat{}
	return chat, t.db.One(ctx, "knowledge base chat", id, chat)
}

func (t tenantTx) lockKnowledgeBaseChat(ctx context.Context, id string,
	strength rowLock) (*model.KnowledgeBaseChat, error) {
	chat := &model.KnowledgeBaseChat{}
	return chat, t.lock(ctx, "knowledge base chat", id, chat, strength)
}

// Lists of a company's knowledge base chats: by their ids, by the agents that use them, in pages, and by their
// datasets. AgentsOfChats lists the agents that use a chat.
var (
	KnowledgeBaseChatRows     = pg.Rows{Type: "knowledge base chat", Model: (*model.KnowledgeBaseChat)(nil), Key: pg.ByID}
	KnowledgeBaseChatOfAgents = pg.Rows{
		Model: (*model.KnowledgeBaseChat)(nil), Key: "relation.id",
		Join: "JOIN agents AS relation ON relation.company_id = ?TableAlias.company_id AND relation.knowledge_base_chat_id " +
			"= ?TableAlias.id",
	}
	KnowledgeBaseChatList = pg.List{Model: (*model.KnowledgeBaseChat)(nil), Order: pg.NewestFirst}
	ChatsOfDatasets       = pg.List{
		Model: (*model.KnowledgeBaseChat)(nil),
		Of: "EXISTS (SELECT 1 FROM knowledge_base_chat_datasets AS relation WHERE relation.company_id = ?0 AND " +
			"relation.chat_id = ?TableAlias.id AND relation.dataset_id = ?1)",
		Order: pg.NewestFirst,
	}
	AgentsOfChats = pg.List{Model: (*model.Agent)(nil), Of: "?TableAlias.knowledge_base_chat_id = ?1",
		Order: pg.NewestFirst}
)

// KnowledgeBaseChats returns a page of the chats, newest first.
func (t *Tenant) KnowledgeBaseChats(ctx context.Context, args model.PageArgs, filter *model.NameFilter,
	columns ...string) (*model.Page[*model.KnowledgeBaseChat], error) {
	if err := filter.Validate(); err != nil {
		return nil, err
	}
	return pg.Page[*model.KnowledgeBaseChat](ctx, t.db, KnowledgeBaseChatList, args, columns, NamesMatching(filter))
}

type chatDataset struct {
	bun.BaseModel `bun:"table:knowledge_base_chat_datasets,alias:chat_dataset"`
	model.Owned

	ChatID    string `bun:",pk"`
	DatasetID string `bun:",pk"`
	Position  int32
}

// CreateKnowledgeBaseChat creates a chat and connects its datasets.
func (t *Tenant) CreateKnowledgeBaseChat(ctx context.Context,
	in model.CreateKnowledgeBaseChatInput) (*model.KnowledgeBaseChat, error) {
	chat, err := model.NewKnowledgeBaseChat(in, now(), t.store.rerankModels...)
	if err != nil {
		return nil, err
	}
	return chat, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if err := pg.Insert(ctx, t.db, chat); err != nil {
			return err
		}
		if err := t.lockDatasets(ctx, in.DatasetIds); err != nil {
			return err
		}
		return t.connectDatasets(ctx, chat.ID, in.DatasetIds)
	})
}

// UpdateKnowledgeBaseChat changes the fields that the input sets. Dataset ids in the input replace all connected
// datasets.
func (t *Tenant) UpdateKnowledgeBaseChat(ctx context.Context,
	in model.UpdateKnowledgeBaseChatInput) (*model.KnowledgeBaseChat, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	var chat *model.KnowledgeBaseChat
	err := t.inTx(ctx, func(ctx context.Context, t tenantTx) (err error) {
		if chat, err = t.lockKnowledgeBaseChat(ctx, in.ChatID, forUpdate); err != nil {
			return err
		}
		if err := model.Unchanged("knowledge base chat", chat.ID, in.ExpectedUpdatedAt, chat.ChangedAt()); err != nil {
			return err
		}
		datasets := len(in.DatasetIds)
		if in.DatasetIds == nil {
			connected, err := t.db.Select((*chatDataset)(nil)).Where("chat_id = ?", chat.ID).Count(ctx)
			if err != nil {
				return err
			}
			datasets = int(connected)
		}
		if err := chat.Update(in, datasets, now(), t.store.rerankModels...); err != nil {
			return err
		}
		if _, err := t.db.Update(chat).WherePK().Exec(ctx); err != nil {
			return err
		}
		if in.DatasetIds == nil {
			return nil
		}
		// Datasets are locked first, because deleting a dataset waits for its connections.
		if err := t.lockDatasets(ctx, in.DatasetIds); err != nil {
			return err
		}
		if _, err := t.db.Delete((*chatDataset)(nil)).Where("chat_id = ?", chat.ID).Exec(ctx); err != nil {
			return err
		}
		return t.connectDatasets(ctx, chat.ID, in.DatasetIds)
	})
	return chat, err
}

// lockDatasets keeps datasets from being deleted until the end of the transaction. If a dataset does not exist, it
// returns NOT_FOUND with the dataset's id.
func (t tenantTx) lockDatasets(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	found := []*model.Dataset{}
	if err := t.db.Select(&found).Column("id").Where("id IN (?)", bun.List(ids)).Order("id").For("KEY SHARE").
		Scan(ctx); err != nil {
		return err
	}
	_, err := inOrder(dataset, ids, found)
	return err
}

func (t *Tenant) connectDatasets(ctx context.Context, chatID string, datasetIDs []string) error {
	ids := model.Unique(datasetIDs)
	relations := make([]*chatDataset, len(ids))
	for i, id := range ids {
		relations[i] = &chatDataset{ChatID: chatID, DatasetID: id, Position: int32(i)}
	}
	return pg.Insert(ctx, t.db, relations...)
}

// DeleteKnowledgeBaseChat deletes a chat and disconnects it from every agent. Its datasets stay.
func (t *Tenant) DeleteKnowledgeBaseChat(ctx context.Context, id string) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		// The lock keeps other requests from connecting the chat to an agent. All transactions lock agents by id, so that
		// they cannot deadlock.
		if _, err := t.lockKnowledgeBaseChat(ctx, id, forDelete); err != nil {
			return err
		}
		agents := []*model.Agent{}
		if err := t.db.Select(&agents).Column("id").Where("knowledge_base_chat_id = ?", id).
			Order("id").For(string(forUpdate)).Scan(ctx); err != nil {
			return err
		}
		if _, err := t.db.Update((*model.Agent)(nil)).Set("knowledge_base_chat_id = NULL").
			Set("updated_at = greatest(?, date_trunc('milliseconds', updated_at) + interval '1 millisecond')", now()).
			Where("knowledge_base_chat_id = ?", id).Exec(ctx); err != nil {
			return err
		}
		return t.delete(ctx, "knowledge base chat", id, (*model.KnowledgeBaseChat)(nil))
	})
}

// ConnectKnowledgeBaseChat connects a chat to an agent, instead of its previous one. Connecting it again changes
// nothing.
func (t *Tenant) ConnectKnowledgeBaseChat(ctx context.Context,
	in model.ConnectKnowledgeBaseChatInput) (*model.Agent, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	return t.setChat(ctx, in.AgentID, &in.ChatID, in.ExpectedUpdatedAt)
}

// DisconnectKnowledgeBaseChat disconnects the chat of an agent. It changes nothing if the agent has none.
func (t *Tenant) DisconnectKnowledgeBaseChat(ctx context.Context, agentID string) (*model.Agent, error) {
	return t.setChat(ctx, agentID, nil, nil)
}

func (t *Tenant) setChat(ctx context.Context, agentID string, chatID *string,
	expected *time.Time) (*model.Agent, error) {
	var agent *model.Agent
	err := t.inTx(ctx, func(ctx context.Context, t tenantTx) (err error) {
		if chatID != nil {
			if _, err := t.lockKnowledgeBaseChat(ctx, *chatID, forShare); err != nil {
				return err
			}
		}
		if agent, err = t.lockAgent(ctx, agentID, forUpdate); err != nil {
			return err
		}
		if err := model.Unchanged("agent", agent.ID, expected, agent.UpdatedAt); err != nil {
			return err
		}
		before := agent.KnowledgeBaseChatID
		if before == nil && chatID == nil || before != nil && chatID != nil && *before == *chatID {
			return nil
		}
		agent.KnowledgeBaseChatID, agent.UpdatedAt = chatID, model.NextUpdatedAt(agent.UpdatedAt, now())
		if err := exec(ctx, t.db.Update(agent).Column("knowledge_base_chat_id", "updated_at").WherePK()); err != nil {
			return err
		}
		return t.audit(ctx, model.AuditActionUpdateAgent, agent.ID)
	})
	return agent, err
}

// TryPromptSettings returns the chat with other prompt settings, without saving them. Without settings it returns the
// chat.
func (s *Store) TryPromptSettings(chat *model.KnowledgeBaseChat,
	settings *model.PromptSettingsInput) (*model.KnowledgeBaseChat, error) {
	return chat.Trying(settings, s.rerankModels...)
}
