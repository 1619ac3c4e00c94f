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

// mayBeIn returns the condition that a text may contain the number. Go decides, because Postgres's regular expressions
// take time quadratic in the length of a text when they constrain what is before a match.
func (e erasure) mayBeIn(text string) bunschema.QueryWithArgs {
	return bun.SafeQuery("?0 ~ ?1", bun.Safe(text), e.Ending)
}

// search reads the rows of a query, which have an id and a text. It returns the ids of the rows whose text is wanted,
// in the order of the query.
func (e erasure) search(ctx context.Context, t *Tenant, query *bun.SelectQuery,
	isWanted func(text string) bool) (ids []string, err error) {
	rows, err := t.db.QueryContext(ctx, query.String())
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id, text string
		if err := rows.Scan(&id, &text); err != nil {
			return nil, err
		}
		if isWanted(text) {
			ids = append(ids, id)
		}
	}
	return ids, rows.Err()
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
		err = t.forEachBatch(ctx, m.parent, func(ids []string) error {
			masked, err := e.eraseFrom(ctx, t, m, ids)
			erased.Add(m.name, m.counted, masked...)
			return err
		})
		if err != nil {
			return erased, err
		}
	}
	erased.Left, err = e.remaining(ctx, t)
	return erased, err
}

// eraseChats deletes the chats among the ids that contain the number in their data, messages or calls, and returns
// them.
func (e erasure) eraseChats(ctx context.Context, t *Tenant, ids []string) (deleted []string, err error) {
	var found []string
	for table, key := range map[string]string{"simulation_chats": "id", "simulation_chat_messages": "chat_id",
		"tool_calls": "chat_id"} {
		held, err := e.search(ctx, t, t.db.NewSelect().TableExpr("? AS held", bun.Ident(table)).
			ColumnExpr("?, held::text", bun.Ident(key)).Where("company_id = ?", t.CompanyID()).
			Where("? IN (?)", bun.Ident(key), bun.List(ids)).Where("?", e.mayBeIn("held::text")), e.Contains)
		if err != nil {
			return nil, err
		}
		found = append(found, held...)
	}
	if len(found) == 0 {
		return nil, nil
	}
	err = t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		err := t.db.Delete((*model.SimulationChat)(nil)).Where("id IN (?)", bun.List(found)).Returning("id").
			Scan(ctx, &deleted)
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
