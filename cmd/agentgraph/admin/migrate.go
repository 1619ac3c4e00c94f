package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/db/schema"
)

type migrateUp struct {
	DatabaseFlag
	cli.OutputFlag
	Plan bool
}

func newMigrateUp() *cobra.Command {
	c := &migrateUp{}
	return cli.New(c, &cobra.Command{
		Use: "up", Short: "Apply all missing migrations.",
		Example: `DATABASE_URL=postgres://… agentgraph migrate up
agentgraph migrate up --plan`,
	}, nil, &c.DatabaseFlag, &c.OutputFlag, cli.Flags{
		{Into: &c.Plan, Name: "plan", Help: "Print which tables would be locked, with which lock, which statements " +
			"would wait for it, and about how long."},
	})
}

func (c *migrateUp) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	return withMigrator(ctx, c.DatabaseFlag, func(m *schema.Migrator) error {
		if c.Plan {
			return c.printPlan(ctx, m, cmd)
		}
		m.Progress = func(progress string) { _, _ = fmt.Fprintln(cmd.ErrOrStderr(), progress) }
		if err := m.Up(ctx); err != nil {
			return client.Cancelled(ctx, err, "run the command again to apply the remaining migrations")
		}
		if c.JSON {
			return printStatus(ctx, m, cmd, c.OutputFlag)
		}
		return printVersion(ctx, m, cmd)
	})
}

func (c *migrateUp) printPlan(ctx context.Context, m *schema.Migrator, cmd *cobra.Command) error {
	steps, err := m.Plan(ctx)
	if err != nil {
		return err
	}
	table := [][]string{}
	if len(steps) > 0 {
		table = append(table, []string{"MIGRATION", "TABLE", "ROWS", "LOCK", "WAITS", "ABOUT", "STATEMENT"})
	}
	for _, s := range steps {
		about := "a moment"
		if s.For >= time.Second {
			about = s.For.Round(time.Second).String()
		}
		table = append(table, []string{strconv.FormatInt(s.Version, 10), s.Table, strconv.FormatInt(s.Rows, 10), s.Lock,
			s.Waits, about, s.Statement})
	}
	if err := c.Print(cmd.OutOrStdout(), steps, table); err != nil || c.JSON {
		return err
	}
	return printVersion(ctx, m, cmd)
}

type migrateDown struct {
	DatabaseFlag
	Yes bool
}

func newMigrateDown() *cobra.Command {
	c := &migrateDown{}
	return cli.New(c, &cobra.Command{
		Use: "down", Short: "Revert the newest migration, and delete the data in its tables and columns.",
		Example: "agentgraph migrate down --yes",
	}, nil, &c.DatabaseFlag, cli.Flags{
		{Into: &c.Yes, Name: "yes", Help: "Confirm that the data of the newest migration is deleted."},
	})
}

func (c *migrateDown) Validate() error {
	return errors.Join(cli.Refuse(!c.Yes, "this would drop tables with all their data: add --yes to confirm"),
		c.DatabaseFlag.Validate())
}

func (c *migrateDown) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	return withMigrator(ctx, c.DatabaseFlag, func(m *schema.Migrator) error {
		if err := m.Down(ctx); err != nil {
			return client.Cancelled(ctx, err, "\"agentgraph migrate status\" shows whether the migration was reverted")
		}
		return printVersion(ctx, m, cmd)
	})
}

type migrateStatus struct {
	DatabaseFlag
	cli.OutputFlag
}

func newMigrateStatus() *cobra.Command {
	c := &migrateStatus{}
	return cli.New(c, &cobra.Command{
		Use: "status", Short: "Show which migrations are applied.",
		Example: "agentgraph migrate status",
	}, nil, &c.DatabaseFlag, &c.OutputFlag)
}

type schemaShown struct {
	Current    int64            `json:"current"`
	Wanted     int64            `json:"wanted"`
	Migrations []migrationShown `json:"migrations"`
	// LocalTables are the tables that a Citus cluster has not distributed yet.
	LocalTables []string `json:"localTables,omitempty"`
	// IndexFaults names the indexes that are missing or invalid.
	IndexFaults []string `json:"indexFaults,omitempty"`
}

type migrationShown struct {
	Version   int64      `json:"version"`
	Name      string     `json:"name"`
	AppliedAt *time.Time `json:"appliedAt"`
}

func (c *migrateStatus) Run(cmd *cobra.Command) error {
	return withMigrator(cmd.Context(), c.DatabaseFlag, func(m *schema.Migrator) error {
		return printStatus(cmd.Context(), m, cmd, c.OutputFlag)
	})
}

// printStatus prints one line for each migration, then what is missing or damaged.
func printStatus(ctx context.Context, m *schema.Migrator, cmd *cobra.Command, output cli.OutputFlag) error {
	steps, err := m.Status(ctx)
	if err != nil {
		return err
	}
	schema, err := m.Schema(ctx)
	if err != nil {
		return err
	}
	local, err := m.LocalTables(ctx)
	if err != nil {
		return err
	}
	faults, err := m.IndexFaults(ctx)
	if err != nil {
		return err
	}
	shown, table := schemaShown{schema.Current, schema.Wanted, []migrationShown{}, local, nil}, [][]string{}
	for _, fault := range faults {
		shown.IndexFaults = append(shown.IndexFaults, fault.String())
	}
	for _, step := range steps {
		migration, applied := migrationShown{Version: step.Version, Name: step.Name}, "missing"
		if !step.AppliedAt.IsZero() {
			migration.AppliedAt, applied = &step.AppliedAt, step.AppliedAt.UTC().Format(time.RFC3339)
		}
		shown.Migrations = append(shown.Migrations, migration)
		table = append(table, []string{strconv.FormatInt(step.Version, 10), step.Name, applied})
	}
	if err := output.Print(cmd.OutOrStdout(), shown, table); err != nil || output.JSON {
		return err
	}
	for _, fault := range faults {
		fmt.Fprintf(cmd.OutOrStdout(), "index %s; run in psql: %s\n", fault, fault.Repair)
	}
	if len(local) > 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "tables that are not distributed: %s; run \"agentgraph distribute\"\n",
			strings.Join(local, ", "))
	}
	return printVersion(ctx, m, cmd)
}

// withMigrator opens the database for one command. If there are two addresses, both must lead to it: one may be left in
// the environment from another database.
func withMigrator(ctx context.Context, f DatabaseFlag, do func(*schema.Migrator) error) error {
	if f.SessionDatabaseURL != "" {
		if err := schema.CheckSame(ctx, f.DatabaseURL, f.SessionDatabaseURL); err != nil {
			return err
		}
	}
	migrator, err := schema.NewMigrator(ctx, f.address())
	if err != nil {
		return err
	}
	defer func() { _ = migrator.Close() }()
	return do(migrator)
}

func printVersion(ctx context.Context, m *schema.Migrator, cmd *cobra.Command) error {
	schema, err := m.Schema(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "schema version %d of %d\n", schema.Current, schema.Wanted)
	return err
}

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
