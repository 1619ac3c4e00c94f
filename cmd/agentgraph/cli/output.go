package cli

import (
	"fmt"
	"io"
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
		if _, err := fmt.Fprintln(lines, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return lines.Flush()
}
