package cli

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Wrap wraps a text at words into lines of at most limit columns. It breaks longer words.
func Wrap(text string, limit int) (lines []string) {
	for _, line := range wrap(text, limit) {
		for Columns(line) > limit {
			at := fitting(line, limit)
			lines, line = append(lines, line[:at]), line[at:]
		}
		lines = append(lines, line)
	}
	return lines
}

// wrap wraps a text at words into lines of at most limit columns. A longer word gets a line of its own.
func wrap(text string, limit int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(text) {
		last := len(lines) - 1
		switch {
		case lines[last] == "":
			lines[last] = word
		case Columns(lines[last])+1+Columns(word) <= limit:
			lines[last] += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// fitting returns how many bytes of a text fit into limit columns, at least those of the first character.
func fitting(text string, limit int) (end int) {
	columns := 0
	for characters := uniseg.NewGraphemes(text); characters.Next(); {
		if columns += characters.Width(); columns > limit && end > 0 {
			break
		}
		_, end = characters.Positions()
	}
	return end
}

// Columns returns the width of the text in columns of a terminal.
func Columns(text string) int { return uniseg.StringWidth(text) }
