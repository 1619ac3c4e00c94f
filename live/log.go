package live

import (
	"context"
	"sync"
)

// Read reads, in order, values that are kept behind a position, as many as may be in memory at once, and the position
// up to which there are no others; it is behind after unless something that must be there cannot be seen yet. The log
// has been at the position known. io.EOF says that all is gone.
type Read[E any] func(ctx context.Context, after, known Position) (values []Kept[E], upTo Position, err error)

const (
	// mostEvents and mostBytes bound what one Log holds for followers that lag behind.
	mostEvents = 1_024
	mostBytes  = 1 << 20
	// leastSize is what an event counts at least.
	leastSize = 256
)

// Log holds the latest events for those that have not taken them yet. Only one goroutine at a time may add to it;
// Followers come, go and take as they like.
type Log[E any] struct {
	read   Read[E]
	budget *Budget

	mu sync.Mutex
	// events are those since base, the first of them with the number first.
	events    []*Event
	first     uint64
	bytes     int
	base, end Position
	followers map[*Follower[E]]struct{}
	// waiting is how many followers have taken all there is.
	waiting int
	isEnded bool
	// last comes behind everything; nil when nothing does.
	last *Event
}

// NewLog returns a Log without anything. Begin says where it begins.
func NewLog[E any](budget *Budget, read Read[E]) *Log[E] {
	return &Log[E]{budget: budget, read: read, followers: map[*Follower[E]]struct{}{}}
}

// Begin moves the log to a position without events; those who are behind it read by themselves.
func (l *Log[E]) Begin(at Position) {
	l.change(func() {
		l.drop(len(l.events))
		l.base, l.end = max(l.end, at), max(l.end, at)
	})
}

// End is the position behind the last event.
func (l *Log[E]) End() Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// IsFollowed reports whether anybody follows.
func (l *Log[E]) IsFollowed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.followers) > 0
}

// Add adds values that can be read again.
func (l *Log[E]) Add(values ...Kept[E]) {
	if len(values) == 0 {
		return
	}
	l.change(func() {
		for _, v := range values {
			l.add(&Event{value: v.Value, at: v.At, isKept: true, size: v.Size})
		}
	})
}

// Skip says that up to the position nothing else will come.
func (l *Log[E]) Skip(to Position) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end = max(l.end, to)
}

// Say adds a value that is not kept anywhere: a follower that falls behind misses it.
func (l *Log[E]) Say(value E, size int) {
	l.change(func() { l.add(&Event{value: value, at: l.end, size: size}) })
}

// Close ends the log. Followers take what there is, then the last value, if there is one, and then get io.EOF.
func (l *Log[E]) Close(last ...E) {
	l.change(func() {
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

// change changes the log and then wakes who waits for it.
func (l *Log[E]) change(change func()) {
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

func (l *Log[E]) add(e *Event) {
	l.end = e.at
	if len(l.followers) == 0 {
		l.base = l.end
		return
	}
	if e.size += leastSize; !l.budget.take(e.size) {
		// Everybody reads by himself, a page at a time.
		l.drop(len(l.events))
		l.base = l.end
		return
	}
	e.budget = l.budget
	l.events, l.bytes = append(l.events, e), l.bytes+e.size
	for len(l.events) > mostEvents || l.bytes > mostBytes && len(l.events) > 1 {
		l.drop(1)
	}
}

// drop lets go of the first events.
func (l *Log[E]) drop(count int) {
	for i, e := range l.events[:count] {
		l.events[i] = nil
		l.base = e.at
		l.bytes -= e.size
		e.forget()
	}
	l.first += uint64(count)
	if l.events = l.events[count:]; len(l.events) == 0 {
		l.events = nil
	}
}
