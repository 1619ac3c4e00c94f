package db

import (
	"context"
	"strings"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/model"
)

// rowsPerSearch is how many chats or runs one statement searches for a contact.
const rowsPerSearch = 500

// EraseContact deletes the campaign items with a contact's number, and the simulated chats in which its digits stand. Runs of
// tests, whose results stay, have nines in place of these digits. It goes through all that the company has, some at a time, each
// in a transaction of its own unless the Tenant is in one; when it is interrupted, call it again. CONFLICT, and nothing is
// erased, while the contact is being called.
func (t *Tenant) EraseContact(ctx context.Context, in model.EraseContactInput) (model.Erasure, error) {
	var erased model.Erasure
	digits, err := in.Digits()
	if err != nil {
		return erased, err
	}
	if erased.Items, err = t.eraseItems(ctx, "+"+digits); err != nil {
		return erased, err
	}
	erased.Chats, err = t.searchAll(ctx, (*model.SimulationChat)(nil), func(ctx context.Context, ids []string) (int64, error) {
		held := func(table, text string) *bun.SelectQuery {
			return t.db.NewSelect().TableExpr("? AS held", bun.Ident(table)).ColumnExpr("1").Where("held.company_id = ?", t.companyID).
				Where("held.chat_id = simulation_chat.id").Where("strpos(?, ?) > 0", bun.Safe(text), digits)
		}
		deleted := []string{}
		err := t.remove((*model.SimulationChat)(nil)).Where("id IN (?)", bun.List(ids)).
			Where("strpos(data_bag::text, ?0) > 0 OR EXISTS (?1) OR EXISTS (?2)", digits,
				held("simulation_chat_messages", "held.text"), held("tool_calls", "concat(held.arguments, held.result)")).
			Returning("id").Scan(ctx, &deleted)
		for _, id := range deleted {
			t.wake(id)
		}
		return int64(len(deleted)), translate(err)
	})
	if err != nil {
		return erased, err
	}
	erased.Runs, err = t.searchAll(ctx, (*model.AgentTestRun)(nil), func(ctx context.Context, ids []string) (int64, error) {
		update, nines := t.change((*model.AgentTestRun)(nil)), strings.Repeat("9", len(digits))
		for _, column := range []string{"messages", "tool_calls", "snapshot", "criteria_results"} {
			update = update.Set("?0 = replace(?0::text, ?1, ?2)::json", bun.Ident(column), digits, nines)
		}
		result, err := update.Where("id IN (?)", bun.List(ids)).Where("finished_at IS NOT NULL").
			Where("strpos(concat(messages, tool_calls, snapshot, criteria_results), ?) > 0", digits).Exec(ctx)
		if err != nil {
			return 0, translate(err)
		}
		return result.RowsAffected()
	})
	return erased, err
}

// eraseItems deletes the items with a number, of all campaigns.
func (t *Tenant) eraseItems(ctx context.Context, number string) (deleted int64, err error) {
	return deleted, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		items := []*model.CampaignItem{}
		if err := t.find(&items).Where("phone_number = ?", number).Order("id").For(string(forDelete)).Scan(ctx); err != nil {
			return translate(err)
		}
		for _, item := range items {
			if item.RunningStatus == underWay[0] || item.RunningStatus == underWay[1] {
				return model.Errorf(model.Conflict, "campaign item %q of the contact is being called or evaluated", item.ID)
			}
			if _, err := t.remove((*model.CampaignItem)(nil)).Where("id = ?", item.ID).Exec(ctx); err != nil {
				return translate(err)
			}
			t.wake(item.CampaignID)
		}
		deleted = int64(len(items))
		return nil
	})
}

// searchAll calls fn with the ids of all rows like none, some at a time, and adds up what it returns.
func (t *Tenant) searchAll(ctx context.Context, none any, fn func(ctx context.Context, ids []string) (int64, error)) (sum int64, err error) {
	for after := ""; ; {
		ids := []string{}
		if err := t.find(none).Column("id").Where("id > ?", after).Order("id").Limit(rowsPerSearch).Scan(ctx, &ids); err != nil || len(ids) == 0 {
			return sum, translate(err)
		}
		n, err := fn(ctx, ids)
		if sum += n; err != nil {
			return sum, err
		}
		after = ids[len(ids)-1]
	}
}
