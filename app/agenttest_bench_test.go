package app_test

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// counted is a model that counts its answers.
type counted struct {
	cast
	answers atomic.Int64
}

func (c *counted) Chat(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	c.answers.Add(1)
	return c.cast.Chat(ctx, req)
}

// workingStore returns a store with workers, its model and its statement counter. thinks is how long the model takes
// for each answer.
func workingStore(b *testing.B, workers, runsPerCompany int, thinks time.Duration) (*db.Store, *counted, *statements) {
	b.Helper()
	model, sent := &counted{cast: cast{thinks: thinks}}, &statements{}
	options := dbtest.Options()
	options.MaxConnections, options.RunsPerCompany, options.Tracer = 20, runsPerCompany, sent
	store := dbtest.Open(b, dbtest.URL(b), options)
	require.NoError(b, store.Work(b.Context(), workers, db.Workers{RunTest: evaluatorOf(model).RunTest}))
	b.Cleanup(func() { require.NoError(b, store.StopWork(context.Background())) })
	return store, model, sent
}

func companyOf(b *testing.B, store *db.Store, name string) *db.Tenant {
	b.Helper()
	company, err := store.CreateCompany(b.Context(), name)
	require.NoError(b, err)
	return store.Tenant(company.ID)
}

// awaitPassed waits until the execution is finished, and requires that all its runs passed.
func awaitPassed(b *testing.B, tenant *db.Tenant, execution *model.AgentTestExecution, runs int) {
	b.Helper()
	seen, err := tenant.FollowExecution(b.Context(), execution.ID)
	require.NoError(b, err)
	for range seen { // the channel is closed when the execution is finished
	}
	counts, err := tenant.CountsOfExecutions(b.Context(), []string{execution.ID})
	require.NoError(b, err)
	require.EqualValues(b, runs, counts[execution.ID].Passed)
}

// BenchmarkRuns times 1,000 test runs, from the start of their execution until all are judged. 50 runs are in progress
// at once, and the model takes 100 ms for each answer. An ideal schedule takes only the model's time.
func BenchmarkRuns(b *testing.B) {
	const tests, repeats, concurrency, thinks = 200, 5, 50, 100 * time.Millisecond
	for _, turns := range []int{1, 3} {
		b.Run(fmt.Sprintf("turns=%d", turns), func(b *testing.B) {
			store, model, sent := workingStore(b, concurrency, concurrency, thinks)
			tenant := companyOf(b, store, "Company")
			ids := dbtest.Tests(b, tenant, tests, turns)
			var ideal time.Duration
			b.ResetTimer()
			for b.Loop() {
				answers, statements := model.answers.Load(), sent.Load()
				spent := cpuTime(b)
				started := time.Now()
				awaitPassed(b, tenant, dbtest.Execute(b, tenant, ids, repeats, concurrency), tests*repeats)
				took := time.Since(started)
				answers = model.answers.Load() - answers
				ideal = time.Duration(answers) * thinks / concurrency
				b.ReportMetric(float64(took)/float64(ideal), "of-ideal")
				b.ReportMetric(float64(sent.Load()-statements)/(tests*repeats), "statements/run")
				b.ReportMetric(float64(answers)/(tests*repeats), "answers/run")
				b.ReportMetric(float64((cpuTime(b)-spent).Microseconds())/(tests*repeats), "µs-cpu/run")
			}
		})
	}
}

// BenchmarkRunsBehindOthers times 10 runs of a company that are queued behind 5,000 runs of another company. There are
// 10 workers. The model takes 20 ms for each of a run's three answers.
func BenchmarkRunsBehindOthers(b *testing.B) {
	const tests, repeats, large, few, workers = 200, 5, 5, 10, 10
	for _, window := range []int{workers, 50} {
		b.Run(fmt.Sprintf("runs-per-company=%d", window), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				store, _, _ := workingStore(b, workers, window, 20*time.Millisecond)
				many, other := companyOf(b, store, "Large"), companyOf(b, store, "Small")
				ids, fewIDs := dbtest.Tests(b, many, tests, 1), dbtest.Tests(b, other, few, 1)
				for range large {
					dbtest.Execute(b, many, ids, repeats, 50)
				}
				b.StartTimer()
				started := time.Now()
				awaitPassed(b, other, dbtest.Execute(b, other, fewIDs, 1, few), few)
				b.ReportMetric(float64(time.Since(started).Milliseconds()), "ms-behind-5000")
			}
		})
	}
}
