package db_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/local"
	"github.com/agentgraph/agentgraph/model"
)

// standby copies the running primary server to another directory, and starts the copy as its synchronous standby.
func standby(t *testing.T, primary *local.Server, from, to string) *local.Server {
	t.Helper()
	ctx, conn := t.Context(), connect(t, primary.URL())
	var programs string
	require.NoError(t, conn.QueryRow(ctx, "SELECT setting FROM pg_config WHERE name = 'BINDIR'").Scan(&programs))
	address, err := url.Parse(primary.URL())
	require.NoError(t, err)
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "pg_basebackup"), "--pgdata", filepath.Join(to, "postgres"),
		"--checkpoint", "fast",
		"--write-recovery-conf", "--no-sync", "--host", address.Query().Get("host"), "--port", "5432", "--username",
		"postgres")
	cmd.Dir = to
	if os.Geteuid() == 0 { // the user of the server must own the copy
		info, err := os.Stat(filepath.Join(from, "postgres"))
		require.NoError(t, err)
		owner := info.Sys().(*syscall.Stat_t)
		require.NoError(t, os.Chown(to, int(owner.Uid), int(owner.Gid)))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	server, err := local.Start(ctx, local.Options{Dir: to, Durable: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Stop() })
	for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		_, err := conn.Exec(ctx, statement)
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool {
		var isSynchronous bool
		err := conn.QueryRow(ctx, "SELECT count(*) > 0 FROM pg_stat_replication WHERE sync_state = 'sync'").
			Scan(&isSynchronous)
		return err == nil && isSynchronous
	}, time.Minute, 10*time.Millisecond)
	return server
}

// kill ends a server in the directory without warning.
func kill(t *testing.T, server *local.Server, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "postgres", "postmaster.pid"))
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	<-server.Ended()
}

func TestStandbyTakesOver(t *testing.T) {
	t.Parallel()
	dbtest.SkipIfPooled(t)
	root, err := os.MkdirTemp("", "agentgraph-failover-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	require.NoError(t, os.Chmod(root, 0o755))
	one, other := filepath.Join(root, "1"), filepath.Join(root, "2")
	for _, dir := range []string{one, other} {
		require.NoError(t, os.Mkdir(dir, 0o755))
	}
	ctx := t.Context()
	primary, err := local.Start(ctx, local.Options{Dir: one, Durable: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = primary.Stop() })
	require.NoError(t, newMigrator(t, primary.URL()).Up(ctx))
	secondary := standby(t, primary, one, other)

	host := func(s *local.Server) string {
		address, err := url.Parse(s.URL())
		require.NoError(t, err)
		return address.Query().Get("host")
	}
	both := fmt.Sprintf("postgres:///agentgraph?host=%s,%s&port=5432,5432&user=postgres&sslmode=disable"+
		"&target_session_attrs=read-write&connect_timeout=2",
		host(primary), host(secondary))
	store := dbtest.Open(t, both, db.Options{Tracer: dbtest.Unchecked{}})
	tenant, chat := newSimulation(t, store, nil)
	following, stop := context.WithCancel(ctx)
	defer stop()
	live, err := tenant.FollowMessages(following, chat.ID, 0)
	require.NoError(t, err)

	said := 0
	// say completes a turn, and retries like a client while the database is unavailable.
	say := func() {
		t.Helper()
		require.Eventually(t, func() bool {
			// If the start of a turn was stored but not acknowledged, the turn holds the chat for this time.
			turn, err := tenant.BeginChatTurn(ctx, chat.ID, 2*time.Second)
			if err == nil {
				message, reply := messages(fmt.Sprint("question ", said), "answer")
				_, err = turn.Finish(ctx, message, reply, nil)
			}
			var known *model.Error
			if err != nil {
				require.True(t, errors.As(err, &known) && (known.Code == model.Unavailable || known.Code == model.Conflict), "%v",
					err)
			}
			return err == nil
		}, time.Minute, 20*time.Millisecond)
		said++
	}
	for range 10 {
		say()
	}
	kill(t, primary, one)
	promoting, err := pgx.Connect(ctx, secondary.URL())
	require.NoError(t, err)
	_, err = promoting.Exec(ctx, "SELECT pg_promote()")
	require.NoError(t, err)
	require.NoError(t, promoting.Close(ctx))
	for range 10 {
		say()
	}

	for i := range 2 * said {
		message, open := receive(t, live)
		require.True(t, open)
		require.EqualValues(t, i+1, message.Sequence, "nothing that was acknowledged is lost, and followers miss nothing")
	}
}
