package db

import (
	"context"
	"errors"
	"slices"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// chatsPerSweep bounds the chats of a company that one sweep enqueues.
const chatsPerSweep = 200

// enqueueExtractions enqueues ended chats, so that workers extract the data that their agents ask for. The end of a
// chat only marks the chat, so a model that does not answer cannot delay it.
func (s *Store) enqueueExtractions(ctx context.Context) error {
	companies, err := s.companiesWith(ctx, (*model.SimulationChat)(nil), "extraction_at IS NOT NULL")
	errs := []error{err}
	for _, companyID := range companies {
		t := s.Tenant(companyID)
		errs = append(errs, t.inTx(ctx, func(ctx context.Context, t tenantTx) error { return t.enqueueExtractions(ctx) }))
	}
	return errors.Join(errs...)
}

func (t tenantTx) enqueueExtractions(ctx context.Context) error {
	ended := []*model.SimulationChat{}
	if err := t.db.SelectAll(&ended).Column("id", "agent_id").Where("extraction_at IS NOT NULL").Order("id").
		Limit(chatsPerSweep).For(string(forUpdate + " SKIP LOCKED")).Scan(ctx); err != nil || len(ended) == 0 {
		return err
	}
	ids, agentIDs := make([]string, len(ended)), make([]string, len(ended))
	for i, chat := range ended {
		ids[i], agentIDs[i] = chat.ID, chat.AgentID
	}
	_, err := t.db.UpdateAll((*model.SimulationChat)(nil)).Set("extraction_at = NULL").
		Where("id IN (?)", bun.List(ids)).Exec(ctx)
	if err != nil {
		return err
	}
	agents := []string{}
	if err := t.db.Select((*model.Agent)(nil)).Column("id").Where("id IN (?)", bun.List(model.Unique(agentIDs))).
		Where("jsonb_array_length(extracted_values) > 0").Scan(ctx, &agents); err != nil {
		return err
	}
	wanted := []string{}
	for _, chat := range ended {
		if slices.Contains(agents, chat.AgentID) {
			wanted = append(wanted, chat.ID)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	return t.enqueue(ctx, chatJob, wanted)
}

// SaveExtracted saves the data that was extracted from an ended chat with its cost, or the reason for a failure without
// a cost. It does not replace extracted data, and a redelivered job costs nothing more. It returns NOT_FOUND when the
// chat does not exist.
func (t *Tenant) SaveExtracted(ctx context.Context, chatID string, extracted *model.JSONObject, failure *string,
	spent *model.UsageEntry) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		isSaved, err := pg.Affects(t.db.Update((*model.SimulationChat)(nil)).Set("extracted = ?", extracted).
			Set("extraction_error = ?", failure).Where("id = ?", chatID).Where("extracted IS NULL").Exec(ctx))
		if err == nil && !isSaved {
			_, err = t.SimulationChat(ctx, chatID)
		}
		if err != nil || !isSaved || extracted == nil {
			return err
		}
		return t.recordSpending(ctx, map[string]*model.UsageEntry{chatID + ":extracted": spent})
	})
}
