package queue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	firstBackoff = 50 * time.Millisecond
	lastBackoff  = 5 * time.Second
	// interruptTimeout is how long Work may take to return after its context has ended.
	interruptTimeout = 5 * time.Second
)

// workers runs jobs in this process, in one session after another.
type workers struct {
	queue *Queue
	size  int
	work  Work

	// stop ends the context stopping, after which no goroutine fetches jobs. The channel done is closed when the last
	// goroutine has ended.
	stopping context.Context
	stop     context.CancelFunc
	done     chan struct{}
	session  *session
}

// reserveOf returns the size of the reserve of a process.
func reserveOf(size int) int { return (size + 3) / 4 }

// Start runs up to size jobs at a time until Stop, and up to a quarter more of companies that would otherwise wait for
// others. ctx only bounds the start.
func (q *Queue) Start(ctx context.Context, size int, work Work) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.workers != nil:
		return errors.New("start the queue's workers: they were already started")
	case size < 1:
		return fmt.Errorf("start the queue's workers: there must be at least 1, not %d", size)
	}
	w := &workers{queue: q, size: size, work: work, done: make(chan struct{})}
	w.stopping, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	first, err := w.open(ctx)
	if err != nil {
		w.stop()
		return fmt.Errorf("start the queue's workers: %w", err)
	}
	w.session = first
	q.workers, q.reserve = w, reserveOf(size)
	var all sync.WaitGroup
	all.Go(func() { w.supervise(w.stopping) })
	all.Go(func() { q.sweepUntil(w.stopping) })
	go func() {
		all.Wait()
		close(w.done)
	}()
	return nil
}

// Stop takes no more jobs, and returns when the running ones are done. If ctx ends first, it interrupts them, and other
// workers get them. Without workers it does nothing.
func (q *Queue) Stop(ctx context.Context) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.workers == nil {
		return nil
	}
	w := q.workers
	w.stop()
	<-w.done
	q.workers = nil
	if w.session == nil {
		return nil
	}
	return w.session.close(ctx)
}

// supervise opens a new session whenever one is lost. When ctx ends, the last session takes no more jobs. Stop closes
// it.
func (w *workers) supervise(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			w.session.takeNoMore()
			return
		case <-w.session.lost:
		}
		w.queue.log.Error("the queue's workers lost their connection to the database: their jobs are interrupted, and " +
			"other processes may run them")
		if err := w.session.abandon(); err != nil {
			w.queue.log.Error("some jobs do not stop", "error", err)
		}
		if w.session = w.reopen(ctx); w.session == nil {
			return
		}
	}
}

// reopen opens a session as soon as the database permits. It returns nil if ctx ends first.
func (w *workers) reopen(ctx context.Context) *session {
	for backoff := firstBackoff; ; backoff = min(2*backoff, lastBackoff) {
		next, err := w.open(ctx)
		if err == nil {
			return next
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(backoff/2 + rand.N(backoff)):
		}
	}
}
