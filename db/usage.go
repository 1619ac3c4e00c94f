package db

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// RecordUsage adds all of the entries to the ledger, or none. Entries that the ledger already has count as duplicates.
// It returns UNPROCESSABLE when the ledger has a different entry under the same key, or when an entry is older than the
// ledger.
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
		isCorrection := slices.ContainsFunc(rows, (*model.UsageEntry).IsCorrection)
		if isCorrection {
			if err := t.checkCorrections(ctx, in, rows); err != nil {
				return err
			}
		}
		recorded, err := t.addUsage(ctx, rows)
		if err != nil {
			return err
		}
		payload.Recorded, payload.Duplicates = int32(recorded), int32(len(rows)-recorded+repeated)
		if recorded < len(rows) {
			if err := t.checkDuplicates(ctx, in, rows); err != nil {
				return err
			}
		}
		if !isCorrection || recorded == 0 {
			return nil
		}
		return t.audit(ctx, model.AuditActionCorrectUsage, t.CompanyID())
	})
}

// checkCorrections returns UNPROCESSABLE when negative entries would make the recorded credits of a month negative.
// They would cancel the costs of simulations, and with them the budget. Past months have none any longer, and later
// months may get one. It locks the company, so that concurrent corrections count each other.
func (t tenantTx) checkCorrections(ctx context.Context, in model.RecordUsageInput, rows []*model.UsageEntry) error {
	if _, err := t.db.NewRaw("SELECT 1 FROM companies WHERE id = ? FOR NO KEY UPDATE", t.CompanyID()).
		Exec(ctx); err != nil {
		return err
	}
	current := model.MonthOf(now())
	plan, err := t.Subscription(ctx, current)
	if err != nil {
		return err
	}
	keys, sums, last := make([]string, len(rows)), map[time.Time]model.Credits{}, current
	for i, row := range rows {
		keys[i] = row.IdempotencyKey
		month := model.MonthOf(row.At)
		hasBudget := month.After(current) || month.Equal(current) && plan != nil && plan.Budget != nil
		if row.IsCorrection() && hasBudget {
			sums[month], last = 0, slices.MaxFunc([]time.Time{last, month}, time.Time.Compare)
		}
	}
	if len(sums) == 0 {
		return nil
	}
	recorded := []struct {
		Month   time.Time
		Credits model.Credits
	}{}
	err = t.db.Select((*model.UsageEntry)(nil)).ColumnExpr("date_trunc('month', at, 'UTC') AS month").
		ColumnExpr("sum(micro_credits)::bigint AS credits").
		Where("at >= ?", current).Where("at < ?", last.AddDate(0, 1, 0)).
		Where("NOT starts_with(idempotency_key, ?)", model.OwnUsageKeys).
		Where("idempotency_key NOT IN (?)", bun.List(keys)).GroupExpr("1").Scan(ctx, &recorded)
	for _, r := range recorded {
		if _, isChecked := sums[r.Month.UTC()]; isChecked {
			sums[r.Month.UTC()] = r.Credits
		}
	}
	return cmp.Or(err, in.CheckCorrections(rows, sums))
}

// ledgerStart returns the first day of a ledger whose entries are kept for the given number of days.
func ledgerStart(days int32) time.Time {
	return now().AddDate(0, 0, -int(days)).Truncate(24 * time.Hour)
}

// checkLedger returns UNPROCESSABLE when entries are older than the ledger. Entries are kept for at least a day, so it
// looks up the start only for older entries.
func (t *Tenant) checkLedger(ctx context.Context, in model.RecordUsageInput, rows []*model.UsageEntry) error {
	aDayAgo := now().AddDate(0, 0, -1)
	if !slices.ContainsFunc(rows, func(e *model.UsageEntry) bool { return e.At.Before(aDayAgo) }) {
		return nil
	}
	retentions := []*model.Retention{}
	err := t.db.Select(&retentions).Where("kind = ?", model.RetentionLedger).Scan(ctx)
	if err != nil || len(retentions) == 0 {
		return err
	}
	return in.KeptFrom(ledgerStart(retentions[0].Days))
}

// sumUpLedger replaces some old entries by one for each day, channel, agent and campaign, and returns whether there
// may be more.
func (t *Tenant) sumUpLedger(ctx context.Context, begin time.Time) (hasMore bool, err error) {
	return hasMore, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		old := t.db.Select((*model.UsageEntry)(nil)).Column("idempotency_key").Where("at < ?", begin).
			Where("idempotency_key NOT LIKE ?", model.DayKeys).Order("at", "idempotency_key").Limit(entriesPerPart)
		entries := []*model.UsageEntry{}
		err := t.db.Delete((*model.UsageEntry)(nil)).Where("idempotency_key IN (?)", old).
			Returning("channel, agent_id, campaign_id, micro_credits, at").Scan(ctx, &entries)
		if err != nil || len(entries) == 0 {
			return err
		}
		hasMore = len(entries) == entriesPerPart
		days, _ := model.SumUsage(entries)
		sums := model.Map(days, func(day *model.UsageDay) *model.UsageEntry { return day.Entry() })
		w := t.db.Batch()
		w.Add(addToEntries, nil, columnsOfEntries(sums).values()...)
		return w.Send(ctx)
	})
}

// addUsage writes the rows that are not in the ledger yet, and adds them to the sums of their days and months. The
// rows have distinct keys. It returns how many it wrote. A budget is checked after the commit.
func (t tenantTx) addUsage(ctx context.Context, rows []*model.UsageEntry) (int, error) {
	// All transactions write keys in the same order, then days, then months, so that they cannot deadlock.
	slices.SortFunc(rows, func(a, b *model.UsageEntry) int { return cmp.Compare(a.IdempotencyKey, b.IdempotencyKey) })
	added := []*model.UsageEntry{}
	w := t.db.Batch()
	w.Add(addEntries, &added, columnsOfEntries(rows).values()...)
	if err := w.Send(ctx); err != nil || len(added) == 0 {
		return 0, err
	}
	keys := model.Map(added, func(entry *model.UsageEntry) string { return entry.IdempotencyKey })
	slices.Sort(keys)
	recorded := make([]*model.UsageEntry, 0, len(keys))
	for _, row := range rows {
		if _, isNew := slices.BinarySearch(keys, row.IdempotencyKey); isNew {
			recorded = append(recorded, row)
		}
	}
	w = t.db.Batch()
	t.db.OnCommit(t.addSums(w, recorded))
	return len(recorded), w.Send(ctx)
}

// usageColumns are the columns of several entries or sums: channels, agents, campaigns, credits, keys, and times or
// numbers. Parsing a thousand rows as literals takes longer than writing them.
type usageColumns [6][]string

func (c *usageColumns) addEntry(channel model.Channel, agentID, campaignID string, credits model.Credits,
	key, last string) {
	for i, value := range []string{string(channel), agentID, campaignID, strconv.FormatInt(int64(credits), 10), key,
		last} {
		c[i] = append(c[i], value)
	}
}

func (c *usageColumns) values() []any {
	values := make([]any, len(c))
	for i, column := range c {
		values[i] = column
	}
	return values
}

func columnsOfEntries(entries []*model.UsageEntry) *usageColumns {
	columns := &usageColumns{}
	for _, e := range entries {
		columns.addEntry(e.Channel, e.AgentID, e.CampaignID, e.Credits, e.IdempotencyKey, pg.LiteralTime(e.At))
	}
	return columns
}

// ledgerInsert returns the query that adds usageColumns to a table of the ledger. expressions are the values of its
// last two columns.
func ledgerInsert(table, columns, expressions, conflict string, returned ...string) pg.Query {
	return pg.NewQuery(func(*pg.Tables) (string, []string) {
		text := "INSERT INTO " + table + " AS kept (company_id, channel, agent_id, campaign_id, micro_credits, " + columns +
			") " +
			"SELECT $1, channel, agent_id, campaign_id, micro_credits::bigint, " + expressions +
			" FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])" +
			" AS given (channel, agent_id, campaign_id, micro_credits, key, last) ON CONFLICT " + conflict
		if len(returned) > 0 {
			text += " RETURNING " + strings.Join(returned, ", ")
		}
		return text, returned
	})
}

const (
	addCredits = " DO UPDATE SET micro_credits = kept.micro_credits + excluded.micro_credits"
	addSum     = addCredits + ", entries = kept.entries + excluded.entries"
)

// addEntries adds entries and returns the keys of the new ones. addToEntries also adds entries. If the key of an entry
// exists, it adds the credits to the existing entry.
var (
	addEntries = ledgerInsert("usage_entries", "idempotency_key, at", "key, last::timestamptz",
		"(company_id, idempotency_key) DO NOTHING", "idempotency_key")
	addToEntries = ledgerInsert("usage_entries", "idempotency_key, at", "key, last::timestamptz",
		"(company_id, idempotency_key)"+addCredits)
	addDays = ledgerInsert("usage_days", "day, entries", "key::date, last::bigint",
		"(company_id, day, channel, agent_id, campaign_id)"+addSum)
	addMonths = ledgerInsert("usage_months", "month, entries", "key::date, last::bigint",
		"(company_id, month, channel, agent_id, campaign_id)"+addSum)
)

// addSums adds statements to a batch that add entries to the sums of their days and months. Call the result after the
// commit: it schedules a check of the budget, if there is one.
func (t *Tenant) addSums(w *pg.Batch, entries []*model.UsageEntry) (afterwards func()) {
	days, months := model.SumUsage(entries)
	var ofDays, ofMonths usageColumns
	for _, day := range days {
		ofDays.addEntry(day.Channel, day.AgentID, day.CampaignID, day.Credits, day.Day.Format(time.DateOnly),
			strconv.FormatInt(day.Entries, 10))
	}
	for _, month := range months {
		ofMonths.addEntry(month.Channel, month.AgentID, month.CampaignID, month.Credits, month.Month.Format(time.DateOnly),
			strconv.FormatInt(month.Entries, 10))
	}
	budgets := []*budgetSpending{}
	w.Add(addDays, nil, ofDays.values()...)
	w.Add(addMonths, nil, ofMonths.values()...)
	w.Add(findBudget, &budgets)
	return func() {
		if len(budgets) > 0 {
			t.store.budgets.scheduleCheck(t.CompanyID())
		}
	}
}

// checkDuplicates returns UNPROCESSABLE when the ledger has different entries under the keys of the input.
func (t *Tenant) checkDuplicates(ctx context.Context, in model.RecordUsageInput, rows []*model.UsageEntry) error {
	keys := make([]string, len(rows))
	given := make(map[string]*model.UsageEntry, len(rows))
	for i, row := range rows {
		keys[i], given[row.IdempotencyKey] = row.IdempotencyKey, row
	}
	stored := []*model.UsageEntry{}
	if err := t.db.Select(&stored).Where("idempotency_key IN (?)", bun.List(keys)).Scan(ctx); err != nil {
		return err
	}
	differs := map[string]bool{}
	for _, entry := range stored {
		differs[entry.IdempotencyKey] = !entry.Same(given[entry.IdempotencyKey])
	}
	var faults model.Fields
	for i, entry := range in.Entries {
		if differs[entry.IdempotencyKey] {
			faults.Add(fmt.Sprintf("entries.%d.idempotencyKey", i), "%q is already recorded with different data",
				entry.IdempotencyKey)
		}
	}
	return faults.As(model.Unprocessable)
}

// spending adds the cost of a simulated conversation to a batch, under a new key. Add it last: other transactions that
// record usage wait for the sums that it locks. Call the result after the commit. A cost of zero is not recorded.
func (t *Tenant) spending(w *pg.Batch, key string, cost *model.UsageEntry) (afterwards func()) {
	entry := newLedgerEntry(key, cost, now().Truncate(time.Millisecond))
	if entry == nil {
		return func() {}
	}
	w.Insert(entry)
	return t.addSums(w, []*model.UsageEntry{entry})
}

type budgetSpending struct{ CompanyID string }

// findBudget is the statement that finds the company if it has a budget. Its only argument is the company.
var findBudget = pg.NewQuery(func(t *pg.Tables) (string, []string) {
	return t.NewSelect().TableExpr("plans").Column("company_id").Where("company_id = ?", pg.Param(1)).
		Where("micro_credits_budget IS NOT NULL").String(), []string{"company_id"}
})

// newLedgerEntry returns the ledger entry of a cost, or nil if there is no cost.
func newLedgerEntry(key string, cost *model.UsageEntry, at time.Time) *model.UsageEntry {
	if cost == nil || cost.Credits == 0 {
		return nil
	}
	entry := *cost
	entry.IdempotencyKey, entry.At = model.OwnUsageKeys+key, at
	return &entry
}

// recordSpending records the costs of simulated conversations, by key, in the Tenant's transaction. Call it last: other
// transactions that record usage wait for the sums that it locks. A cost of zero is not recorded.
func (t tenantTx) recordSpending(ctx context.Context, spent map[string]*model.UsageEntry) error {
	at, entries := now().Truncate(time.Millisecond), []*model.UsageEntry{}
	for key, cost := range spent {
		if entry := newLedgerEntry(key, cost, at); entry != nil {
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

// UsageEntries reads the ledger's entries in the range, oldest first and in parts. Entries that are recorded during the
// read may be missing.
func (t *Tenant) UsageEntries(ctx context.Context, r model.ConsumptionRange) iter.Seq2[*model.UsageEntry, error] {
	return inParts(&model.UsageEntry{At: r.From}, entriesPerRead,
		func(after *model.UsageEntry) ([]*model.UsageEntry, error) {
			entries := []*model.UsageEntry{}
			return entries, t.db.Select(&entries).Where("(at, idempotency_key) > (?, ?)", after.At, after.IdempotencyKey).
				Where("at < ?", r.End).Order("at", "idempotency_key").Limit(entriesPerRead).Scan(ctx)
		})
}
