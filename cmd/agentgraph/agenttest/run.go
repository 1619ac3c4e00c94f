package agenttest

import (
	"context"
	"errors"
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/model"
)

type runCommand struct {
	client.Flags
	judgingFlags
	Agent         *string   `env:"AGENTGRAPH_TEST_AGENT" xor:"tests" required:"" placeholder:"ID" help:"Run all tests of this agent."`
	Folder        *string   `env:"AGENTGRAPH_TEST_FOLDER" xor:"tests" required:"" placeholder:"ID" help:"Run all tests in this folder."`
	Test          []string  `env:"AGENTGRAPH_TEST_IDS" xor:"tests" required:"" placeholder:"ID" help:"Run this test; several with commas, or the flag again."`
	Repeat        int       `env:"AGENTGRAPH_TEST_REPEAT" default:"1" help:"How often to run each test, 1 to 20."`
	UntilFailed   bool      `env:"AGENTGRAPH_TEST_UNTIL_FAILED" xor:"until" help:"Repeat a test no more once a run of it failed."`
	UntilDecided  []float64 `env:"AGENTGRAPH_TEST_UNTIL_DECIDED" xor:"until" placeholder:"GOOD,BAD" help:"Repeat a test no more once it is decided between two pass rates, such as 0.9,0.5, by Wald's sequential test."`
	Baseline      []string  `env:"AGENTGRAPH_TEST_BASELINE" placeholder:"EXECUTION" help:"Compare with this finished execution; getting worse is a failure. Several, with commas or the flag again, at most 5, are one sample."`
	Correction    string    `env:"AGENTGRAPH_TEST_CORRECTION" enum:"holm,benjamini-hochberg" default:"holm" help:"How --baseline takes the number of tests into account: holm or benjamini-hochberg."`
	VirtualTime   bool      `env:"AGENTGRAPH_TEST_VIRTUAL_TIME" help:"Record the delays of mocks without waiting for them."`
	RequireMocked bool      `env:"AGENTGRAPH_TEST_REQUIRE_MOCKED" help:"Run nothing if a tool would be called, or a call transferred, for real."`
}

// Validate refuses what the server would refuse.
func (c *runCommand) Validate() error {
	if c.Repeat < 1 || c.Repeat > 20 {
		return errors.New("--repeat must be 1 to 20")
	}
	if n := len(c.UntilDecided); n != 0 && n != 2 {
		return errors.New("--until-decided must be two pass rates, such as 0.9,0.5")
	}
	if len(c.Baseline) > maxBases {
		return fmt.Errorf("--baseline: at most %d executions, not %d", maxBases, len(c.Baseline))
	}
	return c.judgingFlags.Validate()
}

// Run starts an execution, follows it to its end, reports it, and returns its outcome as the exit code.
func (c *runCommand) Run(ctx context.Context, cli *kong.Context, vars kong.Vars) error {
	ctx, stop := c.bounded(ctx)
	defer stop()
	server, err := c.Connect(cli, vars["version"])
	if err != nil {
		return err
	}
	if err := c.discard(); err != nil {
		return err
	}
	if err := c.checkBaseline(ctx, server); err != nil {
		return exitUnstarted(ctx, err)
	}
	if c.RequireMocked {
		if err := c.refuseReal(ctx, server); err != nil {
			return exitUnstarted(ctx, err)
		}
	}
	started, err := c.start(ctx, server)
	if err != nil {
		return exitUnstarted(ctx, err)
	}
	return c.conclude(ctx, cli, server, started, func(ctx context.Context) (*comparisonShown, error) {
		if len(c.Baseline) == 0 {
			return nil, nil
		}
		return compare(ctx, server, c.Baseline, started.ID, c.Correction)
	})
}

const startDocument = executionFields + `mutation ($input: StartAgentTestExecutionInput!) {
	startAgentTestExecution(input: $input) { execution { ...execution } }
}`

// start starts the execution. It cannot be interrupted: nobody could cancel an execution whose id was never read.
func (c *runCommand) start(ctx context.Context, server *client.Client) (executionShown, error) {
	var begun struct {
		StartAgentTestExecution struct{ Execution executionShown }
	}
	err := server.Ask(context.WithoutCancel(ctx), startDocument, client.Variables{"input": c.input()}, &begun)
	return begun.StartAgentTestExecution.Execution, err
}

// input says what to run.
func (c *runCommand) input() client.Variables {
	input := client.Variables{"repeats": c.Repeat, "concurrency": c.Concurrency, "virtualTime": c.VirtualTime, "votes": c.Votes}
	switch {
	case c.UntilFailed:
		input["stopRepeating"] = client.Variables{}
	case len(c.UntilDecided) == 2:
		input["stopRepeating"] = client.Variables{"good": c.UntilDecided[0], "bad": c.UntilDecided[1]}
	}
	switch {
	case c.Agent != nil:
		input["agentId"] = *c.Agent
	case c.Folder != nil:
		input["folderId"] = *c.Folder
	default:
		input["testIds"] = c.Test
	}
	return input
}

// checkBaseline refuses an unusable baseline before any run starts.
func (c *runCommand) checkBaseline(ctx context.Context, server *client.Client) error {
	for _, id := range c.Baseline {
		var read struct{ AgentTestExecution *executionShown }
		err := server.Ask(ctx, executionDocument, client.Variables{"id": id}, &read)
		if err == nil && read.AgentTestExecution == nil || client.CodeOf(err) == model.NotFound {
			return client.Exit(client.ExitUsage, fmt.Errorf("--baseline: execution %q does not exist", id))
		}
		if err == nil && read.AgentTestExecution.FinishedAt == nil {
			return client.Exit(client.ExitUsage, fmt.Errorf("--baseline: execution %q is not finished", id))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
