package api

import (
	"io"
	"strings"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
)

// wrapper writes text that arrives in pieces, and wraps it at words to the width of a terminal. It holds the last word
// back until the word is complete.
type wrapper struct {
	out   io.Writer
	width int
	// column is the width of the unfinished line.
	column    int
	gap, word string
}

// write writes the whole words of the text.
func (w *wrapper) write(text string) {
	for _, r := range text {
		switch r {
		case '\n':
			w.flush()
			_, _ = io.WriteString(w.out, "\n")
			w.column, w.gap = 0, ""
		case ' ':
			w.flush()
			w.gap += " "
		default:
			w.word += string(r)
		}
	}
}

// flush writes the last word.
func (w *wrapper) flush() {
	if w.word == "" {
		return
	}
	columns := cli.Columns(w.gap + w.word)
	if w.column > 0 && w.column+columns > w.width {
		_, _ = io.WriteString(w.out, "\n")
		w.column, w.gap = 0, ""
		columns = cli.Columns(w.word)
	}
	_, _ = io.WriteString(w.out, w.gap+w.word)
	// The terminal itself breaks a word that is wider than its lines.
	if w.column += columns; w.column > w.width {
		w.column %= max(w.width, 1)
	}
	w.gap, w.word = "", ""
}

// endLine writes the last word and ends the line, unless it is empty.
func (w *wrapper) endLine() {
	w.flush()
	if w.column > 0 {
		_, _ = io.WriteString(w.out, "\n")
	}
	w.column, w.gap = 0, ""
}

// wrapped returns text wrapped at words, with the style applied to each line.
func wrapped(text string, width int, style func(string) string) string {
	var all strings.Builder
	for _, line := range cli.Wrap(text, width) {
		all.WriteString(style(line) + "\n")
	}
	return all.String()
}
