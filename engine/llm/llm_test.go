package llm_test

import (
	"errors"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
)

func stream(chunks []llm.Chunk, err error) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		for _, chunk := range chunks {
			if !yield(chunk, nil) {
				return
			}
		}
		if err != nil {
			yield(llm.Chunk{}, err)
		}
	}
}

func TestCollectJoinsTheChunks(t *testing.T) {
	t.Parallel()
	calls := []llm.ToolCall{{ID: "call_1", Name: llm.EndConversation, Arguments: `{"reason":"done"}`}}
	broken := &llm.Error{Cause: llm.CutOff, Status: 200, Message: "the stream broke"}

	for name, test := range map[string]struct {
		chunks []llm.Chunk
		err    error
		want   llm.Answer
	}{
		"text": {
			chunks: []llm.Chunk{{Text: "Good "}, {Text: "morning"},
				{Finish: llm.FinishStop, Usage: llm.Usage{InputTokens: 9, OutputTokens: 2}}},
			want: llm.Answer{Text: "Good morning", Finish: llm.FinishStop, Usage: llm.Usage{InputTokens: 9, OutputTokens: 2}},
		},
		"text on the last chunk": {
			chunks: []llm.Chunk{{Text: "Good "}, {Text: "night", Finish: llm.FinishStop}},
			want:   llm.Answer{Text: "Good night", Finish: llm.FinishStop},
		},
		"tool calls": {
			chunks: []llm.Chunk{{Text: "Bye"}, {Finish: llm.FinishToolCalls, ToolCalls: calls}},
			want:   llm.Answer{Text: "Bye", Finish: llm.FinishToolCalls, ToolCalls: calls},
		},
		"failure after some text": {
			chunks: []llm.Chunk{{Text: "Good "}, {Text: "eve"}},
			err:    broken,
			want:   llm.Answer{Text: "Good eve"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := llm.Collect(stream(test.chunks, test.err))
			require.ErrorIs(t, err, test.err)
			require.Empty(t, cmp.Diff(test.want, answer))
		})
	}
}

func TestTransientErrorsAreRetryable(t *testing.T) {
	t.Parallel()
	for cause, want := range map[llm.Cause]bool{
		llm.RateLimited: true, llm.Unavailable: true, llm.CutOff: true,
		llm.Unauthorized: false, llm.Rejected: false, llm.TimedOut: false, llm.Malformed: false,
		llm.Empty: false, llm.Filtered: false, llm.TooLong: false,
	} {
		require.Equal(t, want, (&llm.Error{Cause: cause}).Retryable(), cause)
	}
}

func TestErrorWrapsItsCause(t *testing.T) {
	t.Parallel()
	underneath := errors.New("dial tcp 192.0.2.1:443: connection refused")
	err := error(&llm.Error{Cause: llm.Unavailable, Message: "the provider could not be reached", Err: underneath})
	require.ErrorIs(t, err, underneath)
	require.Equal(t, "the provider could not be reached", err.Error())
}
