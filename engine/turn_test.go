package engine

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// allSaid has arguments of end_conversation.
const allSaid = `{"reason":"all is said"}`

func TestReplyCombinesTextAndEndReason(t *testing.T) {
	t.Parallel()
	reason := "all is said"
	for name, test := range map[string]struct {
		answers []answer
		text    string
		reply   Reply
	}{
		"text": {
			answers: []answer{say(" Good", " morning\n")},
			text:    " Good morning\n",
			reply:   Reply{Text: "Good morning"},
		},
		"text that cannot be stored": {
			answers: []answer{say("a\x00b", "\x00", "c\xff")},
			text:    "abc\uFFFD",
			reply:   Reply{Text: "abc\uFFFD"},
		},
		"an end with a farewell": {
			answers: []answer{do(llm.EndConversation, `{"reason":" all is said "}`).saying("Goodbye")},
			text:    "Goodbye",
			reply:   Reply{Text: "Goodbye", EndReason: &reason},
		},
		"an end without a farewell": {
			answers: []answer{do(llm.EndConversation, allSaid), say("Goodbye")},
			text:    "Goodbye",
			reply:   Reply{Text: "Goodbye", EndReason: &reason},
		},
		"a call that is corrected": {
			answers: []answer{do(llm.EndConversation, `{"reason":`).saying("Well,"), do(llm.EndConversation, allSaid).
				saying("goodbye")},
			text:  "Well,\n\ngoodbye",
			reply: Reply{Text: "Well,\n\ngoodbye", EndReason: &reason},
		},
		"a call that is corrected in silence": {
			answers: []answer{do(llm.EndConversation, `{}`).saying("Goodbye"), do(llm.EndConversation, allSaid)},
			text:    "Goodbye",
			reply:   Reply{Text: "Goodbye", EndReason: &reason},
		},
		"a call that is taken back": {
			answers: []answer{do(llm.EndConversation, `[]`), say("What else?")},
			text:    "What else?",
			reply:   Reply{Text: "What else?"},
		},
		"two ends": {
			answers: []answer{do(llm.EndConversation, allSaid, llm.EndConversation, `{"reason":"other"}`).saying("Goodbye")},
			text:    "Goodbye",
			reply:   Reply{Text: "Goodbye", EndReason: &reason},
		},
		"text before a call and none after it": {
			answers: []answer{do("look", `{}`).saying("Let me see."), say("")},
			text:    "Let me see.",
			reply:   Reply{Text: "Let me see."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(test.answers...)
			got := s.play(t)
			require.NoError(t, got.err)
			require.Equal(t, test.text, got.text)
			require.Equal(t, "scripted", *got.reply.Usage.Model)
			require.LessOrEqual(t, *got.reply.Usage.FirstTokenMs, got.reply.Usage.TookMs)
			got.reply.Usage = Reply{}.Usage
			require.Empty(t, cmp.Diff(test.reply, *got.reply, cmp.AllowUnexported(Reply{})))
			require.Len(t, s.script.asked["Main"], len(test.answers))
		})
	}
}

func TestToolsOfferedToTheModel(t *testing.T) {
	t.Parallel()
	s := newScene(say("Hello"))
	require.NoError(t, s.play(t).err)
	var names []string
	for _, tool := range s.script.asked["Main"][0].Tools {
		names = append(names, tool.Name)
	}
	require.Equal(t, []string{"book", "look", "ask_expert", llm.TransferCall, llm.EndConversation}, names)
	book := s.script.asked["Main"][0].Tools[0]
	require.Equal(t, "To book", book.Description)
	require.JSONEq(t, string(s.main.Tools[0].Parameters), string(book.Parameters))
	for _, tool := range s.script.asked["Main"][0].Tools {
		require.NotContains(t, string(tool.Parameters), "pattern", "a field for free text has no pattern")
	}

	s = newScene(do(llm.EndConversation, allSaid), say("Goodbye"))
	s.main.Agent.IsCallTransferEnabled = false
	require.NoError(t, s.play(t).err)
	require.Len(t, s.script.asked["Main"][0].Tools, 4)
	require.Empty(t, s.script.asked["Main"][1].Tools, "nothing can be called once the conversation ends")
}

func TestModelFailureFailsTheTurn(t *testing.T) {
	t.Parallel()
	tooMany := &llm.Error{Cause: llm.RateLimited, Status: 429, Message: "the provider of gpt answered 429",
		Err: errors.New("https://key@host")}
	many := do()
	for range maxCalls + 1 {
		many.calls = append(many.calls, llm.ToolCall{ID: "x", Name: "look", Arguments: "{}"})
	}
	for name, test := range map[string]struct {
		answers []answer
		want    string
	}{
		"the provider fails": {[]answer{{err: tooMany}}, "the provider of gpt answered 429"},
		"after some text":    {[]answer{{texts: []string{"Goo"}, err: tooMany}}, "the provider of gpt answered 429"},
		"in another way":     {[]answer{{err: errors.New("socket https://key@host")}}, "the language model failed"},
		"nothing":            {[]answer{{}}, "the language model gave an empty answer"},
		"blanks":             {[]answer{say(" ", "\x00\n")}, "the language model gave an empty answer"},
		"no end": {[]answer{say(strings.Repeat("x", maxReply+1))},
			"the language model gave an answer of more than 256 KiB, the limit: change the prompt, or ask for less"},
		"endless calls": {[]answer{do("look", `{}`)}, "the language model gave no final answer to 8 requests in one turn, " +
			"the limit: raise AGENTGRAPH_MAX_MODEL_CALLS, or change the prompt"},
		"too many calls": {[]answer{many}, "the language model made 65 calls in one answer, more than the limit of 64"},
		"wrong twice": {
			[]answer{do(llm.EndConversation, `{}`), do("book", `{"day":1}`)},
			"the language model made an invalid call again, although it was asked to correct the first one: book: " +
				"the arguments are invalid: day: got number, want string",
		},
		"unknown twice": {
			[]answer{do("rm_rf", `{}`), do("rm\x00_rf2", `{}`)},
			`the language model made an invalid call again, although it was asked to correct the first one: rm_rf2: there is no tool "rm_rf2", only ask_expert, book, end_conversation, look, transfer_call`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := newScene(test.answers...).play(t)
			require.Nil(t, got.reply)
			require.Equal(t, test.want, requireFault(t, got.err), "neither key nor address")
		})
	}
}

func TestCallsOfATurnAreBounded(t *testing.T) {
	t.Parallel()
	var looks []string
	for range 30 {
		looks = append(looks, "look", `{}`)
	}
	s := newScene(do(looks...))
	made := atomic.Int32{}
	s.effects.call = func(context.Context, *model.Tool, model.JSONObject) (string, error) {
		made.Add(1)
		return strings.Repeat("x", 2*maxResult), nil
	}
	got := s.play(t)
	require.Equal(t, "the language model made calls with more than 1024 KiB of arguments and results in one turn, the "+
		"limit: let the tools return less, or change the prompt", requireFault(t, got.err))
	require.GreaterOrEqual(t, made.Load(), int32(maxAllCalls/maxResult))
	require.LessOrEqual(t, made.Load(), int32(maxAllCalls/maxResult+maxCallsAtOnce))
	require.Len(t, got.calls, 30, "the others are recorded with an error")
	require.Contains(t, *got.calls[29].Error, "too much data together")
}

func TestSlowModelFailsTheTurn(t *testing.T) {
	t.Parallel()
	s := newScene(answer{hook: func(ctx context.Context) { <-ctx.Done() }})
	s.limits.replyTimeout = time.Millisecond
	require.Equal(t, "the language model did not finish its reply within 1ms", requireFault(t, s.play(t).err))
}

func TestTurnStopsWhenItsReaderLeaves(t *testing.T) {
	t.Parallel()
	for e, err := range newScene(say("one", "two")).conversation(t).events(t.Context()) {
		require.NoError(t, err)
		require.Equal(t, "one", e.text)
		break
	}
	// A running call is stopped when nobody reads the answer any longer.
	s := newScene(do("look", `{}`))
	s.mocking.MockAllTools = true
	s.mocking.MockedTools = mocks("tool_look", 60)
	running, stopped := make(chan struct{}), make(chan struct{})
	s.effects.wait = func(ctx context.Context, _ time.Duration) error {
		close(running)
		<-ctx.Done()
		close(stopped)
		return ctx.Err()
	}
	for e, err := range s.conversation(t).events(t.Context()) {
		require.NoError(t, err)
		require.NotNil(t, e.started)
		<-running
		break
	}
	<-stopped
}

func TestTurnEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := newScene(answer{hook: func(context.Context) { cancel() }})
	require.ErrorIs(t, s.playUntil(ctx, t).err, context.Canceled)
}
