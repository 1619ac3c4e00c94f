package db

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/agentgraph/agentgraph/db/notify"
)

// revocationSignal is what a replica that revokes a key or a token wakes the others by. It is of no company: who is
// woken forgets what it knows of any.
var revocationSignal = notify.Key{ID: "revocation"}

// revocations counts the API keys and access tokens that were revoked since the process began, on this replica or, as
// far as its signals arrived, on another one.
type revocations struct {
	hub   *notify.Hub
	count atomic.Uint64

	listens sync.Once
	ctx     context.Context
	cancel  context.CancelFunc
	work    sync.WaitGroup
}

func newRevocations(hub *notify.Hub) *revocations {
	r := &revocations{hub: hub}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// Revocations returns a number that changes whenever an API key or an access token may have been revoked. A cache of
// credentials asks for it before reading one, and forgets it when the number changes, or soon: a signal may be lost.
func (s *Store) Revocations() uint64 {
	r := s.revocations
	r.listens.Do(func() { r.work.Go(r.listen) })
	return r.count.Load()
}

func (r *revocations) listen() {
	signals := r.hub.Subscribe(revocationSignal)
	defer signals.Close()
	for {
		select {
		case <-signals.Woken():
			r.count.Add(1)
		case <-r.ctx.Done():
			return
		}
	}
}

// announce tells every replica, and this one at once.
func (r *revocations) announce() {
	r.count.Add(1)
	r.hub.Wake(revocationSignal)
}

func (r *revocations) close() {
	r.listens.Do(func() {}) // nobody begins any more
	r.cancel()
	r.work.Wait()
}
