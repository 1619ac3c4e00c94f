// Package live lets many followers share one reader. A Log holds the latest events of a topic, which are read once for
// all followers. A Follower takes events one at a time, at its own pace, and itself reads the events that the Log no
// longer holds. A Feed lets a transport decide when to take an event. Followers that need the same rendering of an
// event share it. Start reading at Log.
package live

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Position orders the values of a topic. A follower that fell behind reads from its last position.
type Position int64

// Stored is a value that can be read again, the position after it, and its approximate size in bytes.
type Stored[E any] struct {
	Value E
	At    Position
	Size  int
}

// Event is an event of a Log, which all followers share, or an event that a follower read itself.
type Event struct {
	value any
	at    Position
	// isStored is set if the value can be read again. Other events have the position of the previous stored event.
	isStored bool
	// size is the number of bytes that the event takes from the budget. budget is nil if a follower read the event
	// itself.
	size   int
	budget *MemoryBudget

	mu         sync.Mutex
	renderings map[string]*rendering
	// renderedBytes is the number of bytes that the renderings take from the budget.
	renderedBytes int
	isForgotten   bool
}

// rendering is an event rendered for a group of followers.
type rendering struct {
	// The channel done is closed when text is ready. text is nil if no other follower can use the rendering.
	done chan struct{}
	text []byte
	at   time.Time
}

const (
	// maxRenderings bounds the cached renderings of one event.
	maxRenderings = 16
	// freshness bounds the age of a shared rendering. A rendering can show a later state than the event's.
	freshness = time.Second
)

// Render returns the text that render makes of the event. Calls for the same group share a text for up to a second, if
// render reports that it can be shared. Render returns nil if ctx ends first.
func (e *Event) Render(ctx context.Context, group string, render func() (text []byte, isShared bool)) []byte {
	a, isMine := e.renderingFor(group)
	switch {
	case a == nil:
		text, _ := render()
		return text
	case isMine:
		return e.answer(group, a, render)
	}
	select {
	case <-a.done:
	default:
		select {
		case <-a.done:
		case <-ctx.Done():
			return nil
		}
	}
	if a.text == nil {
		text, _ := render()
		return text
	}
	return a.text
}

// renderingFor returns the group's rendering, and whether the caller must render it. It returns nil if no rendering can
// be shared.
func (e *Event) renderingFor(group string) (a *rendering, isMine bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.budget == nil || e.isForgotten {
		return nil, false
	}
	if a = e.renderings[group]; a != nil && (a.at.IsZero() || time.Since(a.at) < freshness) {
		return a, false
	}
	if a == nil && len(e.renderings) >= maxRenderings {
		return nil, false
	}
	if e.renderings == nil {
		e.renderings = map[string]*rendering{}
	}
	if a != nil {
		e.budget.release(len(a.text))
		e.renderedBytes -= len(a.text)
	}
	a = &rendering{done: make(chan struct{})}
	e.renderings[group] = a
	return a, true
}

func (e *Event) answer(group string, a *rendering, render func() ([]byte, bool)) []byte {
	defer close(a.done)
	text, isShared := render()
	e.mu.Lock()
	defer e.mu.Unlock()
	a.at = time.Now()
	if isShared {
		a.text = text
	}
	switch {
	case !isShared || e.isForgotten:
	case e.budget.reserve(len(text)):
		e.renderedBytes += len(text)
	default:
		delete(e.renderings, group) // waiting followers still get it
	}
	return text
}

// discard drops the event's renderings and releases its bytes.
func (e *Event) discard() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.budget.release(e.size + e.renderedBytes)
	e.size, e.renderedBytes = 0, 0
	e.renderings, e.isForgotten = nil, true
}

// MemoryBudget bounds the bytes that Logs hold together. It is safe for concurrent use.
type MemoryBudget struct {
	limit int64
	used  atomic.Int64
}

// NewMemoryBudget returns a budget of the given number of bytes.
func NewMemoryBudget(limit int64) *MemoryBudget { return &MemoryBudget{limit: limit} }

// reserve takes bytes from the budget. It returns false and takes nothing if too few are left.
func (b *MemoryBudget) reserve(bytes int) bool {
	if b.used.Add(int64(bytes)) > b.limit {
		b.release(bytes)
		return false
	}
	return true
}

func (b *MemoryBudget) release(bytes int) { b.used.Add(-int64(bytes)) }
