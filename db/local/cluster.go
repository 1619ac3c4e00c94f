package local

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

const (
	// longestSocket is the longest path that fits the smallest sockaddr_un of our platforms, without the final zero.
	longestSocket = 103
	socketName    = ".s.PGSQL." + port
	pidFile       = "postmaster.pid"
	statusLine    = 8               // in the pid file, see Postgres's pidfile.h
	unfinished    = "postgres-new-" // prefix of a cluster that initdb has not completed
)

type cluster struct {
	dir      string // absolute, without symbolic links, so that all programs use the same names
	data     string
	socket   string // directory of the unix socket
	durable  bool
	binaries binaries
	user     *syscall.Credential // user of the server; nil for the user of this program
}

func openCluster(o Options) (*cluster, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the data directory: %w", err)
	}
	if err := makeDir(dir); err != nil {
		return nil, directoryError(dir, err)
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, directoryError(dir, err)
	}
	c := &cluster{dir: resolved, data: filepath.Join(resolved, "postgres"), durable: o.Durable}
	c.socket = c.data
	if len(filepath.Join(c.data, socketName)) > longestSocket || strings.ContainsAny(c.data, ` ,"`) {
		c.socket = fmt.Sprintf("/tmp/agentgraph-%x", sha256.Sum256([]byte(c.data)))[:32]
	}
	return c, nil
}

// makeDir creates the directory and its parents. The server's user can enter them, regardless of the umask.
func makeDir(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := makeDir(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil // another program created it first
		}
		return err
	}
	return os.Chmod(dir, 0o755)
}

// prepare finds the user and the binaries. It creates the cluster and the socket's directory if they are missing. isNew
// is set if it created the cluster.
func (c *cluster) prepare(ctx context.Context) (isNew bool, err error) {
	if c.user, err = c.serverUser(); err != nil {
		return false, err
	}
	major, err := c.version()
	if err != nil {
		return false, err
	}
	isNew = major == 0
	if c.binaries, err = findBinaries(ctx, os.Getenv("PATH"), installations, major); err != nil {
		if !isNew {
			return false, fmt.Errorf("the data directory %s cannot be used: %w", c.dir, err)
		}
		return false, err
	}
	if err = c.removeUnfinished(ctx); err != nil {
		return false, err
	}
	if err = os.Remove(c.logFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, directoryError(c.dir, err)
	}
	if isNew {
		if err = c.initialize(ctx); err != nil {
			return false, err
		}
	}
	return isNew, c.makeSocketDir()
}

// serverUser returns the user that the server runs as, or nil for the current user. Postgres refuses to run as root,
// and only the owner of a cluster may serve it.
func (c *cluster) serverUser() (*syscall.Credential, error) {
	info, err := os.Stat(c.data)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, directoryError(c.dir, err)
	}
	exists := err == nil
	if self := os.Geteuid(); self != 0 {
		if exists && owner(info).Uid != uint32(self) {
			return nil, fmt.Errorf("the data directory %s belongs to another user", c.data)
		}
		return nil, nil
	}
	if exists {
		o := owner(info)
		if o.Uid == 0 {
			return nil, fmt.Errorf("the data directory %s belongs to root, but PostgreSQL refuses to run as root: change "+
				"its owner", c.data)
		}
		return &syscall.Credential{Uid: o.Uid, Gid: o.Gid}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, fmt.Errorf("read the ids of user %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL refuses to run as root, and this system has no user postgres or nobody: " +
		"create one of them")
}

// version returns the major version of the cluster, or 0 if there is none yet.
func (c *cluster) version() (int, error) {
	text, err := os.ReadFile(filepath.Join(c.data, "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, directoryError(c.dir, err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || major < oldestMajor {
		return 0, fmt.Errorf("the data directory %s was created by PostgreSQL %s, but %d or later is needed: use another "+
			"directory",
			c.dir, bytes.TrimSpace(text), oldestMajor)
	}
	return major, nil
}

// explain explains why a binary could not be started. It enters the directories as the server's user, so that access
// control lists apply, and names the outermost one that denies access.
func (c *cluster) explain(binary string, err error) error {
	if c.enter(c.dir) == nil || c.enter("/") != nil {
		return fmt.Errorf("run %s as user %s: %w", binary, c.userName(), err)
	}
	path := ""
	for _, name := range strings.Split(strings.TrimPrefix(c.dir, "/"), "/") {
		path += "/" + name
		if c.enter(path) != nil {
			break
		}
	}
	return fmt.Errorf("the data directory %s cannot be used: the database server runs as user %s, who may not enter %s",
		c.dir, c.userName(), path)
}

func (c *cluster) enter(dir string) error { return c.command("postgres", dir, "--version").Run() }

func (c *cluster) userName() string {
	uid := os.Geteuid()
	if c.user != nil {
		uid = int(c.user.Uid)
	}
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return strconv.Itoa(uid)
}

// removeUnfinished removes clusters whose program was killed while creating them.
func (c *cluster) removeUnfinished(ctx context.Context) error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return directoryError(c.dir, err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), unfinished) {
			continue
		}
		if err := removeClusterDir(ctx, filepath.Join(c.dir, e.Name())); err != nil {
			return directoryError(c.dir, err)
		}
	}
	return nil
}

// initialize creates the cluster in a temporary directory, and renames it when it is complete.
func (c *cluster) initialize(ctx context.Context) error {
	dir, err := os.MkdirTemp(c.dir, unfinished+"*")
	if err != nil {
		return directoryError(c.dir, err)
	}
	// The next start removes what remains.
	defer func() { _ = removeClusterDir(context.WithoutCancel(ctx), dir) }()
	if err := c.chownToServerUser(dir); err != nil {
		return directoryError(c.dir, err)
	}
	args := []string{"-D", dir, "--username=" + superuser, "--auth=trust", "--encoding=UTF8", "--no-instructions"}
	args = append(args, locale...)
	if !c.durable {
		args = append(args, "--no-sync")
	}
	p, err := c.launch("initdb", dir, args...)
	if err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		p.kill()
		<-p.done
		return ctx.Err()
	}
	if !p.succeeded() {
		return fmt.Errorf("the database could not be created in the data directory %s: %s", c.dir, c.reason())
	}
	if err := os.Rename(dir, c.data); err != nil {
		return fmt.Errorf("the data directory %s is not empty, and contains no PostgreSQL cluster: use another "+
			"directory", c.data)
	}
	if c.durable {
		return syncDir(c.dir)
	}
	return nil
}

// settings returns the server's arguments. They override the configuration files in the cluster.
func (c *cluster) settings() []string {
	args := []string{"-D", c.data, "-p", port,
		"-c", "listen_addresses=",
		"-c", "unix_socket_directories=" + c.socket,
		"-c", "max_connections=200",
	}
	if !c.durable {
		args = append(args,
			"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off",
			"-c", "wal_level=minimal", "-c", "max_wal_senders=0", "-c", "shared_buffers=64MB")
	}
	return args
}

// makeSocketDir creates the socket's directory in /tmp, if the path of the cluster is too long, or has a space, a comma
// or a quotation mark. Anyone can write to /tmp, so a directory that is not private to the server's user is refused.
func (c *cluster) makeSocketDir() error {
	if c.socket == c.data {
		return nil
	}
	err := os.Mkdir(c.socket, 0o700)
	if err == nil {
		err = c.chownToServerUser(c.socket)
	} else if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err != nil {
		return directoryError(c.socket, err)
	}
	uid := uint32(os.Geteuid())
	if c.user != nil {
		uid = c.user.Uid
	}
	info, err := os.Lstat(c.socket)
	if err != nil {
		return directoryError(c.socket, err)
	}
	if !info.IsDir() || info.Mode().Perm() != 0o700 || owner(info).Uid != uid {
		return fmt.Errorf("the directory %s, needed for the database's socket, belongs to another user: remove it",
			c.socket)
	}
	return nil
}

func (c *cluster) removeSocket() {
	if c.socket != c.data {
		_ = os.Remove(c.socket) // it is empty; if this fails, the next start uses it
	}
}

// chownToServerUser makes the server's user the owner of a path.
func (c *cluster) chownToServerUser(path string) error {
	if c.user == nil {
		return nil
	}
	return os.Chown(path, int(c.user.Uid), int(c.user.Gid))
}

// postmaster returns the process id in the cluster's pid file, or 0 if there is none, and whether the server accepts
// connections.
func (c *cluster) postmaster() (pid int, ready bool) {
	text, _ := os.ReadFile(filepath.Join(c.data, pidFile)) // no file means no server
	lines := strings.Split(string(text), "\n")
	pid, _ = strconv.Atoi(lines[0]) // 0 while the file is incomplete
	if len(lines) < statusLine {
		return pid, false
	}
	status := strings.TrimSpace(lines[statusLine-1])
	return pid, status == "ready" || status == "standby"
}

var (
	complaint = regexp.MustCompile(`(?m)^.*?(?:FATAL|PANIC|ERROR|error): +(.+)$`)
	// refusal matches the server's error for connections that come too early.
	refusal = regexp.MustCompile(`^the database system is `)
)

// reason returns the last error that this start logged, or the path of the log.
func (c *cluster) reason() string {
	text, _ := os.ReadFile(c.logFile()) // no file means that nothing was logged
	complaints := complaint.FindAllSubmatch(text, -1)
	for i := len(complaints) - 1; i >= 0; i-- {
		if !refusal.Match(complaints[i][1]) {
			return string(complaints[i][1])
		}
	}
	return "see " + c.logFile()
}

// directoryError explains why writing to a directory failed.
func directoryError(dir string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("the data directory %s is not writable", dir)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("the data directory %s cannot be created: a part of its path is a file", dir)
	case errors.Is(err, syscall.ENOSPC):
		err = errors.New("the disk is full")
	}
	return fmt.Errorf("the data directory %s cannot be used: %w", dir, err)
}
func owner(info fs.FileInfo) *syscall.Stat_t { return info.Sys().(*syscall.Stat_t) }
