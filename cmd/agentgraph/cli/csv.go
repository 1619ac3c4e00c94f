package cli

import (
	"bytes"
	"encoding/csv"
	"strings"
)

// NewCSV returns a reader of a table. The first separator outside of quotes applies to all lines: a comma, semicolon or
// tab.
func NewCSV(text []byte) *csv.Reader {
	reader := csv.NewReader(bytes.NewReader(text))
	isQuoted := false
	at := bytes.IndexFunc(text, func(r rune) bool {
		isQuoted = isQuoted != (r == '"')
		return !isQuoted && strings.ContainsRune(",;\t\n", r)
	})
	if at >= 0 && text[at] != '\n' {
		reader.Comma = rune(text[at])
	}
	return reader
}
