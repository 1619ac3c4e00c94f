package engine

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/endpoint"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

const wish = `{"reason":" wants a human "}`

func TestTransferEndsTheConversation(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answers []answer
		mocking model.ToolMocking
		text    string
		done    []string
		told    string
	}{
		"real": {
			answers: []answer{do(llm.TransferCall, wish), say("A colleague takes over.")},
			text:    "A colleague takes over.", done: []string{"transfer: wants a human"},
			told: "The contact is being transferred to a human, and the conversation ends. Say so.",
		},
		"announced before": {
			answers: []answer{do(llm.TransferCall, wish).saying("A colleague takes over.")},
			text:    "A colleague takes over.", done: []string{"transfer: wants a human"},
		},
		"mocked": {
			answers: []answer{do(llm.TransferCall, wish), say("A colleague takes over.")},
			mocking: model.ToolMocking{MockCallTransfer: true},
			text:    "A colleague takes over.", told: `{"status":"success","message":"The call to transfer_call succeeded."}`,
		},
		"together with the end": {
			answers: []answer{do(llm.EndConversation, allSaid, llm.TransferCall, wish).saying("Goodbye")},
			text:    "Goodbye", done: []string{"transfer: wants a human"},
		},
		"after the other calls": {
			answers: []answer{do(llm.TransferCall, wish, "look", `{}`).saying("Goodbye")},
			text:    "Goodbye", done: []string{"look{}", "transfer: wants a human"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(test.answers...)
			s.mocking = test.mocking
			got := s.play(t)
			require.NoError(t, got.err)
			require.Equal(t, test.text, got.reply.Text)
			require.Equal(t, "wants a human", *got.reply.EndReason)
			require.Equal(t, test.done, s.effected)
			for _, call := range got.calls {
				if call.Kind == model.ToolCallKindCallTransfer {
					require.Nil(t, call.TargetID)
					require.Equal(t, llm.TransferCall, call.TechnicalName)
					require.Equal(t, test.mocking.MockCallTransfer, call.Mocked)
				}
			}
			if test.told != "" {
				require.Equal(t, []string{test.told}, s.resultsBefore(1))
			}
		})
	}
}

// After a transfer or the end of the conversation, the turn succeeds even if the model fails, so nothing is repeated.
func TestFinishedTurnDoesNotFail(t *testing.T) {
	t.Parallel()
	broken := answer{err: &llm.Error{Cause: llm.Unavailable, Status: 500, Message: "the provider answered 500"}}
	for name, test := range map[string]struct {
		answers  []answer
		language string
		last     int
		want     string
		failure  string
	}{
		"the model fails": {[]answer{do(llm.TransferCall, wish), broken}, "en", 8, "I am transferring you now.",
			"the provider answered 500"},
		"in French": {[]answer{do(llm.TransferCall, wish), broken}, "fr-CA", 8, "Je vous transfère.",
			"the provider answered 500"},
		"the model breaks off": {[]answer{do(llm.TransferCall, wish), {texts: []string{"One mo"}, err: broken.err}},
			"en", 8, "One mo", "the provider answered 500"},
		"the model says nothing": {[]answer{do(llm.TransferCall, wish), {}}, "de", 8, "I am transferring you now.", ""},
		"the model says too much": {[]answer{do(llm.TransferCall, wish), say(strings.Repeat("x", maxReply+1))}, "en", 8,
			"I am transferring you now.", "more than 256 KiB"},
		"the model makes more calls": {[]answer{do(llm.TransferCall, wish), do("look", "{}", "cook", "[")}, "en", 8,
			"I am transferring you now.", ""},
		"the last answer":           {[]answer{do(llm.TransferCall, wish)}, "en", 1, "I am transferring you now.", ""},
		"the last answer, and more": {[]answer{do("look", "{}", llm.TransferCall, wish).saying("Bye")}, "en", 1, "Bye", ""},
		"an end": {[]answer{do(llm.EndConversation, wish), broken}, "en", 8, "Goodbye.",
			"the provider answered 500"},
		"an end in French": {[]answer{do(llm.EndConversation, wish), {}}, "fr", 8, "Au revoir.", ""},
		"an end twice": {[]answer{do(llm.EndConversation, wish), do(llm.EndConversation, allSaid)}, "en", 8,
			"Goodbye.", ""},
		"calls after the end": {[]answer{do(llm.EndConversation, wish), do("look", "{}").saying("Bye")}, "en", 8, "Bye",
			""},
		"an end in the last answer": {[]answer{do(llm.EndConversation, wish)}, "en", 1, "Goodbye.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(test.answers...)
			s.main.Agent.Language, s.limits.modelCalls = test.language, test.last
			got := s.play(t)
			require.NoError(t, got.err)
			require.Equal(t, test.want, got.reply.Text)
			require.Equal(t, test.want, got.text, "the streamed text equals the reply")
			require.Equal(t, "wants a human", *got.reply.EndReason)
			if test.failure == "" {
				require.NoError(t, got.reply.failure)
			} else {
				require.ErrorContains(t, got.reply.failure, test.failure, "for the log")
			}
			require.NotContains(t, s.effected, "look{}")
		})
	}
}

func TestTransferFailureIsReportedToTheModel(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		transfer func(context.Context, string) error
		mocking  model.ToolMocking
		want     string
	}{
		"no provider": {nil, model.ToolMocking{}, "no telephony provider is configured, so the call cannot be transferred"},
		"denied": {
			func(context.Context, string) error { return nil }, model.ToolMocking{SideEffects: model.SideEffectsDeny},
			string(errDenied),
		},
		"refused": {func(context.Context, string) error {
			return &endpoint.Error{Cause: endpoint.Status, Message: "the telephony provider answered 503"}
		}, model.ToolMocking{}, "the telephony provider answered 503"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(do(llm.TransferCall, wish), say("I cannot."))
			s.effects.transfer, s.mocking = test.transfer, test.mocking
			got := s.play(t)
			require.NoError(t, got.err)
			require.Nil(t, got.reply.EndReason, "the conversation continues")
			require.Equal(t, test.want, *got.calls[0].Error)
			require.NotEmpty(t, s.script.asked["Main"][1].Tools)
		})
	}
}

func TestContactIsTransferredOnce(t *testing.T) {
	t.Parallel()
	s := newScene(do(llm.TransferCall, wish, llm.TransferCall, `{"reason":"other"}`).saying("Goodbye"))
	got := s.play(t)
	require.NoError(t, got.err)
	require.Equal(t, []string{"transfer: wants a human"}, s.effected)
	require.Equal(t, "wants a human", *got.reply.EndReason)
	require.Equal(t, "the contact has been transferred already", *got.calls[1].Error)
}

func TestSubAgentTransfersTheContact(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mocking model.ToolMocking
		done    []string
	}{
		"real":   {model.ToolMocking{}, []string{"transfer: wants a human"}},
		"mocked": {model.ToolMocking{MockCallTransfer: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(do("ask_expert", `{"request":"x"}`), say("A colleague takes over."))
			s.script.answers[expert] = []answer{do(llm.TransferCall, wish), say("Transferred.")}
			s.mocking = test.mocking
			got := s.play(t)
			require.NoError(t, got.err)
			require.Equal(t, "A colleague takes over.", got.reply.Text)
			require.Equal(t, "wants a human", *got.reply.EndReason, "a sub-agent's transfer ends the whole conversation")
			require.Equal(t, test.done, s.effected)
			require.Equal(t, got.calls[0].ID, *got.calls[1].DelegationID)
		})
	}
	s := newScene(do("ask_expert", `{"request":"x"}`), answer{})
	s.script.answers[expert] = []answer{do(llm.TransferCall, wish), {err: errors.New("broken")}}
	got := s.play(t)
	require.NoError(t, got.err, "neither model said a word")
	require.Equal(t, "I am transferring you now.", got.reply.Text)
	require.Equal(t, "wants a human", *got.reply.EndReason)
	require.Len(t, got.causes, 1)
}

// The contact learns what really happened, even if the client that sent the message has disconnected.
func TestContactLearnsOfATransferAfterTheClientLeft(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answers []answer
		mocking model.ToolMocking
		want    string
	}{
		"real": {[]answer{do(llm.TransferCall, wish), say("Too late.")}, model.ToolMocking{},
			"I am transferring you now."},
		"with words": {[]answer{do(llm.TransferCall, wish).saying("A colleague takes over.")}, model.ToolMocking{},
			"A colleague takes over."},
		"by a sub-agent": {[]answer{do("ask_expert", `{"request":"x"}`), say("Too late.")}, model.ToolMocking{},
			"I am transferring you now."},
		"mocked": {[]answer{do(llm.TransferCall, wish), say("Too late.")}, model.ToolMocking{MockCallTransfer: true},
			""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, leave := context.WithCancel(t.Context())
			s := newScene(test.answers...)
			s.mocking = test.mocking
			s.script.answers[expert] = []answer{do(llm.TransferCall, wish)}
			s.effects.transfer = func(context.Context, string) error { leave(); return nil }
			if test.mocking.MockCallTransfer {
				s.script.answers["Main"][1].hook = func(context.Context) { leave() }
			}
			got := s.playUntil(ctx, t)
			if test.want == "" {
				require.ErrorIs(t, got.err, context.Canceled, "nothing happened, so another send starts again")
				return
			}
			require.NoError(t, got.err)
			require.Equal(t, test.want, got.reply.Text)
			require.Equal(t, test.want, got.text)
			require.Equal(t, "wants a human", *got.reply.EndReason)
			require.ErrorIs(t, got.reply.failure, context.Canceled)
			last := got.calls[len(got.calls)-1]
			require.Equal(t, model.ToolCallKindCallTransfer, last.Kind)
			require.NotNil(t, last.Result)
		})
	}
}

func TestEarlierTransferIsNotRepeated(t *testing.T) {
	t.Parallel()
	before := func(result, failure *string, mocked bool) *model.ToolCall {
		return &model.ToolCall{Kind: model.ToolCallKindCallTransfer, Arguments: model.JSONObject(wish), Result: result,
			Error: failure, Mocked: mocked}
	}
	interrupted, elsewhere := before(nil, nil, false), &model.ToolCall{Kind: model.ToolCallKindTool}
	interrupted.Begin()
	elsewhere.Begin()
	for name, test := range map[string]struct {
		before  *model.ToolCall
		reason  *string
		told    string
		started []string
	}{
		"an earlier transfer happened": {before(ptr("ok"), nil, false), ptr("wants a human"), "", nil},
		"an old record with an unknown outcome": {before(nil, ptr("the call was begun, and what came of it is not known"), false), nil,
			"The call failed: an earlier transfer may have happened, so it is not repeated.", nil},
		"an earlier transfer may have happened": {interrupted, nil, "The call failed: an earlier transfer may have happened, so it is not repeated.",
			nil},
		"an earlier transfer failed": {before(nil, ptr("the telephony provider answered 503"), false), ptr("again"),
			"The contact is being transferred to a human, and the conversation ends. Say so.", []string{llm.TransferCall}},
		"an earlier transfer was mocked": {before(ptr("ok"), nil, true), ptr("again"),
			"The contact is being transferred to a human, and the conversation ends. Say so.", []string{llm.TransferCall}},
		"not a transfer": {elsewhere, ptr("again"), "The contact is being transferred to a human, and the conversation " +
			"ends. Say so.", []string{llm.TransferCall}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(do(llm.TransferCall, `{"reason":"again"}`), say("Well."))
			if test.told == "" {
				s.script.answers["Main"] = []answer{say("Well.")}
			}
			s.before = []*model.ToolCall{test.before}
			got := s.play(t)
			require.NoError(t, got.err)
			require.Equal(t, "Well.", got.reply.Text)
			require.Equal(t, test.reason, got.reply.EndReason)
			require.Equal(t, test.started, s.started)
			if test.told == "" {
				require.Empty(t, s.script.asked["Main"][0].Tools, "the conversation is over")
				return
			}
			require.Equal(t, []string{test.told}, s.resultsBefore(1))
		})
	}
}

func TestMockedTransferFails(t *testing.T) {
	t.Parallel()
	for failure, want := range map[model.CallTransferFailure]string{
		model.CallTransferFailureBusy:   "the line is busy, so the call was not transferred",
		model.CallTransferFailureFailed: "the call could not be transferred",
	} {
		s := newScene(do(llm.TransferCall, wish), say("I could not reach anybody."))
		s.mocking = model.ToolMocking{MockCallTransfer: true, CallTransferFailure: &failure}
		got := s.play(t)
		require.NoError(t, got.err)
		require.Nil(t, got.reply.EndReason, "the conversation continues")
		require.True(t, got.calls[0].Mocked)
		require.Equal(t, want, *got.calls[0].Error)
		require.Empty(t, s.effected)
	}
}
