package dbtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/db/schema"
)

// shards is small, because each test copies all tables.
const shards = 2

// nodes returns the addresses of the nodes of a Citus cluster, the coordinator first. DBTEST_NODES has them, separated
// by commas. If there are any, the databases of tests are created on them.
func nodes() []string {
	if addresses := os.Getenv("DBTEST_NODES"); addresses != "" {
		return strings.Split(addresses, ",")
	}
	return nil
}

// makeTemplateOnNodes creates a cluster of databases with the name and distributes the tables in it. It returns a
// judge for them. Copies of the databases on all nodes are a cluster, too.
func makeTemplateOnNodes(ctx context.Context, name string) (*judge, error) {
	for _, node := range nodes() {
		// Citus copies a role to the other nodes only when CREATE ROLE runs in a database with the extension. It does not
		// copy a role that exists already. So this creates the roles on each node.
		for _, role := range []string{pg.GatewayRole, pg.ProgramRole} {
			err := executeAt(ctx, node, fmt.Sprintf("DO $$ BEGIN IF to_regrole('%[1]s') IS NULL THEN CREATE ROLE %[1]s; "+
				"END IF; END $$", role))
			if err != nil {
				return nil, err
			}
		}
		if err := executeAt(ctx, node, fmt.Sprintf("DROP DATABASE IF EXISTS %s WITH (FORCE)", name)); err != nil {
			return nil, err
		}
	}
	if err := createOnNodes(ctx, name, "template0"); err != nil {
		return nil, err
	}
	coordinator := inDatabase(nodes()[0], name)
	if err := distribute(ctx, coordinator); err != nil {
		return nil, err
	}
	judge, err := newJudge(ctx, coordinator)
	if err != nil {
		return nil, err
	}
	for _, node := range nodes() { // Citus has connections of its own, and a database in use cannot be copied
		for _, statement := range []string{"ALTER DATABASE " + name + " ALLOW_CONNECTIONS false",
			"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '" + name + "'"} {
			if err := executeAt(ctx, node, statement); err != nil {
				return nil, err
			}
		}
	}
	return judge, nil
}

func distribute(ctx context.Context, coordinator string) error {
	migrator, err := schema.NewMigrator(ctx, coordinator)
	if err != nil {
		return err
	}
	defer func() { _ = migrator.Close() }()
	if err := migrator.Up(ctx); err != nil {
		return err
	}
	return migrator.Distribute(ctx, shards, func(string) {})
}

// createOnNodes creates a database on every node as a copy of another one. If that is template0, createOnNodes also
// joins the copies into a cluster.
func createOnNodes(ctx context.Context, name, from string) error {
	coordinator := inDatabase(nodes()[0], name)
	for i, node := range nodes() {
		err := executeAt(ctx, node, fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s STRATEGY file_copy", name, from))
		if err != nil {
			return err
		}
		if from != "template0" {
			continue
		}
		if err := executeAt(ctx, inDatabase(node, name), "CREATE EXTENSION citus"); err != nil {
			return err
		}
		u, err := url.Parse(node)
		if err != nil {
			return err
		}
		join := "SELECT citus_set_coordinator_host($1, $2::int)"
		if i > 0 {
			join = "SELECT citus_add_node($1, $2::int)"
		}
		if err := executeAt(ctx, coordinator, join, u.Hostname(), u.Port()); err != nil {
			return err
		}
	}
	return nil
}

// onNodes creates a database on every node as a copy of another one, and drops it after the test. It returns the
// coordinator's address.
func onNodes(t testing.TB, name, from string) string {
	t.Helper()
	t.Cleanup(func() {
		for _, node := range nodes() {
			executeIn(t, node, fmt.Sprintf("DROP DATABASE IF EXISTS %s WITH (FORCE)", name))
		}
	})
	require.NoError(t, createOnNodes(context.Background(), name, from))
	return inDatabase(nodes()[0], name)
}

// SkipIfSharded skips a test of a feature that does not exist on a Citus cluster.
func SkipIfSharded(t testing.TB) {
	t.Helper()
	if nodes() != nil {
		t.Skip("the tables are sharded")
	}
}
