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
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

const (
	connectTimeout = 10 * time.Second
	closeTimeout   = time.Second
	// heartbeat is how often a session makes sure that it still has its lock, and heartbeatTimeout how long
	// the answer may take. That the connection is closed is seen at once.
	heartbeat        = time.Second
	heartbeatTimeout = 5 * time.Second

	fetchCooldown = 1 * time.Millisecond
	// fetchPoll finds jobs whose announcement was left out, because another had just been made.
	fetchPoll = 200 * time.Millisecond
)

// session is the time for which the workers have a name that nobody else has. While it lasts, a connection of
// its own holds the advisory lock of that name, which the database frees when the process or the connection
// ends, however it ends: what works under a name whose lock is free is lost.
type session struct {
	conn  *pgx.Conn
	river *river.Client[pgx.Tx]
	// interrupt says that the jobs are to be given to others.
	interrupt context.CancelFunc
	// lost is closed when the session does not have its lock any more.
	lost chan struct{}
	// unwatch ends the watch over the lock; watched is closed when it has ended.
	unwatch context.CancelFunc
	watched chan struct{}
}

// open begins a session.
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
		// The client lives longer than the context that bounds the beginning.
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

// client returns the client of River for a session of the name, which interrupts its jobs when working ends.
func (w *workers) client(working context.Context, name int64) (*river.Client[pgx.Tx], error) {
	registered := river.NewWorkers()
	if err := river.AddWorkerSafely(registered, &worker{queue: w.queue, work: w.work, working: working, stopping: w.stopping}); err != nil {
		return nil, err
	}
	return river.NewClient(riverpgxv5.New(w.queue.pool), &river.Config{
		ID: clientOf(name),
		Queues: map[string]river.QueueConfig{
			riverQueue: {MaxWorkers: w.size, FetchCooldown: fetchCooldown, FetchPollInterval: fetchPoll},
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

// clientOf returns what River calls the client of a session of the name.
func clientOf(name int64) string { return strconv.FormatInt(name, 16) }

// lockName returns a connection that holds the lock of a name that nobody has.
func (q *Queue) lockName(ctx context.Context) (*pgx.Conn, int64, error) {
	config := q.pool.Config().ConnConfig
	// The database must notice within seconds when the machine of this process is gone without a word.
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
		// The driver's text may hold the address.
		return nil, 0, errors.New("the database accepts no further connection")
	}
	for {
		name := rand.Int64()
		var locked bool
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", name).Scan(&locked); err != nil {
			disconnect(conn)
			return nil, 0, fmt.Errorf("lock the name of the workers: %w", err)
		}
		if locked {
			return conn, name, nil
		}
	}
}

// watch ends when ctx does, or the connection breaks: then the session is lost.
func (s *session) watch(ctx context.Context) {
	defer close(s.watched)
	for s.beat(ctx) == nil {
	}
	if ctx.Err() == nil {
		close(s.lost)
	}
}

// beat returns nil after a heartbeat if the connection still stands.
func (s *session) beat(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, heartbeat)
	defer cancel()
	// Nobody notifies this connection. Waiting sees it break.
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

// close ends the session when its jobs are done, or ctx has ended and they have been interrupted.
func (s *session) close(ctx context.Context) error {
	err := s.river.Stop(ctx)
	if err != nil {
		err = s.stopNow()
	}
	s.interrupt()
	s.release()
	return err
}

// release frees the lock.
func (s *session) release() {
	s.unwatch()
	<-s.watched
	disconnect(s.conn)
}

// stopNow interrupts the jobs and waits until they have ended, though not for long.
func (s *session) stopNow() error {
	s.interrupt()
	ctx, cancel := context.WithTimeout(context.Background(), interruption)
	defer cancel()
	if err := s.river.StopAndCancel(ctx); err != nil {
		return fmt.Errorf("some still run %s after they were interrupted", interruption)
	}
	return nil
}

func disconnect(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = conn.Close(ctx)
}
