package engine_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/model"
)

func TestFailedModelSavesNothing(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, _ := newTenant(t, store)
	for name, test := range map[string]struct {
		model   modelFunc
		text    string
		options engine.Options
	}{
		"refused": {model: func(context.Context, llm.Request, func(string)) error {
			return &llm.Error{Cause: llm.RateLimited, Status: 429, Message: "the provider answered 429"}
		}, text: "the provider answered 429"},
		"cut off": {model: func(_ context.Context, _ llm.Request, speak func(string)) error {
			speak("Good mor")
			return &llm.Error{Cause: llm.CutOff, Status: 200, Message: "the provider's answer was cut off"}
		}, text: "the provider's answer was cut off"},
		"empty": {model: func(context.Context, llm.Request, func(string)) error { return nil }, text: "empty answer"},
		"too slow": {model: func(ctx context.Context, _ llm.Request, speak func(string)) error {
			speak("Good mor")
			<-ctx.Done()
			return ctx.Err()
		}, text: "did not finish its reply within 20ms", options: engine.Options{ReplyTimeout: 20 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(test.model, test.options)
			chat := start(t, e, tenant)
			_, _, err := send(t.Context(), e, tenant, chat.ID, "Hello")
			require.Contains(t, requireCode(t, model.UpstreamFailed, err), test.text)
			requireUntouched(t, tenant, chat.ID)
			_, messages, err := send(t.Context(), newEngine(offline.New(), engine.Options{}), tenant, chat.ID, "Hello")
			require.NoError(t, err)
			require.Equal(t, int32(1), messages[0].Sequence)
		})
	}
}

func TestReplyIsDroppedWhenItsClientLeaves(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, _ := newTenant(t, store)
	ctx, cancel := context.WithCancel(t.Context())
	e := newEngine(modelFunc(func(ctx context.Context, _ llm.Request, speak func(string)) error {
		speak("Good mor")
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}), engine.Options{})
	chat := start(t, e, tenant)
	_, _, err := send(ctx, e, tenant, chat.ID, "Hello")
	require.ErrorIs(t, err, context.Canceled)
	requireUntouched(t, tenant, chat.ID)
}

func TestConcurrentSendIsRefused(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, companyID := newTenant(t, store)
	release := make(chan struct{})
	slow := modelFunc(func(_ context.Context, _ llm.Request, speak func(string)) error {
		<-release
		speak("Good morning")
		return nil
	})
	one, other := newEngine(slow, engine.Options{}), newEngine(slow, engine.Options{})
	elsewhere := dbtest.Reopen(t, store).Tenant(companyID)
	chat := start(t, one, tenant)

	const sends = 8
	errs := make(chan error, sends)
	for i := range sends {
		e, from := one, tenant
		if i%2 == 1 {
			e, from = other, elsewhere
		}
		go func() {
			_, _, err := send(context.Background(), e, from, chat.ID, "Hello")
			errs <- err
		}()
	}
	for range sends - 1 {
		requireCode(t, model.Conflict, <-errs)
	}
	close(release)
	require.NoError(t, <-errs)
	messages, err := tenant.MessagesAfter(t.Context(), chat.ID, 0)
	require.NoError(t, err)
	require.Len(t, messages, 2)
}

func TestReplyIsDroppedWhenItsChatEnds(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, companyID := newTenant(t, store)
	elsewhere := dbtest.Reopen(t, store).Tenant(companyID)
	var e *engine.Engine
	var chat *model.SimulationChat
	e = newEngine(modelFunc(func(ctx context.Context, _ llm.Request, speak func(string)) error {
		speak("Good mor")
		if _, err := elsewhere.EndSimulationChat(ctx, chat.ID); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}), engine.Options{})
	chat = start(t, e, tenant)
	_, _, err := send(t.Context(), e, tenant, chat.ID, "Hello")
	require.Contains(t, requireCode(t, model.Conflict, err), "has ended")
	after, err := tenant.SimulationChat(t.Context(), chat.ID)
	require.NoError(t, err)
	require.Equal(t, model.SimulationChatStatusEnded, after.Status())
	require.Zero(t, after.LastSequence)
}

func TestFollowersHearThatATurnEndsWithItsChat(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(context.Context, *db.Tenant, *model.SimulationChat) error{
		"ended": func(ctx context.Context, t *db.Tenant, chat *model.SimulationChat) error {
			_, err := t.EndSimulationChat(ctx, chat.ID)
			return err
		},
		"deleted": func(ctx context.Context, t *db.Tenant, chat *model.SimulationChat) error {
			return t.DeleteSimulationChat(ctx, chat.ID)
		},
		"deleted with its agent": func(ctx context.Context, t *db.Tenant, chat *model.SimulationChat) error {
			return t.DeleteAgent(ctx, chat.AgentID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClinic(t, nil)
			var chat *model.SimulationChat
			e := newEngine(modelFunc(func(ctx context.Context, _ llm.Request, speak func(string)) error {
				speak("Good mor")
				if err := end(ctx, c.tenant, chat); err != nil {
					return err
				}
				<-ctx.Done()
				return ctx.Err()
			}), engine.Options{})
			chat = c.start(t, e, nil)
			events := c.follow(t, chat.ID)
			_, _, err := send(t.Context(), e, c.tenant, chat.ID, "Hello")
			require.Error(t, err)
			started := next(events).(model.TurnStarted)
			failed := next(events).(model.TurnFailed)
			require.Equal(t, started.TurnID, failed.TurnID)
			require.Equal(t, err.Error(), failed.Reason)
			if name == "ended" {
				require.IsType(t, model.ChatEnded{}, next(events))
			}
			require.Nil(t, next(events))
		})
	}
}

func TestChatContinuesAfterItsReplicaDies(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, _ := newTenant(t, store)
	e := newEngine(offline.New(), engine.Options{})
	chat := start(t, e, tenant)
	_, err := tenant.BeginChatTurn(t.Context(), chat.ID, time.Microsecond)
	require.NoError(t, err)
	_, messages, err := send(t.Context(), e, tenant, chat.ID, "When do you open?")
	require.NoError(t, err)
	require.Equal(t, int32(1), messages[0].Sequence)
}

func TestStreamedTextIsSeenByOtherReplicas(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, companyID := newTenant(t, store)
	pieces := make(chan string)
	e := newEngine(modelFunc(func(_ context.Context, _ llm.Request, speak func(string)) error {
		for piece := range pieces {
			speak(piece)
		}
		return nil
	}), engine.Options{})
	chat := start(t, e, tenant)
	events, err := dbtest.Reopen(t, store).Tenant(companyID).FollowEvents(t.Context(), chat.ID)
	require.NoError(t, err)
	sent := make(chan error, 1)
	go func() {
		_, _, err := send(context.Background(), e, tenant, chat.ID, "Hello")
		sent <- err
	}()
	// Text is lost if it is generated before the other replica listens.
	ticks := time.NewTicker(5 * time.Millisecond)
	defer ticks.Stop()
	for seen := false; !seen; {
		select {
		case event := <-events:
			if started, ok := event.(model.TurnStarted); ok {
				require.Equal(t, "Hello", started.Text)
				continue
			}
			delta, ok := event.(model.MessageDelta)
			require.True(t, ok, "%T", event)
			require.Equal(t, int32(2), delta.Sequence)
			seen = true
		case <-ticks.C:
			pieces <- "la "
		}
	}
	close(pieces)
	require.NoError(t, <-sent)
}

func TestChatsRunConcurrently(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, _ := newTenant(t, store)
	const chats = 100
	// Every turn waits until all are in progress, so no turn may wait for the model of another.
	var together sync.WaitGroup
	together.Add(chats)
	e := newEngine(modelFunc(func(_ context.Context, _ llm.Request, speak func(string)) error {
		together.Done()
		together.Wait()
		speak("Good morning")
		return nil
	}), engine.Options{})
	agent := newAgent(t, tenant, nil)
	errs := make(chan error, chats)
	for range chats {
		chat, err := e.StartSimulationChat(t.Context(), tenant, model.StartSimulationChatInput{
			AgentID: agent.ID, DataBag: model.JSONObject(`{"clinic":"Lakeside"}`),
		})
		require.NoError(t, err)
		go func() {
			_, _, err := send(context.Background(), e, tenant, chat.ID, "Hello")
			errs <- err
		}()
	}
	for range chats {
		require.NoError(t, <-errs)
	}
}
