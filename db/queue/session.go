package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

const (
	connectTimeout = 10 * time.Second
	closeTimeout   = time.Second
	// A session checks at every heartbeat that it still holds its lock, and waits up to heartbeatTimeout for the answer.
	// It notices a closed connection immediately.
	heartbeat        = time.Second
	heartbeatTimeout = 5 * time.Second

	fetchCooldown = 1 * time.Millisecond
	// fetchPoll is the interval of polls for jobs that River did not announce, because it had just announced another one.
	fetchPoll = 200 * time.Millisecond
)

// session is the time during which the workers own a unique name. A dedicated connection holds the advisory lock of
// that name. The database releases the lock when the process or the connection ends in any way. Workers whose lock is
// free count as lost.
type session struct {
	conn  *pgx.Conn
	river *river.Client[pgx.Tx]
	// interrupt interrupts the jobs, so that other workers get them.
	interrupt context.CancelFunc
	// The channel lost is closed when the session no longer holds its lock.
	lost chan struct{}
	// unwatch stops the goroutine that watches the lock. The channel watched is closed when the goroutine has stopped.
	unwatch context.CancelFunc
	watched chan struct{}
}

// open starts a session.
func (w *workers) open(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, name, err := w.queue.lockName(ctx)
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn, lost: make(chan struct{}), watched: make(chan struct{})}
	working, interrupt := context.WithCancel(context.WithoutCancel(ctx))
	s.interrupt = interrupt
	if s.river, err = w.client(working, name); err == nil {
		// The client outlives ctx, which only bounds the start.
		err = s.river.Start(context.WithoutCancel(ctx))
	}
	if err != nil {
		interrupt()
		disconnect(conn)
		return nil, err
	}
	watching, unwatch := context.WithCancel(context.WithoutCancel(ctx))
	s.unwatch = unwatch
	go s.watch(watching)
	return s, nil
}

// client returns the session's River client. The client interrupts its jobs when working is cancelled.
func (w *workers) client(working context.Context, name int64) (*river.Client[pgx.Tx], error) {
	registered := river.NewWorkers()
	if err := river.AddWorkerSafely(registered, &worker{queue: w.queue, work: w.work, working: working,
		stopping: w.stopping}); err != nil {
		return nil, err
	}
	return river.NewClient(riverpgxv5.New(w.queue.pool), &river.Config{
		ID: clientOf(name),
		Queues: map[string]river.QueueConfig{
			riverQueue:   {MaxWorkers: w.size, FetchCooldown: fetchCooldown, FetchPollInterval: fetchPoll},
			reserveQueue: {MaxWorkers: reserveOf(w.size), FetchPollInterval: fetchPoll},
		},
		Workers:                     registered,
		JobTimeout:                  maxChain + timeout,
		RescueStuckJobsAfter:        maxChain + timeout + rescueGrace,
		DiscardedJobRetentionPeriod: retention,
		CancelledJobRetentionPeriod: retention,
		CompletedJobRetentionPeriod: retention,
		Logger:                      slog.New(quiet{w.queue.log.Handler()}),
	})
}

// clientOf returns the id of the River client of a session with that name.
func clientOf(name int64) string { return strconv.FormatInt(name, 16) }

// lockName returns a new name, and a connection that holds its lock.
func (q *Queue) lockName(ctx context.Context) (*pgx.Conn, int64, error) {
	config := q.pool.Config().ConnConfig
	// The database must notice within seconds that this machine has failed.
	for name, value := range map[string]string{
		"application_name":    "agentgraph workers",
		"tcp_keepalives_idle": "2", "tcp_keepalives_interval": "1", "tcp_keepalives_count": "3",
	} {
		config.RuntimeParams[name] = value
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, 0, ctx.Err()
	case err != nil:
		// The driver's message may contain the address.
		var answer *pgconn.PgError
		if errors.As(err, &answer) && answer.Code == "53300" {
			return nil, 0, errors.New("the database accepts no more connections")
		}
		return nil, 0, errors.New("the database cannot be reached")
	}
	for {
		name := rand.Int64()
		var locked bool
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", name).Scan(&locked); err != nil {
			disconnect(conn)
			return nil, 0, fmt.Errorf("lock the id of the workers: %w", err)
		}
		if locked {
			return conn, name, nil
		}
	}
}

// watch returns when ctx ends, or when the connection breaks, which means that the session is lost.
func (s *session) watch(ctx context.Context) {
	defer close(s.watched)
	for s.beat(ctx) == nil {
	}
	if ctx.Err() == nil {
		close(s.lost)
	}
}

// beat returns nil after a heartbeat if the connection is still alive.
func (s *session) beat(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, heartbeat)
	defer cancel()
	// There are no notifications: this only waits until the connection breaks.
	if _, err := s.conn.WaitForNotification(waiting); err != nil && waiting.Err() == nil {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, heartbeatTimeout)
	defer cancel()
	return s.conn.Ping(asking)
}

// abandon ends a session that has lost its lock.
func (s *session) abandon() error {
	defer s.release()
	return s.stopNow()
}

// takeNoMore starts to stop the session, without waiting.
func (s *session) takeNoMore() {
	ended, end := context.WithCancel(context.Background())
	end()
	_ = s.river.Stop(ended) // an error only means that it has not stopped yet
}

// close ends the session after its jobs are done, or after they are interrupted because ctx ended.
func (s *session) close(ctx context.Context) error {
	err := s.river.Stop(ctx)
	if err != nil {
		err = s.stopNow()
	}
	s.interrupt()
	s.release()
	return err
}

func (s *session) release() {
	s.unwatch()
	<-s.watched
	disconnect(s.conn)
}

// stopNow interrupts the jobs and briefly waits for them.
func (s *session) stopNow() error {
	s.interrupt()
	ctx, cancel := context.WithTimeout(context.Background(), interruptTimeout)
	defer cancel()
	if err := s.river.StopAndCancel(ctx); err != nil {
		return fmt.Errorf("some jobs still run %s after they were interrupted", interruptTimeout)
	}
	return nil
}

func disconnect(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = conn.Close(ctx)
}
