//go:build linux

package local

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// reachable returns a new directory that every user can enter, unlike the parent of t.TempDir.
func reachable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

func start(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop()) })
	return s
}

func query[T any](t *testing.T, url, sql string) T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	rows, err := conn.Query(t.Context(), sql)
	require.NoError(t, err)
	value, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	require.NoError(t, err)
	return value
}

// keep commits a value, which kept reads.
func keep(t *testing.T, url string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	_, err = conn.Exec(t.Context(), "CREATE TABLE kept AS SELECT 'äpfel' AS value")
	require.NoError(t, err)
}

func kept(t *testing.T, url string) string {
	t.Helper()
	return query[string](t, url, "SELECT upper(value) FROM kept")
}

func servers(t *testing.T, dir string) []int {
	t.Helper()
	pids, err := serversIn(t.Context(), filepath.Join(dir, "postgres"))
	require.NoError(t, err)
	return pids
}

// unprivileged returns a user other than the one that runs root's servers, or nil if the tests do not run as root.
func unprivileged(t *testing.T) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup("nobody")
	require.NoError(t, err)
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	require.NoError(t, err)
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	require.NoError(t, err)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func TestDataIsKept(t *testing.T) {
	t.Parallel()
	for _, durable := range []bool{true, false} {
		o := Options{Dir: filepath.Join(reachable(t), "made", "on demand"), Durable: durable}
		s := start(t, o)
		require.False(t, s.Attached())
		fsync := map[bool]string{true: "on", false: "off"}[durable]
		require.Equal(t, fsync, query[string](t, s.URL(), "SHOW fsync"))
		require.Equal(t, fsync, query[string](t, s.URL(), "SHOW synchronous_commit"))
		require.Equal(t, "UTF8", query[string](t, s.URL(), "SHOW server_encoding"))
		require.Empty(t, query[string](t, s.URL(), "SHOW listen_addresses"))
		require.Equal(t, "agentgraph", query[string](t, s.URL(), "SELECT current_database()::text"))
		keep(t, s.URL())

		require.NoError(t, s.Stop())
		require.NoError(t, s.Stop())
		require.Empty(t, servers(t, o.Dir))
		_, err := pgx.Connect(t.Context(), s.URL())
		require.Error(t, err)

		require.Equal(t, "ÄPFEL", kept(t, start(t, o).URL()))
	}
}

func TestKilledProgramLeavesNoServer(t *testing.T) {
	t.Parallel()
	dir := reachable(t)
	c := startChild(t, dir, nil)
	keep(t, c.line(t))
	require.NotEmpty(t, servers(t, dir))
	c.kill(t)
	require.Eventually(t, func() bool { return len(servers(t, dir)) == 0 }, time.Minute, pollInterval)
	require.Equal(t, "ÄPFEL", kept(t, start(t, Options{Dir: dir, Durable: true}).URL()))
}

func TestKilledProgramIsReplacedAtOnce(t *testing.T) {
	t.Parallel()
	dir := reachable(t)
	c := startChild(t, dir, nil)
	keep(t, c.line(t))
	c.kill(t)
	s := start(t, Options{Dir: dir, Durable: true})
	require.False(t, s.Attached())
	require.Equal(t, "ÄPFEL", kept(t, s.URL()))
}

func TestKilledServerRecovers(t *testing.T) {
	t.Parallel()
	o := Options{Dir: reachable(t), Durable: true}
	s, err := Start(t.Context(), o)
	require.NoError(t, err)
	keep(t, s.URL())
	require.NoError(t, syscall.Kill(s.postgres.pid, syscall.SIGKILL))
	require.ErrorContains(t, s.Stop(), "recovers at its next start")
	require.FileExists(t, filepath.Join(o.Dir, "postgres", pidFile))
	require.Equal(t, "ÄPFEL", kept(t, start(t, o).URL()))
}

func TestOrphanedServerIsStopped(t *testing.T) {
	t.Parallel()
	o := Options{Dir: reachable(t)}
	s := start(t, o)
	keep(t, s.URL())
	require.NoError(t, s.Stop())

	left := s.cluster.command("postgres", s.cluster.data, s.cluster.settings()...)
	left.SysProcAttr.Pdeathsig = 0
	require.NoError(t, left.Start())
	ended := make(chan error, 1)
	go func() { ended <- left.Wait() }()
	require.Eventually(t, func() bool { return ping(t.Context(), s.URL()) == nil }, time.Minute, pollInterval)

	next := start(t, o)
	require.NoError(t, <-ended, "it was given the time to write everything down")
	require.False(t, next.Attached())
	require.Equal(t, "ÄPFEL", kept(t, next.URL()))
}

func TestReusedProcessIDDoesNotBlockStart(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{
		"socket in the cluster": "short",
		"socket elsewhere":      strings.Repeat("long/", 40),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Options{Dir: filepath.Join(reachable(t), dir)}
			s := start(t, o)
			keep(t, s.URL())
			pid, err := os.ReadFile(filepath.Join(s.cluster.data, pidFile))
			require.NoError(t, err)
			require.NoError(t, s.Stop())

			// Postgres assumes that any process of its own user with this pid is a server.
			other := exec.CommandContext(t.Context(), "sleep", "600")
			other.SysProcAttr = &syscall.SysProcAttr{Credential: s.cluster.user, Pdeathsig: syscall.SIGKILL}
			require.NoError(t, other.Start())
			defer func() { _ = other.Wait() }()
			defer func() { require.NoError(t, other.Process.Kill(), "it must not have been touched") }()
			require.NoError(t, s.cluster.makeSocketDir())
			stale := strings.Replace(string(pid), strconv.Itoa(s.postgres.pid), strconv.Itoa(other.Process.Pid), 1)
			for _, path := range []string{
				filepath.Join(s.cluster.data, pidFile), filepath.Join(s.cluster.socket, socketName+".lock"),
			} {
				require.NoError(t, os.WriteFile(path, []byte(stale), 0o600))
				require.NoError(t, s.cluster.chownToServerUser(path))
			}
			require.Equal(t, "ÄPFEL", kept(t, start(t, o).URL()))
		})
	}
}

func TestSecondProgramAttaches(t *testing.T) {
	t.Parallel()
	dir := reachable(t)
	c := startChild(t, dir, nil)
	url := c.line(t)
	keep(t, url)

	s := start(t, Options{Dir: dir})
	require.True(t, s.Attached())
	require.Equal(t, url, s.URL())
	require.Equal(t, "ÄPFEL", kept(t, s.URL()))
	require.NoError(t, s.Stop())
	require.Equal(t, "ÄPFEL", kept(t, url))

	c.end()
	require.Empty(t, servers(t, dir))
	next := start(t, Options{Dir: dir})
	require.False(t, next.Attached())
	require.Equal(t, "ÄPFEL", kept(t, next.URL()))
}

// When the owner ends, even if it is killed, an attached program takes over the server.
func TestAttachedProgramTakesOver(t *testing.T) {
	t.Parallel()
	dir := reachable(t)
	c := startChild(t, dir, nil)
	keep(t, c.line(t))
	var running [3]*Server
	tookOver := make(chan int, len(running))
	for i := range running {
		running[i] = start(t, Options{Dir: dir, Durable: true, TookOver: func() { tookOver <- i }})
		require.True(t, running[i].Attached())
	}
	c.kill(t)
	for range running {
		owner := running[<-tookOver]
		require.False(t, owner.Attached())
		require.Equal(t, "ÄPFEL", kept(t, owner.URL()))
		require.NoError(t, owner.Stop())
		<-owner.Ended()
	}
}

func TestConcurrentStartsHaveOneOwner(t *testing.T) {
	t.Parallel()
	dir := reachable(t)
	var (
		wg      sync.WaitGroup
		running [4]*Server
		errs    [4]error
	)
	for i := range running {
		wg.Go(func() { running[i], errs[i] = Start(t.Context(), Options{Dir: dir}) })
	}
	wg.Wait()
	owners := 0
	for i, s := range running {
		require.NoError(t, errs[i])
		t.Cleanup(func() { require.NoError(t, s.Stop()) })
		if !s.Attached() {
			owners++
		}
		require.Equal(t, 1, query[int](t, s.URL(), "SELECT 1"))
	}
	require.Equal(t, 1, owners)
}

func TestUnusualPathsWork(t *testing.T) {
	t.Parallel()
	for _, name := range []string{strings.Repeat("a-long-name/", 15), `a, "b" c%20*[x]`} {
		o := Options{Dir: filepath.Join(reachable(t), name)}
		s := start(t, o)
		require.Equal(t, 1, query[int](t, s.URL(), "SELECT 1"))
		attached := start(t, o)
		require.True(t, attached.Attached())
		require.NoError(t, attached.Stop())
		require.NoError(t, s.Stop())
		require.NoDirExists(t, s.cluster.socket)
	}
}

func TestUnprivilegedUserOwnsTheFiles(t *testing.T) {
	t.Parallel()
	home := reachable(t)
	as := unprivileged(t)
	if as != nil {
		require.NoError(t, os.Chown(home, int(as.Uid), int(as.Gid)))
	}
	dir := filepath.Join(home, "data")
	c := startChild(t, dir, as)
	url := c.line(t)
	keep(t, url)
	info, err := os.Stat(filepath.Join(dir, "postgres"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	if as != nil {
		require.Equal(t, as.Uid, owner(info).Uid)
	}
	c.end()
	require.Empty(t, servers(t, dir))
	require.Equal(t, "ÄPFEL", kept(t, start(t, Options{Dir: dir}).URL()), "root serves it as its owner")
}

func TestUnwritableDirectoryIsReported(t *testing.T) {
	t.Parallel()
	home := reachable(t)
	require.NoError(t, os.Chmod(home, 0o555))
	for _, dir := range []string{home, filepath.Join(home, "missing")} {
		c := startChild(t, dir, unprivileged(t))
		require.Equal(t, "the data directory "+dir+" is not writable", c.line(t))
	}
}

func TestUnreachableDirectoryIsReported(t *testing.T) {
	t.Parallel()
	home := reachable(t)
	require.NoError(t, os.Chmod(home, 0o700))
	dir := filepath.Join(home, "data")
	s, err := Start(t.Context(), Options{Dir: dir})
	if os.Geteuid() != 0 {
		require.NoError(t, err, "the server runs as this user")
		require.NoError(t, s.Stop())
		return
	}
	require.ErrorContains(t, err, "the data directory "+dir+" cannot be used")
	require.ErrorContains(t, err, "may not enter "+home)
}

func TestUnusableDirectoryIsReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path, text string
		want       string
	}{
		"a file": {"", "x", "a part of its path is a file"},
		"another version": {"postgres/PG_VERSION", "99\n", "it was created by PostgreSQL 99, but the server binaries " +
			"found are of version "},
		"an old version":       {"postgres/PG_VERSION", "9.6\n", "was created by PostgreSQL 9.6, but 14 or later is needed"},
		"something else":       {"postgres/notes.txt", "x", "is not empty, and contains no PostgreSQL cluster"},
		"half a cluster":       {"postgres/PG_VERSION", "same", "stopped immediately after its start: "},
		"a file on the way":    {"../data", "x", "a part of its path is a file"},
		"a log that is a path": {"postgres.log/x", "x", "cannot be used: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(reachable(t), "data")
			path := filepath.Join(dir, c.path)
			if strings.HasPrefix(c.path, "postgres") {
				require.NoError(t, makeDir(dir))
			}
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			if c.text == "same" {
				b, err := findBinaries(t.Context(), os.Getenv("PATH"), installations, 0)
				require.NoError(t, err)
				c.text = strconv.Itoa(b.major) + "\n"
			}
			require.NoError(t, os.WriteFile(path, []byte(c.text), 0o644))
			if as := unprivileged(t); as != nil && strings.HasPrefix(c.path, "postgres/") {
				require.NoError(t, os.Chown(filepath.Dir(path), int(as.Uid), int(as.Gid)))
			}
			_, err := Start(t.Context(), Options{Dir: dir})
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "\n")
			require.Empty(t, servers(t, dir))
		})
	}
}
