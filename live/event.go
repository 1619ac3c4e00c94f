// Package live lets many follow what one reads. A Log holds the latest events of something that is followed, read
// once for everybody; a Follower takes them one at a time, at its own pace, and reads by itself what the Log holds no
// more. A Feed leaves it to a transport when an event is taken, and what is made of it is made once for all who want the same.
package live

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Position orders what can be read again. A follower that fell behind reads on from the last one that it has.
type Position int64

// Kept is a value that can be read again, the position behind it, and about how many bytes it holds.
type Kept[E any] struct {
	Value E
	At    Position
	Size  int
}

// Event is one thing that happened, the same for all who follow it.
type Event struct {
	value any
	at    Position
	// isKept: it can be read again. What is not is at the position of what was kept before it.
	isKept bool
	// size is what the budget was charged for it; budget is nil for an event that one follower has read for itself.
	size   int
	budget *Budget

	mu      sync.Mutex
	answers map[string]*answer
	// answered is what the budget was charged for the answers.
	answered    int
	isForgotten bool
}

// answer is what was made of an event for a group of followers.
type answer struct {
	// made is closed when text can be read; nil when what was made is good for nobody else.
	made chan struct{}
	text []byte
	at   time.Time
}

const (
	// mostAnswers is how many are kept of one event.
	mostAnswers = 16
	// freshness is how long an answer is good: it may say more than the event, which was read then.
	freshness = time.Second
)

// Answer returns what render makes of the event. All of a group that ask at about the same time share what it made for
// one of them, if it says that it is good for all. It is nil when ctx ends before.
func (e *Event) Answer(ctx context.Context, group string, render func() (text []byte, isShared bool)) []byte {
	a, isMine := e.answerOf(group)
	switch {
	case a == nil:
		text, _ := render()
		return text
	case isMine:
		return e.answer(group, a, render)
	}
	select {
	case <-a.made:
	default:
		select {
		case <-a.made:
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

// answerOf returns the answer of the group, and whether the caller is to make it; nil when none can be shared.
func (e *Event) answerOf(group string) (a *answer, isMine bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.budget == nil || e.isForgotten {
		return nil, false
	}
	if a = e.answers[group]; a != nil && (a.at.IsZero() || time.Since(a.at) < freshness) {
		return a, false
	}
	if a == nil && len(e.answers) >= mostAnswers {
		return nil, false
	}
	if e.answers == nil {
		e.answers = map[string]*answer{}
	}
	if a != nil {
		e.budget.give(len(a.text))
		e.answered -= len(a.text)
	}
	a = &answer{made: make(chan struct{})}
	e.answers[group] = a
	return a, true
}

func (e *Event) answer(group string, a *answer, render func() ([]byte, bool)) []byte {
	defer close(a.made)
	text, isShared := render()
	e.mu.Lock()
	defer e.mu.Unlock()
	a.at = time.Now()
	if isShared {
		a.text = text
	}
	switch {
	case !isShared || e.isForgotten:
	case e.budget.take(len(text)):
		e.answered += len(text)
	default:
		delete(e.answers, group) // who waits has it all the same
	}
	return text
}

// forget lets go of what was made of the event, for which nobody waits any more.
func (e *Event) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.budget.give(e.size + e.answered)
	e.size, e.answered = 0, 0
	e.answers, e.isForgotten = nil, true
}

// Budget bounds what Logs hold together, in bytes. It is safe for concurrent use.
type Budget struct {
	most int64
	held atomic.Int64
}

// NewBudget returns a budget of so many bytes.
func NewBudget(most int64) *Budget { return &Budget{most: most} }

// take reports false, and charges nothing, when there is not so much left.
func (b *Budget) take(bytes int) bool {
	if b.held.Add(int64(bytes)) > b.most {
		b.give(bytes)
		return false
	}
	return true
}

func (b *Budget) give(bytes int) { b.held.Add(-int64(bytes)) }
