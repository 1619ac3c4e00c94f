package db_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// logLines receives the lines that a log handler writes.
type logLines chan string

func (l logLines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

func newLog() (*slog.Logger, logLines) {
	lines := make(logLines, 100)
	return slog.New(slog.NewJSONHandler(lines, nil)), lines
}

// next waits for the next line.
func (l logLines) next(t *testing.T) string {
	t.Helper()
	select {
	case line := <-l:
		return line
	case <-time.After(waitFor):
		require.FailNow(t, "nothing was logged")
		return ""
	}
}

// rest closes the store and returns the remaining lines.
func (l logLines) rest(store *db.Store) []string {
	store.Close()
	lines := []string{}
	for {
		select {
		case line := <-l:
			lines = append(lines, line)
		default:
			return lines
		}
	}
}

func setBudget(t *testing.T, tenant *db.Tenant, credits model.Credits) {
	t.Helper()
	require.NoError(t, tenant.SetPlan(t.Context(), model.SetPlanInput{Name: "Pro", Budget: &credits}))
}

// recordNow records credits at the current time, as a client does.
func recordNow(t *testing.T, tenant *db.Tenant, credits model.Credits) {
	t.Helper()
	record(t, tenant, &model.UsageEntryInput{
		IdempotencyKey: model.NewID("key"), AgentID: "agent_1", Channel: model.ChannelPhone, Credits: credits, At: time.Now(),
	})
}

func spentNow(agentID string, credits model.Credits) *model.UsageEntry {
	return &model.UsageEntry{Channel: model.ChannelPhone, AgentID: agentID, Credits: credits}
}

func TestAllKindsOfUsageCheckTheBudget(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]func(t *testing.T, tenant *db.Tenant) func(model.Credits){
		"recorded by a client": func(t *testing.T, tenant *db.Tenant) func(model.Credits) {
			return func(credits model.Credits) { recordNow(t, tenant, credits) }
		},
		"turns of a simulated chat": func(t *testing.T, tenant *db.Tenant) func(model.Credits) {
			agent := newAgent(t, tenant)
			chat := newSimulationChat(t, tenant, agent.ID, nil)
			return func(credits model.Credits) {
				turn, err := tenant.BeginChatTurn(t.Context(), chat.ID, lease)
				require.NoError(t, err)
				turn.Spent = spentNow(agent.ID, credits)
				message, reply := messages("Hello", "Good morning")
				_, err = turn.Finish(t.Context(), message, reply, nil)
				require.NoError(t, err)
			}
		},
		"runs of agent tests": func(t *testing.T, tenant *db.Tenant) func(model.Credits) {
			agent := newAgent(t, tenant)
			test := newSimulationTest(t, tenant, agent.ID)
			execution, err := tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{
				TestIds: []string{test.ID}, Repeats: 3, Concurrency: 3,
			})
			require.NoError(t, err)
			runs := runsOf(t, tenant, execution.ID)
			return func(credits model.Credits) {
				run, err := tenant.ClaimRun(t.Context(), runs[0].ID, 1)
				require.NoError(t, err)
				runs = runs[1:]
				run.Status, run.Spent = model.AgentTestRunStatusPassed, spentNow(agent.ID, credits)
				require.NoError(t, tenant.FinishRun(t.Context(), run))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, lines := newLog()
			store := dbtest.Open(t, dbtest.URL(t), db.Options{Log: log})
			tenant, companyID := newCompany(t, store)
			setBudget(t, tenant, 10*model.Credit)
			spend := source(t, tenant)

			spend(7_999_999)
			spend(1)
			var line struct {
				Level, Msg, Company string
				Used, Budget        json.Number
			}
			require.NoError(t, json.Unmarshal([]byte(lines.next(t)), &line))
			month := model.MonthName(time.Now().UTC())
			require.Equal(t, "8 of the 10 credits of the budget for "+month+" are used", line.Msg)
			require.Equal(t, []string{"WARN", companyID, "8", "10"}, []string{line.Level, line.Company, line.Used.String(),
				line.Budget.String()})
			spend(2 * model.Credit)
			require.Contains(t, lines.next(t), "the budget of 10 credits for "+month+" is used up")
			require.Empty(t, lines.rest(store), "each warning is logged once")
		})
	}
}

// When a store closes, it makes the scheduled checks of budgets immediately. After that it makes none.
func TestClosingAStoreChecksBudgets(t *testing.T) {
	t.Parallel()
	for credits, want := range map[model.Credits]int{7_999_999: 0, 8_000_000: 1, 10_000_000: 1} {
		log, lines := newLog()
		store := dbtest.Open(t, dbtest.URL(t), db.Options{Log: log})
		tenant, _ := newCompany(t, store)
		setBudget(t, tenant, 10*model.Credit)
		recordNow(t, tenant, credits)
		require.Len(t, lines.rest(store), want, credits)
	}
}

func TestEachReplicaWarnsOncePerBudget(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	logs, stores := [2]logLines{}, [2]*db.Store{}
	for i := range stores {
		log, lines := newLog()
		logs[i], stores[i] = lines, dbtest.Open(t, address, db.Options{Log: log})
	}
	tenant, companyID := newCompany(t, stores[0])
	setBudget(t, tenant, 10*model.Credit)
	recordNow(t, tenant, 9*model.Credit)
	require.Contains(t, logs[0].next(t), "9 of the 10 credits")
	recordNow(t, stores[1].Tenant(companyID), 500_000)
	require.Contains(t, logs[1].next(t), "9.5 of the 10 credits")
	setBudget(t, tenant, 11*model.Credit)
	recordNow(t, tenant, 100_000)
	require.Contains(t, logs[0].next(t), "9.6 of the 11 credits")
	require.Empty(t, logs[0].rest(stores[0]))
	require.Empty(t, logs[1].rest(stores[1]))
}

// planReads returns how many of the statements read plans.
func planReads(seen *recorder) (n int) {
	for _, statement := range seen.asked {
		if strings.Contains(statement, `FROM "plans"`) {
			n++
		}
	}
	return n
}

func TestBudgetChecksAreFew(t *testing.T) {
	t.Parallel()
	seen := &recorder{}
	store := dbtest.Open(t, dbtest.URL(t), db.Options{Tracer: seen})
	tenant, _ := newCompany(t, store)
	setBudget(t, tenant, 1_000_000*model.Credit)
	const times = 100
	require.Empty(t, together(times, func(i int) error {
		_, err := tenant.RecordUsage(t.Context(), model.RecordUsageInput{Entries: []*model.UsageEntryInput{
			{IdempotencyKey: fmt.Sprint(i), AgentID: "agent_1", Channel: model.ChannelPhone, Credits: 1, At: time.Now()},
		}})
		return err
	}))
	store.Close()
	require.Positive(t, planReads(seen))
	require.Less(t, planReads(seen), times/2)
}

func TestUnneededBudgetChecksAreSkipped(t *testing.T) {
	t.Parallel()
	seen := &recorder{}
	store := dbtest.Open(t, dbtest.URL(t), db.Options{Tracer: seen})
	without, _ := newCompany(t, store)
	require.NoError(t, without.SetPlan(t.Context(), model.SetPlanInput{Name: "Pro"}))
	recordNow(t, without, 1)
	with, _ := newCompany(t, store)
	again := entry("again", "2026-03-01T00:00:00Z", 1)
	record(t, with, again)
	setBudget(t, with, 10*model.Credit)
	record(t, with, again) // records no new usage
	changed := *again
	changed.Credits++
	_, err := with.RecordUsage(t.Context(),
		model.RecordUsageInput{Entries: []*model.UsageEntryInput{entry("new", "2026-03-01T00:00:00Z", 1), &changed}})
	fails(t, err, model.Unprocessable)
	store.Close()
	require.Zero(t, planReads(seen))
}

// If a budget runs out while chats and executions start, each of them is created completely or not at all.
func TestBudgetRunsOutDuringConcurrentStarts(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	setBudget(t, tenant, 10*model.Credit)
	agent := newAgent(t, tenant)
	test := newSimulationTest(t, tenant, agent.ID)
	var chats, executions atomic.Int64
	const starters = 24
	errs := together(starters, func(i int) error {
		if i == starters/2 {
			_, err := tenant.RecordUsage(t.Context(), model.RecordUsageInput{Entries: []*model.UsageEntryInput{
				{IdempotencyKey: "all", AgentID: agent.ID, Channel: model.ChannelPhone, Credits: 10 * model.Credit, At: time.Now()},
			}})
			return err
		}
		for range 4 {
			if i%2 == 0 {
				chat := &model.SimulationChat{AgentID: agent.ID, Warnings: []string{}}
				if err := tenant.CreateSimulationChat(t.Context(), chat, saidFirst("Welcome")); err != nil {
					return err
				}
				chats.Add(1)
				continue
			}
			_, err := tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{TestIds: []string{test.ID},
				Repeats: 2, Concurrency: 1})
			if err != nil {
				return err
			}
			executions.Add(1)
		}
		return nil
	})
	for _, err := range errs {
		fails(t, err, model.BudgetExceeded)
	}
	for table, want := range map[string]int64{
		"simulation_chats": chats.Load(), "simulation_chat_messages": chats.Load(),
		"agent_test_executions": executions.Load(), "agent_test_runs": 2 * executions.Load(), "jobs": executions.Load(),
	} {
		var rows int64
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&rows))
		require.Equal(t, want, rows, table)
	}
	fails(t, tenant.CreateSimulationChat(t.Context(), &model.SimulationChat{AgentID: agent.ID, Warnings: []string{}}),
		model.BudgetExceeded)
}
