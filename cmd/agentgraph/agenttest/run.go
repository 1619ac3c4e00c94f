package agenttest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alecthomas/kong"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/model"
)

type runCommand struct {
	client.Flags
	Agent         *string       `env:"AGENTGRAPH_TEST_AGENT" xor:"tests" required:"" placeholder:"ID" help:"Run all tests of this agent."`
	Folder        *string       `env:"AGENTGRAPH_TEST_FOLDER" xor:"tests" required:"" placeholder:"ID" help:"Run all tests in this folder."`
	Test          []string      `env:"AGENTGRAPH_TEST_IDS" xor:"tests" required:"" placeholder:"ID" help:"Run this test; several with commas, or the flag again."`
	Repeat        int           `env:"AGENTGRAPH_TEST_REPEAT" default:"1" help:"How often to run each test, 1 to 20."`
	Concurrency   int           `env:"AGENTGRAPH_TEST_CONCURRENCY" default:"5" help:"How many runs may be in progress at once, 1 to 50."`
	Votes         int           `env:"AGENTGRAPH_TEST_VOTES" default:"1" help:"How often the judge is asked about each criterion: 1, 3 or 5."`
	JUnit         string        `name:"junit" env:"AGENTGRAPH_TEST_JUNIT" placeholder:"FILE" help:"Write a JUnit report."`
	JSON          string        `name:"json" env:"AGENTGRAPH_TEST_JSON_FILE" placeholder:"FILE" help:"Write a JSON report, with transcripts."`
	Baseline      []string      `env:"AGENTGRAPH_TEST_BASELINE" placeholder:"EXECUTION" help:"Compare with this finished execution; getting worse is a failure. Several, with commas or the flag again, at most 5, are one sample."`
	Correction    string        `env:"AGENTGRAPH_TEST_CORRECTION" enum:"holm,benjamini-hochberg" default:"holm" help:"How --baseline takes the number of tests into account: holm or benjamini-hochberg."`
	MinPassRate   *float64      `env:"AGENTGRAPH_TEST_MIN_PASS_RATE" placeholder:"RATE" help:"Pass if at least this share of the judged runs passed, 0 to 1, even if some failed."`
	VirtualTime   bool          `env:"AGENTGRAPH_TEST_VIRTUAL_TIME" help:"Record the delays of mocks without waiting for them."`
	RequireMocked bool          `env:"AGENTGRAPH_TEST_REQUIRE_MOCKED" help:"Run nothing if a tool would be called, or a call transferred, for real."`
	Timeout       time.Duration `env:"AGENTGRAPH_TEST_TIMEOUT" placeholder:"DURATION" help:"Cancel the execution if it takes longer, such as 10m. 0, the default, waits as long as it takes."`
	Reconnect     time.Duration `env:"AGENTGRAPH_TEST_RECONNECT" default:"1m" help:"How long to wait for a lost server to come back."`
}

// Validate refuses what the server would refuse.
func (c *runCommand) Validate() error {
	if c.Repeat < 1 || c.Repeat > 20 {
		return errors.New("--repeat must be 1 to 20")
	}
	if c.Concurrency < 1 || c.Concurrency > 50 {
		return errors.New("--concurrency must be 1 to 50")
	}
	if c.Votes != 1 && c.Votes != 3 && c.Votes != 5 {
		return errors.New("--votes must be 1, 3 or 5")
	}
	// NaN fails both comparisons.
	if x := c.MinPassRate; x != nil && !(*x >= 0 && *x <= 1) {
		return errors.New("--min-pass-rate must be 0 to 1")
	}
	if len(c.Baseline) > maxBases {
		return fmt.Errorf("--baseline: at most %d executions, not %d", maxBases, len(c.Baseline))
	}
	if c.Timeout < 0 {
		return errors.New("--timeout must not be negative")
	}
	if c.Reconnect < 0 {
		return errors.New("--reconnect must not be negative")
	}
	return errors.Join(writable("--junit", c.JUnit), writable("--json", c.JSON))
}

// errTimeout ends an execution that takes longer than --timeout.
var errTimeout = errors.New("--timeout is over")

// Run starts an execution, follows it to its end, reports it, and returns its outcome as the exit code.
func (c *runCommand) Run(ctx context.Context, cli *kong.Context, vars kong.Vars) error {
	if c.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, c.Timeout, errTimeout)
		defer stop()
	}
	server, err := c.Connect(cli, vars["version"])
	if err != nil {
		return err
	}
	if err := errors.Join(discard(c.JUnit), discard(c.JSON)); err != nil {
		return client.Exit(client.ExitServer, err)
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
	shown := newProgress(cli.Stdout, started)
	f := &follower{
		server: server, execution: started, runs: map[string]runShown{}, transcripts: c.JUnit != "" || c.JSON != "",
		patience: c.Reconnect, changed: shown.changed,
	}
	lost := f.follow(ctx)
	if ctx.Err() != nil && f.execution.FinishedAt == nil {
		shown.cancelling(context.Cause(ctx))
		lost = f.cancel(context.WithoutCancel(ctx))
	}
	final := report{Server: server.Server(), Execution: f.execution, Runs: f.results(), MinPassRate: c.MinPassRate}
	if errors.Is(context.Cause(ctx), errTimeout) {
		final.timeout = c.Timeout
	}
	if lost == nil && len(c.Baseline) > 0 && f.execution.Status != "Cancelled" && f.execution.Status != "Cancelling" {
		final.Comparison, lost = compare(context.WithoutCancel(ctx), server, c.Baseline, f.execution.ID, c.Correction)
	}
	if lost != nil {
		// The server's last counts are older than the events.
		final.Execution.Counts = f.counts()
	}
	final.decide(lost)
	shown.close(final)
	if err := errors.Join(final.writeJUnit(c.JUnit), final.writeJSON(c.JSON)); err != nil {
		return client.Exit(max(final.ExitCode, client.ExitServer), err)
	}
	if final.ExitCode == client.ExitDone {
		return nil
	}
	return client.Exit(final.ExitCode, errors.New(final.Reason))
}

// exitUnstarted gives an error before the start its exit code.
func exitUnstarted(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errTimeout) {
		return client.Exit(client.ExitCancelled, fmt.Errorf("cancelled before anything was run: %w", errTimeout))
	}
	return client.ExitWith(ctx, err)
}

const startDocument = executionFields + `mutation ($input: StartAgentTestExecutionInput!) {
	startAgentTestExecution(input: $input) { execution { ...execution } }
}`

// start starts the execution. It cannot be interrupted: nobody could cancel an execution whose id was never read.
func (c *runCommand) start(ctx context.Context, server *client.Client) (executionShown, error) {
	input := client.Variables{"repeats": c.Repeat, "concurrency": c.Concurrency, "virtualTime": c.VirtualTime, "votes": c.Votes}
	switch {
	case c.Agent != nil:
		input["agentId"] = *c.Agent
	case c.Folder != nil:
		input["folderId"] = *c.Folder
	default:
		input["testIds"] = c.Test
	}
	var begun struct {
		StartAgentTestExecution struct{ Execution executionShown }
	}
	err := server.Ask(context.WithoutCancel(ctx), startDocument, client.Variables{"input": input}, &begun)
	return begun.StartAgentTestExecution.Execution, err
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
