package engine

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// script is a model whose answers are known beforehand.
type script struct {
	answers []answer
	asked   []llm.Request
}

type answer struct {
	texts []string
	calls []llm.ToolCall
	err   error
}

func (*script) Name() string { return "scripted" }

func (s *script) Chat(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		a := s.answers[len(s.asked)]
		s.asked = append(s.asked, req)
		for _, text := range a.texts {
			if !yield(llm.Chunk{Text: text}, ctx.Err()) {
				return
			}
		}
		if a.err != nil {
			yield(llm.Chunk{}, a.err)
			return
		}
		finish := llm.FinishStop
		if len(a.calls) > 0 {
			finish = llm.FinishToolCalls
		}
		yield(llm.Chunk{Finish: finish, ToolCalls: a.calls}, nil)
	}
}

func hangUp(arguments string) []llm.ToolCall {
	return []llm.ToolCall{{ID: "call_1", Name: llm.EndConversation, Arguments: arguments}}
}

// play runs a turn and returns the text that was streamed, the reply and the error.
func play(t *testing.T, s *script) (string, *reply, error) {
	t.Helper()
	var text strings.Builder
	for event, err := range converse(t.Context(), s, "Be kind.", []llm.Message{{Role: llm.RoleUser, Text: "Hello"}}) {
		if err != nil {
			return text.String(), nil, err
		}
		if event.reply != nil {
			return text.String(), event.reply, nil
		}
		text.WriteString(event.text)
	}
	require.Fail(t, "the turn has no end")
	return "", nil, nil
}

func TestConverse(t *testing.T) {
	t.Parallel()
	reason := "all is said"
	for name, test := range map[string]struct {
		answers []answer
		text    string
		reply   reply
	}{
		"text": {
			answers: []answer{{texts: []string{" Good", " morning\n"}}},
			text:    " Good morning\n",
			reply:   reply{text: "Good morning"},
		},
		"what cannot be kept": {
			answers: []answer{{texts: []string{"a\x00b", "\x00", "c\xff"}}},
			text:    "abc\uFFFD",
			reply:   reply{text: "abc\uFFFD"},
		},
		"an end with a farewell": {
			answers: []answer{{texts: []string{"Goodbye"}, calls: hangUp(`{"reason":" all is said "}`)}},
			text:    "Goodbye",
			reply:   reply{text: "Goodbye", endReason: &reason},
		},
		"an end without a farewell": {
			answers: []answer{{calls: hangUp(`{"reason":"all is said"}`)}, {texts: []string{"Goodbye"}}},
			text:    "Goodbye",
			reply:   reply{text: "Goodbye", endReason: &reason},
		},
		"a call that is corrected": {
			answers: []answer{{texts: []string{"Well,"}, calls: hangUp(`{"reason":`)}, {texts: []string{"goodbye"}, calls: hangUp(`{"reason":"all is said"}`)}},
			text:    "Well,\n\ngoodbye",
			reply:   reply{text: "Well,\n\ngoodbye", endReason: &reason},
		},
		"a call that is corrected in silence": {
			answers: []answer{{texts: []string{"Goodbye"}, calls: hangUp(`{}`)}, {calls: hangUp(`{"reason":"all is said"}`)}},
			text:    "Goodbye",
			reply:   reply{text: "Goodbye", endReason: &reason},
		},
		"a call that is taken back": {
			answers: []answer{{calls: hangUp(`[]`)}, {texts: []string{"What else?"}}},
			text:    "What else?",
			reply:   reply{text: "What else?"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{answers: test.answers}
			text, got, err := play(t, s)
			require.NoError(t, err)
			require.Equal(t, test.text, text)
			require.Empty(t, cmp.Diff(test.reply, *got, cmp.AllowUnexported(reply{})))
			require.Len(t, s.asked, len(test.answers))
			require.True(t, strings.HasPrefix(s.asked[0].System, "Be kind.\n"))
			require.Len(t, s.asked[0].Tools, 1)
			for _, req := range s.asked {
				requireAnswered(t, req)
			}
		})
	}
}

// requireAnswered holds a request to the port's rule: every call has its result before anything else is said.
func requireAnswered(t *testing.T, req llm.Request) {
	t.Helper()
	for i, m := range req.Messages {
		for j, call := range m.ToolCalls {
			require.Equal(t, llm.RoleTool, req.Messages[i+1+j].Role)
			require.Equal(t, call.ID, req.Messages[i+1+j].ToolCallID)
		}
	}
}

func TestConverseWithAModelThatFails(t *testing.T) {
	t.Parallel()
	tooMany := &llm.Error{Cause: llm.RateLimited, Status: 429, Message: "the provider of gpt answered 429", Err: errors.New("https://key@host")}
	for name, test := range map[string]struct {
		answers []answer
		want    string
	}{
		"the provider fails": {[]answer{{err: tooMany}}, "the provider of gpt answered 429"},
		"after some text":    {[]answer{{texts: []string{"Goo"}, err: tooMany}}, "the provider of gpt answered 429"},
		"in another way":     {[]answer{{err: errors.New("socket https://key@host")}}, "the language model scripted failed"},
		"nothing":            {[]answer{{}}, "the language model scripted gave an empty answer"},
		"blanks":             {[]answer{{texts: []string{" ", "\x00\n"}}}, "the language model scripted gave an empty answer"},
		"no farewell":        {[]answer{{calls: hangUp(`{"reason":"x"}`)}, {}}, "the language model scripted gave an empty answer"},
		"no end":             {[]answer{{texts: []string{strings.Repeat("x", maxReply+1)}}}, "the language model scripted gave an answer that is too long to keep"},
		"wrong twice":        {[]answer{{calls: hangUp(`{}`)}, {calls: hangUp(`{"reason":" "}`)}}, "the language model scripted called end_conversation twice with wrong arguments"},
		"unknown tool": {
			[]answer{{texts: []string{"Wait"}, calls: []llm.ToolCall{{ID: "1", Name: "rm_rf", Arguments: "{}"}}}},
			"the language model scripted called a tool that it was not offered",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, got, err := play(t, &script{answers: test.answers})
			require.Nil(t, got)
			var known *model.Error
			require.ErrorAs(t, err, &known)
			require.Equal(t, model.UpstreamFailed, known.Code)
			require.Equal(t, test.want, known.Error(), "neither key nor address")
		})
	}
}

func TestConverseThatIsLeft(t *testing.T) {
	t.Parallel()
	s := &script{answers: []answer{{texts: []string{"one", "two"}}}}
	for event, err := range converse(t.Context(), s, "", nil) {
		require.NoError(t, err)
		require.Equal(t, "one", event.text)
		break
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range converse(ctx, &script{answers: []answer{{err: errors.New("closed")}}}, "", nil) {
		require.ErrorIs(t, err, context.Canceled)
	}
}
