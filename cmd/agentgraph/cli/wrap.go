package cli

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
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

// fitting returns how many bytes of a text fit into limit columns. It is never less than the first character.
func fitting(text string, limit int) int {
	columns := 0
	for at, r := range text {
		columns += columnsOf(r)
		if columns > limit && at > 0 {
			return at
		}
	}
	return len(text)
}

// Columns returns the width of the text in columns of a terminal.
func Columns(text string) (columns int) {
	for _, r := range text {
		columns += columnsOf(r)
	}
	return columns
}

// columnsOf returns 2 for wide characters such as Chinese ones, 0 for combining marks, and otherwise 1.
func columnsOf(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
