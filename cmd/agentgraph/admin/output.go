package admin

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
)

// outputFlag chooses between a table and JSON.
type outputFlag struct {
	JSON bool
}

func (f *outputFlag) Declare() cli.Flags {
	return cli.Flags{
		{Into: &f.JSON, Name: "json", Help: "Print JSON."},
	}
}

// print writes the value as JSON, or else the table, a line for each row.
func (f outputFlag) print(out io.Writer, value any, table [][]string) error {
	if f.JSON {
		return cli.WriteJSON(out, value)
	}
	lines := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, row := range table {
		if _, err := fmt.Fprintln(lines, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return lines.Flush()
}
