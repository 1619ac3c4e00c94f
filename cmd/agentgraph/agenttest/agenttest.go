// Package agenttest is "agentgraph test": a client that runs tests of agents on a server over GraphQL, follows them,
// reports them, and ends with an exit code for their outcome.
package agenttest

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/alecthomas/kong"
)

// Command runs and shows tests of agents on a server.
type Command struct {
	Run     runCommand     `cmd:"" help:"Run tests on a server, follow them to their end, and tell the outcome by the exit code." example:"agentgraph test run --agent agent_01m7yn1htzexesns5wjxxva918\nagentgraph test run --folder folder_01m7z9685cf55rywtpa0zbgq8c --repeat 5 --min-pass-rate 0.9 --junit junit.xml"`
	Rejudge rejudgeCommand `cmd:"" help:"Judge the conversations of a finished execution again, beside their first verdicts, and tell the outcome by the exit code." example:"agentgraph test rejudge execution_01m7z9685dexj96fa38g6xqx8e\nagentgraph test rejudge execution_01m7z9685dexj96fa38g6xqx8e --model gpt-4.1 --criteria present"`
	Compare compareCommand `cmd:"" help:"Compare an execution with earlier ones, and tell by the exit code whether something got worse." example:"agentgraph test compare execution_01m7z9685dexj96fa38g6xqx8e --with execution_01m7z96rn3ebj8ybp0mfn1cq70"`
	List    listCommand    `cmd:"" help:"List tests." example:"agentgraph test list --agent agent_01m7yn1htzexesns5wjxxva918"`
	Show    showCommand    `cmd:"" help:"Show a test, an execution or a run with its transcript and verdicts." example:"agentgraph test show run_01m7z96rn3ec4856emjz9wpnx5"`
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
	Agent  *string `env:"AGENTGRAPH_TEST_AGENT" placeholder:"ID" help:"Only tests of this agent."`
	Folder *string `env:"AGENTGRAPH_TEST_FOLDER" placeholder:"ID" help:"Only tests in this folder."`
	JSON   bool    `name:"json" env:"AGENTGRAPH_TEST_JSON" help:"Print JSON."`
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
func (c *listCommand) Run(ctx context.Context, cli *kong.Context, vars kong.Vars) error {
	server, err := c.Connect(cli, vars["version"])
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
		return client.WriteJSON(cli.Stdout, tests)
	}
	table := tabwriter.NewWriter(cli.Stdout, 0, 4, 2, ' ', 0)
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
