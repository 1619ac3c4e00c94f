package db_test

import (
	"context"
	"flag"
	"iter"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

func TestMain(m *testing.M) {
	// rapid prints the failing case anyway, and its files would remain in the directory.
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		panic(err)
	}
	os.Exit(dbtest.Main(m))
}

// connect returns a plain connection to the database at the address, closed after the test.
func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// boundByPolicies makes the connection use the role that row-level security restricts. Then plans show the policies.
func boundByPolicies(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	_, err := conn.Exec(t.Context(), "SET ROLE agentgraph_gateway")
	require.NoError(t, err)
}

// fresh returns a store on a fresh database, and a plain connection to it.
func fresh(t *testing.T) (*db.Store, *pgx.Conn) {
	t.Helper()
	address := dbtest.URL(t)
	return dbtest.Open(t, address, db.Options{SecretKey: make([]byte, 32)}), connect(t, address)
}

// newCompany returns a new company's tenant and its id.
func newCompany(t *testing.T, store *db.Store) (*db.Tenant, string) {
	t.Helper()
	company, err := store.CreateCompany(t.Context(), "A company")
	require.NoError(t, err)
	return store.Tenant(company.ID), company.ID
}

// freshTenant returns the tenant of the only company of a fresh database.
func freshTenant(t *testing.T) *db.Tenant {
	t.Helper()
	tenant, _ := newCompany(t, dbtest.New(t))
	return tenant
}

func agentInput() model.CreateAgentInput {
	return model.CreateAgentInput{
		Name: "Reception", Channel: model.ChannelPhone, Direction: model.DirectionInbound, Language: "en", Prompt: "Be kind.",
	}
}

func newAgent(t *testing.T, tenant *db.Tenant) *model.Agent {
	t.Helper()
	agent, err := tenant.CreateAgent(t.Context(), agentInput())
	require.NoError(t, err)
	return agent
}

func newTool(t *testing.T, tenant *db.Tenant, technicalName string) *model.Tool {
	t.Helper()
	tool, err := tenant.CreateTool(t.Context(), model.CreateToolInput{Name: "A tool", TechnicalName: technicalName})
	require.NoError(t, err)
	return tool
}

func newDataset(t *testing.T, tenant *db.Tenant) *model.Dataset {
	t.Helper()
	dataset, err := tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: "A dataset"})
	require.NoError(t, err)
	return dataset
}

// addDocument adds a text, which waits to be indexed.
func addDocument(t require.TestingT, tenant *db.Tenant, datasetID, text string) *model.Document {
	d, err := model.NewDocument(model.AddDocumentInput{DatasetID: datasetID, Name: new("A text"), Text: &text}, time.Now().
		UTC().Truncate(time.Microsecond))
	require.NoError(t, err)
	d.ContentType = "text/plain"
	require.NoError(t, tenant.AddDocument(ctxOf(t), d, strings.NewReader(text)))
	return d
}

func newChat(t *testing.T, tenant *db.Tenant, datasetIDs ...string) *model.KnowledgeBaseChat {
	t.Helper()
	chat, err := tenant.CreateKnowledgeBaseChat(t.Context(), model.CreateKnowledgeBaseChatInput{Name: "A chat",
		DatasetIds: datasetIDs})
	require.NoError(t, err)
	return chat
}

// fails requires a *model.Error with the code, and returns its message.
func fails(t require.TestingT, err error, code model.Code) string {
	return written(t, err, code).Message
}

func written(t require.TestingT, err error, code model.Code) *model.Error {
	var known *model.Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, code, known.Code, "%v", err)
	return known
}

// same requires two values to be equal, except for the locations of times.
func same(t require.TestingT, want, got any) {
	if reflect.DeepEqual(want, got) { // a hundred times faster than the comparison below
		return
	}
	require.Empty(t, cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })))
}

// faults requires a *model.Error with the code, whose messages about the field contain the text.
func faults(t require.TestingT, err error, code model.Code, field, text string) {
	known := written(t, err, code)
	require.Contains(t, known.Fields, field, "%v", err)
	require.Contains(t, strings.Join(known.Fields[field], "; "), text)
}

// together runs fn n times at once and returns the errors.
func together(n int, fn func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			errs[i] = fn(i)
		})
	}
	close(start)
	all.Wait()
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// waitForLocks waits until exactly the given number of statements wait for a lock.
func waitForLocks(t *testing.T, conn *pgx.Conn, want int) {
	t.Helper()
	require.Eventually(t, func() bool {
		var n int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE wait_event_type = 'Lock' AND datname = current_database()`).Scan(&n)
		return err == nil && n == want
	}, waitFor, tick)
}

// statements counts the statements that run with a context from its method "in". Therefore it does not count the
// background work of a store, which can run at any time.
type statements struct{ n atomic.Int64 }

func (s *statements) in(ctx context.Context) context.Context { return context.WithValue(ctx, s, true) }

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	if ctx.Value(s) != nil {
		s.n.Add(1)
	}
	return ctx
}

func (*statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	for _, query := range data.Batch.QueuedQueries {
		ctx = s.TraceQueryStart(ctx, nil, pgx.TraceQueryStartData{SQL: query.SQL})
	}
	return ctx
}

func (*statements) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (*statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// collect returns the rows of a sequence, and requires that it yields no error.
func collect[R any](t *testing.T, rows iter.Seq2[R, error]) []R {
	t.Helper()
	all := []R{}
	for row, err := range rows {
		require.NoError(t, err)
		all = append(all, row)
	}
	return all
}

func idsOf[N model.Node](nodes []N) []string {
	ids := make([]string, len(nodes))
	for i, n := range nodes {
		ids[i] = n.Cursor().ID
	}
	return ids
}

// ctxOf returns the context of a test that rapid may have wrapped.
func ctxOf(t require.TestingT) context.Context {
	if t, ok := t.(interface{ Context() context.Context }); ok {
		return t.Context()
	}
	return context.Background()
}

// Bounds of waits. They are generous, because a wait is long only if the test fails.
const (
	waitFor = 10 * time.Second
	tick    = 5 * time.Millisecond
)

// findPrepared does the same as Tenant.Find, but with a prepared statement on a connection for reads.
func findPrepared(ctx context.Context, t *db.Tenant, rows pg.Rows, keys []string,
	columns ...string) ([]model.Row, error) {
	found, err := t.FindTogether(ctx, pg.Want{Rows: rows, Keys: keys, Columns: columns})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}
