package llm_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// scripted is a model that says a text and then fails or ends.
type scripted struct {
	name, text string
	err        error
	asked      *int
}

func (s scripted) Name() string { return s.name }

func (s scripted) Chat(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		*s.asked++
		if s.text != "" && !yield(llm.Chunk{Text: s.text}, nil) {
			return
		}
		if s.err != nil {
			yield(llm.Chunk{}, s.err)
			return
		}
		yield(llm.Chunk{Finish: llm.FinishStop}, nil)
	}
}

func TestFallbackAnswersWhileTheFirstIsUnavailable(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		first    scripted
		text, by string
		err      error
		asked    int
	}{
		"the first answers":     {scripted{text: "one"}, "one", "", nil, 0},
		"unavailable":           {scripted{err: &llm.Error{Cause: llm.Unavailable}}, "two", "second", nil, 1},
		"rate limited":          {scripted{err: &llm.Error{Cause: llm.RateLimited}}, "two", "second", nil, 1},
		"quota used up":         {scripted{err: &llm.Error{Cause: llm.RateLimited, Final: true}}, "two", "second", nil, 1},
		"too slow":              {scripted{err: &llm.Error{Cause: llm.TimedOut}}, "two", "second", nil, 1},
		"slow after some words": {scripted{text: "on", err: &llm.Error{Cause: llm.TimedOut}}, "on", "", &llm.Error{}, 0},
		"cut after some words":  {scripted{text: "on", err: &llm.Error{Cause: llm.CutOff}}, "on", "", &llm.Error{}, 0},
		"refused":               {scripted{err: &llm.Error{Cause: llm.Rejected}}, "", "", &llm.Error{}, 0},
		"wrong key":             {scripted{err: &llm.Error{Cause: llm.Unauthorized}}, "", "", &llm.Error{}, 0},
		"another error":         {scripted{err: broken}, "", "", broken, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, log := 0, bytes.Buffer{}
			test.first.name, test.first.asked = "first", new(int)
			model := llm.Fallback(test.first, scripted{name: "second", text: "two", asked: &asked},
				slog.New(slog.NewTextHandler(&log, nil)))
			require.Equal(t, "first", model.Name())
			text, by := "", ""
			var failed error
			for chunk, err := range model.Chat(t.Context(), llm.Request{}) {
				text, by, failed = text+chunk.Text, chunk.Model, err
			}
			require.Equal(t, []string{test.text, test.by}, []string{text, by})
			require.Equal(t, test.err != nil, failed != nil, "%v", failed)
			require.Equal(t, test.asked, asked)
			require.Equal(t, test.asked, strings.Count(log.String(), "model=first fallback=second"))
		})
	}
}

func TestFallbackDoesNotAnswerACancelledCaller(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	asked := 0
	first := scripted{name: "first", err: &llm.Error{Cause: llm.Unavailable}, asked: new(int)}
	_, err := llm.Collect(llm.Fallback(first, scripted{name: "second", asked: &asked}, slog.New(slog.DiscardHandler)).
		Chat(ctx, llm.Request{}))
	require.Error(t, err)
	require.Zero(t, asked)
}
