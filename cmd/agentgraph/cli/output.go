package cli

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"
)

// OutputFlag chooses between a table and JSON.
type OutputFlag struct {
	JSON bool
}

// Declare returns the flag.
func (f *OutputFlag) Declare() Flags {
	return Flags{
		{Into: &f.JSON, Name: "json", Help: "Print JSON."},
	}
}

// Print writes the value as JSON if --json was given, otherwise the table.
func (f OutputFlag) Print(out io.Writer, value any, table [][]string) error {
	if f.JSON {
		return WriteJSON(out, value)
	}
	return WriteTable(out, table)
}

// WriteTable writes a line for each row, in columns.
func WriteTable(out io.Writer, rows [][]string) error {
	lines := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(lines, strings.Join(row, "\t")) // Flush returns the error
	}
	return lines.Flush()
}

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
