package knowledge_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

// FuzzChunk requires that splitting loses no text, leaves no piece blank, and keeps each piece within its bound unless
// a single character exceeds it.
func FuzzChunk(f *testing.F) {
	for _, content := range []string{
		"one two three; four five six\nseven eight nine ## ten", "Question: When?\nAnswer: On Monday.\nQuestion: Where?",
		"Article 5\nThe parcel.\n\n1.2 Returns\nNone.",
		"name;price\nring;5\nwatch;90", strings.Repeat("parcel", 200), strings.Repeat("漢字", 100),
		"👩‍👩‍👧‍👦👩‍👩‍👧‍👦 e\u0301\u0301\u0301", "\t\n\u2003",
	} {
		for i := range model.ChunkMethods {
			f.Add(content, "\n`##`;", uint16(20), uint8(i))
		}
	}
	f.Add("a§b`c", "`§`", uint16(1), uint8(0))
	tokens := codec.NewCl100kBase()
	f.Fuzz(func(t *testing.T, content, delimiter string, limit uint16, method uint8) {
		dataset, err := model.NewDataset(model.CreateDatasetInput{Name: "d", ParserConfig: &model.ParserConfigInput{
			Delimiter: &delimiter, ChunkTokenNum: new(int32(limit)),
		}}, time.Now())
		if err != nil {
			return
		}
		text, err := knowledge.Read(t.Context(), "a.txt", "", []byte(content))
		if err != nil {
			return
		}
		name := model.ChunkMethods[int(method)%len(model.ChunkMethods)]
		pieces, _, err := knowledge.Chunk(t.Context(), text, name, dataset.ParserConfig)
		require.NoError(t, err)
		var whole strings.Builder
		for _, p := range pieces {
			require.NotEmpty(t, strings.TrimSpace(p.Content))
			require.True(t, utf8.ValidString(p.Content))
			require.Positive(t, p.Tokens)
			if name == "naive" {
				require.LessOrEqual(t, p.Tokens, max(int(limit), 12))
				n, err := tokens.Count(p.Content)
				require.NoError(t, err)
				require.LessOrEqual(t, n, 2*int(limit)+12, "%q", p.Content)
			}
			whole.WriteString(p.Content)
		}
		if name == "naive" || name == "one" {
			require.Equal(t, visible(text.String()), visible(whole.String()))
		}
	})
}
