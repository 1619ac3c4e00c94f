package db_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/live"
	"github.com/agentgraph/agentgraph/model"
)

// counted counts the statements of sweeps, and all others.
type counted struct{ sweeps, others atomic.Int64 }

func (c *counted) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	switch {
	case strings.Contains(data.SQL, "AS has_ended"):
		c.sweeps.Add(1)
	case !strings.HasPrefix(data.SQL, "LISTEN"):
		c.others.Add(1)
	}
	return ctx
}

func (*counted) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func TestIdleFollowersSendNoStatements(t *testing.T) {
	t.Parallel()
	url, statements := dbtest.URL(t), &counted{}
	tenant, first := newSimulation(t, dbtest.Open(t, url, db.Options{}), nil)
	store := dbtest.Open(t, url, db.Options{Tracer: statements})
	followers := store.Tenant(first.CompanyID)
	const chats = 50
	for range chats {
		chat := &model.SimulationChat{AgentID: first.AgentID, DataBag: model.JSONObject("{}"), Warnings: []string{}}
		require.NoError(t, tenant.CreateSimulationChat(t.Context(), chat))
		for range 3 {
			_, err := followers.FollowMessages(t.Context(), chat.ID, 0)
			require.NoError(t, err)
		}
	}
	campaign := newCampaign(t, tenant)
	_, err := followers.FollowCampaignItems(t.Context(), campaign.ID, 0)
	require.NoError(t, err)
	run := newRun(t, tenant)
	runs, err := followers.FollowRuns(t.Context(), run.ExecutionID)
	require.NoError(t, err)
	next(t, runs)

	db.Listen(t.Context(), store)
	sweep := func() {
		above := statements.sweeps.Load() + 2
		require.NoError(t, killListeners(url)) // a replica sweeps everything when it reconnects
		require.Eventually(t, func() bool { return statements.sweeps.Load() > above }, time.Minute, time.Millisecond)
	}
	sweep()
	before, sweeps := statements.others.Load(), statements.sweeps.Load()
	sweep()
	require.LessOrEqual(t, statements.sweeps.Load()-sweeps, int64(9), "one statement for each kind, however many rows")
	require.Equal(t, before, statements.others.Load())
}

func TestMessageIsReadOnceForAllFollowers(t *testing.T) {
	t.Parallel()
	url, statements := dbtest.URL(t), &counted{}
	tenant, chat := newSimulation(t, dbtest.Open(t, url, db.Options{}), nil)
	store := dbtest.Open(t, url, db.Options{Tracer: statements})
	const followers, turns = 200, 10
	var all []<-chan *model.SimulationChatMessage
	for range followers {
		messages, err := store.Tenant(chat.CompanyID).FollowMessages(t.Context(), chat.ID, 0)
		require.NoError(t, err)
		all = append(all, messages)
	}
	db.Listen(t.Context(), store)
	before := statements.others.Load()
	for i := range turns {
		say(t, tenant, chat.ID, fmt.Sprint(2*i+1), fmt.Sprint(2*i+2))
		for n := 2*i + 1; n <= 2*i+2; n++ {
			first, _ := next(t, all[0])
			require.Equal(t, fmt.Sprint(n), first.Text)
			for _, messages := range all[1:] {
				same, _ := next(t, messages)
				require.Same(t, first, same)
			}
		}
	}
	// A turn may signal at its beginning and at its end. Each signal reads the chat and its messages.
	require.LessOrEqual(t, statements.others.Load()-before, int64(4*turns+2))
}

// If a follower requests everything and then does not read, only a bounded part is read ahead.
func TestReplayIsReadAheadWithinBounds(t *testing.T) {
	t.Parallel()
	url, statements := dbtest.URL(t), &counted{}
	tenant, chat := newSimulation(t, dbtest.Open(t, url, db.Options{}), nil)
	const turns, length = 20, 25_000
	for range turns {
		say(t, tenant, chat.ID, strings.Repeat("q", length), strings.Repeat("a", length))
	}
	page, err := tenant.MessagesAfter(t.Context(), chat.ID, 0)
	require.NoError(t, err)
	require.Len(t, page, 3, "64 KiB, and the message that exceeds them")
	page, err = tenant.MessagesAfter(t.Context(), chat.ID, 2*turns)
	require.NoError(t, err)
	require.Empty(t, page)

	store := dbtest.Open(t, url, db.Options{Tracer: statements})
	feeds := make([]*live.Feed, 50)
	for i := range feeds {
		feeds[i] = &live.Feed{}
		_, err := store.Tenant(chat.CompanyID).FollowMessages(live.WithFeed(t.Context(), feeds[i]), chat.ID, 0)
		require.NoError(t, err)
	}
	before := statements.others.Load()
	for range 3 {
		event, err := feeds[0].Next(t.Context())
		require.NoError(t, err)
		require.NotNil(t, event)
	}
	require.False(t, feeds[0].HasPrivateEvents())
	require.EqualValues(t, 1, statements.others.Load()-before)
}
