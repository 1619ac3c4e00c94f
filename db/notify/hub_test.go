package notify_test

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/notify"
	"github.com/agentgraph/agentgraph/db/notify/natstest"
	"github.com/agentgraph/agentgraph/model"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }

var (
	ours   = notify.Key{CompanyID: "company_1", ID: "chat_1"}
	theirs = notify.Key{CompanyID: "company_2", ID: "chat_1"}
)

// onEachBus runs the test on Postgres and on NATS. All hubs that the test opens share one bus.
func onEachBus(t *testing.T, test func(t *testing.T, open func(*testing.T) *notify.Hub)) {
	t.Run("Postgres", func(t *testing.T) {
		t.Parallel()
		url := dbtest.URL(t)
		test(t, func(t *testing.T) *notify.Hub { return openHub(t, url) })
	})
	t.Run("NATS", func(t *testing.T) {
		t.Parallel()
		server := natstest.Start(t)
		test(t, func(t *testing.T) *notify.Hub { return hubOn(t, openNATS(t, server)) })
	})
}

func openPool(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	config.MaxConns = 2
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(t, err)
	return pool
}

func hubOn(t *testing.T, bus notify.Bus) *notify.Hub {
	hub := notify.New(bus)
	t.Cleanup(hub.Close)
	return hub
}

// unchanged returns its argument, for pools that do not depend on the context.
func unchanged(ctx context.Context) context.Context { return ctx }

// openHub returns a hub on a bus of Postgres.
func openHub(t *testing.T, url string) *notify.Hub {
	t.Helper()
	pool := openPool(t, url)
	t.Cleanup(pool.Close)
	return hubOn(t, notify.Postgres(pool, unchanged))
}

// delta returns a piece of the first attempt at a message.
func delta(sequence int32, offset int, text string) model.MessageDelta {
	return model.MessageDelta{Sequence: sequence, TurnID: "turn_1", Offset: int32(offset), Text: text}
}

// listening subscribes and waits until the replica listens.
func listening(t *testing.T, hub *notify.Hub, key notify.Key) *notify.Subscription {
	t.Helper()
	s := hub.Subscribe(key)
	t.Cleanup(s.Close)
	// A replica that starts to listen wakes every subscription. A later subscription needs its own signal.
	hub.Wake(key)
	dbtest.Receive(t, s.Woken())
	return s
}

// settle waits until all earlier signals have been delivered. It writes repeatedly, because text to a new subscription
// may be lost.
func settle(t testing.TB, from, to *notify.Hub) {
	t.Helper()
	key := notify.Key{CompanyID: "company_0", ID: rand.Text()} // signals of an earlier key may still arrive
	s := to.Subscribe(key)
	defer s.Close()
	require.Eventually(t, func() bool {
		from.Write(key, delta(1, 0, "settled"))
		return len(s.Pieces()) > 0
	}, time.Minute, 10*time.Millisecond)
}

// reader returns the pieces of a subscription one by one.
func reader(t *testing.T, s *notify.Subscription) func() notify.Piece {
	var held []notify.Piece
	return func() notify.Piece {
		t.Helper()
		for len(held) == 0 {
			dbtest.Receive(t, s.Arrived())
			held = s.Pieces()
		}
		piece := held[0]
		held = held[1:]
		return piece
	}
}

// drain discards a pending signal.
func drain(s *notify.Subscription) {
	select {
	case <-s.Woken():
	default:
	}
}

func requireSilent[E any](t *testing.T, events <-chan E) {
	t.Helper()
	select {
	case event := <-events:
		require.FailNow(t, "something was received", "%v", event)
	default:
	}
}

// This test comes first and is not parallel: it inspects every goroutine.
func TestCloseEndsAllGoroutines(t *testing.T) {
	url, server := dbtest.URL(t), natstest.Start(t)
	before := goleak.IgnoreCurrent()
	pool := openPool(t, url)
	for _, bus := range []notify.Bus{notify.Postgres(pool, unchanged), openNATS(t, server)} {
		hub := notify.New(bus)
		listening(t, hub, ours)
		hub.Close()
		hub.Close()
		hub.Wake(ours)
		hub.Subscribe(theirs).Close()
	}
	pool.Close()
	require.NoError(t, server.Cut()) // the server releases the resources of a client with some delay
	goleak.VerifyNone(t, before)
}

func TestSignalWakesEveryReplicaOfItsTopic(t *testing.T) {
	t.Parallel()
	onEachBus(t, func(t *testing.T, open func(*testing.T) *notify.Hub) {
		one := open(t)
		other := open(t)
		near, far := listening(t, one, ours), listening(t, other, ours)
		foreign := listening(t, other, theirs)
		settle(t, one, other)
		settle(t, other, one)
		for _, s := range []*notify.Subscription{near, far, foreign} {
			drain(s)
		}

		one.Wake(ours)
		dbtest.Receive(t, near.Woken())
		dbtest.Receive(t, far.Woken())
		settle(t, one, other)
		requireSilent(t, foreign.Woken())

		for range 100 {
			one.Wake(theirs)
		}
		dbtest.Receive(t, foreign.Woken())
		settle(t, one, other)
		requireSilent(t, far.Woken())
		require.Empty(t, foreign.Pieces())
	})
}

func TestTextKeepsItsOrder(t *testing.T) {
	t.Parallel()
	onEachBus(t, func(t *testing.T, open func(*testing.T) *notify.Hub) {
		from := open(t)
		to := open(t)
		s := listening(t, to, ours)
		foreign := listening(t, to, theirs)

		const words = 2_000
		var want strings.Builder
		before := from.Stats().Sent
		for range words {
			const word = "Grüße \"\x00<\u2028😀> "
			from.Write(ours, delta(7, utf8.RuneCountInString(want.String()), word))
			want.WriteString(word)
		}
		from.Wake(ours)

		var got strings.Builder
		next := reader(t, s)
		for got.Len() < want.Len() {
			delta := next().Event.(model.MessageDelta)
			require.Equal(t, int32(7), delta.Sequence)
			require.EqualValues(t, utf8.RuneCountInString(got.String()), delta.Offset, "each piece has the right offset")
			got.WriteString(delta.Text)
		}
		require.Equal(t, want.String(), got.String())
		dbtest.Receive(t, s.Woken())
		require.Empty(t, s.Pieces())
		require.Empty(t, foreign.Pieces())
		require.Less(t, from.Stats().Sent-before, uint64(words/10), "text is gathered before it is sent")
	})
}

func TestTextsOfSeveralMessagesStaySeparate(t *testing.T) {
	t.Parallel()
	onEachBus(t, func(t *testing.T, open func(*testing.T) *notify.Hub) {
		hub := open(t)
		s := listening(t, hub, ours)
		// The pieces are equal. Postgres would merge equal notifications.
		hub.Write(ours, delta(3, 0, "ha"))
		hub.Wake(ours)
		hub.Write(ours, delta(3, 0, "ha"))
		hub.Write(ours, delta(5, 0, "ha"))
		again := delta(5, 0, "ha")
		again.TurnID = "turn_2"
		hub.Write(ours, again)
		again.Offset = 3 // one character before it was dropped
		hub.Write(ours, again)
		var got string
		var deltas []model.MessageDelta
		next := reader(t, s)
		for got != "hahahahaha" {
			delta := next().Event.(model.MessageDelta)
			got += delta.Text
			deltas = append(deltas, delta)
		}
		require.Equal(t, []model.MessageDelta{
			delta(5, 0, "ha"), {Sequence: 5, TurnID: "turn_2", Text: "ha"}, {Sequence: 5, TurnID: "turn_2", Offset: 3,
				Text: "ha"},
		}, deltas[len(deltas)-3:])
		require.Equal(t, int32(3), deltas[0].Sequence)
	})
}

func TestSlowReaderDelaysNoOtherReader(t *testing.T) {
	t.Parallel()
	onEachBus(t, func(t *testing.T, open func(*testing.T) *notify.Hub) {
		from := open(t)
		to := open(t)
		slow := listening(t, to, ours)
		settle(t, from, to) // earlier text may be lost
		long := strings.Repeat("x", 1_000)
		for i := range 400 {
			from.Write(ours, delta(1, i*len(long), long))
		}
		from.Announce(ours, 1, model.ToolCallStarted{ID: "call_1", Kind: model.ToolCallKindTool})
		settle(t, from, to)
		pieces := slow.Pieces()
		require.Less(t, len(pieces), 400)
		for _, piece := range pieces[:len(pieces)-1] {
			require.Equal(t, long, piece.Event.(model.MessageDelta).Text)
		}
		require.Equal(t, "call_1", pieces[len(pieces)-1].Event.(model.ToolCallStarted).ID, "text is dropped, calls are not")
	})
}

func TestUnsentTextIsBounded(t *testing.T) {
	t.Parallel()
	onEachBus(t, func(t *testing.T, open func(*testing.T) *notify.Hub) {
		hub := open(t)
		s := listening(t, hub, ours)
		settle(t, hub, hub)
		drain(s)
		hub.Write(ours, delta(1, 0, strings.Repeat("x", 2<<20)))
		hub.Wake(ours)
		dbtest.Receive(t, s.Woken())
		settle(t, hub, hub)
		require.Empty(t, s.Pieces())
	})
}

func TestHubListensAgainAfterAnOutage(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	hub := openHub(t, url)
	s := listening(t, hub, ours)
	settle(t, hub, hub)
	drain(s)

	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	for range 3 {
		// Anything that is not a signal is ignored.
		_, err = conn.Exec(t.Context(), "NOTIFY agentgraph, 'not a signal'")
		require.NoError(t, err)
		var killed int
		err = conn.QueryRow(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE datname = current_database() AND query LIKE 'LISTEN %'`).Scan(&killed)
		require.NoError(t, err)
		require.Positive(t, killed)
		dbtest.Receive(t, s.Woken()) // a wake, because signals may have been lost
		hub.Wake(ours)
		dbtest.Receive(t, s.Woken())
	}
}

func TestCallsAreAnnouncedInOrderWithText(t *testing.T) {
	t.Parallel()
	onEachBus(t, func(t *testing.T, open func(*testing.T) *notify.Hub) {
		hub := open(t)
		key := notify.Key{CompanyID: "company_1", ID: "chat_1"}
		s := listening(t, hub, key)
		result := strings.Repeat("é", 5_000)
		long := model.TurnStarted{TurnID: "turn_1", MessageSequence: 2, Text: strings.Repeat("\x01é<\"", 1_000)}
		hub.Announce(key, 3, long)
		hub.Write(key, delta(3, 0, "before"))
		hub.Announce(key, 3, model.ToolCallStarted{ID: "call_1", Kind: model.ToolCallKindTool, TechnicalName: "find",
			Arguments: model.JSONObject(`{"a":"<1>"}`)})
		hub.Announce(key, 3, model.ToolCallStarted{ID: "call_2", Kind: model.ToolCallKindSubAgent,
			Arguments: model.JSONObject(`{"a":"` + strings.Repeat("<", 5_000) + `"}`)})
		hub.Announce(key, 3, model.ToolCallFinished{ID: "call_1", Kind: model.ToolCallKindTool, Result: &result,
			DurationMs: 7})
		hub.Announce(key, 3, model.TurnFailed{TurnID: "turn_1", Reason: strings.Repeat("é", 5_000)})
		hub.Write(key, delta(3, 6, "after"))

		next := reader(t, s)
		require.Equal(t, long, next().Event, "the contact's text is complete")
		require.Equal(t, delta(3, 0, "before"), next().Event)
		started := next()
		require.EqualValues(t, 3, started.Sequence)
		require.JSONEq(t, `{"a":"<1>"}`, string(started.Event.(model.ToolCallStarted).Arguments))
		require.Nil(t, next().Event.(model.ToolCallStarted).Arguments, "too large to announce")
		finished := next().Event.(model.ToolCallFinished)
		require.Equal(t, strings.Repeat("é", 500), *finished.Result)
		require.EqualValues(t, 7, finished.DurationMs)
		require.Equal(t, model.TurnFailed{TurnID: "turn_1", Reason: strings.Repeat("é", 500)}, next().Event)
		require.Equal(t, delta(3, 6, "after"), next().Event)
	})
}
