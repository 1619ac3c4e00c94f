package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// measurement has the results of one database.
type measurement struct {
	size     size
	filledIn time.Duration
	bytes    int64
	tables   []table
	queries  []query
}

// table is a table with its size, including indexes.
type table struct {
	Name  string
	Bytes int64
}

// query has the durations of a query, shortest first.
type query struct {
	name  string
	times []time.Duration
}

func (q query) quantile(share float64) time.Duration {
	return q.times[int(share*float64(len(q.times)-1))]
}

func sizes(ctx context.Context, conn *pgx.Conn) (tables []table, bytes int64, err error) {
	rows, err := conn.Query(ctx, `SELECT relname::text AS name, pg_total_relation_size(oid) AS bytes FROM pg_class
		WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace ORDER BY bytes DESC LIMIT 8`)
	if err != nil {
		return nil, 0, err
	}
	if tables, err = pgx.CollectRows(rows, pgx.RowToStructByName[table]); err != nil {
		return nil, 0, err
	}
	return tables, bytes, conn.QueryRow(ctx, "SELECT pg_database_size(current_database())").Scan(&bytes)
}

// measure runs each query the given number of times.
func (m *measurement) measure(ctx context.Context, t *db.Tenant, times int) error {
	for _, q := range queries(t) {
		measured := query{name: q.name}
		for range times {
			start := time.Now()
			if err := q.run(ctx); err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
			measured.times = append(measured.times, time.Since(start))
		}
		slices.Sort(measured.times)
		m.queries = append(m.queries, measured)
	}
	return nil
}

type named struct {
	name string
	run  func(context.Context) error
}

func queries(t *db.Tenant) []named { //nolint:funlen // a table
	first := model.PageArgs{First: 50}
	failed, pending := model.AgentTestRunStatusFailed, model.CampaignItemStatusPending
	recorded := 0
	return []named{
		{"50 agents", pageOf(func(ctx context.Context) (*model.Page[*model.Agent], error) {
			return t.Agents(ctx, first, nil)
		}, false)},
		{"50 agents by a part of their names", pageOf(func(ctx context.Context) (*model.Page[*model.Agent], error) {
			return t.Agents(ctx, first, &model.AgentFilter{NameContains: new("desk")})
		}, false)},
		{"50 agents by a rare part of their names", pageOf(func(ctx context.Context) (*model.Page[*model.Agent], error) {
			return t.Agents(ctx, first, &model.AgentFilter{NameContains: new("desk 12")})
		}, false)},
		{"number of agents", pageOf(func(ctx context.Context) (*model.Page[*model.Agent], error) {
			return t.Agents(ctx, model.PageArgs{First: 1}, nil, "id")
		}, true)},
		{"50 runs", pageOf(func(ctx context.Context) (*model.Page[*model.AgentTestRun], error) {
			return t.AgentTestRuns(ctx, first, model.AgentTestRunFilter{})
		}, false)},
		{"number of runs", pageOf(func(ctx context.Context) (*model.Page[*model.AgentTestRun], error) {
			return t.AgentTestRuns(ctx, model.PageArgs{First: 1}, model.AgentTestRunFilter{}, "id")
		}, true)},
		{"number of failed runs", pageOf(func(ctx context.Context) (*model.Page[*model.AgentTestRun], error) {
			return t.AgentTestRuns(ctx, model.PageArgs{First: 1}, model.AgentTestRunFilter{Status: &failed}, "id")
		}, true)},
		{"runs of an execution by state", func(ctx context.Context) error {
			_, err := t.CountsOfExecutions(ctx, []string{"execution_1"})
			return err
		}},
		{"50 items of a campaign", pageOf(func(ctx context.Context) (*model.Page[*model.CampaignItem], error) {
			return t.CampaignItems(ctx, first, "campaign", nil, nil, nil)
		}, false)},
		{"number of its pending items", pageOf(func(ctx context.Context) (*model.Page[*model.CampaignItem], error) {
			return t.CampaignItems(ctx, model.PageArgs{First: 1}, "campaign", &pending, nil, nil, "id")
		}, true)},
		{"its items by state", func(ctx context.Context) error {
			_, err := t.CountsOfCampaigns(ctx, []string{"campaign"})
			return err
		}},
		{"10 items claimed", func(ctx context.Context) error {
			_, _, err := t.ClaimCampaignItems(ctx, model.ClaimCampaignItemsInput{CampaignID: "campaign", Limit: 10,
				LeaseSeconds: 3_600})
			return err
		}},
		{"50 chats", pageOf(func(ctx context.Context) (*model.Page[*model.SimulationChat], error) {
			return t.SimulationChats(ctx, first, nil, nil)
		}, false)},
		{"messages of a chat", func(ctx context.Context) error {
			_, err := t.MessagesOfChats(ctx, []string{"chat_2"})
			return err
		}},
		{"usage of a year by month", func(ctx context.Context) error {
			day := func(year, month int) model.DateBound {
				return model.DateBound{At: time.Date(year, time.Month(month), 1, 0, 0, 0, 0, time.UTC), IsDay: true}
			}
			_, err := t.ConsumptionBreakdown(ctx, day(2024, 1), day(2024, 12),
				model.ConsumptionAxes{Months: true, Channels: true})
			return err
		}},
		{"an entry of usage recorded", func(ctx context.Context) error {
			recorded++
			return recordUsage(ctx, t, fmt.Sprintf("measured_%d", recorded))
		}},
	}
}

// pageOf returns a function that reads a page and, if wantsTotal, its total.
func pageOf[R model.Node](read func(context.Context) (*model.Page[R], error),
	wantsTotal bool) func(context.Context) error {
	return func(ctx context.Context) error {
		page, err := read(ctx)
		if err == nil && wantsTotal {
			_, err = page.TotalCount(ctx)
		}
		return err
	}
}

// printAll prints the results as Markdown tables, smallest database first.
func printAll(out io.Writer, measured []*measurement) error {
	text := &strings.Builder{}
	for _, m := range measured {
		fmt.Fprintf(text, "%+v: %d MB, filled in %s\n", m.size, m.bytes/1e6, m.filledIn.Round(time.Second))
	}
	large := measured[len(measured)-1]
	fmt.Fprint(text, "\n| table | MB |\n|---|--:|\n")
	for _, t := range large.tables {
		fmt.Fprintf(text, "| %s | %d |\n", t.Name, t.Bytes/1e6)
	}
	fmt.Fprint(text, "\n| query | small p50 | p99 | medium p50 | p99 | large p50 | p99 |\n|---|--:|--:|--:|--:|--:|--:|\n")
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
	for i, q := range large.queries {
		fmt.Fprintf(text, "| %s |", q.name)
		for _, m := range measured {
			fmt.Fprintf(text, " %.1f | %.1f |", ms(m.queries[i].quantile(0.5)), ms(m.queries[i].quantile(0.99)))
		}
		fmt.Fprintln(text)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// pause is the time between the writes of a writer.
const pause = 10 * time.Millisecond

// writeBeside starts two writers, of usage and of agents, until the returned function is called. Readers then see dead
// rows, and statistics that are out of date.
func writeBeside(ctx context.Context, t *db.Tenant, s size) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var writers sync.WaitGroup
	writer := func(write func(i int) error) {
		writers.Go(func() {
			next := time.NewTicker(pause)
			defer next.Stop()
			for i := 1; ctx.Err() == nil; i++ {
				if err := write(i); err != nil && ctx.Err() == nil {
					fmt.Fprintln(os.Stderr, "growth: a write beside the readers failed:", err)
				}
				select {
				case <-next.C:
				case <-ctx.Done():
				}
			}
		})
	}
	writer(func(i int) error { return recordUsage(ctx, t, fmt.Sprintf("beside_%d", i)) })
	writer(func(i int) error {
		_, err := t.UpdateAgent(ctx, model.UpdateAgentInput{
			AgentID: fmt.Sprintf("agent_%d", 2+i%(s.agents/2)*2), Tags: []string{fmt.Sprintf("team-%d", i%50)},
		})
		return err
	})
	return func() {
		cancel()
		writers.Wait()
	}
}

func recordUsage(ctx context.Context, t *db.Tenant, key string) error {
	_, err := t.RecordUsage(ctx, model.RecordUsageInput{Entries: []*model.UsageEntryInput{{
		IdempotencyKey: key, AgentID: "agent_2", Channel: model.ChannelWeb, Credits: model.Credit, At: time.Now(),
	}}})
	return err
}
