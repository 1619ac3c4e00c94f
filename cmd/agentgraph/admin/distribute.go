package admin

import (
	"context"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/agentgraph/agentgraph/db"
)

// Distribute shards the tables of a Citus cluster.
type Distribute struct {
	DatabaseFlag
	outputFlag
	Shards int  `env:"AGENTGRAPH_SHARDS" default:"32" help:"How many shards each table has: a few times as many as there will ever be nodes. It cannot be changed by running the command again."`
	Plan   bool `env:"AGENTGRAPH_DISTRIBUTE_PLAN" help:"Only print what would be done."`
}

// Run distributes the tables that are not distributed yet, or prints the plan.
func (c *Distribute) Run(ctx context.Context, cli *kong.Context) error {
	return withMigrator(ctx, c.DatabaseURL, func(m *db.Migrator) error {
		if c.Plan {
			return c.printPlan(ctx, m, cli)
		}
		var failed error
		err := m.Distribute(ctx, c.Shards, func(done string) {
			_, failed = fmt.Fprintln(cli.Stdout, done)
		})
		if err != nil {
			return err
		}
		return failed
	})
}

func (c *Distribute) printPlan(ctx context.Context, m *db.Migrator, cli *kong.Context) error {
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
			how += fmt.Sprintf("; without %s of %s meanwhile", cut.Name, cut.Table)
		}
		table = append(table, []string{strings.Join(step.Tables, ", "), how})
	}
	for _, name := range d.Local {
		table = append(table, []string{name, "stays on the coordinator"})
	}
	return c.print(cli.Stdout, d, table)
}
