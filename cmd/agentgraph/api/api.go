// Package api has the commands that ask a server by its API. A terminal is shown what people can read; a pipe gets JSON.
package api

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// outputFlag asks for JSON on a terminal, too.
type outputFlag struct {
	JSON bool
}

func (f *outputFlag) Declare() cli.Flags {
	return cli.Flags{
		{Into: &f.JSON, Name: "json", Env: "AGENTGRAPH_JSON", Help: "Print JSON on a terminal, too."},
	}
}

// forPeople reports whether people read the output.
func (f outputFlag) forPeople(out io.Writer) bool { return !f.JSON && client.IsTerminal(out) }

// width returns how many characters a line of the terminal has.
func width(out io.Writer) int {
	const unknown = 80
	if file, ok := out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return unknown
}

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
	shown := styleOf(out)
	for i, row := range rows {
		var line strings.Builder
		for j, cell := range row {
			fmt.Fprintf(&line, "%-*s  ", widths[j], cell)
		}
		text := shortened(strings.TrimRight(line.String(), " "), width(out))
		if i == 0 {
			text = shown.bold(text)
		}
		if _, err := fmt.Fprintln(out, text); err != nil {
			return err
		}
	}
	return nil
}

// style is whether a terminal shows colours.
type style bool

// styleOf respects https://no-color.org and terminals that know no colours.
func styleOf(out io.Writer) style {
	return style(client.IsTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

func (s style) bold(text string) string { return s.with("1", text) }
func (s style) dim(text string) string  { return s.with("2", text) }
func (s style) red(text string) string  { return s.with("31", text) }
func (s style) cyan(text string) string { return s.with("36", text) }

func (s style) with(code, text string) string {
	if !s {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
