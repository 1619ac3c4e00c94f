package db_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// bound parses a DateBound.
func bound(t require.TestingT, text string) model.DateBound {
	b, err := model.ParseDateBound(text)
	require.NoError(t, err)
	return b
}

// breakdownOf returns the breakdown between two bounds, given as texts.
func breakdownOf(t require.TestingT, tenant *db.Tenant, from, to string) *model.ConsumptionBreakdown {
	b, err := tenant.ConsumptionBreakdown(ctxOf(t), bound(t, from), bound(t, to), model.AllConsumptionAxes)
	require.NoError(t, err)
	return b
}

// The breakdowns of 1,000 ranges of random ledgers, which are written in random parts, equal a plain recount.
func TestBreakdownEqualsARecount(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	cases := 0
	rapid.Check(t, func(t *rapid.T) {
		company, err := store.CreateCompany(ctxOf(t), "A company")
		require.NoError(t, err)
		tenant := store.Tenant(company.ID)
		ledger := rapid.SliceOfN(entries(), 0, 40).Draw(t, "ledger")
		for i, e := range ledger {
			e.IdempotencyKey = fmt.Sprint("key ", i)
		}
		for rest := ledger; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "written at once")
			_, err := tenant.RecordUsage(ctxOf(t), model.RecordUsageInput{Entries: rest[:n]})
			require.NoError(t, err)
			rest = rest[n:]
		}
		for range rangesPerLedger {
			r := ranges().Draw(t, "range")
			got, err := tenant.ConsumptionBreakdown(ctxOf(t), r[0], r[1], model.AllConsumptionAxes)
			require.NoError(t, err)
			same(t, recount(ledger, r[0], r[1]), withoutBatches(got))
			requireConsistentSums(t, got, ledger, r)
			requireSameSums(t, tenant, got, r)
			cases++
		}
		requireTrueSums(t, conn, company.ID)
	})
	require.GreaterOrEqual(t, cases, ledgers*rangesPerLedger)
}

// Equal sums are in the order of the ids' bytes, whatever the collation of the database.
func TestEqualSumsAreInTheOrderOfBytes(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	for _, table := range []string{"usage_days", "usage_months"} {
		_, err := conn.Exec(t.Context(), "ALTER TABLE "+table+` ALTER agent_id TYPE text COLLATE "en-x-icu",
			ALTER campaign_id TYPE text COLLATE "en-x-icu"`)
		require.NoError(t, err)
	}
	tenant, _ := newCompany(t, store)
	ids := []string{"B", "_", "a", "c"}
	for i, agentID := range ids {
		for j, campaignID := range ids {
			e := entry(fmt.Sprint(i, j), "2026-03-01T00:00:00Z", 1)
			e.AgentID, e.CampaignID = agentID, &campaignID
			record(t, tenant, e)
		}
	}
	agents := breakdownOf(t, tenant, "2026-03-01", "2026-03-31").ByAgent
	require.Len(t, agents, len(ids))
	for i, agent := range agents {
		require.Equal(t, ids[i], agent.AgentID)
		for j, campaign := range agent.Campaigns {
			require.Equal(t, ids[j], campaign.CampaignID)
		}
	}
}

// requireSameSums checks that a breakdown by some axes agrees with the breakdown by all axes.
func requireSameSums(t *rapid.T, tenant *db.Tenant, whole *model.ConsumptionBreakdown, r [2]model.DateBound) {
	wanted := func(axis string) bool { return rapid.Bool().Draw(t, axis) }
	axes := model.ConsumptionAxes{Channels: wanted("channels"), Months: wanted("months"), Days: wanted("days"),
		Agents: wanted("agents"), Campaigns: wanted("campaigns")}
	part, err := tenant.ConsumptionBreakdown(ctxOf(t), r[0], r[1], axes)
	require.NoError(t, err)
	require.Equal(t, whole.TotalCredits, part.TotalCredits)
	if axes.Channels {
		require.Equal(t, whole.ByChannel, part.ByChannel)
	}
	if axes.Months && axes.Channels {
		require.Equal(t, whole.ByMonth, part.ByMonth)
	}
	if axes.Days && axes.Channels {
		require.Equal(t, whole.ByDay, part.ByDay)
	}
	for i, month := range whole.ByMonth {
		require.True(t, !axes.Months || month.Credits == part.ByMonth[i].Credits)
	}
	for i, day := range whole.ByDay {
		require.True(t, !axes.Days || day.Credits == part.ByDay[i].Credits)
	}
	if !axes.Agents {
		require.Empty(t, part.ByAgent)
		return
	}
	require.Len(t, part.ByAgent, len(whole.ByAgent))
	for i, agent := range part.ByAgent {
		expected := whole.ByAgent[i]
		require.Equal(t, []any{expected.AgentID, expected.NameStatus, expected.Credits},
			[]any{agent.AgentID, agent.NameStatus, agent.Credits})
		if axes.Campaigns {
			require.Len(t, agent.Campaigns, len(expected.Campaigns))
		} else {
			require.Empty(t, agent.Campaigns)
		}
	}
}

// daysThatDiffer counts the daily sums of a company that differ from its ledger.
const daysThatDiffer = `SELECT count(*) FROM (
	SELECT day, channel, agent_id, campaign_id, micro_credits, entries FROM usage_days WHERE company_id = $1) AS kept
	FULL JOIN (SELECT (at AT TIME ZONE 'UTC')::date AS day, channel, agent_id, campaign_id,
		sum(micro_credits) AS micro_credits, count(*) AS entries
		FROM usage_entries WHERE company_id = $1 GROUP BY 1, 2, 3, 4) AS counted USING (day, channel, agent_id, campaign_id)
	WHERE (kept.micro_credits, kept.entries) IS DISTINCT FROM (counted.micro_credits, counted.entries)`

// monthsThatDiffer counts the monthly sums of a company that differ from its ledger.
var monthsThatDiffer = strings.NewReplacer("usage_days", "usage_months", "(at AT TIME ZONE 'UTC')::date",
	"date_trunc('month', at AT TIME ZONE 'UTC')::date", "day", "month").Replace(daysThatDiffer)

// requireTrueSums checks the sums of a company against its ledger.
func requireTrueSums(t require.TestingT, conn *pgx.Conn, companyID string) {
	for _, query := range []string{daysThatDiffer, monthsThatDiffer} {
		var differ int
		require.NoError(t, conn.QueryRow(ctxOf(t), query, companyID).Scan(&differ))
		require.Zero(t, differ)
	}
}

// requireConsistentSums checks that the sums within an answer agree, as the schema promises.
func requireConsistentSums(t require.TestingT, b *model.ConsumptionBreakdown, ledger []*model.UsageEntryInput,
	r [2]model.DateBound) {
	var channels, months, days, agents model.Credits
	for _, c := range b.ByChannel {
		channels += c.Credits
	}
	for _, m := range b.ByMonth {
		months += m.Credits
	}
	for _, d := range b.ByDay {
		days += d.Credits
	}
	for _, a := range b.ByAgent {
		agents += a.Credits
		without := recount(slices.DeleteFunc(slices.Clone(ledger), func(e *model.UsageEntryInput) bool {
			return e.AgentID != a.AgentID || e.CampaignID != nil
		}), r[0], r[1]).TotalCredits
		for _, c := range a.Campaigns {
			without += c.Credits
		}
		require.Equal(t, a.Credits, without)
	}
	total := b.TotalCredits
	require.Equal(t, []model.Credits{total, total, total, total}, []model.Credits{channels, months, days, agents})
}

func TestEmptyBreakdownHasAllMonthsAndChannels(t *testing.T) {
	t.Parallel()
	b := breakdownOf(t, freshTenant(t), "2024-01-31", "2024-03-01T00:00:00Z")
	same(t, recount(nil, bound(t, "2024-01-31"), bound(t, "2024-03-01T00:00:00Z")), b)
	require.Len(t, b.ByMonth, 3)
	require.Len(t, b.ByChannel, 4)
}

func TestBoundsOfABreakdownAreInclusive(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	record(t, tenant, entry("a", "2026-03-01T09:30:00.000Z", 1), entry("b", "2026-03-01T09:30:00.001Z", 10),
		entry("c", "2026-03-01T09:30:00.0029Z", 100), entry("d", "2026-03-01T23:59:59.9999Z", 1_000),
		entry("e", "2026-03-02T00:00:00Z", 10_000))
	for _, test := range []struct {
		from, to string
		want     model.Credits
	}{
		{"2026-03-01", "2026-03-01", 1_111},
		{"2026-03-01", "2026-03-02", 11_111},
		{"2026-03-01T09:30:00Z", "2026-03-01T09:30:00Z", 1},
		{"2026-03-01T09:30", "2026-03-01T09:30:00.001", 11},
		{"2026-03-01T09:30:00.001Z", "2026-03-01T09:30:00.002Z", 110},
		{"2026-03-01T11:30:00.002+02:00", "2026-03-01", 1_100},
		{"2026-03-01T09:30:00.003Z", "2026-03-01T23:59:59.998Z", 0},
		{"2026-03-01T23:59:59.999Z", "2026-03-02T00:00:00Z", 11_000},
		{"2026-03-01T23:59:59.999Z", "2026-03-02T12:00:00-11:00", 11_000},
	} {
		require.Equal(t, test.want, breakdownOf(t, tenant, test.from, test.to).TotalCredits, "%s to %s", test.from, test.to)
	}
}

func TestInvalidBreakdownRangesAreRefused(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	for _, test := range []struct{ from, to, field, text string }{
		{"2026-03-02", "2026-03-01", "from", `must not be after "to"`},
		{"2026-03-01T00:00:00.001Z", "2026-03-01T00:00:00Z", "from", `must not be after "to"`},
		{"2024-01-01", "2025-01-02", "to", "at most 366 days"},
		{"2024-01-01", "2025-01-01T00:00:00.001Z", "to", "at most 366 days"},
	} {
		_, err := tenant.ConsumptionBreakdown(t.Context(), bound(t, test.from), bound(t, test.to), model.AllConsumptionAxes)
		faults(t, err, model.BadInput, test.field, test.text)
	}
	require.Len(t, breakdownOf(t, tenant, "2024-01-01", "2024-12-31").ByMonth, 12)
	require.Len(t, breakdownOf(t, tenant, "2024-01-01", "2025-01-01T00:00:00Z").ByMonth, 13)
	require.Len(t, breakdownOf(t, tenant, "2023-01-01", "2024-01-01").ByMonth, 13)
	longest := breakdownOf(t, tenant, "2024-01-01", "2025-01-01")
	again, err := tenant.ConsumptionBreakdown(t.Context(), model.DateBound{At: longest.PeriodFrom},
		model.DateBound{At: longest.PeriodTo}, model.AllConsumptionAxes)
	require.NoError(t, err, "the bounds of an answer are valid bounds")
	require.Equal(t, withoutBatches(longest), withoutBatches(again))
}

func TestBreakdownNamesAgentsAndCampaigns(t *testing.T) {
	t.Parallel()
	store, _ := fresh(t)
	tenant, _ := newCompany(t, store)
	other, _ := newCompany(t, store)
	here, gone, theirs := newOutboundAgent(t, tenant), newOutboundAgent(t, tenant), newAgent(t, other)
	running := newCampaign(t, tenant, func(in *model.CreateCampaignInput) { in.AgentID = here.ID })
	ended := newCampaign(t, tenant, func(in *model.CreateCampaignInput) { in.AgentID = gone.ID })
	require.NoError(t, tenant.DeleteAgent(t.Context(), gone.ID))
	for i, id := range []string{here.ID, gone.ID, theirs.ID, "agent_never"} {
		e := entry(fmt.Sprint(i), "2026-03-01T00:00:00Z", model.Credits(10-i))
		e.AgentID, e.CampaignID = id, &ended.ID
		switch id {
		case here.ID:
			e.CampaignID = &running.ID
		case "agent_never":
			e.CampaignID = new("campaign_never")
		}
		record(t, tenant, e)
	}
	b := breakdownOf(t, tenant, "2026-03-01", "2026-03-01")
	var got []model.NameStatus
	for _, a := range b.ByAgent {
		got = append(got, a.NameStatus, a.Campaigns[0].NameStatus)
	}
	require.Equal(t, []model.NameStatus{"Resolved", "Resolved", "Deleted", "Deleted", "Unknown", "Deleted", "Unknown",
		"Unknown"}, got)
	require.Empty(t, breakdownOf(t, other, "2026-03-01", "2026-03-01").ByAgent)
}

// Whole days are never read from the ledger.
func TestWholeDaysAreReadFromDailySums(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	record(t, tenant, entry("a", "2026-03-01T12:00:00Z", 1), entry("b", "2026-03-02T12:00:00Z", 10),
		entry("c", "2026-03-03T12:00:00Z", 100))
	_, err := conn.Exec(t.Context(), "DELETE FROM usage_entries")
	require.NoError(t, err)
	require.EqualValues(t, 111, breakdownOf(t, tenant, "2026-03-01", "2026-03-03").TotalCredits)
	require.EqualValues(t, 111, breakdownOf(t, tenant, "2026-03-01T00:00:00Z", "2026-03-03T23:59:59.999Z").TotalCredits)
	require.EqualValues(t, 10, breakdownOf(t, tenant, "2026-03-01T00:00:00.001Z", "2026-03-03T23:59:59.998Z").TotalCredits)
	require.Zero(t, breakdownOf(t, tenant, "2026-03-02T00:00:00.001Z", "2026-03-02").TotalCredits)

	// Whole months are read from the monthly sums, unless the request needs days.
	_, err = conn.Exec(t.Context(), "DELETE FROM usage_days")
	require.NoError(t, err)
	withoutDays := func(from, to string) model.Credits {
		axes := model.AllConsumptionAxes
		axes.Days = false
		b, err := tenant.ConsumptionBreakdown(t.Context(), bound(t, from), bound(t, to), axes)
		require.NoError(t, err)
		return b.TotalCredits
	}
	require.Zero(t, withoutDays("2026-03-01", "2026-03-30"))
	require.EqualValues(t, 111, withoutDays("2026-03-01", "2026-03-31"))
	require.EqualValues(t, 111, withoutDays("2026-02-27T12:00:00Z", "2026-04-02T12:00:00Z"))
	require.Zero(t, breakdownOf(t, tenant, "2026-03-01", "2026-03-31").TotalCredits)
}

func TestBreakdownTakesTwoStatements(t *testing.T) {
	t.Parallel()
	counted := &statements{}
	tenant, _ := newCompany(t, dbtest.Open(t, dbtest.URL(t), db.Options{Tracer: counted}))
	for i := range 20 {
		agent := newAgent(t, tenant)
		e := entry(fmt.Sprint(i), "2026-03-01T12:00:00Z", 1)
		e.AgentID, e.CampaignID = agent.ID, new(fmt.Sprint("campaign_", i))
		record(t, tenant, e)
	}
	before := counted.n.Load()
	_, err := tenant.ConsumptionBreakdown(counted.in(t.Context()), bound(t, "2026-02-01T01:00:00Z"),
		bound(t, "2026-04-01T01:00:00Z"), model.AllConsumptionAxes)
	require.NoError(t, err)
	require.EqualValues(t, 2, counted.n.Load()-before)
}
