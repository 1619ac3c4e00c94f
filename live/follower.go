package live

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

const (
	// The delay before reading again doubles from firstRetry: up to lastRetry for a value that is not visible yet, and up
	// to lastRepair after errors.
	firstRetry = 2 * time.Millisecond
	lastRetry  = 250 * time.Millisecond
	lastRepair = 5 * time.Second
)

// Follower takes the events of a Log after a position, each once and in order. Only one goroutine at a time may call
// Next.
type Follower[E any] struct {
	log *Log[E]
	// wake is called when there may be an event again, after Next returned none.
	wake  func()
	close func()
	// at has the position reached so far.
	at Position
	// page has the values that the follower has read itself, up to the position upTo.
	page    []Stored[E]
	upTo    Position
	hasLast bool
	// The log's mutex guards the fields below. next has the number of the next event.
	next      uint64
	isWaiting bool
	isClosed  bool
}

// Follow returns a follower of the events after the position. The caller must close the follower. Close calls the
// function closed once.
func (l *Log[E]) Follow(at Position, closed func()) *Follower[E] {
	f := &Follower[E]{log: l, at: at, close: sync.OnceFunc(closed), wake: func() {}}
	l.mu.Lock()
	defer l.mu.Unlock()
	f.next = l.first
	l.followers[f] = struct{}{}
	return f
}

// Close ends the follower. It may be called at any time, and more than once.
func (f *Follower[E]) Close() {
	f.leave()
	f.close()
}

func (f *Follower[E]) leave() {
	l := f.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.isClosed {
		return
	}
	f.isClosed = true
	if f.isWaiting {
		l.waiting--
	}
	delete(l.followers, f)
	l.dropTaken()
}

// dropTaken drops the events that all followers have taken.
func (l *Log[E]) dropTaken() {
	if l.waiting == len(l.followers) {
		l.drop(len(l.events))
	}
	if l.last != nil && len(l.followers) == 0 {
		l.last.discard()
	}
}

// Next takes the next event. It returns nil if there is no event now, io.EOF if no more events will follow, and ctx's
// error if ctx ended. It waits only for events that are known to exist.
func (f *Follower[E]) Next(ctx context.Context) (*Event, error) {
	var retry time.Duration
	for ctx.Err() == nil {
		if len(f.page) > 0 {
			stored := f.page[0]
			f.page[0] = Stored[E]{}
			f.page, f.at = f.page[1:], stored.At
			return &Event{value: stored.Value, at: stored.At, isStored: true}, nil
		}
		f.at = max(f.at, f.upTo)
		event, known, isBehind, err := f.takeEvent()
		if !isBehind {
			return event, err
		}
		values, upTo, err := f.log.read(ctx, f.at, known)
		switch {
		case errors.Is(err, io.EOF):
			return nil, err
		case err != nil:
			retry = min(max(2*retry, firstRetry), lastRepair)
		case len(values) > 0 || upTo > f.at:
			f.page, f.upTo = values, upTo
			continue
		case f.log.hasEnded():
			return nil, io.EOF // the topic no longer exists
		default:
			retry = min(max(2*retry, firstRetry), lastRetry)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
	}
	return nil, ctx.Err()
}

// takeEvent takes the next event of the log. isBehind is true if the log no longer holds that event. The follower must
// then read the values up to the position known.
func (f *Follower[E]) takeEvent() (event *Event, known Position, isBehind bool, err error) {
	l := f.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.at < l.base {
		return nil, l.base, true, nil
	}
	for f.next = max(f.next, l.first); f.next < l.first+uint64(len(l.events)); {
		e := l.events[f.next-l.first]
		f.next++
		// Skip stored events that the follower has read itself, and other events before them.
		if e.at < f.at || e.at == f.at && e.isStored {
			continue
		}
		f.at = e.at
		return e, 0, false, nil
	}
	f.at = max(f.at, l.end)
	switch {
	case l.isEnded && l.last != nil && !f.hasLast:
		f.hasLast = true
		return l.last, 0, false, nil
	case l.isEnded || f.isClosed:
		return nil, 0, false, io.EOF
	case !f.isWaiting:
		f.isWaiting = true
		l.waiting++
		l.dropTaken()
	}
	return nil, 0, false, nil
}

// HasPrivateEvents reports whether the follower has events in memory that no other follower shares.
func (f *Follower[E]) HasPrivateEvents() bool { return len(f.page) > 0 }

// OnWake sets the function to call when there may be an event after Next returned nil. Call OnWake before Next. wake
// must not block.
func (f *Follower[E]) OnWake(wake func()) { f.wake = wake }
