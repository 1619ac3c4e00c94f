package db_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/notify/natstest"
	"github.com/agentgraph/agentgraph/model"
)

// lossy is a network that loses about half of the notifications.
type lossy struct{ sent, lost atomic.Int64 }

func (l *lossy) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if !strings.Contains(data.SQL, "pg_notify") {
		return ctx
	}
	if rand.N(2) == 0 {
		l.sent.Add(1)
		return ctx
	}
	l.lost.Add(1)
	lost, cancel := context.WithCancel(ctx)
	cancel()
	return lost
}

func (*lossy) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// killListeners breaks the connection on which each replica receives signals.
func killListeners(url string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND query LIKE 'LISTEN %'`)
	return err
}

// tortureTurns is the number of turns of the chat that is followed while the bus is cut.
const tortureTurns = 150

// write completes turns until the chat has tortureTurns of them. The last turn ends the chat. Sometimes it cuts the
// bus.
func write(tenant *db.Tenant, chatID string, cut func() error) error {
	ctx := context.Background()
	for {
		turn, err := tenant.BeginChatTurn(ctx, chatID, lease)
		var known *model.Error
		if errors.As(err, &known) && known.Code == model.Conflict {
			if strings.Contains(known.Message, "ended") {
				return nil
			}
			continue
		}
		if err != nil {
			return err
		}
		if rand.N(10) == 0 { // released, as when the model fails
			if err := turn.Release(ctx, nil); err != nil {
				return err
			}
			continue
		}
		number := turn.Chat.LastSequence/2 + 1
		message, reply := messages(fmt.Sprintf("question %d", number), fmt.Sprintf("answer %d", number))
		turn.Write(reply.Text)
		reply.IsConversationEnded = number == tortureTurns
		if _, err := turn.Finish(ctx, message, reply, nil); err != nil {
			return err
		}
		if number%40 == 0 {
			if err := cut(); err != nil {
				return err
			}
		}
	}
}

// read follows the chat to its end. As often as cuts says, it stops after a few messages and reconnects.
func read(tenant *db.Tenant, chatID string, cuts int) ([]*model.SimulationChatMessage, error) {
	var got []*model.SimulationChatMessage
	for {
		ctx, cancel := context.WithCancel(context.Background())
		live, err := tenant.FollowMessages(ctx, chatID, int32(len(got)))
		if err != nil {
			cancel()
			return nil, err
		}
		cut := 1 + rand.N(3)
		for message := range live {
			got = append(got, message)
			if cut--; cut == 0 && cuts > 0 {
				break
			}
		}
		cancel()
		if cut > 0 || cuts == 0 {
			return got, nil
		}
		cuts--
	}
}

func TestMessagesArriveOnceAndInOrder(t *testing.T) {
	t.Parallel()
	t.Run("over Postgres, which loses half of them", func(t *testing.T) {
		t.Parallel()
		url := dbtest.URL(t)
		network := &lossy{}
		options := db.Options{Tracer: network}
		torture(t, url, options, func() error { return killListeners(url) })
		require.Positive(t, network.lost.Load())
		require.Positive(t, network.sent.Load())
	})
	t.Run("over NATS", func(t *testing.T) {
		t.Parallel()
		server := natstest.Start(t)
		torture(t, dbtest.URL(t),
			db.Options{NATS: &db.NATS{URL: server.URL, Subject: "agentgraph", Log: slog.New(slog.DiscardHandler)}}, server.Cut)
	})
}

// torture lets two replicas write a chat and follow it while the bus between them is cut repeatedly.
func torture(t *testing.T, url string, options db.Options, cut func() error) {
	one, other := dbtest.Open(t, url, options), dbtest.Open(t, url, options)
	tenant, chat := newSimulation(t, one, nil)
	elsewhere := other.Tenant(chat.CompanyID)

	var all sync.WaitGroup
	errs := make(chan error, 8)
	for _, writer := range []*db.Tenant{tenant, elsewhere, tenant} {
		all.Go(func() { errs <- write(writer, chat.ID, cut) })
	}
	got := make([][]*model.SimulationChatMessage, 4)
	for i, reader := range []struct {
		tenant *db.Tenant
		cuts   int
	}{{tenant, 0}, {elsewhere, 0}, {tenant, 100}, {elsewhere, 100}} {
		all.Go(func() {
			var err error
			got[i], err = read(reader.tenant, chat.ID, reader.cuts)
			errs <- err
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	for reader, messages := range got {
		require.Len(t, messages, 2*tortureTurns, "reader %d", reader)
		for i, message := range messages {
			require.Equal(t, int32(i+1), message.Sequence, "reader %d", reader)
			require.Equal(t, fmt.Sprintf("%s %d", []string{"question", "answer"}[i%2], i/2+1), message.Text)
		}
		require.True(t, messages[len(messages)-1].IsConversationEnded)
	}
}
