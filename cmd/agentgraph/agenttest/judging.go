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

// Validate refuses values out of bounds, and reports that cannot be written.
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

// checkDistinct refuses reports that would overwrite each other.
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

// withTimeout returns a context that is cancelled after --timeout.
func (f *judgingFlags) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if f.Timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, f.Timeout, errTimeout)
}

// removeReports removes earlier reports.
func (f *judgingFlags) removeReports() error {
	if err := errors.Join(removeReport(f.JUnit), removeReport(f.JSON), removeReport(f.Markdown)); err != nil {
		return client.Exit(client.ExitServer, err)
	}
	return nil
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
