package main

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// Replicas are killed three times while 500 runs are in progress, the last time during verdicts. All runs finish, and
// no run is judged twice.
func TestKilledReplicasLoseNoRun(t *testing.T) {
	t.Parallel()
	const runs, executions = 500, 10
	s := newReplicaFixture(t)
	// Each of the two replicas has the capacity for nearly all runs.
	start := func() *replica {
		return s.startReplica(t, "--workers", "300", "--runs-per-company", "500")
	}
	first, second := start(), start()
	ids := s.Tests(t, runs/executions)
	for range executions {
		dbtest.Execute(t, s.Tenant, ids, 1, runs/executions)
	}
	allUnderWay := func() bool { return s.waiting.Load() == runs }
	s.Await(t, allUnderWay, "all are under way")
	require.Equal(t, runs, s.Count(t, "SELECT count(*) FROM agent_test_runs WHERE status = 'Running'"))
	lost := func() int { return s.Count(t, "SELECT sum(lost) FROM agent_test_runs") }
	for range 2 {
		before, killed := lost(), time.Now()
		first.kill(t)
		first, second = second, start()
		s.Await(t, func() bool { return lost() > before && allUnderWay() }, "others have taken the runs over")
		t.Logf("all %d runs were under way again %s after a kill", runs, time.Since(killed).Round(time.Millisecond))
	}
	for range runs / 2 {
		s.gate <- struct{}{}
	}
	s.Await(t, func() bool { return s.Count(t, dbtest.CountFinalRuns) >= runs/4 }, "a quarter has finished")
	first.kill(t)
	start()
	close(s.gate)
	s.Await(t, func() bool { return s.Count(t, dbtest.CountFinalRuns) == runs }, "all have finished")

	require.Equal(t, runs, s.Count(t, "SELECT count(*) FROM agent_test_runs WHERE status = 'Passed'"))
	require.Equal(t, runs, s.Count(t, "SELECT count(*) FROM verdicts"), "no run is judged twice")
	require.Equal(t, runs, s.Count(t, "SELECT count(DISTINCT run_id) FROM verdicts"), "none is lost")
	require.GreaterOrEqual(t, lost(), 2*(runs-300), "the killed replicas had runs")
	require.Equal(t, executions, s.Count(t, "SELECT count(*) FROM agent_test_executions WHERE status = 'Completed'"))
	s.Await(t, func() bool { return s.Count(t, "SELECT count(*) FROM jobs") == 0 }, "the queue is empty")
	t.Logf("workers were lost %d times with one of %d runs", lost(), runs)
}

// A stopping replica returns its runs to the queue. A returned run does not count as lost.
func TestStoppedReplicasReturnTheirRuns(t *testing.T) {
	t.Parallel()
	const runs = 20
	s := newReplicaFixture(t)
	dbtest.Execute(t, s.Tenant, s.Tests(t, runs), 1, runs)
	first := s.startReplica(t, "--workers", "20")
	s.Await(t, func() bool { return s.waiting.Load() == runs }, "all are under way")
	require.NoError(t, first.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, first.cmd.Wait(), "it shuts down cleanly")
	require.Equal(t, runs, s.Count(t, "SELECT count(*) FROM agent_test_runs WHERE status = 'Queued' AND claim = 1 AND "+
		"lost = 0"))
	s.startReplica(t, "--workers", "20")
	s.Await(t, func() bool { return s.waiting.Load() == runs }, "all are under way again")
	close(s.gate)
	s.Await(t, func() bool { return s.Count(t, dbtest.CountFinalRuns) == runs }, "all have finished")
	require.Equal(t, runs, s.Count(t, "SELECT count(*) FROM agent_test_runs WHERE status = 'Passed' AND claim = 2 AND "+
		"lost = 0"))
	require.Equal(t, runs, s.Count(t, "SELECT count(*) FROM verdicts"))
}

// The model never answers, so only the cancellation through another replica can end the runs.
func TestCancellationReachesEveryReplica(t *testing.T) {
	t.Parallel()
	const runs, inProgress = 60, 20
	s := newReplicaFixture(t)
	for range 2 {
		s.startReplica(t, "--workers", "10")
	}
	execution := dbtest.Execute(t, s.Tenant, s.Tests(t, runs), 1, inProgress)
	s.Await(t, func() bool { return s.waiting.Load() == inProgress }, "some are under way")
	started := time.Now()
	_, err := s.Tenant.CancelAgentTestExecution(t.Context(),
		model.CancelAgentTestExecutionInput{ExecutionID: execution.ID})
	require.NoError(t, err)
	require.GreaterOrEqual(t, s.Count(t, "SELECT count(*) FROM agent_test_runs WHERE status = 'Cancelled'"),
		runs-inProgress,
		"waiting runs are cancelled immediately")
	s.Await(t, func() bool { return s.Count(t, dbtest.CountFinalRuns) == runs }, "all have ended")
	t.Logf("%d runs in two other processes ended within %s of their cancellation", inProgress, time.Since(started).
		Round(time.Millisecond))
	s.Await(t, func() bool { return s.waiting.Load() == 0 }, "nobody waits for the model any more")
	require.Equal(t, runs, s.Count(t, "SELECT count(*) FROM agent_test_runs WHERE status = 'Cancelled'"))
	require.Equal(t, 1, s.Count(t, "SELECT count(*) FROM agent_test_executions WHERE status = 'Cancelled' AND "+
		"finished_at IS NOT NULL"))
	s.Await(t, func() bool { return s.Count(t, "SELECT count(*) FROM jobs") == 0 }, "the queue is empty")
}
