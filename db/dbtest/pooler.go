package dbtest

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

var pooler struct {
	once sync.Once
	// stop ends it, if it was started.
	stop func()
	host string
	err  error
}

// isPooled says that all stores are behind a pooler, as DBTEST_POOLER asks for.
func isPooled() bool { return os.Getenv("DBTEST_POOLER") != "" }

// Direct skips a test of the connections themselves while all stores are behind a pooler.
func Direct(t testing.TB) {
	t.Helper()
	if isPooled() {
		t.Skip("a pooler is in between")
	}
}

// Pooled returns another address of the database: that of a PgBouncer which hands connections on between transactions, and has few
// of them. The test is skipped where there is none, but not in CI.
func Pooled(t testing.TB, address string) string {
	t.Helper()
	pooler.once.Do(func() { pooler.err = startPooler(context.Background(), address) })
	if pooler.err != nil && os.Getenv("CI") == "" {
		t.Skip(pooler.err)
	}
	require.NoError(t, pooler.err)
	config, err := pgx.ParseConfig(address)
	require.NoError(t, err)
	return (&url.URL{Scheme: "postgres", User: url.User(config.User), Host: pooler.host, Path: config.Database, RawQuery: "sslmode=disable"}).String()
}

// startPooler starts one in front of the server of the address, for all tests of the binary.
func startPooler(ctx context.Context, address string) error {
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer"
	}
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	pooler.host = listener.Addr().String()
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		return err
	}
	settings := fmt.Sprintf(`[databases]
* = host=%s port=%d user=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
server_login_retry = 1
query_wait_timeout = 2
max_client_conn = 1000
`, config.Host, config.Port, config.User, port)
	file := filepath.Join(cluster.dir, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(settings), 0o644); err != nil { //nolint:gosec // It runs as another user, and there is no secret in it.
		return err
	}
	running, kill := context.WithCancel(ctx)
	process := exec.CommandContext(running, program, "-q", file)
	if os.Getuid() == 0 {
		process.Args = []string{program, "-q", "-u", "postgres", file}
	}
	if err := process.Start(); err != nil {
		kill()
		return fmt.Errorf("PgBouncer is needed: %w", err)
	}
	pooler.stop = func() {
		kill()
		_ = process.Wait()
	}
	return answers(ctx, port)
}

// answers waits until somebody takes connections at the port.
func answers(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("PgBouncer does not start: %w", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func stopPooler() {
	if pooler.stop != nil {
		pooler.stop()
	}
}
