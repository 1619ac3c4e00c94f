package db_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// entry returns a valid entry with a key, a time and an amount.
func entry(key, at string, credits model.Credits) *model.UsageEntryInput {
	moment, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		panic(err)
	}
	return &model.UsageEntryInput{IdempotencyKey: key, AgentID: "agent_1", Channel: model.ChannelPhone, Credits: credits,
		At: moment}
}

func record(t *testing.T, tenant *db.Tenant, entries ...*model.UsageEntryInput) *model.RecordUsagePayload {
	t.Helper()
	payload, err := tenant.RecordUsage(t.Context(), model.RecordUsageInput{Entries: entries})
	require.NoError(t, err)
	return payload
}

func TestUsageIsRecordedOnce(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	a, b := entry("a", "2026-03-01T00:00:00.1239Z", 3), entry("b", "2026-03-01T01:00:00+01:00", -2)
	require.Equal(t, model.RecordUsagePayload{Recorded: 1}, *record(t, tenant, a))
	require.Equal(t, model.RecordUsagePayload{Recorded: 1, Duplicates: 3}, *record(t, tenant, a, b, b, a))
	require.Equal(t, model.RecordUsagePayload{Duplicates: 2}, *record(t, tenant, b, a))
	require.EqualValues(t, 1, breakdownOf(t, tenant, "2026-03-01", "2026-03-01").TotalCredits)

	changed := *b
	changed.Credits = 3
	_, err := tenant.RecordUsage(t.Context(),
		model.RecordUsageInput{Entries: []*model.UsageEntryInput{entry("c", "2026-03-01T00:00:00Z", 5), &changed}})
	faults(t, err, model.Unprocessable, "entries.1.idempotencyKey", `"b" is already recorded`)
	require.EqualValues(t, 1, breakdownOf(t, tenant, "2026-03-01", "2026-03-01").TotalCredits, "no entry was stored")
}

func TestCorrectionsCancelOnlyRecordedUsage(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	month := model.MonthOf(time.Now())
	before, this, next := month.Add(-time.Second).Format(time.RFC3339), month.Format(time.RFC3339),
		month.AddDate(0, 1, 0).Format(time.RFC3339)
	require.NoError(t, db.Write(t.Context(), tenant, &model.UsageEntry{IdempotencyKey: model.OwnUsageKeys + "turn",
		AgentID: "agent_1", Channel: model.ChannelPhone, Credits: 100, At: month}))
	record(t, tenant, entry("free", this, -1), entry("paid", this, 1))
	_, err := tenant.RecordUsage(t.Context(), model.RecordUsageInput{Entries: []*model.UsageEntryInput{
		entry("ahead", next, -1)}})
	faults(t, err, model.Unprocessable, "entries.0.credits", "would make the usage") // a budget may be set until then
	budget := model.Credits(1_000)
	require.NoError(t, tenant.SetPlan(t.Context(), model.SetPlanInput{Name: "Team", Budget: &budget}))
	record(t, tenant, entry("old", before, -1))
	refuse := func(path string, entries ...*model.UsageEntryInput) {
		t.Helper()
		_, err := tenant.RecordUsage(t.Context(), model.RecordUsageInput{Entries: entries})
		faults(t, err, model.Unprocessable, path, "would make the usage recorded in 20")
	}
	refuse("entries.0.credits", entry("a", this, -1))
	record(t, tenant, entry("b", this, 5), entry("c", next, 1), entry("d", this, -3))
	refuse("entries.1.credits", entry("e", next, 9), entry("f", this, -3))
	refuse("entries.0.credits", entry("g", next, -2))
	record(t, tenant, entry("h", this, -2), entry("d", this, -3))
	require.Equal(t, model.RecordUsagePayload{Duplicates: 2}, *record(t, tenant, entry("h", this, -2),
		entry("d", this, -3)))
	day := month.Format(time.DateOnly)
	require.Zero(t, breakdownOf(t, tenant, day, day).TotalCredits, "without the simulation, which has no sums here")
	events, err := tenant.AuditEvents(t.Context(), model.PageArgs{First: 50}, nil)
	require.NoError(t, err)
	require.Len(t, events.Nodes, 5, "one for each request that recorded a correction, and one for the plan")
	require.Equal(t, model.AuditActionCorrectUsage, events.Nodes[0].Action)
}

// Concurrent corrections of one entry must not each count it.
func TestConcurrentCorrectionsCountEachOther(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	budget, this := model.Credits(1_000), model.MonthOf(time.Now()).Format(time.RFC3339)
	require.NoError(t, tenant.SetPlan(t.Context(), model.SetPlanInput{Name: "Team", Budget: &budget}))
	record(t, tenant, entry("a", this, 10))
	refused := 0
	for _, err := range together(8, func(i int) error {
		correction := entry(fmt.Sprint("correction", i), this, -4)
		correction.AgentID = fmt.Sprint("agent_", i)
		_, err := tenant.RecordUsage(t.Context(), model.RecordUsageInput{Entries: []*model.UsageEntryInput{correction}})
		return err
	}) {
		if err != nil {
			fails(t, err, model.Unprocessable)
			refused++
		}
	}
	require.Equal(t, 6, refused)
}

func TestOtherContentUnderTheSameKeyIsRefused(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	campaign := "campaign_1"
	record(t, tenant, entry("a", "2026-03-01T00:00:00Z", 1))
	for name, change := range map[string]func(*model.UsageEntryInput){
		"credits":  func(e *model.UsageEntryInput) { e.Credits++ },
		"agent":    func(e *model.UsageEntryInput) { e.AgentID = "agent_2" },
		"campaign": func(e *model.UsageEntryInput) { e.CampaignID = &campaign },
		"channel":  func(e *model.UsageEntryInput) { e.Channel = model.ChannelSms },
		"time":     func(e *model.UsageEntryInput) { e.At = e.At.Add(time.Millisecond) },
	} {
		e := entry("a", "2026-03-01T00:00:00Z", 1)
		change(e)
		_, err := tenant.RecordUsage(t.Context(), model.RecordUsageInput{Entries: []*model.UsageEntryInput{e}})
		faults(t, err, model.Unprocessable, "entries.0.idempotencyKey", "different data")
		_, err = tenant.RecordUsage(t.Context(),
			model.RecordUsageInput{Entries: []*model.UsageEntryInput{entry("new", "2026-03-01T00:00:00Z", 1),
				entry("b", "2026-03-01T00:00:00Z", 1), e, entry("b", "2026-03-01T00:00:00Z", 2)}})
		faults(t, err, model.BadInput, "entries.3.idempotencyKey", "another entry in the request")
		require.NotEmpty(t, name)
	}
}

func TestUsageEntriesAreBounded(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	_, err := tenant.RecordUsage(t.Context(), model.RecordUsageInput{})
	faults(t, err, model.BadInput, "entries", "1 to 1000 entries, not 0")
	_, err = tenant.RecordUsage(t.Context(), model.RecordUsageInput{Entries: make([]*model.UsageEntryInput, 1_001)})
	faults(t, err, model.BadInput, "entries", "not 1001")

	wrong := []*model.UsageEntryInput{
		entry("fine", "2026-03-01T00:00:00Z", model.MaxEntryCredits), entry("", "2026-03-01T00:00:00Z", 1),
		entry(strings.Repeat("é", 201), "2026-03-01T00:00:00Z", 1), entry("agentgraph:x", "2026-03-01T00:00:00Z", 1),
		entry("a", "2026-03-01T00:00:00Z", model.MaxEntryCredits+1),
		entry("b", "2026-03-01T00:00:00Z", -model.MaxEntryCredits-1),
		{IdempotencyKey: "c", AgentID: "", CampaignID: new(""), Channel: "Fax"},
		{IdempotencyKey: "d\x00", AgentID: strings.Repeat("a", 65), CampaignID: new(strings.Repeat("a", 65)), Channel: "Web"},
	}
	_, err = tenant.RecordUsage(t.Context(), model.RecordUsageInput{Entries: wrong})
	for field, text := range map[string]string{
		"entries.1.idempotencyKey": "must not be empty", "entries.2.idempotencyKey": "1 to 200 characters, not 201",
		"entries.3.idempotencyKey": "must not begin with", "entries.4.credits": "between -1000000 and 1000000",
		"entries.5.credits": "between",
		"entries.6.agentId": "empty", "entries.6.campaignId": "empty", "entries.6.channel": "must be one of",
		"entries.7.idempotencyKey": "U+0000", "entries.7.agentId": "64", "entries.7.campaignId": "64",
	} {
		faults(t, err, model.BadInput, field, text)
	}
	require.Len(t, written(t, err, model.BadInput).Fields, 11)
	require.Zero(t, breakdownOf(t, tenant, "2026-03-01", "2026-03-01").TotalCredits)
}

func TestUsageBelongsToOneCompany(t *testing.T) {
	t.Parallel()
	store, _ := fresh(t)
	one, _ := newCompany(t, store)
	two, _ := newCompany(t, store)
	record(t, one, entry("a", "2026-03-01T00:00:00Z", 1))
	require.Equal(t, model.RecordUsagePayload{Recorded: 1}, *record(t, two, entry("a", "2026-03-01T00:00:00Z", 2)))
	require.EqualValues(t, 1, breakdownOf(t, one, "2026-03-01", "2026-03-01").TotalCredits)
	require.EqualValues(t, 2, breakdownOf(t, two, "2026-03-01", "2026-03-01").TotalCredits)
	_, err := store.Tenant("company_none").
		RecordUsage(t.Context(),
			model.RecordUsageInput{Entries: []*model.UsageEntryInput{entry("a", "2026-03-01T00:00:00Z", 1)}})
	fails(t, err, model.Conflict)
}

// A transaction prepares the statement when it first needs it. When that transaction is rolled back, the statement
// remains prepared.
func TestUsageIsRecordedAfterAFailure(t *testing.T) {
	t.Parallel()
	store, _ := fresh(t)
	tenant, _ := newCompany(t, store)
	for i := range 8 {
		none := model.RecordUsageInput{Entries: []*model.UsageEntryInput{entry("a", "2026-03-01T00:00:00Z", 1)}}
		_, err := store.Tenant("company_none").RecordUsage(t.Context(), none)
		fails(t, err, model.Conflict)
		// These are the last moment of one day and the first of the next, in the same month.
		payload := record(t, tenant, entry(fmt.Sprint("a", i), "2026-03-01T23:59:59.999Z", 1),
			entry(fmt.Sprint("b", i), "2026-03-02T00:00:00Z", 2))
		require.Equal(t, model.RecordUsagePayload{Recorded: 2}, *payload)
	}
	require.EqualValues(t, 8, breakdownOf(t, tenant, "2026-03-01", "2026-03-01").TotalCredits)
	require.EqualValues(t, 16, breakdownOf(t, tenant, "2026-03-02", "2026-03-02").TotalCredits)
	require.EqualValues(t, 24, breakdownOf(t, tenant, "2026-03-01", "2026-03-31").TotalCredits)
}

// Many writers write the same entries in different orders. Each entry is recorded once, and nothing deadlocks.
func TestConcurrentWritersRecordUsageOnce(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, companyID := newCompany(t, store)
	const writers, entries = 8, 300
	all := make([]*model.UsageEntryInput, entries)
	var want model.Credits
	for i := range all {
		all[i] = entry(fmt.Sprint("key ", i), "2026-03-01T00:00:00Z", model.Credits(i))
		all[i].AgentID, all[i].At = fmt.Sprint("agent_", i%7), all[i].At.Add(time.Duration(i)*time.Hour)
		want += model.Credits(i)
	}
	recorded := make([]int32, writers)
	errs := together(writers, func(i int) error {
		mine := make([]*model.UsageEntryInput, entries)
		for at, from := range rand.New(rand.NewPCG(uint64(i), 1)).Perm(entries) {
			mine[at] = all[from]
		}
		for len(mine) > 0 {
			n := min(len(mine), 50+i*20)
			payload, err := tenant.RecordUsage(t.Context(), model.RecordUsageInput{Entries: mine[:n]})
			if err != nil {
				return err
			}
			if int(payload.Recorded+payload.Duplicates) != n {
				return fmt.Errorf("%d of %d entries", payload.Recorded+payload.Duplicates, n)
			}
			recorded[i] += payload.Recorded
			mine = mine[n:]
		}
		return nil
	})
	require.Empty(t, errs)
	var sum int32
	for _, n := range recorded {
		sum += n
	}
	require.EqualValues(t, entries, sum)
	require.Equal(t, want, breakdownOf(t, tenant, "2026-03-01", "2026-03-31").TotalCredits)
	requireTrueSums(t, conn, companyID)
}

// Requests record usage concurrently even if the role's transactions are serializable by default.
func TestConcurrentUsageNeedsNoRetryUnderSerializableDefaults(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	conn := connect(t, address)
	_, err := conn.Exec(t.Context(), "ALTER DATABASE "+conn.Config().Database+
		" SET default_transaction_isolation = 'serializable'")
	require.NoError(t, err)
	for name, open := range map[string]func(*testing.T) *db.Store{
		"direct": func(t *testing.T) *db.Store { return dbtest.Open(t, address, db.Options{Tracer: dbtest.Unchecked{}}) },
		"pooled": func(t *testing.T) *db.Store {
			return dbtest.Open(t, dbtest.Pooled(t, address), db.Options{SessionAddress: address, Tracer: dbtest.Unchecked{}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tenant, _ := newCompany(t, open(t))
			const writers, each = 8, 5
			require.Empty(t, together(writers, func(writer int) (err error) {
				for n := range each {
					_, failed := tenant.RecordUsage(t.Context(), model.RecordUsageInput{Entries: []*model.UsageEntryInput{
						entry(fmt.Sprint(writer, " ", n), "2026-03-01T00:00:00Z", 1)}})
					err = errors.Join(err, failed)
				}
				return err
			}))
			require.EqualValues(t, writers*each, breakdownOf(t, tenant, "2026-03-01", "2026-03-01").TotalCredits)
			require.NoError(t, tenant.Tx(t.Context(), func(ctx context.Context, tenant *db.Tenant) error {
				var level string
				err := db.Raw(tenant).QueryRowContext(ctx, "SHOW transaction_isolation").Scan(&level)
				require.Equal(t, "read committed", level)
				return err
			}))
		})
	}
}

func TestTooLargeSumsAreRefused(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, companyID := newCompany(t, store)
	_, err := conn.Exec(t.Context(), "INSERT INTO usage_days VALUES ($1, '2026-03-01', 'Phone', 'agent_1', '', "+
		"9223372036854775807, 1)", companyID)
	require.NoError(t, err)
	_, err = tenant.RecordUsage(t.Context(),
		model.RecordUsageInput{Entries: []*model.UsageEntryInput{entry("a", "2026-03-01T00:00:00Z", 1)}})
	fails(t, err, model.Unprocessable)
	record(t, tenant, entry("a", "2026-03-02T00:00:00Z", 1))
	_, err = tenant.ConsumptionBreakdown(t.Context(), bound(t, "2026-03-01"), bound(t, "2026-03-02"),
		model.AllConsumptionAxes)
	fails(t, err, model.Unprocessable)
	require.Equal(t, "9223372036854.775807", breakdownOf(t, tenant, "2026-03-01", "2026-03-01").TotalCredits.String())
}

func TestTooLargeMonthlySumsAreRefused(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, companyID := newCompany(t, store)
	setBudget(t, tenant, 10*model.Credit)
	month := model.MonthOf(time.Now())
	for i := range 2 {
		_, err := conn.Exec(t.Context(), "INSERT INTO usage_months VALUES ($1, $2, 'Phone', $3, '', 9223372036854775807, 1)",
			companyID, month, fmt.Sprint("agent_", i))
		require.NoError(t, err)
	}
	last := &model.UsageEntryInput{IdempotencyKey: "a", AgentID: "agent_1", Channel: model.ChannelPhone, Credits: 1,
		At: time.Now()}
	_, err := tenant.RecordUsage(t.Context(), model.RecordUsageInput{Entries: []*model.UsageEntryInput{last}})
	require.Equal(t, "a sum is too large to store", fails(t, err, model.Unprocessable))
	day := model.DateBound{At: month, IsDay: true}
	_, err = tenant.ConsumptionBreakdown(t.Context(), day, model.DateBound{At: month.AddDate(0, 1, -1), IsDay: true},
		model.ConsumptionAxes{Months: true})
	fails(t, err, model.Unprocessable)
	_, err = tenant.Subscription(t.Context(), time.Now())
	fails(t, err, model.Unprocessable)
	fails(t, tenant.CreateSimulationChat(t.Context(), &model.SimulationChat{AgentID: "agent_1", Warnings: []string{}}),
		model.Unprocessable)
}

func TestUsageEntriesAreReadInOrder(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	var want []string
	for batch := range 3 {
		some := make([]*model.UsageEntryInput, 1_000)
		for i := range some {
			// Many entries have the same time, so that parts end between entries of one time.
			n := batch*1_000 + i
			some[i] = entry(fmt.Sprintf("%05d", n), "2026-03-01T00:00:00Z", 1)
			some[i].At = some[i].At.Add(time.Duration(n/700) * time.Second)
			want = append(want, some[i].IdempotencyKey)
		}
		record(t, tenant, some...)
	}
	record(t, tenant, entry("before", "2026-02-28T23:59:59.999Z", 1), entry("after", "2026-03-02T00:00:00Z", 1))
	r, err := model.NewConsumptionRange(bound(t, "2026-03-01"), bound(t, "2026-03-01"))
	require.NoError(t, err)
	var got []string
	for e, err := range tenant.UsageEntries(t.Context(), r) {
		require.NoError(t, err)
		got = append(got, e.IdempotencyKey)
	}
	require.Equal(t, want, got)
	for _, err := range tenant.UsageEntries(t.Context(), r) {
		require.NoError(t, err)
		break
	}
}

func TestOldLedgerEntriesAreSummed(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	days := 30
	day := func(ago int) string { return time.Now().UTC().AddDate(0, 0, -ago).Format(time.DateOnly) }
	entries := []*model.UsageEntryInput{}
	for i := range 40 {
		e := entry(fmt.Sprint("key ", i), fmt.Sprintf("%sT%02d:30:00Z", day(days+1+i%3), i%24), model.MaxEntryCredits)
		e.AgentID, e.CampaignID = []string{"a", "a:b"}[i%2], []*string{nil, new("b:c"), new("c")}[i%3]
		entries = append(entries, e)
	}
	record(t, tenant, append(entries, entry("new", day(days-1)+"T10:00:00Z", 7))...)
	count := func(where string) (n int) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM usage_entries WHERE "+where).Scan(&n))
		return n
	}
	before := breakdownOf(t, tenant, day(days+5), day(0))
	require.NoError(t, tenant.SetRetention(t.Context(), model.SetRetentionInput{Kind: model.RetentionLedger,
		Days: int32(days)}))
	sweep := db.Sweep(store)
	require.NoError(t, sweep(t.Context()))
	require.Equal(t, 6, count("idempotency_key LIKE 'agentgraph:day:%'"),
		"three days, which have a campaign each, and two agents")
	require.Equal(t, 7, count("true"))
	require.Equal(t, withoutBatches(before), withoutBatches(breakdownOf(t, tenant, day(days+5), day(0))))
	// The sums still equal the ledger, as archives require.
	require.Zero(t, count(`(SELECT sum(micro_credits) FROM usage_entries) <> (SELECT sum(micro_credits) FROM usage_days)`))

	again := *entries[0]
	_, err := tenant.RecordUsage(t.Context(),
		model.RecordUsageInput{Entries: []*model.UsageEntryInput{entry("fine", day(days-1)+"T10:00:00Z", 1), &again}})
	faults(t, err, model.Unprocessable, "entries.1.at", "must not be before "+day(days))
	require.Equal(t, 7, count("true"))
	require.Equal(t, model.RecordUsagePayload{Recorded: 1}, *record(t, tenant, entry("first", day(days)+"T00:00:00Z", 1)))
	require.NoError(t, db.Sweep(store)(t.Context()))
	require.Equal(t, 8, count("true"), "no entry is summed twice")
}
