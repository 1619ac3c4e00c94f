package db_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func receive[E any](t *testing.T, events <-chan E) (E, bool) {
	t.Helper()
	select {
	case event, open := <-events:
		return event, open
	case <-time.After(time.Minute):
		require.FailNow(t, "nothing was received")
		panic("unreachable")
	}
}

func TestMessageFollowersReceiveEachMessage(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, chat := newSimulation(t, store, nil)
	elsewhere := dbtest.Reopen(t, store).Tenant(chat.CompanyID)
	stranger, _ := newSimulation(t, store, nil)
	say(t, tenant, chat.ID, "One", "Two")

	_, err := tenant.FollowMessages(t.Context(), chat.ID, -1)
	fails(t, err, model.BadInput)
	_, err = stranger.FollowMessages(t.Context(), chat.ID, 0)
	fails(t, err, model.NotFound)
	_, err = stranger.FollowEvents(t.Context(), chat.ID)
	fails(t, err, model.NotFound)

	live, err := elsewhere.FollowMessages(t.Context(), chat.ID, 1)
	require.NoError(t, err)
	for _, want := range []string{"Two", "Three", "Four"} {
		if want == "Three" {
			say(t, tenant, chat.ID, "Three", "Four")
		}
		message, open := receive(t, live)
		require.True(t, open)
		require.Equal(t, want, message.Text)
	}
	_, err = tenant.EndSimulationChat(t.Context(), chat.ID)
	require.NoError(t, err)
	_, open := receive(t, live)
	require.False(t, open, "the stream completes when a client ends the chat")

	ended, err := elsewhere.FollowMessages(t.Context(), chat.ID, 3)
	require.NoError(t, err)
	message, open := receive(t, ended)
	require.True(t, open)
	require.Equal(t, "Four", message.Text)
	_, open = receive(t, ended)
	require.False(t, open)
}

func TestFollowersReceiveLongChatsInOrder(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, chat := newSimulation(t, store, nil)
	const turns = 120 // more messages than one read returns
	for i := range turns {
		say(t, tenant, chat.ID, fmt.Sprint(2*i+1), fmt.Sprint(2*i+2))
	}
	_, err := tenant.EndSimulationChat(t.Context(), chat.ID)
	require.NoError(t, err)
	got, err := read(tenant, chat.ID, 0)
	require.NoError(t, err)
	require.Len(t, got, 2*turns)
}

func TestFollowingEndsWhenTheChatIsDeleted(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	tenant, chat := newSimulation(t, dbtest.Open(t, url, db.Options{}), nil)
	live, err := tenant.FollowMessages(t.Context(), chat.ID, 0)
	require.NoError(t, err)
	signals, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = signals.Close(context.Background()) }()
	_, err = signals.Exec(t.Context(), "LISTEN agentgraph")
	require.NoError(t, err)
	require.NoError(t, tenant.DeleteAgent(t.Context(), chat.AgentID))
	waiting, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for isSignal := false; !isSignal; {
		heard, err := signals.WaitForNotification(waiting)
		require.NoError(t, err, "deleting the agent must signal the followers of its chats")
		isSignal = strings.Contains(heard.Payload, chat.ID)
	}
	_, open := receive(t, live)
	require.False(t, open)
}

func TestEventFollowersReceiveTextAndMessages(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	welcome := "Welcome"
	tenant, chat := newSimulation(t, store, &welcome)
	elsewhere := dbtest.Reopen(t, store).Tenant(chat.CompanyID)
	live, err := elsewhere.FollowEvents(t.Context(), chat.ID)
	require.NoError(t, err)

	// Text is lost if it is written before the replica listens, so the loop writes until some text arrives.
	turn, err := tenant.BeginChatTurn(t.Context(), chat.ID, lease)
	require.NoError(t, err)
	ticks := time.NewTicker(5 * time.Millisecond)
	defer ticks.Stop()
	var first model.SimulationChatEvent
	for first == nil {
		select {
		case event, open := <-live:
			require.True(t, open)
			first = event
		case <-ticks.C:
			turn.Write("…")
		}
	}
	delta, ok := first.(model.MessageDelta)
	require.True(t, ok, "%T", first)
	require.Equal(t, int32(3), delta.Sequence)
	turn.Write("Good")
	turn.Write("bye")
	// Text that is still on its way when the message is read is omitted, so the loop waits for all text.
	text := delta.Text
	for !strings.HasSuffix(text, "Goodbye") {
		event, _ := receive(t, live)
		delta, ok := event.(model.MessageDelta)
		require.True(t, ok, "%T", event)
		text += delta.Text
	}
	message, reply := messages("Bye", "Goodbye")
	reason := "all is said"
	reply.IsConversationEnded, reply.EndReason = true, &reason
	ended, err := turn.Finish(t.Context(), message, reply, nil)
	require.NoError(t, err)

	var rest []model.SimulationChatEvent
	for event := range live {
		rest = append(rest, event)
	}
	written, err := tenant.MessagesAfter(t.Context(), chat.ID, 1)
	require.NoError(t, err)
	require.Equal(t, []model.SimulationChatEvent{
		model.MessageWritten{Message: written[0]}, model.MessageWritten{Message: written[1]},
		model.ChatEnded{EndedAt: *ended.EndedAt, EndReason: &reason},
	}, rest)

	late, err := tenant.FollowEvents(t.Context(), chat.ID)
	require.NoError(t, err)
	event, open := receive(t, late)
	require.True(t, open)
	require.IsType(t, model.ChatEnded{}, event)
	_, open = receive(t, late)
	require.False(t, open)
}

func TestEventFollowersReceiveSeveralTurns(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, chat := newSimulation(t, store, nil)
	live, err := dbtest.Reopen(t, store).Tenant(chat.CompanyID).FollowEvents(t.Context(), chat.ID)
	require.NoError(t, err)
	const turns = 20
	for range turns {
		turn, err := tenant.BeginChatTurn(t.Context(), chat.ID, lease)
		require.NoError(t, err)
		turn.Write("text")
		message, reply := messages("text", "text")
		_, err = turn.Finish(t.Context(), message, reply, nil)
		require.NoError(t, err)
	}
	_, err = tenant.EndSimulationChat(t.Context(), chat.ID)
	require.NoError(t, err)
	written := int32(0)
	for event := range live {
		switch event := event.(type) {
		case model.MessageDelta:
			require.Equal(t, written+2, event.Sequence)
		case model.MessageWritten:
			written++
			require.Equal(t, written, event.Message.Sequence)
		}
	}
	require.Equal(t, int32(2*turns), written)
}

func TestEventFollowersDetectFailedTurns(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, chat := newSimulation(t, store, nil)
	elsewhere := dbtest.Reopen(t, store)
	live, err := elsewhere.Tenant(chat.CompanyID).FollowEvents(t.Context(), chat.ID)
	require.NoError(t, err)
	db.Listen(t.Context(), elsewhere) // text that is written before the replica listens would be lost
	// A client joins the pieces of each attempt, and detects gaps.
	texts := map[string]string{}
	until := func(seen func(model.SimulationChatEvent) bool) {
		for {
			event, open := receive(t, live)
			require.True(t, open)
			if delta, ok := event.(model.MessageDelta); ok {
				require.Equal(t, int32(2), delta.Sequence)
				require.EqualValues(t, utf8.RuneCountInString(texts[delta.TurnID]), delta.Offset)
				texts[delta.TurnID] += delta.Text
			}
			if seen(event) {
				return
			}
		}
	}
	attempt := func(pieces ...string) *db.ChatTurn {
		turn, err := tenant.BeginChatTurn(t.Context(), chat.ID, lease)
		require.NoError(t, err)
		for _, piece := range pieces {
			turn.Write(piece)
		}
		until(func(model.SimulationChatEvent) bool { return texts[turn.ID] == strings.Join(pieces, "") })
		return turn
	}
	failed := attempt("Gr", "üß")
	require.NoError(t, failed.Release(t.Context(), nil))
	why := model.TurnFailed{TurnID: failed.ID, MessageSequence: 1, Reason: "the model failed"}
	failed.Announce(why)
	until(func(event model.SimulationChatEvent) bool { return event == why })
	require.NoError(t, attempt("Gu").Release(t.Context(), nil)) // as if its process had died without an announcement
	kept := attempt("Guten ", "Täg")
	message, reply := messages("Hello", "Guten Täg")
	_, err = kept.Finish(t.Context(), message, reply, nil)
	require.NoError(t, err)
	until(func(event model.SimulationChatEvent) bool {
		written, ok := event.(model.MessageWritten)
		return ok && written.Message.Sequence == 2
	})
	require.Len(t, texts, 3)
}

// The process of the turn has died, so nobody announces its failure.
func TestEndOfAChatEndsItsAbandonedTurn(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*db.Tenant, string) error{
		"ended": func(tenant *db.Tenant, id string) error {
			_, err := tenant.EndSimulationChat(t.Context(), id)
			return err
		},
		"deleted": func(tenant *db.Tenant, id string) error { return tenant.DeleteSimulationChat(t.Context(), id) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := dbtest.New(t)
			tenant, chat := newSimulation(t, store, nil)
			live, err := tenant.FollowEvents(t.Context(), chat.ID)
			require.NoError(t, err)
			db.Listen(t.Context(), store)
			turn, err := tenant.BeginChatTurn(t.Context(), chat.ID, lease)
			require.NoError(t, err)
			turn.Write("Good mor")
			event, _ := receive(t, live)
			require.IsType(t, model.MessageDelta{}, event)
			require.NoError(t, end(tenant, chat.ID))
			event, _ = receive(t, live)
			require.Equal(t, model.TurnFailed{TurnID: turn.ID, MessageSequence: 1, Reason: "the chat was " + name}, event)
			if name == "ended" {
				event, _ = receive(t, live)
				require.IsType(t, model.ChatEnded{}, event)
			}
			_, open := receive(t, live)
			require.False(t, open)
		})
	}
}

// This test is not parallel: it inspects every goroutine.
func TestFollowersEndAllGoroutines(t *testing.T) {
	url := dbtest.URL(t)
	before := goleak.IgnoreCurrent()
	store, err := db.Open(t.Context(), url, db.Options{})
	require.NoError(t, err)
	tenant, chat := newSimulation(t, store, nil)
	say(t, tenant, chat.ID, "One", "Two")
	ctx, cancel := context.WithCancel(t.Context())
	for range 10 {
		_, err := tenant.FollowMessages(ctx, chat.ID, 0) // nobody reads the channel
		require.NoError(t, err)
		_, err = tenant.FollowEvents(ctx, chat.ID)
		require.NoError(t, err)
	}
	cancel()
	store.Close()
	goleak.VerifyNone(t, before)
}
