package queue_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/queue"
)

const (
	// asWorker is an environment variable with the address of a database. It makes the test binary a worker on that
	// database until its standard input ends or it is killed.
	asWorker = "QUEUE_TEST_DATABASE"

	// jobsInProgress is how many jobs a process has when it is killed. Another process has the capacity for one more.
	jobsInProgress   = 200
	workersOfProcess = jobsInProgress + 1
)

// workerProcess writes a row when a job starts, waits until the gate is open, and writes a row to the table done when
// the job ends.
func workerProcess(url string) int {
	ctx := context.Background()
	err := func() error {
		pool, err := openPool(ctx, url)
		if err != nil {
			return err
		}
		q, err := queue.New(pool, queue.Options{Window: workersOfProcess})
		if err != nil {
			return err
		}
		gate := make(chan struct{})
		go func() {
			for open := false; !open; <-time.After(10 * time.Millisecond) {
				_ = pool.QueryRow(ctx, "SELECT open FROM gate").Scan(&open)
			}
			close(gate)
		}()
		err = q.Start(ctx, workersOfProcess, func(ctx context.Context, d *queue.Delivery) error {
			if _, err := pool.Exec(ctx, "INSERT INTO begun VALUES ($1, $2, $3)", d.ID, d.Attempt, os.Getpid()); err != nil {
				return err
			}
			select {
			case <-gate:
			case <-ctx.Done():
				return ctx.Err()
			}
			_, err := pool.Exec(ctx, "INSERT INTO done VALUES ($1, $2, $3)", d.ID, d.Attempt, os.Getpid())
			return err
		})
		if err != nil {
			return err
		}
		fmt.Println("working")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return nil // without Stop, so that the jobs remain unchanged
	}()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

type process struct{ cmd *exec.Cmd }

// startProcess starts a worker process and waits until it works.
func startProcess(t *testing.T, url string) *process {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), binary)
	cmd.Env = append(os.Environ(), asWorker+"="+url)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "working\n", line)
	return &process{cmd}
}

func (p *process) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Kill())
	_ = p.cmd.Wait() // the error says that the process was killed
}

func createTables(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	for _, statement := range []string{
		"CREATE TABLE gate AS SELECT false AS open",
		"CREATE TABLE begun (job_id text, attempt int, pid int, PRIMARY KEY (job_id, attempt))",
		"CREATE TABLE done (job_id text, attempt int, pid int)",
	} {
		_, err := pool.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
}

func TestKilledWorkerLosesNoJob(t *testing.T) {
	t.Parallel()
	const jobs = jobsInProgress
	url, pool := fresh(t)
	createTables(t, pool)
	victim := startProcess(t, url)
	enqueue(t, pool, newQueue(t, pool, workersOfProcess), jobsOf(newCompany(t, pool, "company_1"), jobs)...)
	awaitCount(t, pool, jobs, "SELECT count(*) FROM begun")
	heir := startProcess(t, url)
	// Only a sweep finds this job, because the other process is idle.
	_, err := pool.Exec(t.Context(), "INSERT INTO jobs VALUES ($1, 'job_found', 0, 0, 0, $2, NULL, 'test')",
		newCompany(t, pool, "company_2"), time.Now())
	require.NoError(t, err)
	awaitCount(t, pool, jobs+1, "SELECT count(*) FROM begun")

	victim.kill(t)
	killed := time.Now()
	awaitCount(t, pool, jobs, "SELECT count(*) FROM begun WHERE pid = $1 AND attempt = 2 AND job_id <> 'job_found'",
		heir.cmd.Process.Pid)
	t.Logf("%d jobs of a killed worker started again within %s", jobs, time.Since(killed).Round(time.Millisecond))
	_, err = pool.Exec(t.Context(), "UPDATE gate SET open = true")
	require.NoError(t, err)
	awaitCount(t, pool, 0, allJobs)
	require.Equal(t, jobs+1, count(t, pool, "SELECT count(*) FROM done"), "none is done twice")
	require.Equal(t, jobs+1, count(t, pool, "SELECT count(DISTINCT job_id) FROM done"), "none is lost")
}

// Workers are killed repeatedly while jobs finish. Each job is done, and no attempt is delivered twice.
func TestWorkersKilledInSequence(t *testing.T) {
	t.Parallel()
	const jobs = 300
	url, pool := fresh(t)
	createTables(t, pool)
	_, err := pool.Exec(t.Context(), "UPDATE gate SET open = true")
	require.NoError(t, err)
	q := newQueue(t, pool, workersOfProcess)
	companyID := newCompany(t, pool, "company_1")
	first, second := startProcess(t, url), startProcess(t, url)
	for i, some := 0, jobsOf(companyID, jobs); i < 3; i++ {
		enqueue(t, pool, q, some[i*jobs/3:(i+1)*jobs/3]...)
		require.Eventually(t, func() bool { return count(t, pool, "SELECT count(*) FROM begun") > i*jobs/3 }, waitFor, tick)
		first.kill(t)
		first, second = second, startProcess(t, url)
	}
	awaitCount(t, pool, 0, allJobs)
	require.Equal(t, jobs, count(t, pool, "SELECT count(DISTINCT job_id) FROM done"), "none is lost")
	require.Zero(t, count(t, pool, "SELECT count(*) FROM (SELECT FROM done GROUP BY job_id, attempt HAVING count(*) > "+
		"1) AS twice"))
}
