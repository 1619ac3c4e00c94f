package admin

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/db/schema"
)

type distributeCommand struct {
	DatabaseFlag
	cli.OutputFlag
	Shards int
	Plan   bool
}

func newDistribute() *cobra.Command {
	c := &distributeCommand{}
	return cli.New(c, &cobra.Command{
		Use: "distribute", Short: "Shard the tables of a Citus cluster by company. Run it again after migrate up.",
		Example: `agentgraph distribute --plan
agentgraph distribute --shards 32`,
	}, nil, &c.DatabaseFlag, &c.OutputFlag, cli.Flags{
		{Into: &c.Shards, Name: "shards", Default: "32", Help: "How many shards each table has: several for each " +
			"node of the largest cluster that you expect. Running the command again cannot change the number."},
		{Into: &c.Plan, Name: "plan", Help: "Print the steps without doing them."},
	})
}

// Run distributes the tables that are not distributed yet, or prints the plan.
func (c *distributeCommand) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	return withMigrator(ctx, c.DatabaseFlag, func(m *schema.Migrator) error {
		if c.Plan {
			return c.printPlan(ctx, m, cmd)
		}
		var failed error
		err := m.Distribute(ctx, c.Shards, func(done string) {
			_, failed = fmt.Fprintln(cmd.OutOrStdout(), done)
		})
		err = client.Cancelled(ctx, err, "run the command again for the remaining tables")
		return cmp.Or(err, failed)
	})
}

func (c *distributeCommand) printPlan(ctx context.Context, m *schema.Migrator, cmd *cobra.Command) error {
	d, err := m.Distribution(ctx)
	if err != nil {
		return err
	}
	table := [][]string{}
	for _, name := range d.Reference {
		table = append(table, []string{name, "on every node"})
	}
	for _, step := range d.Steps {
		how := "sharded by company"
		for _, cut := range step.Cut {
			how += fmt.Sprintf("; drops %s of %s during this step", cut.Name, cut.Table)
		}
		table = append(table, []string{strings.Join(step.Tables, ", "), how})
	}
	for _, name := range d.Local {
		table = append(table, []string{name, "remains on the coordinator"})
	}
	return c.Print(cmd.OutOrStdout(), d, table)
}
