package db

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/model"
)

// RecordUsage adds entries to the ledger, all of them or none. Those that are in it already are duplicates;
// UNPROCESSABLE when one of them says something else.
func (t *Tenant) RecordUsage(ctx context.Context, in model.RecordUsageInput) (*model.RecordUsagePayload, error) {
	rows, repeated, err := in.Rows()
	if err != nil {
		return nil, err
	}
	if err := t.checkLedger(ctx, in, rows); err != nil {
		return nil, err
	}
	payload := &model.RecordUsagePayload{}
	return payload, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		recorded, err := t.addUsage(ctx, rows)
		if err != nil {
			return err
		}
		payload.Recorded, payload.Duplicates = int32(recorded), int32(len(rows)-recorded+repeated)
		if recorded == len(rows) {
			return nil
		}
		return t.checkDuplicates(ctx, in, rows)
	})
}

// ledgerBegins is the day with which the ledger begins that is kept for so many days.
func ledgerBegins(days int32) time.Time {
	return now().AddDate(0, 0, -int(days)).Truncate(24 * time.Hour)
}

// checkLedger returns UNPROCESSABLE when entries are of before the ledger begins. It keeps entries for a day at least, so only older
// ones have it looked up.
func (t *Tenant) checkLedger(ctx context.Context, in model.RecordUsageInput, rows []*model.UsageEntry) error {
	aDayAgo := now().AddDate(0, 0, -1)
	if !slices.ContainsFunc(rows, func(e *model.UsageEntry) bool { return e.At.Before(aDayAgo) }) {
		return nil
	}
	kept := []*model.Retention{}
	if err := t.find(&kept).Where("kind = ?", model.RetentionLedger).Scan(ctx); err != nil || len(kept) == 0 {
		return translate(err)
	}
	return in.KeptFrom(ledgerBegins(kept[0].Days))
}

// sumUpLedger puts one entry for each day, channel, agent and campaign in place of some that are older, and returns whether there
// may be more.
func (t *Tenant) sumUpLedger(ctx context.Context, begin time.Time) (hasMore bool, err error) {
	return hasMore, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		old := t.find((*model.UsageEntry)(nil)).Column("idempotency_key").Where("at < ?", begin).
			Where("idempotency_key NOT LIKE ?", model.DayKeys).Order("at", "idempotency_key").Limit(entriesPerPart)
		entries := []*model.UsageEntry{}
		err := t.remove((*model.UsageEntry)(nil)).Where("idempotency_key IN (?)", old).
			Returning("channel, agent_id, campaign_id, micro_credits, at").Scan(ctx, &entries)
		if err != nil || len(entries) == 0 {
			return translate(err)
		}
		hasMore = len(entries) == entriesPerPart
		days, _ := model.SumUsage(entries)
		sums := make([]*model.UsageEntry, len(days))
		for i, day := range days {
			sums[i] = day.Entry()
			sums[i].OwnBy(t.companyID)
		}
		_, err = t.db.NewInsert().Model(&sums).On("CONFLICT (company_id, idempotency_key) DO UPDATE").
			Set("micro_credits = ?TableAlias.micro_credits + excluded.micro_credits").Returning("NULL").Exec(ctx)
		return translate(err)
	})
}

// addUsage writes those rows, of different keys, that are not in the ledger yet, sums them up by day and by
// month, and returns how many they were. The budget, when there is one, is looked at after the commit of the
// transaction that the Tenant is in.
func (t tenantTx) addUsage(ctx context.Context, rows []*model.UsageEntry) (int, error) {
	// Everybody writes keys in the same order, then days, then months, so nobody waits in a circle.
	slices.SortFunc(rows, func(a, b *model.UsageEntry) int { return cmp.Compare(a.IdempotencyKey, b.IdempotencyKey) })
	for _, row := range rows {
		row.OwnBy(t.companyID)
	}
	keys := []string{}
	err := t.db.NewInsert().Model(&rows).On("CONFLICT (company_id, idempotency_key) DO NOTHING").Returning("idempotency_key").Scan(ctx, &keys)
	if err != nil || len(keys) == 0 {
		return 0, translate(err)
	}
	slices.Sort(keys)
	recorded := make([]*model.UsageEntry, 0, len(keys))
	for _, row := range rows {
		if _, isNew := slices.BinarySearch(keys, row.IdempotencyKey); isNew {
			recorded = append(recorded, row)
		}
	}
	return len(recorded), t.addSums(ctx, recorded)
}

// What is done with sums that are there already.
const (
	onDay   = "CONFLICT (company_id, day, channel, agent_id, campaign_id) DO UPDATE"
	onMonth = "CONFLICT (company_id, month, channel, agent_id, campaign_id) DO UPDATE"
	addUp   = "micro_credits = ?TableAlias.micro_credits + excluded.micro_credits, entries = ?TableAlias.entries + excluded.entries"
)

// addSums adds entries to the sums of their days and months, in one round trip.
func (t tenantTx) addSums(ctx context.Context, entries []*model.UsageEntry) error {
	days, months := model.SumUsage(entries)
	for _, day := range days {
		day.OwnBy(t.companyID)
	}
	for _, month := range months {
		month.OwnBy(t.companyID)
	}
	var hasBudget bool
	batch := &pgx.Batch{}
	batch.Queue(t.db.NewInsert().Model(&days).On(onDay).Set(addUp).Returning("NULL").String())
	batch.Queue(t.db.NewInsert().Model(&months).On(onMonth).Set(addUp).Returning("NULL").String())
	batch.Queue("SELECT EXISTS (SELECT 1 FROM plans WHERE company_id = $1 AND micro_credits_budget IS NOT NULL)", t.companyID).
		QueryRow(func(row pgx.Row) error { return row.Scan(&hasBudget) })
	err := t.send(ctx, batch)
	if err == nil && hasBudget {
		t.onCommit(func() { t.store.budgets.look(t.companyID) })
	}
	return err
}

// checkDuplicates returns UNPROCESSABLE when the ledger has other entries under the keys of the input.
func (t *Tenant) checkDuplicates(ctx context.Context, in model.RecordUsageInput, rows []*model.UsageEntry) error {
	keys := make([]string, len(rows))
	given := make(map[string]*model.UsageEntry, len(rows))
	for i, row := range rows {
		keys[i], given[row.IdempotencyKey] = row.IdempotencyKey, row
	}
	kept := []*model.UsageEntry{}
	if err := t.find(&kept).Where("idempotency_key IN (?)", bun.List(keys)).Scan(ctx); err != nil {
		return translate(err)
	}
	differs := map[string]bool{}
	for _, entry := range kept {
		differs[entry.IdempotencyKey] = !entry.Same(given[entry.IdempotencyKey])
	}
	var faults model.Fields
	for i, entry := range in.Entries {
		if differs[entry.IdempotencyKey] {
			faults.Add(fmt.Sprintf("entries.%d.idempotencyKey", i), "%q is recorded already, with another content", entry.IdempotencyKey)
		}
	}
	return faults.As(model.Unprocessable)
}

// spending adds what a simulated conversation has cost, under a key that the ledger does not have yet: the last thing that is
// done, since others wait for the day's row. It returns what is to be done once it is committed. Nothing is recorded of what
// cost nothing.
func (t *Tenant) spending(w *writing, key string, cost *model.UsageEntry) (afterwards func()) {
	entry := entryOf(key, cost, now().Truncate(time.Millisecond))
	if entry == nil {
		return func() {}
	}
	w.insert(entry)
	days, months := model.SumUsage([]*model.UsageEntry{entry})
	for _, day := range days {
		w.insertOr(onDay, addUp, day)
	}
	for _, month := range months {
		w.insertOr(onMonth, addUp, month)
	}
	budgets := []*budgetOf{}
	w.change(t.askingOwn("budget of a company", findBudget, &budgets))
	return func() {
		if len(budgets) > 0 {
			t.store.budgets.look(t.companyID)
		}
	}
}

// budgetOf is a company that has one.
type budgetOf struct{ CompanyID string }

// findBudget is the statement that finds a company if it has a budget. It takes no keys.
func findBudget(s *Store) (Statement, []string) {
	return statement(s.db.NewSelect().TableExpr("plans").Column(companyColumn).Where("company_id = ?", parameter(1)).
		Where("micro_credits_budget IS NOT NULL").String()), []string{companyColumn}
}

// entryOf is the ledger's entry of what something has cost, nil if that is nothing.
func entryOf(key string, cost *model.UsageEntry, at time.Time) *model.UsageEntry {
	if cost == nil || cost.Credits == 0 {
		return nil
	}
	entry := *cost
	entry.IdempotencyKey, entry.At = model.OwnUsageKeys+key, at
	return &entry
}

// spend records what simulated conversations cost, by key, in the transaction that the Tenant is in: the last
// thing that it does, since others wait for the day's row. Nothing is recorded of what cost nothing.
func (t tenantTx) spend(ctx context.Context, spent map[string]*model.UsageEntry) error {
	at, entries := now().Truncate(time.Millisecond), []*model.UsageEntry{}
	for key, cost := range spent {
		if entry := entryOf(key, cost, at); entry != nil {
			entries = append(entries, entry)
		}
	}
	if len(entries) == 0 {
		return nil
	}
	_, err := t.addUsage(ctx, entries)
	return err
}

// entriesPerRead bounds the entries that an export holds in memory.
const entriesPerRead = 1_000

// UsageEntries reads the ledger's entries in the range, oldest first, a part at a time: one that is recorded
// meanwhile may be among them or not.
func (t *Tenant) UsageEntries(ctx context.Context, r model.ConsumptionRange) iter.Seq2[*model.UsageEntry, error] {
	return func(yield func(*model.UsageEntry, error) bool) {
		after := &model.UsageEntry{At: r.From}
		for {
			entries := []*model.UsageEntry{}
			err := t.find(&entries).Where("(at, idempotency_key) > (?, ?)", after.At, after.IdempotencyKey).Where("at < ?", r.End).
				Order("at", "idempotency_key").Limit(entriesPerRead).Scan(ctx)
			if err != nil {
				yield(nil, translate(err))
				return
			}
			for _, entry := range entries {
				if !yield(entry, nil) {
					return
				}
			}
			if len(entries) < entriesPerRead {
				return
			}
			after = entries[len(entries)-1]
		}
	}
}
