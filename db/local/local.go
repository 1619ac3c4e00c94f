// Package local runs a private Postgres server for a program without a database.
//
// The server listens only on a unix socket. It belongs to the program that started it and ends with it, even if that
// program is killed. The directory of [Options] has everything that is stored: the cluster, the server's log and a
// lock. Start starts a server.
package local

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	superuser = "postgres"
	database  = "agentgraph"
	port      = "5432" // part of the socket's name; no TCP port is opened

	// attachPatience bounds the wait for a server that another program is starting.
	attachPatience = time.Minute
	pollInterval   = 10 * time.Millisecond
	abandonedAfter = time.Minute

	lockFile = "postgres.lock"
)

// Options configure where the database is stored, and how durably.
type Options struct {
	// Dir is created if it is missing, and never removed. If the program runs as root, the server runs as the cluster's
	// owner. The owner of a new cluster is postgres or, if there is no such user, nobody. The owner must be able to reach
	// Dir.
	Dir string
	// Durable makes commits survive a crash of the machine. Without it the server never waits for the disk, which suits
	// tests. Commits always survive a killed program.
	Durable bool
	// TookOver is called when the owner of an attached server has ended and this program has become the owner. It may be
	// nil.
	TookOver func()
}

// Server is a running Postgres server. Its owner is this program, or another one that uses the same directory.
type Server struct {
	url     string
	ended   chan struct{}
	stop    sync.Once
	stopErr error
	// detach stops waiting for the end of an attached server's owner.
	detach func()
	// mu guards the fields below, which are nil while the server is attached.
	mu       sync.Mutex
	cluster  *cluster
	lock     *os.File
	postgres *process
}

// Start starts the server, and returns when its database accepts connections. If another running program owns the
// directory, Start waits up to a minute for that program's server and attaches to it. An attached server ends with its
// owner. This program then starts it again at the same URL and becomes its owner. Start first stops a server whose
// owner was killed. ctx only bounds the start. Every error is one sentence for the user.
func Start(ctx context.Context, o Options) (*Server, error) {
	c, err := openCluster(o)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	patience := time.NewTimer(attachPatience)
	defer patience.Stop()
	for {
		lock, err := tryLock(filepath.Join(c.dir, lockFile))
		if err != nil {
			return nil, err
		}
		if lock != nil {
			return c.startOwned(ctx, lock)
		}
		if err := ping(ctx, c.url(database)); err == nil {
			return c.attach(context.WithoutCancel(ctx), o.TookOver), nil
		}
		select {
		case <-tick.C:
		case <-patience.C:
			return nil, fmt.Errorf("another program uses the data directory %s, but its database server does not answer", c.dir)
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the database server of another program: %w", ctx.Err())
		}
	}
}

// URL returns the address of the database over the unix socket, for pgx and libpq. It has a query part.
func (s *Server) URL() string { return s.url }

// Attached reports whether another program owns the server.
func (s *Server) Attached() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.postgres == nil
}

// Ended returns a channel that is closed when the server has ended for any reason. While the server is attached, the
// channel is closed by Stop, or if the server cannot be started again after the owner's end.
func (s *Server) Ended() <-chan struct{} { return s.ended }

// Reset replaces the database by an empty one. It refuses while another program owns the server.
func (s *Server) Reset(ctx context.Context) error {
	if s.Attached() {
		return errors.New("another program uses the data directory: stop it first")
	}
	if err := s.cluster.execute(ctx, "DROP DATABASE "+database+" WITH (FORCE)", "CREATE DATABASE "+database); err != nil {
		return fmt.Errorf("recreate the database in %s: %w", s.cluster.dir, err)
	}
	return nil
}

// Stop closes all connections and waits until the server has ended. It does not stop an attached server. Later calls
// return the first result.
func (s *Server) Stop() error {
	s.stop.Do(func() {
		s.detach()
		if s.Attached() {
			return
		}
		if !s.postgres.stop() {
			s.stopErr = fmt.Errorf("the database server in %s did not stop, and was killed. It recovers at its next "+
				"start", s.cluster.dir)
		}
		s.cluster.removeSocket()
		s.stopErr = errors.Join(s.stopErr, s.lock.Close())
	})
	return s.stopErr
}

// startOwned starts the server under the lock, and releases the lock on failure.
func (c *cluster) startOwned(ctx context.Context, lock *os.File) (_ *Server, err error) {
	s := &Server{url: c.url(database), cluster: c, lock: lock, detach: func() {}}
	defer func() {
		if err == nil {
			return
		}
		if s.postgres != nil {
			s.postgres.stop()
		}
		_ = lock.Close()
		if ctx.Err() != nil {
			err = fmt.Errorf("start the database server: %w", ctx.Err())
		}
	}()
	isNew, err := c.prepare(ctx)
	if err != nil {
		return nil, err
	}
	if err = c.stopStale(ctx); err != nil {
		return nil, err
	}
	if s.postgres, err = c.launch("postgres", c.data, c.settings()...); err != nil {
		return nil, err
	}
	s.ended = s.postgres.done
	if err = c.awaitReady(ctx, s.postgres, isNew); err != nil {
		return nil, err
	}
	return s, nil
}

// takeOverInterval is the interval of checks whether the owner of an attached server has ended.
const takeOverInterval = 200 * time.Millisecond

// attach returns the server that another program owns. When that program ends, this one takes the server over.
func (c *cluster) attach(ctx context.Context, tookOver func()) *Server {
	ctx, cancel := context.WithCancel(ctx)
	s, settled := &Server{url: c.url(database), ended: make(chan struct{})}, make(chan struct{})
	s.detach = func() {
		cancel()
		<-settled
	}
	go func() {
		owned, err := c.takeOver(ctx)
		if err == nil {
			s.mu.Lock()
			s.cluster, s.lock, s.postgres = owned.cluster, owned.lock, owned.postgres
			s.mu.Unlock()
			if tookOver != nil {
				tookOver()
			}
		}
		close(settled)
		if err == nil {
			<-owned.ended
		}
		close(s.ended)
	}()
	return s
}

// takeOver waits until the owner has ended, and starts the server then.
func (c *cluster) takeOver(ctx context.Context) (*Server, error) {
	tick := time.NewTicker(takeOverInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		lock, err := tryLock(filepath.Join(c.dir, lockFile))
		if err != nil {
			return nil, err
		}
		if lock != nil {
			return c.startOwned(ctx, lock)
		}
	}
}

// awaitReady waits until the database exists and accepts connections. A new cluster has no database yet. Recovery after
// a crash may take long, so only the end of the server or of ctx stops the wait.
func (c *cluster) awaitReady(ctx context.Context, p *process, isNew bool) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-p.done:
			return fmt.Errorf("the database server in %s stopped immediately after its start: %s", c.dir, c.reason())
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		// Only this program's child may answer, not a server that someone started without the lock.
		if pid, ready := c.postmaster(); pid != p.pid || !ready {
			continue
		}
		if !isNew {
			err := ping(ctx, c.url(database))
			if err == nil {
				return nil
			}
			if !isMissingDatabase(err) {
				continue
			}
		}
		if err := c.makeDatabase(ctx, isNew); err != nil {
			return fmt.Errorf("create the database in %s: %w", c.dir, err)
		}
		return nil
	}
}

// Abandoned reports whether the directory of Options can be removed: a program of this user began to use it at least a
// minute ago, and no running program uses it now.
func Abandoned(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || int(owner(info).Uid) != os.Geteuid() {
		return false // in a directory that all users can write to, someone else may have created it
	}
	path := filepath.Join(dir, lockFile)
	if info, err = os.Stat(path); err != nil || time.Since(info.ModTime()) < abandonedAfter {
		return false // the program that created it may not have locked it yet
	}
	lock, err := tryLock(path)
	if err != nil || lock == nil {
		return false
	}
	return lock.Close() == nil
}

func (c *cluster) url(name string) string {
	u := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/" + name, RawQuery: url.Values{
		"host": {c.socket}, "port": {port}, "sslmode": {"disable"},
	}.Encode()}
	return u.String()
}

// logFile returns the path of the server's log, next to the cluster.
func (c *cluster) logFile() string { return filepath.Join(c.dir, "postgres.log") }

// tryLock returns the locked file, or nil if another open file holds the lock. The kernel releases the lock when the
// program ends in any way. Child processes do not inherit it.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, directoryError(filepath.Dir(path), err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, fmt.Errorf("lock the data directory %s: %w", filepath.Dir(path), err)
}
