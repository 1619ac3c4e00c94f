package notify_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/notify"
	"github.com/agentgraph/agentgraph/db/notify/natstest"
)

func openNATS(t testing.TB, server *natstest.Server) notify.Bus {
	t.Helper()
	bus, err := notify.OpenNATS(notify.NATS{URL: server.URL, Subject: "agentgraph.test",
		Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return bus
}

func TestHubReconnectsToNATS(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t)
	one, other := hubOn(t, openNATS(t, server)), hubOn(t, openNATS(t, server))
	near, far := listening(t, one, ours), listening(t, other, ours)
	settle(t, one, other)
	drain(far)
	for range 3 {
		require.NoError(t, server.Cut())
		dbtest.Receive(t, near.Woken()) // a wake, because signals may have been lost
		dbtest.Receive(t, far.Woken())
		settle(t, one, other)
		drain(near)
		drain(far)
	}

	server.Stop()
	for _, hub := range []*notify.Hub{one, other} {
		require.Eventually(t, func() bool { return !hub.Stats().IsListening }, time.Minute, time.Millisecond)
	}
	one.Wake(ours)
	one.Write(ours, delta(1, 0, "nobody else hears this"))
	dbtest.Receive(t, near.Woken()) // a replica can always wake its own subscriptions
	dbtest.Receive(t, near.Arrived())
	require.Eventually(t, func() bool { return one.Stats().Lost > 0 }, time.Minute, time.Millisecond, "text is not kept")
	server.Run()
	dbtest.Receive(t, far.Woken())
	settle(t, one, other)
	require.Empty(t, far.Pieces())
}

func TestUnsentMessagesAreSentLater(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t)
	one, other := hubOn(t, openNATS(t, server)), hubOn(t, openNATS(t, server))
	far := listening(t, other, ours)
	settle(t, one, other)
	server.Stop()
	require.Eventually(t, func() bool { return !one.Stats().IsListening && !other.Stats().IsListening }, time.Minute,
		time.Millisecond)
	before := one.Stats().Sent
	for range 100 {
		one.Wake(ours)
	}
	drain(far)
	server.Run()
	require.Eventually(t, func() bool { return one.Stats().Sent > before }, time.Minute, time.Millisecond)
	require.LessOrEqual(t, one.Stats().Sent-before, uint64(2), "signals of one key are merged")
	dbtest.Receive(t, far.Woken())
}

func TestUnreachableNATSDelaysNothing(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t)
	server.Stop()
	hub := hubOn(t, openNATS(t, server))
	s := hub.Subscribe(ours)
	hub.Wake(ours)
	dbtest.Receive(t, s.Woken())
	require.False(t, hub.Stats().IsListening)
	server.Run()
	hub.Listening(t.Context())
	dbtest.Receive(t, s.Woken())
}

func TestUnusableNATSIsRefused(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"nats://user:hidden@[", "nats://user:hidden@localhost:port",
		"http://user:hidden@localhost", "nats://"} {
		_, err := notify.OpenNATS(notify.NATS{URL: url, Subject: "agentgraph"})
		require.Error(t, err, url)
		require.NotContains(t, err.Error(), "hidden")
	}
	_, err := notify.OpenNATS(notify.NATS{URL: "nats://localhost:4222", Credentials: t.TempDir() + "/none",
		Subject: "agentgraph"})
	require.Error(t, err)
}
