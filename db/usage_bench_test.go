package db_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// benchEntries returns the size of the ledger: AGENTGRAPH_BENCH_ENTRIES, or else 200,000. The figures in the
// documentation are for 10,000,000.
func benchEntries(b *testing.B) int {
	b.Helper()
	text, ok := os.LookupEnv("AGENTGRAPH_BENCH_ENTRIES")
	if !ok {
		return 200_000
	}
	n, err := strconv.Atoi(text)
	require.NoError(b, err)
	return n
}

const (
	benchAgents    = 100
	benchCampaigns = 300
	benchDays      = 366
)

// benchEntry returns an entry of the ledger. Each agent has one channel and three campaigns. A quarter of its entries
// have no campaign.
func benchEntry(i int, random *rand.Rand) (e model.UsageEntry) {
	agent := random.IntN(benchAgents)
	e.IdempotencyKey = fmt.Sprintf("call-%010d", i)
	e.Channel = model.AllChannel[agent%len(model.AllChannel)]
	e.AgentID = fmt.Sprintf("agent_01h455vb4pex5vsknk084%05d", agent)
	if campaign := random.IntN(4); campaign > 0 {
		e.CampaignID = fmt.Sprintf("campaign_01h455vb4pex5vsknk084%05d", agent+benchAgents*(campaign-1))
	}
	e.Credits = model.Credits(random.IntN(5_000_000))
	e.At = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).
		Add(time.Duration(random.Int64N(benchDays*24*60*60*1000)) * time.Millisecond)
	return e
}

// newBenchLedger fills a company's ledger by COPY, and computes the sums. It returns the tenant, its id and a
// connection.
func newBenchLedger(b *testing.B, entries int) (*db.Tenant, string, *pgx.Conn) {
	b.Helper()
	ctx := context.Background()
	address := dbtest.URL(b)
	store := dbtest.Open(b, address, db.Options{})
	company, err := store.CreateCompany(ctx, "A company")
	require.NoError(b, err)
	conn, err := pgx.Connect(ctx, address)
	require.NoError(b, err)
	b.Cleanup(func() { _ = conn.Close(ctx) })
	random := rand.New(rand.NewPCG(1, 2))
	i := 0
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"usage_entries"},
		[]string{"company_id", "idempotency_key", "channel", "agent_id", "campaign_id", "micro_credits", "at"},
		pgx.CopyFromFunc(func() ([]any, error) {
			if i == entries {
				return nil, nil
			}
			e := benchEntry(i, random)
			i++
			return []any{company.ID, e.IdempotencyKey, string(e.Channel), e.AgentID, e.CampaignID, int64(e.Credits), e.At}, nil
		}))
	require.NoError(b, err)
	_, err = conn.Exec(ctx,
		`INSERT INTO usage_days SELECT company_id, (at AT TIME ZONE 'UTC')::date, channel, agent_id, campaign_id,
		sum(micro_credits), count(*) FROM usage_entries GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5`)
	require.NoError(b, err)
	_, err = conn.Exec(ctx,
		`INSERT INTO usage_months SELECT company_id, date_trunc('month', day::timestamp)::date, channel, agent_id,
			campaign_id,
		sum(micro_credits), sum(entries) FROM usage_days GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5`)
	require.NoError(b, err)
	_, err = conn.Exec(ctx, "VACUUM ANALYZE usage_entries, usage_days, usage_months")
	require.NoError(b, err)
	return store.Tenant(company.ID), company.ID, conn
}

// sameFromTheLedger groups the ledger as the breakdown does, but without the daily sums.
const sameFromTheLedger = `SELECT date_trunc('month', at AT TIME ZONE 'UTC'), channel, agent_id, campaign_id,
	sum(micro_credits)::bigint
	FROM usage_entries WHERE company_id = $1 AND at >= '2024-01-01' AND at < '2025-01-01' GROUP BY 1, 2, 3, 4`

func BenchmarkConsumptionBreakdown(b *testing.B) {
	axes := model.ConsumptionAxes{Channels: true, Months: true, Agents: true, Campaigns: true}
	ctx := context.Background()
	tenant, companyID, conn := newBenchLedger(b, benchEntries(b))
	from, to := bound(b, "2024-01-01"), bound(b, "2024-12-31")
	var total model.Credits
	b.Run("breakdown", func(b *testing.B) {
		var took []time.Duration
		for b.Loop() {
			start := time.Now()
			breakdown, err := tenant.ConsumptionBreakdown(ctx, from, to, axes)
			require.NoError(b, err)
			took, total = append(took, time.Since(start)), breakdown.TotalCredits
		}
		b.ReportMetric(p50(took), "p50-ms")
	})
	b.Run("partial days", func(b *testing.B) {
		var took []time.Duration
		from, to := bound(b, "2024-01-01T12:00Z"), bound(b, "2024-12-31T12:00Z")
		for b.Loop() {
			start := time.Now()
			_, err := tenant.ConsumptionBreakdown(ctx, from, to, axes)
			require.NoError(b, err)
			took = append(took, time.Since(start))
		}
		b.ReportMetric(p50(took), "p50-ms")
	})
	b.Run("group by over the ledger", func(b *testing.B) {
		var took []time.Duration
		for b.Loop() {
			start := time.Now()
			rows, err := conn.Query(ctx, sameFromTheLedger, companyID)
			require.NoError(b, err)
			sums, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (sum int64, err error) {
				var month time.Time
				var channel, agent, campaign string
				return sum, row.Scan(&month, &channel, &agent, &campaign, &sum)
			})
			require.NoError(b, err)
			took = append(took, time.Since(start))
			var counted int64
			for _, sum := range sums {
				counted += sum
			}
			require.EqualValues(b, total, counted)
		}
		b.ReportMetric(p50(took), "p50-ms")
	})
	if os.Getenv("AGENTGRAPH_BENCH_PLAN") != "" {
		explain(b, conn, companyID)
	}
}

// explain shows how Postgres reads the ledger.
func explain(b *testing.B, conn *pgx.Conn, companyID string) {
	b.Helper()
	rows, err := conn.Query(context.Background(), "EXPLAIN (ANALYZE, BUFFERS) "+sameFromTheLedger, companyID)
	require.NoError(b, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(b, err)
	for _, line := range lines {
		_, _ = fmt.Fprintln(os.Stderr, line)
	}
}

func p50(took []time.Duration) float64 {
	slices.Sort(took)
	return float64(took[len(took)/2].Microseconds()) / 1_000
}

// BenchmarkRecordUsage records a thousand entries at a time in a filled ledger. They are of one day or of a whole year.
func BenchmarkRecordUsage(b *testing.B) {
	for _, c := range []struct{ writers, days int }{{1, 1}, {4, 1}, {1, benchDays}, {4, benchDays}} {
		b.Run(fmt.Sprintf("writers=%d/days=%d", c.writers, c.days), func(b *testing.B) {
			tenant, _, _ := newBenchLedger(b, 100_000)
			recorded := 0
			b.ResetTimer()
			for b.Loop() {
				errs := together(c.writers, func(w int) error {
					random := rand.New(rand.NewPCG(uint64(recorded), uint64(w)))
					in := model.RecordUsageInput{Entries: make([]*model.UsageEntryInput, model.MaxUsageEntries)}
					for i := range in.Entries {
						e := benchEntry(0, random)
						in.Entries[i] = &model.UsageEntryInput{
							IdempotencyKey: fmt.Sprintf("%d-%d-%d", recorded, w, i), AgentID: e.AgentID, CampaignID: &e.CampaignID,
							Channel: e.Channel, Credits: e.Credits, At: e.At.AddDate(0, 0, -(e.At.YearDay()-1)/c.days*c.days),
						}
						if e.CampaignID == "" {
							in.Entries[i].CampaignID = nil
						}
					}
					_, err := tenant.RecordUsage(context.Background(), in)
					return err
				})
				require.Empty(b, errs)
				recorded += c.writers * model.MaxUsageEntries
			}
			b.ReportMetric(float64(recorded)/b.Elapsed().Seconds(), "entries/s")
		})
	}
}

// BenchmarkRecordOne records one entry at a time in a filled ledger, as a turn does.
func BenchmarkRecordOne(b *testing.B) {
	tenant, _, _ := newBenchLedger(b, 100_000)
	at := time.Now()
	i := 0
	for b.Loop() {
		i++
		_, err := tenant.RecordUsage(context.Background(), model.RecordUsageInput{Entries: []*model.UsageEntryInput{{
			IdempotencyKey: fmt.Sprint("one ", i), AgentID: "agent_1", Channel: model.ChannelWeb, Credits: 5, At: at,
		}}})
		require.NoError(b, err)
	}
}
