package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/endpoint"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

func TestCallsAreMadeAndAnswered(t *testing.T) {
	t.Parallel()
	s := newScene(do("book", `{ "day" : "Monday" , "seats": 2 }`), say("Done"))
	var clock time.Duration
	s.effects.now = func() time.Time { clock += 250 * time.Millisecond; return at.Add(clock) }
	got := s.play(t)
	require.NoError(t, got.err)
	require.Equal(t, []string{`book{"day":"Monday","seats":2}`}, s.effected)
	require.Equal(t, []string{"result of book"}, s.resultsBefore(1))
	require.Len(t, got.calls, 1)
	call := got.calls[0]
	require.True(t, strings.HasPrefix(call.ID, "call_"))
	require.Equal(t, model.ToolCallKindTool, call.Kind)
	require.Equal(t, "tool_book", *call.TargetID)
	require.Equal(t, "book", call.TechnicalName)
	require.JSONEq(t, `{"day":"Monday","seats":2}`, string(call.Arguments))
	require.Equal(t, "result of book", *call.Result)
	require.False(t, call.Mocked)
	require.Nil(t, call.MockRule)
	require.Nil(t, call.DelegationID)
	require.Equal(t, int32(250), call.DurationMs)
	require.Equal(t, at.Add(250*time.Millisecond), call.StartedAt)
}

func TestCallsOfOneAnswerRunConcurrently(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const calls = 20
		a := do()
		for i := range calls {
			a.calls = append(a.calls, llm.ToolCall{ID: fmt.Sprint(i), Name: "look", Arguments: fmt.Sprintf(`{"n":%d}`, i)})
		}
		s := newScene(a, say("Done"))
		var running atomic.Int32
		release := make(chan struct{})
		s.effects.call = func(_ context.Context, _ *model.Tool, arguments model.JSONObject) (string, error) {
			running.Add(1)
			defer running.Add(-1)
			<-release
			return string(arguments), nil
		}
		played := make(chan outcome)
		go func() { played <- s.play(t) }()
		synctest.Wait()
		require.EqualValues(t, maxCallsAtOnce, running.Load(), "no more than maxCallsAtOnce calls run at once")
		close(release)
		got := <-played
		require.NoError(t, got.err)
		require.Len(t, got.calls, calls)
		for i, told := range s.resultsBefore(1) {
			require.Equal(t, fmt.Sprintf(`{"n":%d}`, i), told)
			require.Equal(t, told, string(got.calls[i].Arguments), "they begin in their order")
		}
	})
}

func TestInvalidCallIsReportedToTheModel(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		call string
		args string
		told string
		kept string
	}{
		"not JSON": {"book", `{"day":`, "The call failed: the arguments are not JSON: unexpected EOF. Correct the " +
			"call; do not repeat what you said.", `{}`},
		"not an object": {"book", `["Monday"]`, "The call failed: the arguments are not a JSON object. Correct the call; " +
			"do not repeat what you said.", `{}`},
		"two values": {"book", `{"day":"x"} {}`, "The call failed: the arguments are not JSON: invalid character " +
			"after top-level value. Correct the call; do not repeat what you said.", `{}`},
		"missing": {"book", `{"seats":1}`, "The call failed: the arguments are invalid: missing property 'day'. " +
			"Correct the call; do not repeat what you said.", `{"seats":1}`},
		"wrong type": {"book", `{"day":"x","seats":1.5}`, "The call failed: the arguments are invalid: seats: got " +
			"number, want integer. Correct the call; do not repeat what you said.", `{"day":"x","seats":1.5}`},
		"a number out of range": {"book", `{"day":"x","seats":1e999999999}`, "The call failed: the arguments are not JSON: a " +
			"number is out of range. Correct the call; do not repeat what you said.", `{}`},
		"a large number": {"book", `{"day":"x","seats":1e309}`, "The call failed: the arguments are not JSON: a number is " +
			"out of range. Correct the call; do not repeat what you said.", `{}`},
		"too long": {"book", `{"day":"` + strings.Repeat("x", content.MaxArguments) + `"}`,
			"The call failed: the arguments have more than 65536 bytes. Correct the call; do not repeat what you said.", `{}`},
		"unknown": {"cook", `{}`,
			`The call failed: there is no tool "cook", only ask_expert, book, end_conversation, look, transfer_call. Correct the call; do not repeat what you said.`, `{}`},
		"no request": {"ask_expert", `{"request":" "}`, "The call failed: the arguments are invalid: request: is " +
			"blank. Correct the call; do not repeat what you said.", `{"request":" "}`},
		"no reason": {llm.TransferCall, `{}`, "The call failed: the arguments are invalid: missing property 'reason'. " +
			"Correct the call; do not repeat what you said.", `{}`},
		"another's tools": {"dig", `{}`,
			`The call failed: there is no tool "dig", only ask_expert, book, end_conversation, look, transfer_call. Correct the call; do not repeat what you said.`, `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(do(test.call, test.args, "look", "{}"), say("Sorry"))
			got := s.play(t)
			require.NoError(t, got.err)
			require.Equal(t, []string{"look{}"}, s.effected, "only the other call is carried out")
			require.Equal(t, []string{test.told, "result of look"}, s.resultsBefore(1))
			require.Len(t, got.calls, 2)
			for _, call := range got.calls {
				if call.TechnicalName == test.call {
					require.JSONEq(t, test.kept, string(call.Arguments))
					require.Contains(t, test.told, *call.Error)
					require.False(t, call.Mocked)
				}
			}
		})
	}
}

func TestCallOfAnUnknownToolIsRecorded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ call, args, name, kept, told string }{
		"unknown":       {"cook", `{"b":1,"a":2}`, "cook", `{"b":1,"a":2}`, `there is no tool "cook"`},
		"long":          {strings.Repeat("é", 70), `[]`, strings.Repeat("é", 64), `{}`, "there is no tool"},
		"malformed end": {llm.EndConversation, `{"reason":`, llm.EndConversation, `{}`, "the arguments are not JSON"},
		"blank end": {llm.EndConversation, `{"reason":"\n"}`, llm.EndConversation, `{"reason":"\n"}`,
			"the arguments are invalid: reason: is blank"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(do(test.call, test.args), say("Sorry"))
			s.mocking.MockAllTools = true
			got := s.play(t)
			require.NoError(t, got.err)
			require.Nil(t, got.reply.EndReason)
			require.Len(t, got.calls, 1)
			call := got.calls[0]
			require.Equal(t, model.ToolCallKindTool, call.Kind)
			require.Nil(t, call.TargetID)
			require.Equal(t, test.name, call.TechnicalName)
			require.Equal(t, test.kept, string(call.Arguments))
			require.False(t, call.Mocked)
			require.Contains(t, *call.Error, test.told)
			require.Equal(t, []string{"+" + test.name, "-" + test.name}, got.order)
		})
	}
}

func TestArgumentsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		`{ "z":1, "day":"x", "a":{"c":[{"y":1,"x":null}],"b":1.50} }`: `{"z":1,"day":"x","a":{"c":[{"y":1,"x":null}],"b":1.50}}`,
		`{"z":1,"day":"x","a":[],"z":{}}`:                             `{"z":{},"day":"x","a":[]}`,
		`{"z\u0000":1,"day":"<\u0000é>","a":true,"z":2}`:              `{"z":2,"day":"<é>","a":true}`,
	} {
		s := newScene(do("book", written), say("Done"))
		got := s.play(t)
		require.NoError(t, got.err)
		require.Equal(t, want, string(got.calls[0].Arguments))
		require.Equal(t, []string{"book" + want}, s.effected)
	}
}

// No tool is called for the last answer that the model may give, because the model could not read the result.
func TestCallsWithoutReadableResultsAreNotMade(t *testing.T) {
	t.Parallel()
	s := newScene(do("look", `{}`), do("book", `{"day":"x"}`).saying("One moment."))
	s.limits.modelCalls = 2
	got := s.play(t)
	require.Equal(t, "the language model gave no final answer to 2 requests in one turn, "+
		"the limit: raise AGENTGRAPH_MAX_MODEL_CALLS, or change the prompt", requireFault(t, got.err))
	require.Equal(t, []string{"look{}"}, s.effected)

	s = newScene(do("ask_expert", `{"request":"x"}`), say("Done"))
	s.script.answers[expert] = []answer{do("dig", `{}`)}
	s.limits.modelCalls, s.limits.depth = 2, 1
	got = s.play(t)
	require.Contains(t, requireFault(t, got.err), "gave no final answer to 2 requests in one turn, the limit "+
		"including sub-agents")
	require.Empty(t, s.effected, "the last possible answer was the sub-agent's, so its call is not made")
}

func TestWrongCallsOfOneAnswerAreCorrectedTogether(t *testing.T) {
	t.Parallel()
	s := newScene(do("book", `{}`, "cook", `{}`), do("book", `{"day":"x"}`), say("Done"))
	got := s.play(t)
	require.NoError(t, got.err)
	require.Equal(t, []string{`book{"day":"x"}`}, s.effected)

	s = newScene(do("book", `{}`), do("look", `{}`, "book", `{}`))
	got = s.play(t)
	require.Contains(t, requireFault(t, got.err), "invalid call again")
	require.Empty(t, s.effected, "nothing is done for an answer that fails the turn")
}

func TestToolFailureIsReportedToTheModel(t *testing.T) {
	t.Parallel()
	secret := errors.New("dial 10.0.0.1")
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"an error of the endpoint": {&endpoint.Error{Cause: endpoint.Status, Message: "the tool answered 503",
			Err: secret}, "the tool answered 503"},
		"an error for clients": {model.Errorf(model.Unprocessable, "no key"), "no key"},
		"any other error":      {secret, "something went wrong that is not the agent's fault"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(do("look", `{}`), say("Sorry"))
			s.effects.call = func(context.Context, *model.Tool, model.JSONObject) (string, error) { return "", test.err }
			got := s.play(t)
			require.NoError(t, got.err)
			require.Equal(t, "Sorry", got.reply.Text)
			require.Equal(t, test.want, *got.calls[0].Error)
			require.True(t, got.calls[0].IsReal(), "it may have reached the endpoint")
			require.Equal(t, []string{"The call failed: " + test.want + "."}, s.resultsBefore(1))
		})
	}
}

func TestToolWithoutEndpointIsNotCalled(t *testing.T) {
	t.Parallel()
	s := newScene(do("look", `{}`), say("Sorry"))
	s.main.Tools[1].Endpoint = nil
	got := s.play(t)
	require.NoError(t, got.err)
	require.Equal(t, "the tool has no endpoint, so it cannot be called", *got.calls[0].Error)
	require.False(t, got.calls[0].IsReal())
	require.Empty(t, s.effected)
}

func TestResultsAreCleanedAndCut(t *testing.T) {
	t.Parallel()
	s := newScene(do("look", `{"a\u0000":"b\u0000\ud800"}`), say("Done"))
	s.effects.call = func(context.Context, *model.Tool, model.JSONObject) (string, error) {
		return "\x00\xff" + strings.Repeat("é", maxResult), nil
	}
	got := s.play(t)
	require.NoError(t, got.err)
	result := *got.calls[0].Result
	require.LessOrEqual(t, len(result), maxResult)
	require.True(t, strings.HasPrefix(result, "\uFFFDé"))
	require.True(t, strings.HasSuffix(result, content.CutMark))
	require.Equal(t, content.Clean(result), result)
	require.Equal(t, "{\"a\":\"b\uFFFD\"}", string(got.calls[0].Arguments))
	require.Equal(t, []string{result}, s.resultsBefore(1))
}

func TestConversationEndsAfterItsLastCallsSucceed(t *testing.T) {
	t.Parallel()
	s := newScene(do(llm.EndConversation, allSaid, "look", `{}`).saying("Goodbye"))
	got := s.play(t)
	require.NoError(t, got.err)
	require.Equal(t, []string{"look{}"}, s.effected)
	require.Equal(t, "all is said", *got.reply.EndReason)

	s = newScene(do(llm.EndConversation, allSaid, "look", `{}`).saying("Goodbye"), say("I could not look."))
	s.main.Tools[1].Endpoint = nil
	got = s.play(t)
	require.NoError(t, got.err)
	require.Nil(t, got.reply.EndReason, "the conversation continues, so that the agent sees the failure")
	require.Equal(t, "The call failed: the conversation continues, because another call of the same answer failed.",
		s.resultsBefore(1)[0])
	require.Equal(t, "Goodbye\n\nI could not look.", got.reply.Text)
}

func TestCancelledTurnStopsItsCalls(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := newScene(do("look", `{"n":1}`, "book", `{"day":"x"}`))
	started := make(chan struct{})
	s.effects.call = func(ctx context.Context, tool *model.Tool, _ model.JSONObject) (string, error) {
		if tool.TechnicalName == "book" {
			<-started
			cancel()
			return "booked", nil
		}
		close(started)
		<-ctx.Done()
		return "", ctx.Err()
	}
	got := s.playUntil(ctx, t)
	require.ErrorIs(t, got.err, context.Canceled)
	require.Len(t, got.calls, 2, "calls are announced even if the turn fails")
	require.True(t, got.calls[0].IsOutcomeUnknown)
	require.Equal(t, "booked", *got.calls[1].Result)
	require.ElementsMatch(t, []string{"look", "book"}, s.started)
}

func TestWorkStartsOnlyAfterItsStartIsSaved(t *testing.T) {
	t.Parallel()
	s := newScene(do("look", `{}`, "ask_expert", `{"request":"x"}`, llm.TransferCall, wish), say("I could do nothing."))
	s.effects.beginCall = func(context.Context, *model.ToolCall) error { return errors.New("the database is gone") }
	got := s.play(t)
	require.NoError(t, got.err)
	require.Empty(t, s.effected)
	require.NotContains(t, s.script.asked, expert)
	require.Nil(t, got.reply.EndReason)
	for _, call := range got.calls {
		require.Equal(t, "something went wrong that is not the agent's fault", *call.Error)
	}
	require.Len(t, got.causes, 3, "the log has the cause")
}

func TestCancelledTurnStartsNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := newScene(do(llm.TransferCall, `{"reason":"one"}`, llm.TransferCall, `{"reason":"two"}`))
	s.effects.transfer = func(ctx context.Context, _ string) error {
		cancel()
		return ctx.Err()
	}
	got := s.playUntil(ctx, t)
	require.ErrorIs(t, got.err, context.Canceled)
	require.Len(t, got.calls, 1)
}
