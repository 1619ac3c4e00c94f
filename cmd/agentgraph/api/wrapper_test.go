package api

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// The lines of a text do not depend on how the text is split into pieces.
func TestStreamedAnswersWrapAtWords(t *testing.T) {
	t.Parallel()
	const text = "We are open from nine to five.\n\n- On Sundays  we are closed, and 你好你好你好\nAlongwordthatisbroken by it"
	for size := 1; size < len(text); size++ {
		var out bytes.Buffer
		w := wrapper{out: &out, width: 16, column: len("Agent: ")}
		runes := []rune(text)
		for at := 0; at < len(runes); at += size {
			w.write(string(runes[at:min(at+size, len(runes))]))
		}
		w.endLine()
		require.Equal(t, "We are\nopen from nine\nto five.\n\n- On Sundays  we\nare closed, "+
			"and\n你好你好你好\nAlongwordthatisbroken by it\n", out.String())
	}
}
