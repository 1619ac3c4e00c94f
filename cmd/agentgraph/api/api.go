// Package api has the commands that ask a server by its API. A terminal is shown what people can read; a pipe gets
// JSON.
package api

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// outputFlag asks for JSON on a terminal, too.
type outputFlag struct {
	JSON bool
}

func (f *outputFlag) Declare() cli.Flags {
	return cli.Flags{
		{Into: &f.JSON, Name: "json", Help: "Print JSON on a terminal, too."},
	}
}

// forPeople reports whether people read the output.
func (f outputFlag) forPeople(out io.Writer) bool { return !f.JSON && cli.IsTerminal(out) }

// shortened cuts text that has more characters than fit.
func shortened(text string, most int) string {
	if utf8.RuneCountInString(text) <= most || most < 1 {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// table writes rows in columns, the first of them in bold. Lines that do not fit the terminal are cut.
func table(out io.Writer, rows [][]string) error {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	shown := client.StyleOf(out)
	for i, row := range rows {
		var line strings.Builder
		for j, cell := range row {
			fmt.Fprintf(&line, "%-*s  ", widths[j], cell)
		}
		text := shortened(strings.TrimRight(line.String(), " "), client.Width(out))
		if i == 0 {
			text = shown.Bold(text)
		}
		if _, err := fmt.Fprintln(out, text); err != nil {
			return err
		}
	}
	return nil
}
