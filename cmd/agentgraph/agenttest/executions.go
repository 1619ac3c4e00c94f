package agenttest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

type executionsCommand struct {
	client.Flags
	Agent   []string
	Status  []string
	Verdict []string
	Limit   int
	cli.OutputFlag
}

func newExecutionsCommand() *cobra.Command {
	c := &executionsCommand{}
	return cli.New(c, &cobra.Command{
		Use: "executions", Short: "List test executions, newest first.",
		Example: `agentgraph test executions --agent "Clinic reception"
agentgraph test executions --status Running --status Queued`,
	}, nil, &c.Flags, cli.Flags{
		{
			Into: &c.Agent, Name: "agent", Placeholder: "AGENT", Complete: c.CompleteNames(client.Agents),
			Help: "Only executions of this agent, by name or id. Separate several with commas, or repeat the flag.",
		},
		{
			Into: &c.Status, Name: "status", Placeholder: "STATUS",
			Enum: []string{"Queued", "Running", "Cancelling", "Completed", "Cancelled"},
			Help: "Only in this state: Queued, Running, Cancelling, Completed or Cancelled; separate several with commas, or " +
				"repeat the flag.",
		},
		{
			Into: &c.Verdict, Name: "verdict", Placeholder: "VERDICT",
			Enum: []string{"Passed", "Failed", "Error", "Inconclusive"},
			Help: "Only with this verdict: Passed, Failed, Error or Inconclusive; separate several with commas, or repeat the " +
				"flag.",
		},
		{Into: &c.Limit, Name: "limit", Default: "50", Help: "The maximum number of executions."},
	}, &c.OutputFlag)
}

func (c *executionsCommand) Validate() error {
	return cli.Refuse(c.Limit < 1, "--limit must be at least 1")
}

const executionsDocument = executionFields +
	`query ($agent: ID, $filter: AgentTestExecutionFilter, $first: Int!, $after: String) {
	page: agentTestExecutions(agentId: $agent, filter: $filter, first: $first, after: $after) {
		nodes { ...execution } pageInfo { hasNextPage endCursor }
	}
}`

// Run prints one line for each execution, or all of them as JSON.
func (c *executionsCommand) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	server, err := c.Connect(cmd)
	if err != nil {
		return err
	}
	executions, err := c.newestExecutions(ctx, server)
	if err != nil {
		return client.ExitWith(ctx, err)
	}
	table := [][]string{{"ID", "STATUS", "VERDICT", "PASSED", "CREATED", "AGENT"}}
	for _, e := range executions {
		table = append(table, []string{e.ID, e.state(), orDash(e.Verdict),
			fmt.Sprintf("%d/%d", e.Counts.Passed, e.Counts.Total), formatTime(&e.CreatedAt), e.Agent.String()})
	}
	return c.Print(cmd.OutOrStdout(), executions, table)
}

func (c *executionsCommand) newestExecutions(ctx context.Context, server *client.Client) ([]executionShown, error) {
	agents, err := server.FindAll(ctx, client.Agents, c.Agent)
	if err != nil {
		return nil, err
	}
	if len(agents) == 0 {
		return c.readForAgent(ctx, server, nil)
	}
	all := []executionShown{}
	for _, id := range agents {
		executions, err := c.readForAgent(ctx, server, &id)
		if err != nil {
			return nil, err
		}
		all = append(all, executions...)
	}
	slices.SortFunc(all, func(a, b executionShown) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.ID, a.ID))
	})
	all = slices.CompactFunc(all, func(a, b executionShown) bool { return a.ID == b.ID })
	return all[:min(len(all), c.Limit)], nil
}

// readForAgent reads the newest executions of an agent, or of all agents if agentID is nil.
func (c *executionsCommand) readForAgent(ctx context.Context, server *client.Client,
	agentID *string) ([]executionShown, error) {
	filter := client.Variables{}
	if len(c.Status) > 0 {
		filter["statuses"] = c.Status
	}
	if len(c.Verdict) > 0 {
		filter["verdicts"] = c.Verdict
	}
	with := client.Variables{"agent": agentID, "filter": filter}
	return client.ReadAll[executionShown](ctx, server, executionsDocument, with, c.Limit)
}
