package engine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/endpoint"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

const wish = `{"reason":" wants a human "}`

func TestTransfer(t *testing.T) {
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
			answers: []answer{do(llm.TransferCall, wish), say("A colleague takes over.")}, mocking: model.ToolMocking{MockCallTransfer: true},
			text: "A colleague takes over.", told: `{"status":"success","message":"The call to transfer_call succeeded."}`,
		},
		"with an end": {
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
			require.Equal(t, test.text, got.reply.text)
			require.Equal(t, "wants a human", *got.reply.endReason)
			require.Equal(t, test.done, s.effected)
			for _, call := range got.calls {
				if call.Kind == model.ToolCallKindCallTransfer {
					require.Nil(t, call.TargetID)
					require.Equal(t, llm.TransferCall, call.TechnicalName)
					require.Equal(t, test.mocking.MockCallTransfer, call.Mocked)
				}
			}
			if test.told != "" {
				require.Equal(t, []string{test.told}, s.told(1))
			}
		})
	}
}

func TestTransferThatDoesNotComeAbout(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		transfer func(context.Context, string) error
		mocking  model.ToolMocking
		want     string
	}{
		"no provider": {nil, model.ToolMocking{}, "no telephony provider is configured, so the call cannot be transferred"},
		"denied": {
			func(context.Context, string) error { return nil }, model.ToolMocking{SideEffects: model.SideEffectsDeny}, string(denied),
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
			require.Nil(t, got.reply.endReason, "the conversation goes on")
			require.Equal(t, test.want, *got.calls[0].Error)
			require.NotEmpty(t, s.script.asked["Main"][1].Tools)
		})
	}
}

func TestTransferTwice(t *testing.T) {
	t.Parallel()
	s := newScene(do(llm.TransferCall, wish, llm.TransferCall, `{"reason":"other"}`).saying("Goodbye"))
	got := s.play(t)
	require.NoError(t, got.err)
	require.Equal(t, []string{"transfer: wants a human"}, s.effected)
	require.Equal(t, "wants a human", *got.reply.endReason)
	require.Equal(t, "the contact has been transferred already", *got.calls[1].Error)
}

func TestTransferBySubAgent(t *testing.T) {
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
			require.Equal(t, "A colleague takes over.", got.reply.text)
			require.Equal(t, "wants a human", *got.reply.endReason, "the whole call is gone")
			require.Equal(t, test.done, s.effected)
			require.Equal(t, got.calls[0].ID, *got.calls[1].DelegationID)
		})
	}
}
