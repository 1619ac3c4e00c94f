package provider_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// say returns a stream of these pieces of text.
func say(pieces ...string) string {
	stream := ""
	for _, piece := range pieces {
		encoded, _ := json.Marshal(piece)
		stream += event(`{"choices":[{"delta":{"content":` + string(encoded) + `}}]}`)
	}
	return stream + event(`{"choices":[{"delta":{},"finish_reason":"stop"}]}`) + done
}

func TestThoughtsInTagsAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pieces []string
		want   string
	}{
		{[]string{"\n<th", "ink>\nHm. <", "/thin", "k>", "\n", "\nGood ", "day\n"}, "Good day\n"},
		{[]string{"<think></think>Good day"}, "Good day"},
		{[]string{"<thinking>Hm. İ</thinking> Good <think> day"}, "Good <think> day"},
		{[]string{"<thin", "gs> are good"}, "<things> are good"},
		{[]string{" ", "Good ", "<think>day</think>"}, " Good <think>day</think>"},
		{[]string{"<"}, "<"},
	} {
		_, model := serve(t, nil, events(say(test.pieces...)))
		answer, err := llm.Collect(model.Chat(t.Context(), hello))
		require.NoError(t, err)
		require.Equal(t, test.want, answer.Text)
	}

	_, model := serve(t, nil, events(say("<think>Hm.", " Hm.")))
	answer, err := llm.Collect(model.Chat(t.Context(), hello))
	require.Equal(t, llm.Empty, requireFailure(t, err).Cause)
	require.Empty(t, answer.Text)
}
