package gateway

import (
	"context"
	"sync"
)

// traffic counts the requests under way and stops them from coming in.
type traffic struct {
	// closing ends when draining begins; open streams watch it.
	closing context.Context
	begin   context.CancelFunc

	mu       sync.Mutex
	underWay int
	idle     chan struct{}
}

func newTraffic() traffic {
	closing, begin := context.WithCancel(context.Background())
	return traffic{closing: closing, begin: begin, idle: make(chan struct{})}
}

// enter counts a request in, and reports false when the server is draining.
func (t *traffic) enter() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing.Err() != nil {
		return false
	}
	t.underWay++
	return true
}

func (t *traffic) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.underWay--
	if t.underWay == 0 && t.closing.Err() != nil {
		close(t.idle)
	}
}

// drain lets nothing in any more and waits until nothing is under way or ctx ends. It returns how
// many requests are left.
func (t *traffic) drain(ctx context.Context) int {
	t.mu.Lock()
	if t.closing.Err() == nil {
		t.begin()
		if t.underWay == 0 {
			close(t.idle)
		}
	}
	t.mu.Unlock()
	select {
	case <-t.idle:
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.underWay
}
