package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// foundChunks returns chunks of one document.
func foundChunks(contents ...string) []*model.RetrievedChunk {
	tenth, chunks := 0.1, make([]*model.RetrievedChunk, len(contents))
	for i, content := range contents {
		chunks[i] = &model.RetrievedChunk{
			Chunk:    &model.Chunk{ID: "chunk", DocumentID: "document", Position: int32(i), Content: content},
			Document: &model.Document{Name: "Leaflet"}, Score: tenth + 0.2,
		}
	}
	return chunks
}

func TestCitationsAreReadFromTheAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		said, text string
		numbers    []int32
	}{
		"one":               {"It is 30 [1].", "It is 30 [1].", []int32{1}},
		"several":           {"A [2][1] b [1].", "A [2][1] b [1].", []int32{1, 2}},
		"a list":            {"A [2, 9;1].", "A [2, 1].", []int32{1, 2}},
		"a range":           {"A [1-3]. B [2–1; 9] c [7 - 9].", "A [1, 2]. B [1, 2] c.", []int32{1, 2}},
		"beyond the chunks": {"A [3]. B [0] c\t[12].", "A. B c.", nil},
		"at a line's start": {"[9] A\n[8] B\n- [7] C", "A\nB\n- C", nil},
		"alone":             {"[9]", "", nil},
		"a link":            {"See [1](https://example.com) [2]", "See [1](https://example.com) [2]", []int32{2}},
		"a year": {"In [2024], [2, 2024] and [x], [-1], [1.5]", "In [2024], [2, 2024] and [x], [-1], [1.5]",
			nil},
		"an unclosed citation": {"A [1", "A [1", nil},
		"digits with a blank":  {"A [1 ] b [ 2]. C [ 3 ].", "A [1] b [2]. C.", []int32{1, 2}},
		"other brackets":       {"A【1】. B 【2†source】 c【1, 2】d【9†L3-L5】.", "A[1]. B [2] c[1, 2]d.", []int32{1, 2}},
		"a heading":            {"【2024】 a 【x】 b 【1†", "【2024】 a 【x】 b 【1†", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &retrieval{chat: &model.KnowledgeBaseChat{PromptSettings: model.PromptSettings{ShowQuote: true}},
				shown: foundChunks("one", "two")}
			text, citations := (&conversation{knowledge: r, channel: model.ChannelWeb}).cite(test.said)
			require.Equal(t, test.text, strings.TrimSpace(text))
			var numbers []int32
			for _, c := range citations {
				numbers = append(numbers, c.Number)
				require.Equal(t, r.shown[c.Number-1].Content, c.Content)
				require.Equal(t, c.Number-1, c.Position)
			}
			require.Equal(t, test.numbers, numbers)
		})
	}
}

func TestCitationsDependOnTheChannel(t *testing.T) {
	t.Parallel()
	r := &retrieval{chat: &model.KnowledgeBaseChat{PromptSettings: model.PromptSettings{ShowQuote: true}},
		shown: foundChunks("one")}
	for channel, want := range map[model.Channel]string{
		model.ChannelWeb: "Yes [1].", model.ChannelWhatsApp: "Yes [1].", model.ChannelPhone: "Yes.", model.ChannelSms: "Yes.",
	} {
		text, citations := (&conversation{knowledge: r, channel: channel}).cite("Yes [1].")
		require.Equal(t, want, text, channel)
		require.Equal(t, channel.ShowsSources(), len(citations) == 1)
	}
}

func TestSavedRetrievalsAreBounded(t *testing.T) {
	t.Parallel()
	require.JSONEq(t, `{"chunks":[{"number":1,"chunkId":"chunk","documentId":"document","documentName":"Leaflet","position":0,
		"score":0.30000000000000004,"termSimilarity":0,"vectorSimilarity":null,"content":"<a> & \"b\""}]}`, resultOfRetrieval(foundChunks(`<a> & "b"`)))
	long := resultOfRetrieval(foundChunks(strings.Repeat("\n", 60_000), "short", strings.Repeat("é", 40_000)))
	require.LessOrEqual(t, len(long), maxResult)
	require.Contains(t, long, `"short"`)
	require.Contains(t, long, content.CutMark)
	require.Len(t, RetrievedBy(&model.ToolCall{Kind: model.ToolCallKindRetrieval, Result: &long}), 3)
}

func TestInstructionsAreBounded(t *testing.T) {
	t.Parallel()
	s := newScene(say("It says so [1] [2] [3]."))
	s.main.chat = &model.KnowledgeBaseChat{ID: "chat", PromptSettings: model.PromptSettings{Prompt: "{knowledge}",
		ShowQuote: true}}
	s.main.Agent.Channel = model.ChannelWeb
	chunk := strings.Repeat("x", 200<<10)
	s.effects.retrieve = retrieves(foundChunks(chunk, chunk, chunk)...)
	got := s.play(t)
	require.NoError(t, got.err)
	require.Equal(t, "It says so [1] [2].", got.reply.Text)
	require.Len(t, got.reply.citations, 2)
	require.Equal(t, []string{"the search results are too long for the agent's instructions: 1 of 3 chunks " +
		"were left out"}, got.warnings)
	excerpts, _ := llm.Excerpts(s.script.asked["Main"][0].System)
	require.Len(t, excerpts, 2)

	s = newScene(say("Never"))
	s.main.chat = &model.KnowledgeBaseChat{ID: "chat",
		PromptSettings: model.PromptSettings{Prompt: strings.Repeat("{knowledge}", 10)}}
	s.effects.retrieve = retrieves(foundChunks(chunk)...)
	got = s.play(t)
	var known *model.Error
	require.ErrorAs(t, got.err, &known)
	require.Equal(t, model.Unprocessable, known.Code)
	require.Equal(t, []string{"+knowledge_base", "-knowledge_base"}, got.order)
	require.NotNil(t, got.calls[0].Error)
}

func TestTurnStopsDuringRetrieval(t *testing.T) {
	t.Parallel()
	s := newScene(say("Never"))
	s.main.chat = &model.KnowledgeBaseChat{ID: "chat"}
	ctx, leave := context.WithCancel(t.Context())
	s.effects.retrieve = func(ctx context.Context, _ *model.KnowledgeBaseChat, _ string) ([]*model.RetrievedChunk, error) {
		leave()
		return nil, ctx.Err()
	}
	got := s.playUntil(ctx, t)
	require.ErrorIs(t, got.err, context.Canceled)
	require.Equal(t, "the turn ended before the call did", *got.calls[0].Error)
	require.Empty(t, s.script.asked)
}
