package gateway

import (
	"context"
	"slices"
	"sync"
)

// maxInProgress bounds the queries of one socket that run at the same time.
const maxInProgress = 8

// backlog delays the queries of a socket whose client does not receive the responses. While a response is being
// written, at most one other query runs. The rest wait in order of arrival.
type backlog struct {
	mu sync.Mutex
	// making counts the responses that are being made, and unwritten those that are being written. received counts the
	// responses that the client has received, up to maxInProgress.
	making, unwritten, received int
	waiting                     []chan struct{}
}

// hasRoom reports whether one more response may be made. The more responses the client has received, the more may be
// made at the same time.
func (b *backlog) hasRoom() bool {
	return b.making+b.unwritten < 2 || b.unwritten == 0 && b.making < b.received
}

// acquire waits until a response may be made. It returns false if ctx ends first. Otherwise the caller must call
// startWrite and then release.
func (b *backlog) acquire(ctx context.Context) bool {
	b.mu.Lock()
	if len(b.waiting) == 0 && b.hasRoom() {
		b.making++
		b.mu.Unlock()
		return true
	}
	turn := make(chan struct{})
	b.waiting = append(b.waiting, turn)
	b.mu.Unlock()
	select {
	case <-turn:
		return true
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.waiting, turn); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	} else {
		b.making-- // it was admitted at the same moment
		b.admit()
	}
	return false
}

// startWrite records that the response is about to be written.
func (b *backlog) startWrite() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.making--
	b.unwritten++
	b.admit()
}

// release records that the response was written or dropped.
func (b *backlog) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unwritten--
	b.received = min(b.received+1, maxInProgress)
	b.admit()
}

// admit lets waiting requests continue while there is room. The caller holds mu.
func (b *backlog) admit() {
	for len(b.waiting) > 0 && b.hasRoom() {
		b.making++
		close(b.waiting[0])
		b.waiting = b.waiting[1:]
	}
}
