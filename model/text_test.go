package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestTextsAreQuotedAsTheyAre(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"می\u200cخواهم 東京\u3000支店 👨\u200d👩\u200d👧": "\"می\u200cخواهم 東京\u3000支店 👨\u200d👩\u200d👧\"", "a \"b\" \\ c": `"a \"b\" \\ c"`,
		"a\n\x1b\u0085\u202e\u2066\xff": `"a\n\x1b\u0085\u202e\u2066\xff"`, "it's \ufffd": "\"it's \ufffd\"",
	} {
		require.Equal(t, want, model.Quote(text))
		says := model.TestExpectation{Says: &model.SaidExpectation{Text: &text}}
		require.Equal(t, "says "+want, says.String())
	}
}
