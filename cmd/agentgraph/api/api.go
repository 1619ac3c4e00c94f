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
	var whole strings.Builder
	if err := cli.WriteTable(&whole, rows); err != nil {
		return err
	}
	style := client.StyleOf(out).Bold
	for line := range strings.Lines(whole.String()) {
		text := style(shortened(strings.TrimRight(line, " \n"), client.Width(out)))
		style = client.Style(false).Bold
		if _, err := fmt.Fprintln(out, text); err != nil {
			return err
		}
	}
	return nil
}
