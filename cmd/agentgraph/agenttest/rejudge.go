package agenttest

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

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
	ctx := cmd.Context()
	ctx, stop := c.withTimeout(ctx)
	defer stop()
	server, err := c.Connect(cmd)
	if err != nil {
		return err
	}
	server.RetryFor(c.Reconnect)
	if err := c.removeReports(); err != nil {
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
