package db

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/agentgraph/agentgraph/db/notify"
)

// revocationSignal is the signal of a replica that revokes a key or a token. It belongs to no company: a receiver
// drops all its cached credentials.
var revocationSignal = notify.Key{ID: "revocation"}

// revocations counts the API keys and access tokens that were revoked since the process started, on this replica or,
// if the signal arrived, on another one.
type revocations struct {
	hub   *notify.Hub
	count atomic.Uint64

	listenOnce sync.Once
	ctx        context.Context
	cancel     context.CancelFunc
	work       sync.WaitGroup
}

func newRevocations(hub *notify.Hub) *revocations {
	r := &revocations{hub: hub}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// Revocations returns a number that changes whenever an API key or an access token may have been revoked. A cache of
// credentials reads it before reading a credential, and drops the credential when the number changes. The cache must
// also expire, because a signal can be lost.
func (s *Store) Revocations() uint64 {
	r := s.revocations
	r.listenOnce.Do(func() { r.work.Go(r.listen) })
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

// announce signals every replica, and this one immediately.
func (r *revocations) announce() {
	r.count.Add(1)
	r.hub.Wake(revocationSignal)
}

func (r *revocations) close() {
	r.listenOnce.Do(func() {}) // no later call starts listening
	r.cancel()
	r.work.Wait()
}
