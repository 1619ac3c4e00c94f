package db_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func TestChatHasOneTurnAtATime(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	replica := dbtest.Reopen(t, store)
	tenant, chat := newSimulation(t, store, nil)
	elsewhere := replica.Tenant(chat.CompanyID)

	const attempts = 16
	var turns [attempts]*db.ChatTurn
	var errs [attempts]error
	var all sync.WaitGroup
	for i := range attempts {
		all.Go(func() {
			from := []*db.Tenant{tenant, elsewhere}[i%2]
			turns[i], errs[i] = from.BeginChatTurn(context.Background(), chat.ID, lease)
		})
	}
	all.Wait()
	var winner *db.ChatTurn
	for i, err := range errs {
		if err == nil {
			require.Nil(t, winner, "two turns hold the chat")
			winner = turns[i]
			continue
		}
		fails(t, err, model.Conflict)
	}
	require.NotNil(t, winner)
	held, err := tenant.SimulationChat(t.Context(), chat.ID)
	require.NoError(t, err)
	require.Equal(t, model.SimulationChatStatusReplying, held.Status())

	require.NoError(t, winner.Release(t.Context(), nil))
	free, err := tenant.SimulationChat(t.Context(), chat.ID)
	require.NoError(t, err)
	require.Equal(t, model.SimulationChatStatusOpen, free.State)
	require.Zero(t, free.LastSequence)
	say(t, elsewhere, chat.ID, "Hello", "Good morning")
}

func TestTurnOfUnknownChatIsNotFound(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, _ := newSimulation(t, store, nil)
	_, foreign := newSimulation(t, store, nil)
	for _, id := range []string{"simchat_unknown", foreign.ID} {
		_, err := tenant.BeginChatTurn(t.Context(), id, lease)
		fails(t, err, model.NotFound)
	}
}

func TestAbandonedTurnCannotFinish(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, chat := newSimulation(t, store, nil)
	elsewhere := dbtest.Reopen(t, store).Tenant(chat.CompanyID)

	// A lease that ends immediately simulates a process that died when it began the turn.
	dead, err := tenant.BeginChatTurn(t.Context(), chat.ID, time.Microsecond)
	require.NoError(t, err)
	alive, err := elsewhere.BeginChatTurn(t.Context(), chat.ID, lease)
	require.NoError(t, err)
	require.Zero(t, alive.Chat.LastSequence, "no partial turn was stored")

	// A sender that was wrongly considered dead may still try to finish.
	message, reply := messages("Late", "Too late")
	_, err = dead.Finish(t.Context(), message, reply, nil)
	fails(t, err, model.Conflict)
	require.NoError(t, dead.Release(t.Context(), nil))

	message, reply = messages("Hello", "Good morning")
	after, err := alive.Finish(t.Context(), message, reply, nil)
	require.NoError(t, err)
	require.Equal(t, model.SimulationChatStatusOpen, after.Status())
	all, err := tenant.MessagesAfter(t.Context(), chat.ID, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"Hello", "Good morning"}, textsOf(all))
}

func TestTurnKeepsItsLeaseAlive(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, chat := newSimulation(t, store, nil)
	turn, err := tenant.BeginChatTurn(t.Context(), chat.ID, 3*time.Second)
	require.NoError(t, err)
	ctx, stop := turn.KeepAlive(t.Context())
	require.Eventually(t, func() bool {
		now, err := tenant.SimulationChat(context.Background(), chat.ID)
		return err == nil && now.ReplyUntil.After(turn.Chat.ReplyUntil.Add(500*time.Millisecond))
	}, 30*time.Second, 20*time.Millisecond)
	require.NoError(t, ctx.Err())
	stop()
	require.Equal(t, context.Canceled, context.Cause(ctx))
	require.NoError(t, turn.Release(t.Context(), nil))
}

func TestTurnStopsWhenItsChatEnds(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	replica := dbtest.Reopen(t, store)
	tenant, chat := newSimulation(t, store, nil)
	turn, err := tenant.BeginChatTurn(t.Context(), chat.ID, lease)
	require.NoError(t, err)
	ctx, stop := turn.KeepAlive(t.Context())
	defer stop()

	_, err = replica.Tenant(chat.CompanyID).EndSimulationChat(t.Context(), chat.ID)
	require.NoError(t, err)
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		require.Fail(t, "the turn continues")
	}
	fails(t, context.Cause(ctx), model.Conflict)

	message, reply := messages("Hello", "Good morning")
	_, err = turn.Finish(t.Context(), message, reply, nil)
	fails(t, err, model.Conflict)
	require.NoError(t, turn.Release(t.Context(), nil))
	after, err := tenant.SimulationChat(t.Context(), chat.ID)
	require.NoError(t, err)
	require.Equal(t, model.SimulationChatStatusEnded, after.Status())
	require.Zero(t, after.LastSequence)
}

func TestTurnCanEndItsChat(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	welcome := "Welcome"
	tenant, chat := newSimulation(t, store, &welcome)
	turn, err := tenant.BeginChatTurn(t.Context(), chat.ID, lease)
	require.NoError(t, err)
	message, reply := messages("Bye", "Goodbye")
	reason := "all is said"
	reply.IsConversationEnded, reply.EndReason = true, &reason
	after, err := turn.Finish(t.Context(), message, reply, nil)
	require.NoError(t, err)
	require.Equal(t, model.SimulationChatStatusEnded, after.Status())
	require.Equal(t, &reason, after.EndReason)
	require.True(t, reply.Timestamp.Equal(*after.EndedAt))
	require.Equal(t, int32(3), reply.Sequence)

	_, err = turn.Finish(t.Context(), message, reply, nil)
	fails(t, err, model.Conflict)
}

// If a client does not learn that a turn was saved, it releases the turn. That does not change the saved turn.
func TestCallsOfASavedTurnStaySaved(t *testing.T) {
	t.Parallel()
	tenant, chat := newSimulation(t, dbtest.New(t), nil)
	turn, err := tenant.BeginChatTurn(t.Context(), chat.ID, lease)
	require.NoError(t, err)
	calls := []*model.ToolCall{{
		ID: model.NewID("call"), Kind: model.ToolCallKindTool, TechnicalName: "find", Arguments: model.JSONObject("{}"),
		Result: new("found"), Mocked: true, StartedAt: time.Now(),
	}}
	message, reply := messages("Hello", "Good morning")
	_, err = turn.Finish(t.Context(), message, reply, calls)
	require.NoError(t, err)
	require.NoError(t, turn.Release(t.Context(), calls))
	kept, err := tenant.ToolCallsOfChats(t.Context(), []string{chat.ID})
	require.NoError(t, err)
	require.Len(t, kept, 1)
	require.True(t, kept[0].IsTurnKept)
	after, err := tenant.SimulationChat(t.Context(), chat.ID)
	require.NoError(t, err)
	require.EqualValues(t, 2, after.LastSequence)
}

// A turn that lost its claim while a call waited does not overwrite the outcome that the next turn saved for the call.
func TestLateTurnKeepsTheCallsOfTheNext(t *testing.T) {
	t.Parallel()
	tenant, chat := newSimulation(t, dbtest.New(t), nil)
	ask := func() *model.ToolCall {
		return &model.ToolCall{ID: "call_1", Kind: model.ToolCallKindTool, TechnicalName: "refund",
			Arguments: model.JSONObject("{}"), StartedAt: time.Now(), Real: new(false)}
	}
	late, err := tenant.BeginChatTurn(t.Context(), chat.ID, time.Millisecond)
	require.NoError(t, err)
	waiting := ask()
	require.NoError(t, late.RequestApproval(t.Context(), waiting, "Refund me"))
	_, err = tenant.AnswerToolApproval(t.Context(), model.AnswerToolApprovalInput{ToolCallID: "call_1", IsApproved: true})
	require.NoError(t, err)

	next, err := tenant.BeginChatTurn(t.Context(), chat.ID, lease)
	require.NoError(t, err)
	made := ask()
	require.NoError(t, next.RequestApproval(t.Context(), made, "Refund me"))
	require.NoError(t, next.BeginCall(t.Context(), made))
	made.Real, made.Result = new(true), new("refunded")
	message, reply := messages("Refund me", "Done.")
	_, err = next.Finish(t.Context(), message, reply, []*model.ToolCall{made})
	require.NoError(t, err)

	waiting.Error = new("the turn ended before the call did")
	require.NoError(t, late.Release(t.Context(), []*model.ToolCall{waiting}))
	kept, err := tenant.ToolCallsOfChats(t.Context(), []string{chat.ID})
	require.NoError(t, err)
	require.Len(t, kept, 1)
	require.Nil(t, kept[0].Error)
	require.Equal(t, model.ToolCallApprovalApproved, *kept[0].Approval)
	require.Equal(t, "refunded", *kept[0].Result)
	require.True(t, kept[0].IsReal())
}

// Each turn records its cost once, however it ends, even if it has lost its claim or does not learn that it was saved.
func TestEachTurnRecordsItsCostOnce(t *testing.T) {
	t.Parallel()
	tenant, chat := newSimulation(t, dbtest.New(t), nil)
	begin := func(lease time.Duration) *db.ChatTurn {
		turn, err := tenant.BeginChatTurn(t.Context(), chat.ID, lease)
		require.NoError(t, err)
		turn.Spent = spentNow(chat.AgentID, 5)
		return turn
	}
	late := begin(time.Millisecond)
	require.Eventually(t, func() bool {
		turn, err := tenant.BeginChatTurn(t.Context(), chat.ID, lease)
		return err == nil && turn.Release(t.Context(), nil) == nil
	}, 10*time.Second, time.Millisecond)
	require.NoError(t, late.Release(t.Context(), nil))
	require.NoError(t, begin(lease).Suspend(t.Context(), nil))
	saved := begin(lease)
	message, reply := messages("Hello", "Good morning")
	_, err := saved.Finish(t.Context(), message, reply, nil)
	require.NoError(t, err)
	require.NoError(t, saved.Release(t.Context(), nil))
	keys := []string{}
	for entry, err := range tenant.UsageEntries(t.Context(), model.ConsumptionRange{End: time.Now().Add(time.Hour)}) {
		require.NoError(t, err)
		require.EqualValues(t, 5, entry.Credits)
		keys = append(keys, strings.TrimPrefix(entry.IdempotencyKey, model.OwnUsageKeys+chat.ID+":"))
	}
	require.Len(t, keys, 3)
	require.Equal(t, late.ID, keys[0])
	require.Contains(t, keys, "2", "the number of the saved message")
}
