// Package agenttest is "agentgraph test": a client that runs tests of agents on a server over GraphQL, follows them,
// reports them, and ends with an exit code for their outcome.
package agenttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/alecthomas/kong"

	"github.com/agentgraph/agentgraph/model"
)

// Command runs and shows tests of agents on a server.
type Command struct {
	Run  runCommand  `cmd:"" help:"Run tests on a server, follow them to their end, and tell the outcome by the exit code."`
	List listCommand `cmd:"" help:"List tests."`
	Show showCommand `cmd:"" help:"Show a test, an execution or a run with its transcript and verdicts."`
}

// Exit codes of the test commands.
const (
	exitPassed = iota
	// ExitUsage means that the command line or the request is wrong.
	ExitUsage
	exitFailed
	exitFault
	exitCancelled
	exitInconclusive
)

// exitError is an error that decides the exit code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// ExitCode returns the exit code of the program.
func (e *exitError) ExitCode() int { return e.code }

// exitWith gives a client's error its exit code: usage if the request was wrong, cancelled if ctx has ended, else
// fault.
func exitWith(ctx context.Context, err error) error {
	var coded *exitError
	if err == nil || errors.As(err, &coded) {
		return err
	}
	if ctx.Err() != nil {
		if errors.Is(context.Cause(ctx), errTimeout) {
			return &exitError{exitCancelled, fmt.Errorf("cancelled before anything was run: %w", errTimeout)}
		}
		return &exitError{exitCancelled, errors.New("cancelled")}
	}
	switch codeOf(err) {
	case model.NotFound, model.BadInput, model.Unprocessable:
		return &exitError{ExitUsage, err}
	}
	return &exitError{exitFault, err}
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
	return printable(n.Name)
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
	serverFlags
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

// pageInfo describes the end of a page.
type pageInfo struct {
	HasNextPage bool
	EndCursor   *string
}

// Run prints one line for each test, or all of them as JSON.
func (c *listCommand) Run(ctx context.Context, cli *kong.Context, vars kong.Vars) error {
	client, tests := c.client(vars["version"]), []listedTest{}
	for page := (pageInfo{HasNextPage: true}); page.HasNextPage; {
		var read struct {
			AgentTests struct {
				Nodes    []listedTest
				PageInfo pageInfo
			}
		}
		with := variables{"after": page.EndCursor, "ofAgent": c.Agent != nil, "inFolder": c.Folder != nil}
		if c.Agent != nil {
			with["agent"], with["agentId"] = *c.Agent, *c.Agent
		}
		if c.Folder != nil {
			with["folder"], with["folderId"] = *c.Folder, *c.Folder
		}
		if err := client.ask(ctx, testsDocument, with, &read); err != nil {
			return exitWith(ctx, err)
		}
		tests, page = append(tests, read.AgentTests.Nodes...), read.AgentTests.PageInfo
	}
	if c.JSON {
		return writeJSON(cli.Stdout, tests)
	}
	table := tabwriter.NewWriter(cli.Stdout, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "ID\tKIND\tLAST RUN\tAGENT\tFOLDER\tNAME")
	for _, test := range tests {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n",
			test.ID, test.Kind, orDash(test.LastRunStatus), test.Agent, test.Folder, printable(test.Name))
	}
	return table.Flush()
}

func orDash[T any](value *T) string {
	if value == nil {
		return "-"
	}
	return fmt.Sprint(*value)
}

func writeJSON(out interface{ Write([]byte) (int, error) }, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// printable returns text on one line and without control characters: models write such texts, and terminals obey
// control characters.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, text)
}
