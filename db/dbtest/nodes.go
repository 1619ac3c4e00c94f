package dbtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/schema"
)

// shards is small, because each test creates all tables.
const shards = 2

// nodes returns the addresses of a Citus cluster in DBTEST_NODES, separated by commas, the coordinator first. If there
// are any, the databases of tests are created there.
func nodes() []string {
	if of := os.Getenv("DBTEST_NODES"); of != "" {
		return strings.Split(of, ",")
	}
	return nil
}

// onNodes creates a database on every node and joins them. It drops them after the test. Templates cannot be copied
// there.
func onNodes(t testing.TB, name string, isMigrated bool) string {
	t.Helper()
	ctx := context.Background()
	coordinator := inDatabase(nodes()[0], name)
	for i, node := range nodes() {
		executeIn(t, node, "CREATE DATABASE "+name)
		t.Cleanup(func() { executeIn(t, node, fmt.Sprintf("DROP DATABASE %s WITH (FORCE)", name)) })
		executeIn(t, inDatabase(node, name), "CREATE EXTENSION citus")
		u, err := url.Parse(node)
		require.NoError(t, err)
		join := "SELECT citus_set_coordinator_host($1, $2::int)"
		if i > 0 {
			join = "SELECT citus_add_node($1, $2::int)"
		}
		executeIn(t, coordinator, join, u.Hostname(), u.Port())
	}
	if isMigrated {
		migrator, err := schema.NewMigrator(ctx, coordinator)
		require.NoError(t, err)
		defer func() { _ = migrator.Close() }()
		require.NoError(t, migrator.Up(ctx))
		require.NoError(t, migrator.Distribute(ctx, shards, func(string) {}))
	}
	return coordinator
}

// Unsharded skips a test of a feature that does not exist on a Citus cluster.
func Unsharded(t testing.TB) {
	t.Helper()
	if nodes() != nil {
		t.Skip("the tables are sharded")
	}
}
