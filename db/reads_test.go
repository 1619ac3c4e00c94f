package db_test

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// The number of prepared statements of a connection is bounded, however many different statements it reads.
func TestStatementsOfAConnectionAreBounded(t *testing.T) {
	t.Parallel()
	dbtest.SkipIfPooled(t)
	store := dbtest.Open(t, dbtest.URL(t), db.Options{MaxConnections: 1})
	tenant, _ := newCompany(t, store)
	agent := newAgent(t, tenant)
	columns := []string{"id", "name", "channel", "direction", "language", "prompt", "created_at"}
	for round := range len(columns) {
		var reads []pg.Read
		for i := range pg.MaxReads {
			part := pg.Part{PageArgs: model.PageArgs{First: int32(i%100) + 1}}
			if i >= 100 {
				part.Offset = new(int32(0))
			}
			reads = append(reads, pg.Read{Statement: store.Page(db.AgentList, pg.KeyArgument, columns[:round+1], part),
				Part: part})
		}
		found := 0
		require.NoError(t, tenant.Read(t.Context(), reads, func(_ int, values [][]byte) error {
			require.Equal(t, agent.ID, string(values[0]))
			found++
			return nil
		}))
		require.Equal(t, pg.MaxReads, found)
	}
	conn, err := store.Reads().Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	rows, _ := conn.Query(t.Context(), "SELECT count(*)::int FROM pg_prepared_statements WHERE name LIKE 'read_%'")
	prepared, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[int])
	require.NoError(t, err)
	require.LessOrEqual(t, prepared, 256)
	require.GreaterOrEqual(t, prepared, pg.MaxReads)
}

// A read detects that Postgres has closed its connection, or that a migration has changed its statement. It then
// succeeds, even if there are few connections.
func TestReadsSurviveBrokenConnections(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	conn := connect(t, address)
	const connections, readers = 2, 8
	store := dbtest.Open(t, address, db.Options{MaxConnections: connections})
	tenant, _ := newCompany(t, store)
	agent := newAgent(t, tenant)
	readAll := func(why string) {
		ctx, cancel := context.WithTimeout(t.Context(), waitFor)
		defer cancel()
		var all sync.WaitGroup
		for range readers {
			all.Go(func() {
				found, err := findPrepared(ctx, tenant, db.AgentRows, []string{agent.ID}, "language")
				assert.NoError(t, err, why)
				assert.Len(t, found, 1, why)
			})
		}
		all.Wait()
	}
	readAll("at first")
	_, err := conn.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "+
		"current_database() AND pid <> pg_backend_pid()")
	require.NoError(t, err)
	readAll("the connections are ended")
	_, err = conn.Exec(t.Context(), "DROP VIEW company.agents; ALTER TABLE agents ALTER COLUMN language TYPE varchar(40)")
	require.NoError(t, err)
	readAll("the statements have another result")

	none, err := findPrepared(t.Context(), tenant, db.AgentRows, nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

// proxied returns the address of a database behind a proxy. cut cuts the proxy's connections without a message from
// Postgres. passed is the number of bytes that the proxy has forwarded, in both directions.
func proxied(t *testing.T, address string) (proxied string, cut func(), passed *atomic.Int64) {
	t.Helper()
	config, err := pgx.ParseConfig(address)
	require.NoError(t, err)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var mu sync.Mutex
	var open []net.Conn
	passed = &atomic.Int64{}
	cut = func() {
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range open {
			_ = conn.Close()
		}
		open = nil
	}
	t.Cleanup(func() { _ = listener.Close(); cut() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			network, socket := pgconn.NetworkAddress(config.Host, config.Port)
			server, err := new(net.Dialer).DialContext(context.WithoutCancel(t.Context()), network, socket)
			if err != nil {
				_ = client.Close()
				continue
			}
			mu.Lock()
			open = append(open, client, server)
			mu.Unlock()
			pass := func(to, from net.Conn) {
				_, _ = io.Copy(counting{to, passed}, from)
				_, _ = to.Close(), from.Close()
			}
			go pass(server, client)
			go pass(client, server)
		}
	}()
	behind := url.URL{Scheme: "postgres", User: url.UserPassword(config.User, config.Password), Host: listener.Addr().
		String(), Path: "/" + config.Database, RawQuery: "sslmode=disable"}
	return behind.String(), cut, passed
}

// counting counts the bytes that are written.
type counting struct {
	io.Writer
	bytes *atomic.Int64
}

func (c counting) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.bytes.Add(int64(n))
	return n, err
}

// All connections are cut together, and all readers detect that immediately. No reader waits for another reader's
// connection.
func TestReadsSurviveCutConnections(t *testing.T) {
	t.Parallel()
	address, cut, _ := proxied(t, dbtest.URL(t))
	for _, connections := range []int32{1, 4} {
		store := dbtest.Open(t, address, db.Options{MaxConnections: connections})
		tenant, _ := newCompany(t, store)
		agent := newAgent(t, tenant)
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), waitFor)
			var all sync.WaitGroup
			for range 2 * connections {
				all.Go(func() {
					found, err := findPrepared(ctx, tenant, db.AgentRows, []string{agent.ID}, "language")
					assert.NoError(t, err)
					assert.Len(t, found, 1)
				})
			}
			all.Wait()
			cancel()
			cut()
		}
	}
}

// A page reads one additional row only if the request asks whether another page follows.
func TestPagesReadTheNextRowOnlyOnRequest(t *testing.T) {
	t.Parallel()
	store := dbtest.Open(t, dbtest.URL(t), db.Options{})
	tenant, _ := newCompany(t, store)
	for range 3 {
		newAgent(t, tenant)
	}
	for andNext, want := range map[bool]int{false: 2, true: 3} {
		part := pg.Part{PageArgs: model.PageArgs{First: 2}, AndNext: andNext}
		found := 0
		require.NoError(t, tenant.Read(t.Context(),
			[]pg.Read{{Statement: store.Page(db.AgentList, pg.KeyArgument, []string{"id"}, part), Part: part}},
			func(int, [][]byte) error {
				found++
				return nil
			}))
		require.Equal(t, want, found)
	}
	require.NotEqual(t, pg.Part{AndNext: true}.Shape(), pg.Part{}.Shape(), "they are different statements")
}
