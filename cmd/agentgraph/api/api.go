// Package api has the commands that call a server's API or manage contexts. Most print readable text on a terminal, and
// JSON to a pipe.
package api

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// Commands returns the commands that call a server, in the order of the help.
func Commands() []*cobra.Command {
	return []*cobra.Command{newAgents(), newChat(),
		cli.Group("knowledge", "Measure what agents find in their knowledge.", newKnowledgeEvaluate()),
		newUsage(), newQuery(), newMCP()}
}

// Contexts returns the command "context".
func Contexts() *cobra.Command {
	return cli.Group("context", "Save servers with their keys under names.", newContextAdd(), newContextUse(),
		newContextList(), newContextRemove())
}

// outputFlag selects JSON even on a terminal.
type outputFlag struct {
	JSON bool
}

func (f *outputFlag) Declare() cli.Flags {
	return cli.Flags{
		{Into: &f.JSON, Name: "json", Help: "Print JSON even on a terminal."},
	}
}

// isHumanReadable reports whether the output is a terminal and JSON was not requested.
func (f outputFlag) isHumanReadable(out io.Writer) bool { return !f.JSON && cli.IsTerminal(out) }

// truncate cuts text to at most limit characters. An ellipsis marks the cut. A limit below 1 means no limit.
func truncate(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit || limit < 1 {
		return text
	}
	return string([]rune(text)[:limit-1]) + "…"
}

// writeTable writes rows in columns, with a bold first row. Lines are cut at the width of the terminal.
func writeTable(out io.Writer, rows [][]string) error {
	var whole strings.Builder
	if err := cli.WriteTable(&whole, rows); err != nil {
		return err
	}
	style := client.StyleOf(out).Bold
	for line := range strings.Lines(whole.String()) {
		text := style(truncate(strings.TrimRight(line, " \n"), cli.Width(out)))
		style = client.Style(false).Bold
		if _, err := fmt.Fprintln(out, text); err != nil {
			return err
		}
	}
	return nil
}
