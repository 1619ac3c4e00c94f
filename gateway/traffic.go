package gateway

import (
	"context"
	"sync"
	"sync/atomic"
)

// traffic counts running requests and open sockets, and stops new ones.
type traffic struct {
	// closing is a context that ends when draining begins. Open streams watch it.
	closing       context.Context
	beginDraining context.CancelFunc
	// retiring is set when the process will stop soon but still accepts requests.
	retiring atomic.Bool

	mu         sync.Mutex
	inProgress int
	idle       chan struct{}
}

func newTraffic() *traffic {
	closing, beginDraining := context.WithCancel(context.Background())
	return &traffic{closing: closing, beginDraining: beginDraining, idle: make(chan struct{})}
}

// acquire counts a request. It reports false if the server is draining.
func (t *traffic) acquire() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing.Err() != nil {
		return false
	}
	t.inProgress++
	return true
}

func (t *traffic) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inProgress--
	if t.inProgress == 0 && t.closing.Err() != nil {
		close(t.idle)
	}
}

// drain stops new requests and waits until none is running or ctx ends. It returns how many are still running.
func (t *traffic) drain(ctx context.Context) int {
	t.mu.Lock()
	if t.closing.Err() == nil {
		t.beginDraining()
		if t.inProgress == 0 {
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
	return t.inProgress
}
