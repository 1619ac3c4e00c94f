package agenttest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// judgingFlags has the options for judging, following and reporting an execution.
type judgingFlags struct {
	Concurrency int
	Votes       int
	JUnit       string
	JSON        string
	Markdown    string
	MinPassRate *float64
	Corrected   bool
	Timeout     time.Duration
	Reconnect   time.Duration
}

func (f *judgingFlags) Declare() cli.Flags {
	return cli.Flags{
		{Into: &f.Concurrency, Name: "concurrency", Env: "AGENTGRAPH_TEST_CONCURRENCY", Default: "5",
			Help: "How many runs may be in progress at once, 1 to 50."},
		{Into: &f.Votes, Name: "votes", Env: "AGENTGRAPH_TEST_VOTES", Default: "1",
			Help: "How many votes of the judge decide each criterion: 1, 3 or 5."},
		{Into: &f.JUnit, Name: "junit", Env: "AGENTGRAPH_TEST_JUNIT", Placeholder: "FILE", NotEmpty: true,
			Help: "Write a JUnit report."},
		{Into: &f.JSON, Name: "json", Env: "AGENTGRAPH_TEST_JSON_FILE", Placeholder: "FILE", NotEmpty: true,
			Help: "Write a JSON report, with transcripts."},
		{Into: &f.Markdown, Name: "markdown", Env: "AGENTGRAPH_TEST_MARKDOWN", Placeholder: "FILE", NotEmpty: true,
			Help: "Write a Markdown report for a comment on a pull request. It has the outcome and, for each red test, " +
				"the words that its prompt lost."},
		{Into: &f.MinPassRate, Name: "min-pass-rate", Env: "AGENTGRAPH_TEST_MIN_PASS_RATE", Placeholder: "RATE",
			Help: "Pass if the pass rate is at least this, 0 to 1. It is the mean of the pass rates of the tests, where " +
				"each row counts as a test. Without the flag, every judged run must pass."},
		{Into: &f.Corrected, Name: "corrected", Env: "AGENTGRAPH_TEST_CORRECTED",
			Help: "Compare --min-pass-rate with the pass rate that is corrected for the judge's errors. This needs at least " +
				"20 verdicts of the agent's tests that people have labeled."},
		{Into: &f.Timeout, Name: "timeout", Env: "AGENTGRAPH_TEST_TIMEOUT", Placeholder: "DURATION",
			Help: "Cancel the execution after this time, such as 10m. 0, the default, means no limit."},
		{Into: &f.Reconnect, Name: "reconnect", Env: "AGENTGRAPH_TEST_RECONNECT", Default: "1m",
			Help: "How long to retry requests while the server cannot be reached, or answers with a temporary error."},
	}
}

func (f *judgingFlags) Validate() error {
	x := f.MinPassRate
	return cmp.Or(
		cli.Refuse(f.Concurrency < 1 || f.Concurrency > 50, "--concurrency must be 1 to 50"),
		cli.Refuse(f.Votes != 1 && f.Votes != 3 && f.Votes != 5, "--votes must be 1, 3 or 5"),
		// NaN fails both comparisons.
		cli.Refuse(x != nil && !(*x >= 0 && *x <= 1), "--min-pass-rate must be 0 to 1"),
		cli.Refuse(f.Corrected && x == nil, "--corrected needs --min-pass-rate"),
		cli.Refuse(f.Timeout < 0, "--timeout must not be negative"),
		cli.Refuse(f.Reconnect < 0, "--reconnect must not be negative"),
		errors.Join(checkWritable("--junit", f.JUnit), checkWritable("--json", f.JSON),
			checkWritable("--markdown", f.Markdown)),
		f.checkDistinct(),
	)
}

func (f *judgingFlags) checkDistinct() error {
	flags := map[string]string{}
	for _, report := range []struct{ flag, path string }{
		{"--junit", f.JUnit}, {"--json", f.JSON}, {"--markdown", f.Markdown},
	} {
		path := cli.ExpandPath(report.path)
		if report.path == "" || path == os.DevNull {
			continue
		}
		if flags[path] != "" {
			return fmt.Errorf("%s and %s name the same file %s; name two files", flags[path], report.flag, report.path)
		}
		flags[path] = report.flag
	}
	return nil
}

// errTimeout ends an execution that takes longer than --timeout.
var errTimeout = errors.New("the time limit of --timeout was reached")

func (f *judgingFlags) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if f.Timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, f.Timeout, errTimeout)
}

// connect returns the server, and removes earlier reports.
func (f *judgingFlags) connect(cmd *cobra.Command, to client.Flags) (*client.Client, error) {
	server, err := to.Connect(cmd)
	if err != nil {
		return nil, err
	}
	server.RetryFor(f.Reconnect)
	if err := errors.Join(removeReport(f.JUnit), removeReport(f.JSON), removeReport(f.Markdown)); err != nil {
		return nil, client.Exit(client.ExitServer, err)
	}
	return server, nil
}

// followAndReport follows an execution to its end, compares and reports it, and returns its outcome as the exit code.
// The function compare returns nil if there is no baseline.
func (f *judgingFlags) followAndReport(
	ctx context.Context, cmd *cobra.Command, server *client.Client, started executionShown,
	compare func(context.Context) (*comparisonShown, error),
) error {
	shown := newProgress(cmd.OutOrStdout(), started)
	follower := &follower{
		server: server, execution: started, runs: map[string]runShown{}, transcripts: f.JUnit != "" || f.JSON != "",
		onChange: shown.changed,
	}
	longer, stop := outlive(ctx)
	defer stop()
	final := report{Server: server.Server(), MinPassRate: f.MinPassRate, IsCorrected: f.Corrected}
	followErr := follower.follow(ctx)
	if ctx.Err() != nil && follower.execution.FinishedAt == nil {
		shown.cancelling(context.Cause(ctx))
		f.writeInterrupted(final, follower)
		followErr = follower.cancel(longer)
	}
	final.Execution, final.Runs = follower.execution, follower.results()
	if errors.Is(context.Cause(ctx), errTimeout) {
		final.timeout = f.Timeout
	}
	if status := follower.execution.Status; followErr == nil && status != "Cancelled" && status != "Cancelling" {
		followErr = f.complete(longer, server, &final, compare)
	}
	if followErr != nil {
		// The last counts from the server are older than the events.
		final.Execution.Counts = follower.counts()
	}
	final.decide(followErr)
	err := errors.Join(final.writeJUnit(f.JUnit), final.writeJSON(f.JSON))
	console := ""
	if !final.isLost {
		console = server.Console(longer)
	}
	err = errors.Join(err, final.writeMarkdown(longer, server, console, f.Markdown))
	shown.close(final, console)
	if err = errors.Join(shown.err, err); err != nil {
		return client.Exit(max(final.ExitCode, client.ExitServer), err)
	}
	if final.ExitCode == client.ExitDone {
		return nil
	}
	return client.Exit(final.ExitCode, errors.New(final.Reason))
}

// complete adds to the report what is known only at the end: the comparison, the corrected rate and the variants.
func (f *judgingFlags) complete(ctx context.Context, server *client.Client, final *report,
	compare func(context.Context) (*comparisonShown, error)) (failure error) {
	var err error
	final.Comparison, failure = compare(ctx)
	final.Execution.Corrected, err = readCorrectedRate(ctx, server, final.Execution.ID)
	if f.Corrected {
		failure = cmp.Or(failure, err) // older servers have no corrected rates
	}
	final.Execution.Variants, err = readVariants(ctx, server, final.Execution)
	return cmp.Or(failure, err)
}

// writeInterrupted writes the reports of what is known when the command is interrupted. The runner of a pipeline may
// kill the command before the server has cancelled the execution.
func (f *judgingFlags) writeInterrupted(interim report, follower *follower) {
	interim.Execution, interim.Runs = follower.execution, follower.results()
	interim.Execution.Counts = follower.counts()
	interim.decide(client.Exit(client.ExitCancelled, fmt.Errorf("the command was interrupted; execution %s may continue "+
		"on the server", interim.Execution.ID)))
	// The final reports report errors.
	_, _ = interim.writeJUnit(f.JUnit), interim.writeJSON(f.JSON)
}

// exitUnstarted adds the exit code to an error that occurred before the execution started.
func exitUnstarted(ctx context.Context, err error) error {
	if _, isCoded := errors.AsType[*client.ExitError](err); !isCoded && errors.Is(context.Cause(ctx), errTimeout) {
		return client.Exit(client.ExitCancelled, fmt.Errorf("cancelled before anything was run: %w", errTimeout))
	}
	return client.ExitWith(ctx, err)
}

type rejudgeCommand struct {
	client.Flags
	judgingFlags
	Execution string
	Model     *string
	Criteria  string
}

func newRejudgeCommand() *cobra.Command {
	c := &rejudgeCommand{}
	return cli.New(c, &cobra.Command{
		Use: "rejudge", Short: "Judge the conversations of a finished execution again, in a new execution. The first " +
			"verdicts remain. The exit code tells the outcome.",
		Example: `agentgraph test rejudge execution_01m7z9685dexj96fa38g6xqx8e
agentgraph test rejudge execution_01m7z9685dexj96fa38g6xqx8e --model gpt-4.1 --criteria present`,
	}, []cli.Argument{
		{Into: &c.Execution, Name: "execution", Help: "The execution whose conversations are judged again. It must be " +
			"finished."},
	}, &c.Flags, &c.judgingFlags, cli.Flags{
		{Into: &c.Model, Name: "model", Placeholder: "MODEL", Help: "One of the server's judges. Default: the " +
			"server's default judge."},
		{Into: &c.Criteria, Name: "criteria", Default: "as-run", Enum: []string{"as-run", "present"},
			Help: "Which criteria, checks and weights to apply: those of the original execution (as-run), or the tests' " +
				"current ones (present)."},
	})
}

const rejudgeDocument = executionFields + `mutation ($input: RejudgeAgentTestExecutionInput!) {
	rejudgeAgentTestExecution(input: $input) { execution { ...execution } }
}`

// Run judges the conversations of an execution again, follows the new execution to its end, and reports it. It returns
// the outcome as the exit code.
func (c *rejudgeCommand) Run(cmd *cobra.Command) error {
	ctx, stop := c.withTimeout(cmd.Context())
	defer stop()
	server, err := c.connect(cmd, c.Flags)
	if err != nil {
		return err
	}
	input := client.Variables{
		"executionId": c.Execution, "model": c.Model, "votes": c.Votes, "concurrency": c.Concurrency,
		"criteria": map[string]string{"as-run": "AsRun", "present": "Present"}[c.Criteria],
	}
	var started struct {
		RejudgeAgentTestExecution struct{ Execution executionShown }
	}
	if err := start(ctx, server, rejudgeDocument, input, &started); err != nil {
		return exitUnstarted(ctx, err)
	}
	rejudged := started.RejudgeAgentTestExecution.Execution
	return c.followAndReport(ctx, cmd, server, rejudged, func(context.Context) (*comparisonShown, error) {
		return nil, nil
	})
}
