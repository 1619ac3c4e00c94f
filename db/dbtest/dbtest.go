// Package dbtest gives each test a fresh, migrated database on a real Postgres.
//
// Each test binary starts its own server on first use, in memory if possible. If DBTEST_NODES names the nodes of a
// cluster, it uses the cluster instead. Its TestMain stops the server:
//
//	func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }
package dbtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/local"
	"github.com/agentgraph/agentgraph/db/schema"
)

var cluster struct {
	once   sync.Once
	dir    string
	server *local.Server
	err    error
	// pool has connections for administration. A new connection for each database would take longer than most statements.
	pool *pgxpool.Pool
	// judge knows the tables that are sharded.
	judge *judge
	// databases counts the databases created so far, to name them.
	databases atomic.Int64
	// addresses has the database of each open store.
	addresses sync.Map
}

// collectorPercent is the growth of the heap between two garbage collections. Tests keep some tens of MB for schemas
// and operations, and discard many times as much. With Go's default, the collector would take a quarter of their time.
// Above collectorLimit bytes it runs more often, so that a small machine can test two packages at once.
const (
	collectorPercent = 400
	collectorLimit   = 2 << 30
)

// Main runs the tests, stops the server if they started one, and returns the exit code.
func Main(m *testing.M) int {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(collectorPercent)
		if _, set := os.LookupEnv("GOMEMLIMIT"); !set {
			debug.SetMemoryLimit(collectorLimit)
		}
	}
	code := m.Run()
	stopPoolers()
	if cluster.pool != nil {
		cluster.pool.Close()
	}
	if cluster.server != nil {
		if err := cluster.server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the test server:", err)
			code = 1
		}
	}
	if cluster.dir != "" {
		_ = os.RemoveAll(cluster.dir)
	}
	return code
}

const template = "template_migrated"

func start(ctx context.Context) error {
	cluster.once.Do(func() {
		if len(nodes()) > 0 {
			cluster.judge, cluster.err = makeTemplateOnNodes(ctx, template)
			return
		}
		parent := "/dev/shm"
		if _, err := os.Stat(parent); err != nil {
			parent = os.TempDir()
		}
		sweep(parent)
		if cluster.dir, cluster.err = os.MkdirTemp(parent,
			fmt.Sprintf("%s%d-", directoryPrefix, os.Getpid())); cluster.err != nil {
			return
		}
		// The server may run as another user, who must be able to reach its directory.
		if cluster.err = os.Chmod(cluster.dir, 0o755); cluster.err != nil {
			return
		}
		cluster.server, cluster.err = local.Start(ctx, local.Options{Dir: cluster.dir + "/data"})
		if cluster.err != nil {
			return
		}
		cluster.err = makeTemplate(ctx, cluster.server.URL())
	})
	return cluster.err
}

// makeTemplate creates the database that is copied for tests. admin is the address of another database, which is never
// copied.
func makeTemplate(ctx context.Context, admin string) (err error) {
	if cluster.pool, err = pgxpool.New(ctx, admin); err != nil {
		return err
	}
	for _, statement := range []string{"DROP DATABASE IF EXISTS " + template, "CREATE DATABASE " + template} {
		if err := execute(ctx, statement); err != nil {
			return err
		}
	}
	migrator, err := schema.NewMigrator(ctx, address(template))
	if err != nil {
		return err
	}
	err = migrator.Up(ctx)
	_ = migrator.Close()
	if err != nil {
		return err
	}
	cluster.judge, err = newJudge(ctx, address(template))
	return err
}

// newJudge returns a judge for the tables of the database at the address.
func newJudge(ctx context.Context, address string) (*judge, error) {
	migrator, err := schema.NewMigrator(ctx, address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = migrator.Close() }()
	d, err := migrator.Distribution(ctx)
	j := &judge{reference: d.Reference}
	for _, step := range d.Steps {
		j.sharded = append(j.sharded, step.Tables...)
	}
	return j, err
}

const directoryPrefix = "agentgraph-test-"

// sweep removes the directories of killed test runs. Their servers have ended with them.
func sweep(parent string) {
	left, _ := filepath.Glob(filepath.Join(parent, directoryPrefix+"*"))
	for _, dir := range left {
		if local.Abandoned(filepath.Join(dir, "data")) {
			_ = os.RemoveAll(dir)
		}
	}
}

// URL returns the address of a fresh, migrated database. It is dropped after the test.
func URL(t testing.TB) string {
	t.Helper()
	return createDatabase(t, template)
}

// EmptyURL returns the address of a fresh database without a schema. It is dropped after the test.
func EmptyURL(t testing.TB) string {
	t.Helper()
	return createDatabase(t, "template0")
}

// EmptyURLWith is EmptyURL with options of CREATE DATABASE, such as an encoding.
func EmptyURLWith(t testing.TB, options string) string {
	t.Helper()
	SkipIfSharded(t)
	return createDatabase(t, "template0 "+options)
}

func createDatabase(t testing.TB, from string) string {
	t.Helper()
	ctx := context.Background()
	require.NoError(t, start(ctx))
	name := fmt.Sprintf("test_%d", cluster.databases.Add(1))
	if len(nodes()) > 0 {
		return onNodes(t, fmt.Sprintf("%s_%d", name, os.Getpid()), from)
	}
	require.NoError(t, execute(ctx, fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s STRATEGY file_copy", name, from)))
	t.Cleanup(func() {
		require.NoError(t, execute(context.Background(), fmt.Sprintf("DROP DATABASE %s WITH (FORCE)", name)))
	})
	return address(name)
}

// New returns a store on a fresh, migrated database.
func New(t testing.TB) *db.Store {
	t.Helper()
	return Open(t, URL(t), db.Options{})
}

// Stores returns a store on a fresh, migrated database for each way in which the server can store vectors: always
// "arrays", and "pgvector" if it is installed. On a Citus cluster, it returns only "pgvector".
func Stores(t testing.TB, o db.Options) map[string]*db.Store {
	t.Helper()
	stores := map[string]*db.Store{}
	if nodes() == nil { // Citus does not change the storage of a sharded column
		address := URL(t)
		UseArrayVectors(t, address)
		stores["arrays"] = Open(t, address, o)
	}
	if store := Open(t, URL(t), o); store.ComparesVectors() {
		stores["pgvector"] = store
	}
	return stores
}

// SecurityVariants returns the addresses of two fresh, migrated databases. The keys say what separates the companies in
// each: the program and the database, or the program alone.
func SecurityVariants(t testing.TB) map[string]string {
	t.Helper()
	alone := URL(t)
	executeIn(t, alone, `DO $$ DECLARE secured regclass; BEGIN
			FOR secured IN SELECT oid FROM pg_class WHERE relrowsecurity LOOP
				EXECUTE format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY', secured);
			END LOOP;
		END $$;
		CREATE OR REPLACE VIEW company.agents AS SELECT * FROM agents;
		CREATE OR REPLACE VIEW company.chunks AS SELECT company_id, id, dataset_id, document_id, position, search
			FROM chunks`)
	return map[string]string{"the program and the database": URL(t), "the program alone": alone}
}

// UseArrayVectors makes the database at the address store vectors as arrays, even if the server has pgvector.
func UseArrayVectors(t testing.TB, address string) {
	t.Helper()
	executeIn(t, address, "ALTER TABLE chunk_vectors ALTER COLUMN embedding TYPE real[], ALTER COLUMN embedding SET "+
		"STORAGE MAIN")
}

// executeIn runs a statement in the database at the address.
func executeIn(t testing.TB, address, statement string, args ...any) {
	t.Helper()
	require.NoError(t, executeAt(context.Background(), address, statement, args...))
}

func executeAt(ctx context.Context, address, statement string, args ...any) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement, args...)
	return errors.Join(err, conn.Close(ctx))
}

// Open returns a store on the database at the address, and closes it after the test. Without a Tracer, the test fails
// if a statement of the store cannot run on a database that is sharded by company.
func Open(t testing.TB, address string, o db.Options) *db.Store {
	t.Helper()
	if o.MaxConnections == 0 {
		o.MaxConnections = 8
	}
	direct := address
	if isPooled() && o.SessionAddress == "" &&
		(o.Tracer == nil || o.Tracer == Unchecked{}) { // other tracers check how statements are sent
		address, o.SessionAddress = Pooled(t, direct), direct
	}
	if o.Tracer == nil {
		o.Tracer = checked(t, cluster.judge)
	}
	store, err := db.Open(context.Background(), address, o)
	require.NoError(t, err)
	cluster.addresses.Store(store, direct)
	t.Cleanup(func() {
		cluster.addresses.Delete(store)
		store.Close()
	})
	return store
}

// Reopen returns a second store on the same database, like the store of another replica.
func Reopen(t testing.TB, store *db.Store) *db.Store {
	t.Helper()
	address, ok := cluster.addresses.Load(store)
	require.True(t, ok, "the store was not opened by this package")
	return Open(t, address.(string), db.Options{})
}

// execute runs a statement outside the databases of the tests.
func execute(ctx context.Context, statement string) error {
	_, err := cluster.pool.Exec(ctx, statement, pgx.QueryExecModeSimpleProtocol)
	return err
}

// address returns the server's address with the database.
func address(database string) string {
	if addresses := nodes(); len(addresses) > 0 {
		return inDatabase(addresses[0], database)
	}
	return inDatabase(cluster.server.URL(), database)
}

func inDatabase(address, database string) string {
	u, err := url.Parse(address)
	if err != nil {
		panic(err)
	}
	u.Path = "/" + database
	return u.String()
}
