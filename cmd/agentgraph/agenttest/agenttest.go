// Package agenttest is "agentgraph test": a client that runs agent tests on a server over GraphQL, follows them,
// reports them, and ends with an exit code for their outcome. Start reading at Commands.
package agenttest

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// Commands returns the commands that run and show agent tests on a server.
func Commands() []*cobra.Command {
	return []*cobra.Command{newRunCommand(), newRejudgeCommand(), newBlameCommand(), newCompareCommand(), newListCommand(),
		newExecutionsCommand(), newShowCommand(), cli.Group("labels", "Compare the judge with people who labeled its "+
			"verdicts.", newLabelsShow(), newLabelsExport(), newLabelsImport())}
}

// namedRef is anything that is shown with its name.
type namedRef struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func (n *namedRef) String() string {
	if n == nil {
		return "-"
	}
	return client.Printable(n.Name)
}

// listedTest is a test as lists and runs show it.
type listedTest struct {
	ID            string     `json:"id"`
	Kind          string     `json:"kind"`
	Name          string     `json:"name"`
	Agent         *namedRef  `json:"agent"`
	Folder        *namedRef  `json:"folder"`
	LastRunID     *string    `json:"lastRunId,omitempty"`
	LastRunStatus *string    `json:"lastRunStatus,omitempty"`
	LastRunAt     *time.Time `json:"lastRunAt,omitempty"`
}

type listCommand struct {
	client.Flags
	Agent  []string
	Folder []string
	cli.OutputFlag
}

func newListCommand() *cobra.Command {
	c := &listCommand{}
	return cli.New(c, &cobra.Command{
		Use: "list", Short: "List tests.",
		Example: `agentgraph test list --agent "Clinic reception"
agentgraph test list --folder Regression --json`,
	}, nil, &c.Flags, cli.Flags{
		{Into: &c.Agent, Name: "agent", Placeholder: "AGENT", Complete: c.CompleteNames(client.Agents),
			Help: "Only tests of this agent, by name or id. Separate several with commas, or repeat the flag."},
		{Into: &c.Folder, Name: "folder", Placeholder: "FOLDER", Complete: c.CompleteNames(client.Folders),
			Help: "Only tests in this folder, by name or id. Separate several with commas, or repeat the flag."},
	}, &c.OutputFlag)
}

// Run prints the tests: in words on a terminal, as a table elsewhere, or as JSON.
func (c *listCommand) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	server, err := c.Connect(cmd)
	if err != nil {
		return err
	}
	tests, err := c.tests(ctx, server)
	if err != nil {
		return client.ExitWith(ctx, err)
	}
	out := cmd.OutOrStdout()
	if !c.JSON && cli.IsTerminal(out) {
		return showTests(out, tests)
	}
	table := [][]string{{"ID", "KIND", "LAST RUN", "AGENT", "FOLDER", "NAME"}}
	for _, test := range tests {
		table = append(table, []string{test.ID, test.Kind, orDash(test.LastRunStatus), test.Agent.String(),
			test.Folder.String(), client.Printable(test.Name)})
	}
	return c.Print(out, tests, table)
}

// tests reads the tests in the folders that the flags name, otherwise the tests of the agents, otherwise all tests.
func (c *listCommand) tests(ctx context.Context, server *client.Client) ([]listedTest, error) {
	agents, err := server.FindAll(ctx, client.Agents, c.Agent)
	if err != nil {
		return nil, err
	}
	folders, err := server.FindAll(ctx, client.Folders, c.Folder, agents...)
	if err != nil {
		return nil, err
	}
	if len(folders) > 0 || len(agents) == 0 {
		agents = []string{""} // FindAll has found only folders of the agents
	}
	if len(folders) == 0 {
		folders = []string{""}
	}
	all := []listedTest{}
	for _, agentID := range agents {
		for _, folderID := range folders {
			tests, err := readTests(ctx, server, agentID, folderID)
			if err != nil {
				return nil, err
			}
			all = append(all, tests...)
		}
	}
	return all, nil
}

// showTests shows tests on a terminal, grouped by agent and folder. Long names wrap next to their ids.
func showTests(out io.Writer, tests []listedTest) error {
	style := client.StyleOf(out)
	const statusWidth, between = len("Cancelled"), 2
	idWidth := 0
	for _, test := range tests {
		idWidth = max(idWidth, len(test.ID))
	}
	nameWidth := max(cli.Width(out)-statusWidth-idWidth-2*between, 16)
	groupTitle := func(t listedTest) string {
		if t.Folder == nil {
			return t.Agent.String()
		}
		return t.Agent.String() + " / " + t.Folder.String()
	}
	slices.SortStableFunc(tests, func(a, b listedTest) int { return strings.Compare(groupTitle(a), groupTitle(b)) })
	var text strings.Builder
	for i, test := range tests {
		if i == 0 || groupTitle(test) != groupTitle(tests[i-1]) {
			if i > 0 {
				text.WriteString("\n")
			}
			text.WriteString(style.Bold(strings.Join(cli.Wrap(groupTitle(test), cli.Width(out)), "\n")) + "\n")
		}
		status := orDash(test.LastRunStatus)
		for j, line := range cli.Wrap(client.Printable(test.Name), nameWidth) {
			first, last := "", ""
			if j == 0 {
				first, last = status, style.Dim(test.ID)
			}
			padding := strings.Repeat(" ", max(nameWidth-cli.Columns(line), 0)+between)
			text.WriteString(strings.TrimRight(colored(style, status, fmt.Sprintf("%-*s", statusWidth+between, first))+line+
				padding+last, " ") + "\n")
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}

func orDash[T any](value *T) string {
	return formatted(value, func(v T) string { return fmt.Sprint(v) })
}

// formatted returns a value as text, or "-" for nil.
func formatted[T any](value *T, format func(T) string) string {
	if value == nil {
		return "-"
	}
	return format(*value)
}
