package app_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/evaluation"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// cast is a model that plays all parts of a test, like the model server of the end-to-end tests. hook is called before
// each answer of the agent; if it returns an error, the answer fails.
type cast struct {
	hook func(context.Context) error
	// thinks is the duration of each answer.
	thinks time.Duration
}

func (*cast) Name() string { return "cast" }

func (c *cast) Chat(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		text := "Your appointment is booked."
		switch {
		case len(req.Schema) > 0:
			text = `{"evidence":[{"messageIndex":1,"quote":"booked"}],"rationale":"It was booked.","passed":true}`
		case strings.HasPrefix(req.System, "You play a person"):
			text = "I want an appointment."
		case c.hook != nil:
			if err := c.hook(ctx); err != nil {
				yield(llm.Chunk{}, err)
				return
			}
		}
		select {
		case <-time.After(c.thinks):
		case <-ctx.Done():
			yield(llm.Chunk{}, ctx.Err())
			return
		}
		if yield(llm.Chunk{Text: text}, nil) {
			yield(llm.Chunk{Finish: llm.FinishStop}, nil)
		}
	}
}

func engineOf(m llm.Model) *engine.Engine {
	return engine.New(m, engine.Options{Log: slog.New(slog.DiscardHandler)})
}

func evaluatorOf(m llm.Model) *evaluation.Evaluator {
	return evaluation.New(engineOf(m), evaluation.Options{Log: slog.New(slog.DiscardHandler)})
}

// onlyRun returns the only run of an execution.
func onlyRun(t *testing.T, tenant *db.Tenant, execution *model.AgentTestExecution) *model.AgentTestRun {
	t.Helper()
	runs, err := dbtest.Pages[*model.AgentTestRun](t.Context(), tenant, db.RunsOfExecutions, nil, []string{execution.ID},
		model.PageArgs{First: 10})
	require.NoError(t, err)
	require.Len(t, runs, 1)
	return runs[0]
}

func TestPanickingRunEndsWithError(t *testing.T) {
	t.Parallel()
	s := dbtest.NewEnvironment(t)
	var times atomic.Int32
	require.NoError(t, s.Store.Work(t.Context(), 1,
		db.Workers{RunTest: evaluatorOf(&cast{hook: func(context.Context) error {
			times.Add(1)
			panic("a mistake with a secret in it")
		}}).RunTest}))
	t.Cleanup(func() { require.NoError(t, s.Store.StopWork(context.Background())) })
	execution := dbtest.Execute(t, s.Tenant, s.Tests(t, 1), 1, 1)
	s.Await(t, func() bool { return s.Count(t, dbtest.CountFinalRuns) == 1 }, "it has ended")
	run := onlyRun(t, s.Tenant, execution)
	require.Equal(t, model.AgentTestRunStatusError, run.Status)
	require.Equal(t, model.RunErrorCauseInfrastructure, run.Error.Cause)
	require.Equal(t, "something went wrong on the server, which is not the agent's fault", run.Error.Message)
	require.EqualValues(t, 1, times.Load(), "a run that panicked is not retried")
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := dbtest.NewEnvironment(t)
	ids := s.Tests(t, 1)
	work := func(cause error) (*model.AgentTestRun, error) {
		run := onlyRun(t, s.Tenant, dbtest.Execute(t, s.Tenant, ids, 1, 1))
		ctx, cancel := context.WithCancelCause(t.Context())
		err := evaluatorOf(&cast{hook: func(ctx context.Context) error {
			cancel(cause)
			<-ctx.Done()
			return ctx.Err()
		}}).RunTest(ctx, s.Tenant, run.ID, 1)
		runs, readErr := dbtest.Find[*model.AgentTestRun](t.Context(), s.Tenant, db.AgentTestRunRows, []string{run.ID})
		require.NoError(t, readErr)
		return runs[0], err
	}
	run, err := work(nil)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, model.AgentTestRunStatusQueued, run.Status, "another worker takes the run")
	require.Zero(t, run.Lost)
	require.Empty(t, run.Messages)

	run, err = work(context.DeadlineExceeded)
	require.NoError(t, err)
	require.Equal(t, model.AgentTestRunStatusError, run.Status, "a retry would take as long")
	require.Equal(t, &model.RunError{Cause: model.RunErrorCauseInfrastructure,
		Message: "the run took too long and was stopped"}, run.Error)
	require.NotEmpty(t, run.Messages)
}

// The test closes every database connection twice during the runs. Each run still finishes exactly once.
func TestRunsSurviveLostDatabaseConnections(t *testing.T) {
	t.Parallel()
	const runs = 40
	s := dbtest.NewEnvironment(t)
	started := make(chan struct{}, 10*runs)
	require.NoError(t, s.Store.Work(t.Context(), 20,
		db.Workers{RunTest: evaluatorOf(&cast{thinks: 20 * time.Millisecond, hook: func(context.Context) error {
			started <- struct{}{}
			return nil
		}}).RunTest}))
	t.Cleanup(func() { require.NoError(t, s.Store.StopWork(context.Background())) })
	execution := dbtest.Execute(t, s.Tenant, s.Tests(t, runs), 1, 20)
	broken := 0
	for range 2 {
		for range 10 {
			<-started
		}
		broken += s.Count(t, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	}
	require.Positive(t, broken)
	s.Await(t, func() bool { return s.Count(t, dbtest.CountFinalRuns) == runs }, "all have ended")
	require.Equal(t, runs, s.Count(t, "SELECT count(*) FROM verdicts"))
	require.Equal(t, runs, s.Count(t, "SELECT count(DISTINCT run_id) FROM verdicts"))
	require.Equal(t, map[string]int{"Passed": runs}, statuses(t, s.Tenant, execution),
		"infrastructure errors do not count")
}

func statuses(t *testing.T, tenant *db.Tenant, execution *model.AgentTestExecution) map[string]int {
	t.Helper()
	runs, err := dbtest.Pages[*model.AgentTestRun](t.Context(), tenant, db.RunsOfExecutions, nil, []string{execution.ID},
		model.PageArgs{First: 100})
	require.NoError(t, err)
	counts := map[string]int{}
	for _, run := range runs {
		status := string(run.Status)
		if run.Error != nil {
			status = fmt.Sprintf("%s %s", status, run.Error.Cause)
		}
		counts[status]++
	}
	return counts
}
