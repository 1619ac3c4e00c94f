package db

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/queue"
	"github.com/agentgraph/agentgraph/model"
)

// RecordUsage adds entries to the ledger, all of them or none. Those that are in it already are duplicates;
// UNPROCESSABLE when one of them says something else.
func (t *Tenant) RecordUsage(ctx context.Context, in model.RecordUsageInput) (*model.RecordUsagePayload, error) {
	rows, repeated, err := in.Rows()
	if err != nil {
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

// addUsage writes entries that are not in the ledger yet, sums them up by day and by month, and returns how many they were,
// and whether the company has a budget.
const addUsage = `WITH entry AS (
		INSERT INTO usage_entries (company_id, idempotency_key, channel, agent_id, campaign_id, micro_credits, at)
		SELECT $1, * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::timestamptz[])
		ON CONFLICT (company_id, idempotency_key) DO NOTHING
		RETURNING (at AT TIME ZONE 'UTC')::date AS day, channel, agent_id, campaign_id, micro_credits
	), by_day AS (
		INSERT INTO usage_days (company_id, day, channel, agent_id, campaign_id, micro_credits, entries)
		SELECT $1, day, channel, agent_id, campaign_id, sum(micro_credits), count(*) FROM entry
		GROUP BY day, channel, agent_id, campaign_id ORDER BY day, channel, agent_id, campaign_id
		ON CONFLICT (company_id, day, channel, agent_id, campaign_id) DO UPDATE
		SET micro_credits = usage_days.micro_credits + excluded.micro_credits, entries = usage_days.entries + excluded.entries
	), by_month AS (
		INSERT INTO usage_months (company_id, month, channel, agent_id, campaign_id, micro_credits, entries)
		SELECT $1, date_trunc('month', day::timestamp)::date AS month, channel, agent_id, campaign_id, sum(micro_credits), count(*) FROM entry
		GROUP BY month, channel, agent_id, campaign_id ORDER BY month, channel, agent_id, campaign_id
		ON CONFLICT (company_id, month, channel, agent_id, campaign_id) DO UPDATE
		SET micro_credits = usage_months.micro_credits + excluded.micro_credits, entries = usage_months.entries + excluded.entries
	)
	SELECT count(*), EXISTS (SELECT 1 FROM plans WHERE company_id = $1 AND micro_credits_budget IS NOT NULL) FROM entry`

// addUsage writes those rows, of different keys, that are not in the ledger yet, sums them up by day and by
// month, and returns how many they were. The budget, when there is one, is looked at after the commit of the
// transaction that the Tenant is in.
func (t tenantTx) addUsage(ctx context.Context, rows []*model.UsageEntry) (int, error) {
	// Everybody writes keys in the same order, then days, then months, so nobody waits in a circle.
	slices.SortFunc(rows, func(a, b *model.UsageEntry) int { return cmp.Compare(a.IdempotencyKey, b.IdempotencyKey) })
	var keys, channels, agents, campaigns []string
	var credits []int64
	var times []time.Time
	for _, row := range rows {
		keys, channels, agents = append(keys, row.IdempotencyKey), append(channels, string(row.Channel)), append(agents, row.AgentID)
		campaigns, credits, times = append(campaigns, row.CampaignID), append(credits, int64(row.Credits)), append(times, row.At)
	}
	var recorded int
	var hasBudget bool
	err := t.pgx(ctx, func(tx queue.Tx) error {
		// Every turn does this, and planning it each time would take longer than running it.
		statement, err := tx.Prepare(ctx, "add_usage", addUsage)
		if err != nil {
			return err
		}
		return tx.QueryRow(ctx, statement.Name, t.companyID, keys, channels, agents, campaigns, credits, times).Scan(&recorded, &hasBudget)
	})
	if hasBudget && recorded > 0 {
		t.onCommit(func() { t.store.budgets.look(t.companyID) })
	}
	return recorded, translate(err)
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

// spend records what simulated conversations cost, by key, in the transaction that the Tenant is in: the last
// thing that it does, since others wait for the day's row. Nothing is recorded of what cost nothing.
func (t tenantTx) spend(ctx context.Context, spent map[string]*model.UsageEntry) error {
	at, entries := now().Truncate(time.Millisecond), []*model.UsageEntry{}
	for key, cost := range spent {
		if cost == nil || cost.Credits == 0 {
			continue
		}
		entry := *cost
		entry.IdempotencyKey, entry.At = model.OwnUsageKeys+key, at
		entries = append(entries, &entry)
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
