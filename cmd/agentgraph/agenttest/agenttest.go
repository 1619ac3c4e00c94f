// Package agenttest is "agentgraph test": a client that runs tests of agents on a server over GraphQL, follows them,
// reports them, and ends with an exit code for their outcome.
package agenttest

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// Commands returns the commands that run and show tests of agents on a server.
func Commands() []*cobra.Command {
	return []*cobra.Command{newRunCommand(), newRejudgeCommand(), newCompareCommand(), newListCommand(), newShowCommand()}
}

// named is anything that is shown by its name.
type named struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func (n *named) String() string {
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
	Agent         *named     `json:"agent"`
	Folder        *named     `json:"folder"`
	LastRunID     *string    `json:"lastRunId,omitempty"`
	LastRunStatus *string    `json:"lastRunStatus,omitempty"`
	LastRunAt     *time.Time `json:"lastRunAt,omitempty"`
}

type listCommand struct {
	client.Flags
	Agent  *string
	Folder *string
	JSON   bool
}

// newListCommand returns the command "list".
func newListCommand() *cobra.Command {
	c := &listCommand{}
	return cli.New(c, &cobra.Command{
		Use: "list", Short: "List tests.",
		Example: "agentgraph test list --agent agent_01m7yn1htzexesns5wjxxva918",
	}, nil, &c.Flags, cli.Flags{
		{Into: &c.Agent, Name: "agent", Env: "AGENTGRAPH_TEST_AGENT", Placeholder: "ID", Help: "Only tests of this agent."},
		{Into: &c.Folder, Name: "folder", Env: "AGENTGRAPH_TEST_FOLDER", Placeholder: "ID", Help: "Only tests in this folder."},
		{Into: &c.JSON, Name: "json", Env: "AGENTGRAPH_TEST_JSON", Help: "Print JSON."},
	})
}

// testsDocument reads a page of tests, or NOT_FOUND if the agent or folder that narrows them does not exist.
const testsDocument = `query (
	$agent: ID, $folder: ID, $after: String, $ofAgent: Boolean!, $inFolder: Boolean!, $agentId: ID! = "", $folderId: ID! = ""
) {
	agent(id: $agentId) @include(if: $ofAgent) { id }
	agentTestFolder(id: $folderId) @include(if: $inFolder) { id }
	agentTests(agentId: $agent, folderId: $folder, first: 100, after: $after) {
		nodes { id kind name agent { id name } folder { id name } lastRunId lastRunStatus lastRunAt }
		pageInfo { hasNextPage endCursor }
	}
}`

// Run prints one line for each test, or all of them as JSON.
func (c *listCommand) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	server, err := c.Connect(cmd)
	if err != nil {
		return err
	}
	tests := []listedTest{}
	for page := (client.PageInfo{HasNextPage: true}); page.HasNextPage; {
		var read struct {
			AgentTests struct {
				Nodes    []listedTest
				PageInfo client.PageInfo
			}
		}
		with := client.Variables{"after": page.EndCursor, "ofAgent": c.Agent != nil, "inFolder": c.Folder != nil}
		if c.Agent != nil {
			with["agent"], with["agentId"] = *c.Agent, *c.Agent
		}
		if c.Folder != nil {
			with["folder"], with["folderId"] = *c.Folder, *c.Folder
		}
		if err := server.Ask(ctx, testsDocument, with, &read); err != nil {
			return client.ExitWith(ctx, err)
		}
		tests, page = append(tests, read.AgentTests.Nodes...), read.AgentTests.PageInfo
	}
	if c.JSON {
		return client.WriteJSON(cmd.OutOrStdout(), tests)
	}
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "ID\tKIND\tLAST RUN\tAGENT\tFOLDER\tNAME")
	for _, test := range tests {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n",
			test.ID, test.Kind, orDash(test.LastRunStatus), test.Agent, test.Folder, client.Printable(test.Name))
	}
	return table.Flush()
}

func orDash[T any](value *T) string {
	if value == nil {
		return "-"
	}
	return fmt.Sprint(*value)
}
