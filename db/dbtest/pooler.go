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

// pooler is a PgBouncer in front of the server, shared by all tests of the binary.
type pooler struct {
	once sync.Once
	// stop stops it, if it was started.
	stop func()
	host string
	err  error
}

var transactionPooler, ofSessions pooler

// isPooled reports whether DBTEST_POOLER puts all stores behind a pooler.
func isPooled() bool { return os.Getenv("DBTEST_POOLER") != "" }

// SkipIfPooled skips a test of the connections themselves if all stores are behind a pooler.
func SkipIfPooled(t testing.TB) {
	t.Helper()
	if isPooled() {
		t.Skip("a pooler is in between")
	}
}

// Pooled returns an address of the database through a PgBouncer in transaction mode with few connections. Without
// PgBouncer it skips the test, except in CI.
func Pooled(t testing.TB, address string) string {
	t.Helper()
	return transactionPooler.address(t, address, "pool_mode = transaction\ndefault_pool_size = 3\nquery_wait_timeout = 2")
}

// PooledBySessions is like Pooled with a PgBouncer in session mode and additional settings. All tests of the binary
// must pass the same settings.
func PooledBySessions(t testing.TB, address, settings string) string {
	t.Helper()
	return ofSessions.address(t, address, "pool_mode = session\n"+settings)
}

// address returns the address of the database through the pooler. The first call starts the pooler with the settings.
func (p *pooler) address(t testing.TB, address, settings string) string {
	t.Helper()
	p.once.Do(func() { p.err = p.start(context.Background(), address, settings) })
	if p.err != nil && os.Getenv("CI") == "" {
		t.Skip(p.err)
	}
	require.NoError(t, p.err)
	config, err := pgx.ParseConfig(address)
	require.NoError(t, err)
	return (&url.URL{Scheme: "postgres", User: url.User(config.User), Host: p.host, Path: config.Database,
		RawQuery: "sslmode=disable"}).String()
}

// start starts the pooler in front of the server of the address.
func (p *pooler) start(ctx context.Context, address, more string) error {
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
	p.host = listener.Addr().String()
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		return err
	}
	text := fmt.Sprintf(`[databases]
* = host=%s port=%d user=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
server_login_retry = 1
max_client_conn = 1000
%s
`, config.Host, config.Port, config.User, port, more)
	file := filepath.Join(cluster.dir, fmt.Sprintf("pgbouncer-%d.ini", port))
	if err := os.WriteFile(file, []byte(text),
		0o644); err != nil { //nolint:gosec // PgBouncer runs as another user, and the file contains no secret.
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
	p.stop = func() {
		kill()
		_ = process.Wait()
	}
	return answers(ctx, port)
}

// answers waits until the port accepts connections.
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

func stopPoolers() {
	for _, p := range []*pooler{&transactionPooler, &ofSessions} {
		if p.stop != nil {
			p.stop()
		}
	}
}
