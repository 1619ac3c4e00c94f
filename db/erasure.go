package db

import (
	"context"
	"errors"

	"github.com/uptrace/bun"
	bunschema "github.com/uptrace/bun/schema"

	"github.com/agentgraph/agentgraph/model"
)

// rowsPerSearch is how many chats or runs one statement searches for a contact.
const rowsPerSearch = 500

// errDryRun rolls back a dry run.
var errDryRun = errors.New("dry run")

// EraseContact deletes the campaign items with a contact's number, and the simulated chats that contain it. In other
// items and in test runs, whose results stay, it replaces the number by nines. It works through all rows of the
// company in parts, each in its own transaction unless the Tenant is in one. After an interruption, call it again.
// During a call with the contact, and during the evaluation of the call, it erases nothing and returns CONFLICT. A dry
// run does everything in one transaction and rolls it back.
func (t *Tenant) EraseContact(ctx context.Context, in model.EraseContactInput) (model.Erasure, error) {
	var erased model.Erasure
	search, err := in.Search()
	if err != nil {
		return erased, err
	}
	e := erasure{search}
	if !in.IsDryRun {
		return e.erase(ctx, t)
	}
	err = t.inTx(ctx, func(ctx context.Context, t tenantTx) (err error) {
		if erased, err = e.erase(ctx, t.Tenant); err == nil {
			err = errDryRun
		}
		return err
	})
	if errors.Is(err, errDryRun) {
		err = nil
	}
	return erased, err
}

type erasure struct{ model.ErasureSearch }

// in returns the condition that a text contains the number. The fast search comes first.
func (e erasure) in(text string) bunschema.QueryWithArgs { return e.matches(text, e.Pattern) }

func (e erasure) matches(text, pattern string) bunschema.QueryWithArgs {
	return bun.SafeQuery("(?0 ~ ?1 AND ?0 ~ ?2)", bun.Safe(text), e.Ending, pattern)
}

func (e erasure) erase(ctx context.Context, t *Tenant) (erased model.Erasure, err error) {
	if err = e.eraseItems(ctx, t, &erased); err != nil {
		return erased, err
	}
	if err = e.eraseFromItems(ctx, t, &erased); err != nil {
		return erased, err
	}
	err = t.forEachBatch(ctx, (*model.SimulationChat)(nil), func(ids []string) error {
		deleted, err := e.eraseChats(ctx, t, ids)
		erased.Add("simulation_chats", &erased.Chats, deleted...)
		return err
	})
	if err != nil {
		return erased, err
	}
	for _, m := range maskedTables(&erased) {
		err = t.forEachBatch(ctx, archivedTableOf(m.name).row, func(ids []string) error {
			found, err := e.eraseFrom(ctx, t, m, ids)
			erased.Add(m.name, m.counted, found...)
			return err
		})
		if err != nil {
			return erased, err
		}
	}
	err = t.forEachBatch(ctx, (*model.AgentTestExecution)(nil), func(ids []string) error {
		n, err := e.eraseFromSnapshots(ctx, t, ids)
		erased.Snapshots += n
		return err
	})
	if err != nil {
		return erased, err
	}
	erased.Left, err = e.remaining(ctx, t)
	return erased, err
}

// eraseChats deletes the chats among the ids that contain the number in their data, messages or calls, and returns
// them. A subquery finds them, because Citus accepts only immutable functions in the conditions of a DELETE or an
// UPDATE.
func (e erasure) eraseChats(ctx context.Context, t *Tenant, ids []string) (deleted []string, err error) {
	held := func(table string) *bun.SelectQuery {
		return t.db.NewSelect().TableExpr("? AS held", bun.Ident(table)).ColumnExpr("1").
			Where("held.company_id = ?", t.CompanyID()).
			Where("held.chat_id = simulation_chat.id").Where("?", e.in("held::text"))
	}
	found := t.db.Select((*model.SimulationChat)(nil)).Column("id").Where("id IN (?)", bun.List(ids)).
		Where("? OR EXISTS (?) OR EXISTS (?)", e.in("simulation_chat::text"), held("simulation_chat_messages"),
			held("tool_calls"))
	err = t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		err := t.db.Delete((*model.SimulationChat)(nil)).Where("id IN (?)", found).Returning("id").Scan(ctx, &deleted)
		if err != nil {
			return err
		}
		return t.audit(ctx, deletions[simulationChat], deleted...)
	})
	for _, id := range deleted {
		t.wake(id)
	}
	return deleted, err
}

// eraseItems deletes the items with a number from all campaigns, and records the erasure. It locks campaigns before
// their items, like all transactions, so that they cannot deadlock.
func (e erasure) eraseItems(ctx context.Context, t *Tenant, erased *model.Erasure) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		campaigns := []*model.Campaign{}
		campaignIDs := t.db.Select((*model.CampaignItem)(nil)).Column("campaign_id").Where("phone_number = ?", e.Number)
		err := t.db.Select(&campaigns).Where("id IN (?)", campaignIDs).Order("id").For(string(forUpdate)).Scan(ctx)
		if err != nil {
			return err
		}
		for _, campaign := range campaigns {
			items := []*model.CampaignItem{}
			err := t.db.Select(&items).Column("id", "running_status", "is_archived").Where("campaign_id = ?", campaign.ID).
				Where("phone_number = ?", e.Number).Order("id").For(string(forDelete)).Scan(ctx)
			if err != nil {
				return err
			}
			ids := make([]string, len(items))
			for i, item := range items {
				if item.IsInProgress() {
					return model.Errorf(model.Conflict, "campaign item %q of the contact is in a call or an "+
						"evaluation: wait until it ends", item.ID)
				}
				ids[i] = item.ID
			}
			if _, err := t.db.Delete((*model.CampaignItem)(nil)).Where("id IN (?)", bun.List(ids)).Exec(ctx); err != nil {
				return err
			}
			err = errors.Join(t.revise(ctx, campaign, counterDeltas{}.countItems(-1, items...)),
				t.audit(ctx, deletions[campaignItem], ids...))
			if err != nil {
				return err
			}
			erased.Add("campaign_items", &erased.Items, ids...)
		}
		return t.audit(ctx, model.AuditActionEraseContact, t.CompanyID())
	})
}

// forEachBatch calls fn with the ids of all rows of a type, in parts. nilRow is a nil pointer to the struct of a row.
func (t *Tenant) forEachBatch(ctx context.Context, nilRow any, fn func(ids []string) error) error {
	for after := ""; ; {
		ids := []string{}
		if err := t.db.Select(nilRow).Column("id").Where("id > ?", after).Order("id").Limit(rowsPerSearch).
			Scan(ctx, &ids); err != nil || len(ids) == 0 {
			return err
		}
		if err := fn(ids); err != nil {
			return err
		}
		after = ids[len(ids)-1]
	}
}
