package live

import (
	"context"
	"sync"
)

// Read returns some of the values after a position, in order. It has read everything up to the position upTo. known is
// the last position of the log. If upTo equals after, a value up to known is not visible yet. Read returns io.EOF if
// the topic no longer exists.
type Read[E any] func(ctx context.Context, after, known Position) (values []Stored[E], upTo Position, err error)

const (
	// maxEvents and maxBytes bound the events that one Log holds for slow followers.
	maxEvents = 1_024
	maxBytes  = 1 << 20
	// minSize is the overhead of an event in bytes, which the budget counts in addition to the event's size.
	minSize = 256
)

// Log holds the latest events for followers that have not taken them yet. Only one goroutine at a time may call Begin,
// Add, Skip, AddTransient and Close. Followers are independent of each other.
type Log[E any] struct {
	read   Read[E]
	budget *MemoryBudget

	mu sync.Mutex
	// events are the events after the position base, numbered from first.
	events    []*Event
	first     uint64
	bytes     int
	base, end Position
	followers map[*Follower[E]]struct{}
	// waiting counts the followers that have received all events.
	waiting int
	isEnded bool
	// last has the event after all others, or nil.
	last *Event
}

// NewLog returns an empty Log. Begin sets its position.
func NewLog[E any](budget *MemoryBudget, read Read[E]) *Log[E] {
	return &Log[E]{budget: budget, read: read, followers: map[*Follower[E]]struct{}{}}
}

// Begin empties the log and moves it to a position. Followers behind this position call Read.
func (l *Log[E]) Begin(at Position) {
	l.update(func() {
		l.drop(len(l.events))
		l.base, l.end = max(l.end, at), max(l.end, at)
	})
}

// End returns the position after the last event.
func (l *Log[E]) End() Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// IsFollowed reports whether there are followers.
func (l *Log[E]) IsFollowed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.followers) > 0
}

// Add adds values that Read can return again.
func (l *Log[E]) Add(values ...Stored[E]) {
	if len(values) == 0 {
		return
	}
	l.update(func() {
		for _, v := range values {
			l.appendEvent(&Event{value: v.Value, at: v.At, isStored: true, size: v.Size})
		}
	})
}

// Skip records that there are no more values up to the position.
func (l *Log[E]) Skip(to Position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end = max(l.end, to)
}

// AddTransient adds a value that Read cannot return. Followers that fall behind miss it. size is in bytes.
func (l *Log[E]) AddTransient(value E, size int) {
	l.update(func() { l.appendEvent(&Event{value: value, at: l.end, size: size}) })
}

// Close ends the log. Followers receive the remaining values, then the last value, if any, and then io.EOF.
func (l *Log[E]) Close(last ...E) {
	l.update(func() {
		for _, value := range last {
			l.last = &Event{value: value, at: l.end, budget: l.budget}
		}
		l.isEnded = true
	})
}

func (l *Log[E]) hasEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.isEnded
}

// update changes the log and then wakes the waiting followers.
func (l *Log[E]) update(change func()) {
	l.mu.Lock()
	change()
	woken := make([]func(), 0, l.waiting)
	for f := range l.followers {
		if f.isWaiting {
			f.isWaiting = false
			woken = append(woken, f.wake)
		}
	}
	l.waiting = 0
	l.mu.Unlock()
	for _, wake := range woken {
		wake()
	}
}

func (l *Log[E]) appendEvent(e *Event) {
	l.end = e.at
	if len(l.followers) == 0 {
		l.base = l.end
		return
	}
	if e.size += minSize; !l.budget.reserve(e.size) {
		// The budget is used up, so the log drops all events. All followers then call Read, a page at a time.
		l.drop(len(l.events))
		l.base = l.end
		return
	}
	e.budget = l.budget
	l.events, l.bytes = append(l.events, e), l.bytes+e.size
	for len(l.events) > maxEvents || l.bytes > maxBytes && len(l.events) > 1 {
		l.drop(1)
	}
}

// drop drops the first events.
func (l *Log[E]) drop(count int) {
	for i, e := range l.events[:count] {
		l.events[i] = nil
		l.base = e.at
		l.bytes -= e.size
		e.discard()
	}
	l.first += uint64(count)
	if l.events = l.events[count:]; len(l.events) == 0 {
		l.events = nil
	}
}
