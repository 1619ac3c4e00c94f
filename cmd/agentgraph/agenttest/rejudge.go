package agenttest

import (
	"context"

	"github.com/alecthomas/kong"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

type rejudgeCommand struct {
	client.Flags
	judgingFlags
	Execution string  `arg:"" help:"The execution whose conversations are judged again. It must be finished."`
	Model     *string `env:"AGENTGRAPH_TEST_JUDGE_MODEL" placeholder:"MODEL" help:"The judge, one of those that the server has. Default: its judge."`
	Criteria  string  `env:"AGENTGRAPH_TEST_CRITERIA" enum:"as-run,present" default:"as-run" help:"By which criteria, checks and weights: as-run, those that the tests had, or present, those that they have now."`
}

const rejudgeDocument = executionFields + `mutation ($input: RejudgeAgentTestExecutionInput!) {
	rejudgeAgentTestExecution(input: $input) { execution { ...execution } }
}`

// Run judges the conversations of an execution again, follows that to its end, reports it, and returns its outcome as the exit
// code.
func (c *rejudgeCommand) Run(ctx context.Context, cli *kong.Context, vars kong.Vars) error {
	ctx, stop := c.bounded(ctx)
	defer stop()
	server, err := c.Connect(cli, vars["version"])
	if err != nil {
		return err
	}
	if err := c.discard(); err != nil {
		return err
	}
	input := client.Variables{
		"executionId": c.Execution, "model": c.Model, "votes": c.Votes, "concurrency": c.Concurrency,
		"criteria": map[string]string{"as-run": "AsRun", "present": "Present"}[c.Criteria],
	}
	var begun struct {
		RejudgeAgentTestExecution struct{ Execution executionShown }
	}
	// It cannot be interrupted: nobody could cancel an execution whose id was never read.
	if err := server.Ask(context.WithoutCancel(ctx), rejudgeDocument, client.Variables{"input": input}, &begun); err != nil {
		return exitUnstarted(ctx, err)
	}
	return c.conclude(ctx, cli, server, begun.RejudgeAgentTestExecution.Execution, func(context.Context) (*comparisonShown, error) {
		return nil, nil
	})
}
