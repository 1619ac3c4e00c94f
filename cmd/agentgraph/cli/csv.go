package cli

import (
	"bytes"
	"encoding/csv"
	"regexp"
	"strings"
)

// separatorLine matches a first line that declares the separator for Excel.
var separatorLine = regexp.MustCompile(`^(?i:sep)=([,;|\t])\r?(?:\n|$)`)

// NewCSV returns a reader of a table. The first separator outside of quotes applies to all lines: a comma, semicolon or
// tab. A first line such as sep=; declares the separator, and is not part of the table.
func NewCSV(text []byte) *csv.Reader {
	reader := csv.NewReader(bytes.NewReader(text))
	if declared := separatorLine.FindSubmatch(text); declared != nil {
		reader.Comma = rune(declared[1][0])
		_, _ = reader.Read() // FieldPos counts this line
		reader.FieldsPerRecord = 0
		return reader
	}
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
