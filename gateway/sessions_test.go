package gateway_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/model"
)

// revoker is a Revocations whose credentials can all be revoked, with or without a signal.
type revoker struct {
	isRevoked atomic.Bool
	heard     atomic.Uint64
	// failures is how many of the next lookups fail.
	failures atomic.Int32
}

func (r *revoker) Revocations() uint64 { return r.heard.Load() }

func (r *revoker) Revoked(_ context.Context, credentials []model.CredentialRef) ([]model.CredentialRef, error) {
	if r.failures.Load() > 0 {
		r.failures.Add(-1)
		return nil, errors.New("the database cannot be reached")
	}
	if !r.isRevoked.Load() {
		return nil, nil
	}
	return credentials, nil
}

// opened returns an idle socket and an idle stream. Neither receives pings.
func opened(t *testing.T, change ...func(*gateway.Options)) (*front, *client, <-chan event) {
	t.Helper()
	f := start(t, change...)
	stream, _ := f.stream(t, call{method: "POST", path: "/graphql", body: body(t, "subscription { tick(milliseconds: "+
		"60000) }")})
	socket := f.ready(t)
	socket.subscribe("1", "subscription { tick(milliseconds: 60000) }")
	return f, socket, stream
}

func requireEnded(t *testing.T, socket *client, stream <-chan event) {
	t.Helper()
	socket.closes(4403)
	var last event
	for e := range stream {
		if e.name == "next" {
			last = e
		}
	}
	require.Contains(t, last.data, "UNAUTHENTICATED")
}

func TestRevokedKeyEndsOpenOperations(t *testing.T) {
	t.Parallel()
	for name, isHeard := range map[string]bool{"with a signal": true, "without a signal": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &revoker{}
			f, socket, stream := opened(t, func(o *gateway.Options) { o.Revocations = r })
			r.isRevoked.Store(true)
			if isHeard {
				r.heard.Add(1)
			}
			requireEnded(t, socket, stream)
			f.settles(t)
		})
	}
}

func TestRevokedKeyEndsSlowOperations(t *testing.T) {
	t.Parallel()
	r := &revoker{}
	r.isRevoked.Store(true)
	f := start(t, settings(func(s *gateway.Settings) { s.SlowFields = map[string]time.Duration{"slow": time.Minute} }),
		func(o *gateway.Options) { o.Revocations = r })
	err, code := f.post(t, "{ slow(milliseconds: 60000) }").fault(t)
	require.Equal(t, "UNAUTHENTICATED", code)
	require.Equal(t, "the credential is no longer valid", err["message"])
}

func TestFailingRevocationsAreLoggedOnce(t *testing.T) {
	t.Parallel()
	r := &revoker{}
	r.failures.Store(3)
	r.isRevoked.Store(true)
	f, socket, stream := opened(t, func(o *gateway.Options) { o.Revocations = r })
	requireEnded(t, socket, stream)
	require.Equal(t, 1, strings.Count(f.log.String(), "could not check the credentials of open sessions"))
}

func TestOpenOperationsEndWhenTheirTokenExpires(t *testing.T) {
	t.Parallel()
	f, socket, stream := opened(t, func(o *gateway.Options) {
		o.Revocations = &revoker{}
		authenticate := o.Authenticate
		expires := time.Now().Add(time.Second)
		o.Authenticate = func(ctx context.Context, key string) (model.Principal, error) {
			principal, err := authenticate(ctx, key)
			principal.ExpiresAt = expires
			return principal, err
		}
	})
	requireEnded(t, socket, stream)
	f.settles(t)
}

func TestSocketOfRevokedKeyRunsNothing(t *testing.T) {
	t.Parallel()
	f := start(t)
	socket := f.ready(t)
	socket.subscribe("1", "mutation { increment }")
	socket.receive()
	socket.receive()
	f.revoked.Store(true)
	socket.subscribe("2", "mutation { increment }")
	socket.closes(4403)
	require.EqualValues(t, 1, f.root.Increments.Load())
}

func TestKeySessionsAreBounded(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.SessionsPerKey = 2 }))
	first := f.ready(t)
	stream, _ := f.stream(t, call{method: "POST", path: "/graphql", body: body(t, "subscription { tick(milliseconds: "+
		"60000) }")})
	require.Equal(t, event{}, <-stream)
	third := f.dial(t, "X-Api-Key: "+goodKey)
	third.send(`{"type":"connection_init"}`)
	_, _, err := third.Read(t.Context())
	var closed websocket.CloseError
	require.ErrorAs(t, err, &closed)
	require.Equal(t, websocket.CloseError{Code: websocket.StatusTryAgainLater,
		Reason: "the API key has 2 open sockets and streams, the maximum: close some first"}, closed)
	refused := f.do(t, call{method: "POST", path: "/graphql", body: body(t, "subscription { tick }"),
		headers: []string{"Accept: text/event-stream"}})
	require.Contains(t, refused.text, "2 open sockets and streams, the maximum: close some first")
	require.NoError(t, first.CloseNow())
	require.Eventually(t, func() bool {
		again := f.dial(t, "X-Api-Key: "+goodKey)
		again.send(`{"type":"connection_init"}`)
		_, text, err := again.Read(t.Context())
		return err == nil && strings.Contains(string(text), "connection_ack")
	}, patience, 10*time.Millisecond, "a closed socket no longer counts")
}
