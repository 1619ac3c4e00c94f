package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func newCall(name string) *model.ToolCall {
	return &model.ToolCall{
		ID: model.NewID("call"), Kind: model.ToolCallKindTool, TechnicalName: name,
		Arguments: model.JSONObject(`{"day":"Monday"}`),
		StartedAt: time.Now().UTC().Truncate(time.Microsecond),
	}
}

func recordedCalls(t *testing.T, tenant *db.Tenant, chatID string) []*model.ToolCall {
	t.Helper()
	calls, err := tenant.ToolCallsOfChats(t.Context(), []string{chatID})
	require.NoError(t, err)
	return calls
}

func TestCallIsRecordedBeforeItIsMade(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	welcome := "Welcome"
	tenant, chat := newSimulation(t, store, &welcome)
	turn, err := tenant.BeginChatTurn(t.Context(), chat.ID, lease)
	require.NoError(t, err)
	call, mocked := newCall("book"), newCall("look")
	require.NoError(t, turn.BeginCall(t.Context(), call))
	require.Nil(t, call.Error, "only the stored call has an unknown outcome")

	begun := recordedCalls(t, dbtest.Reopen(t, store).Tenant(chat.CompanyID), chat.ID)
	require.Len(t, begun, 1)
	require.Equal(t, call.ID, begun[0].ID)
	require.True(t, begun[0].IsOutcomeUnknown)
	require.True(t, begun[0].IsReal())
	require.Nil(t, begun[0].Result)
	require.False(t, begun[0].IsTurnKept)
	require.Equal(t, int32(2), begun[0].MessageSequence)
	require.JSONEq(t, `{"day":"Monday"}`, string(begun[0].Arguments))

	result := "booked"
	call.Result, call.DurationMs, mocked.Result, mocked.Mocked = &result, 7, &result, true
	require.NoError(t, turn.EndCall(t.Context(), call))
	ended := recordedCalls(t, tenant, chat.ID)
	require.Equal(t, "booked", *ended[0].Result)
	require.Nil(t, ended[0].Error)
	require.Equal(t, int32(7), ended[0].DurationMs)
	require.False(t, ended[0].IsTurnKept)

	message, reply := messages("Book", "Booked")
	_, err = turn.Finish(t.Context(), message, reply, []*model.ToolCall{mocked, call})
	require.NoError(t, err)
	kept := recordedCalls(t, tenant, chat.ID)
	require.Len(t, kept, 2)
	for _, call := range kept {
		require.True(t, call.IsTurnKept)
		require.Equal(t, "booked", *call.Result)
		require.Equal(t, int32(2), call.MessageSequence)
	}
}

func TestCallOfDeadProcessHasUnknownOutcome(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, chat := newSimulation(t, store, nil)
	dead, err := tenant.BeginChatTurn(t.Context(), chat.ID, time.Microsecond)
	require.NoError(t, err)
	call, late := newCall("book"), newCall("book")
	require.NoError(t, dead.BeginCall(t.Context(), call))
	alive, err := tenant.BeginChatTurn(t.Context(), chat.ID, lease)
	require.NoError(t, err)

	// A turn that was wrongly considered dead may still continue. It cannot begin calls, but it can record the outcome of
	// calls that it started.
	fails(t, dead.BeginCall(t.Context(), late), model.Conflict)
	require.True(t, recordedCalls(t, tenant, chat.ID)[0].IsOutcomeUnknown)
	message, reply := messages("Hello", "Good morning")
	_, err = alive.Finish(t.Context(), message, reply, nil)
	require.NoError(t, err)
	result := "booked"
	call.Result = &result
	require.NoError(t, dead.Release(t.Context(), []*model.ToolCall{call}))
	calls := recordedCalls(t, tenant, chat.ID)
	require.Len(t, calls, 1)
	require.Equal(t, "booked", *calls[0].Result)
	require.False(t, calls[0].IsTurnKept)
	after, err := tenant.SimulationChat(t.Context(), chat.ID)
	require.NoError(t, err)
	require.Equal(t, model.SimulationChatStatusOpen, after.State)
}

func TestCallRenewsTheClaim(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, chat := newSimulation(t, store, nil)
	turn, err := tenant.BeginChatTurn(t.Context(), chat.ID, lease)
	require.NoError(t, err)
	require.NoError(t, turn.BeginCall(t.Context(), newCall("book")))
	held, err := tenant.SimulationChat(t.Context(), chat.ID)
	require.NoError(t, err)
	require.True(t, held.ReplyUntil.After(*turn.Chat.ReplyUntil))
}

func TestWarningsAreSavedOncePerChat(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, chat := newSimulation(t, store, nil)
	warnings := func() []string {
		kept, err := tenant.SimulationChat(t.Context(), chat.ID)
		require.NoError(t, err)
		return kept.Warnings
	}
	turn, err := tenant.BeginChatTurn(t.Context(), chat.ID, lease)
	require.NoError(t, err)
	for _, warning := range []string{"odd", "{a} has no value", `it's "odd"`, "{a} has no value"} {
		turn.Warn(warning)
	}
	require.Equal(t, []string{"odd"}, warnings())
	require.NoError(t, turn.Release(t.Context(), nil))
	require.Equal(t, []string{"odd", "{a} has no value", `it's "odd"`}, warnings())

	turn, err = tenant.BeginChatTurn(t.Context(), chat.ID, lease)
	require.NoError(t, err)
	turn.Warn("{a} has no value")
	turn.Warn("last")
	message, reply := messages("Hello", "Good morning")
	after, err := turn.Finish(t.Context(), message, reply, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"odd", "{a} has no value", `it's "odd"`, "last"}, after.Warnings)
	require.Equal(t, after.Warnings, warnings())
}
