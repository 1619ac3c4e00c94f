// Package local runs a private Postgres for a program that was given no database.
//
// The server listens on a unix socket only, belongs to the program that started it and ends with it, even when that
// program is killed. The directory of [Options] holds all that is kept: the cluster, the server's log and a lock.
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
	port      = "5432" // of the socket's name; no TCP port is opened

	// attachPatience bounds the wait for a server that another program is starting.
	attachPatience = time.Minute
	pollInterval   = 10 * time.Millisecond
	abandonedAfter = time.Minute

	lockFile = "postgres.lock"
)

// Options say where the database is kept and how safely.
type Options struct {
	// Dir is created when missing, and kept. When run as root, the server's user must be able to reach it: the
	// cluster's owner, or postgres or nobody for a new cluster.
	Dir string
	// Durable makes commits survive a crash of the machine. Without it the server never waits for the disk, as suits
	// tests; commits still survive a killed program.
	Durable bool
	// TookOver is called when the program that owned an attached server has ended and this one owns it now. It may be nil.
	TookOver func()
}

// Server is a running Postgres, owned by this program or by another one that uses the same directory.
type Server struct {
	url     string
	ended   chan struct{}
	stop    sync.Once
	stopErr error
	// leave ends the wait for the owner of an attached server.
	leave func()
	// mu guards the fields below, which are nil while the server is attached.
	mu       sync.Mutex
	cluster  *cluster
	lock     *os.File
	postgres *process
}

// Start returns when the server accepts connections and its database exists. When another live program owns the
// directory, it waits up to a minute for that program's server and attaches to it as a client. Such a server ends with
// its owner; the attached program then starts it again at the same URL and owns it. A server that a killed owner left
// behind is stopped first. The context bounds the start alone. Every error is one sentence for the person who runs the
// program.
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
		lock, err := acquire(filepath.Join(c.dir, lockFile))
		if err != nil {
			return nil, err
		}
		if lock != nil {
			return c.own(ctx, lock)
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

// URL is a connection URL over the unix socket, with a query part, as pgx and libpq read it.
func (s *Server) URL() string { return s.url }

// Attached reports whether another program owns the server.
func (s *Server) Attached() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.postgres == nil
}

// Ended is closed when the server has ended, because it was stopped or by itself. While the server is attached, it is
// closed by Stop, or when the owner has ended and this program could not start the server again.
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

// Stop closes all connections and returns when the server is gone. It leaves an attached server alone. Later calls
// return the first result.
func (s *Server) Stop() error {
	s.stop.Do(func() {
		s.leave()
		if s.Attached() {
			return
		}
		if !s.postgres.stop() {
			s.stopErr = fmt.Errorf("the database server in %s had to be killed: it recovers at the next start", s.cluster.dir)
		}
		s.cluster.removeSocket()
		s.stopErr = errors.Join(s.stopErr, s.lock.Close())
	})
	return s.stopErr
}

// own starts the server under the lock, and releases the lock on failure.
func (c *cluster) own(ctx context.Context, lock *os.File) (_ *Server, err error) {
	s := &Server{url: c.url(database), cluster: c, lock: lock, leave: func() {}}
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

// takeOverInterval is the time between two looks whether the owner of an attached server has ended.
const takeOverInterval = 200 * time.Millisecond

// attach returns the server that another program owns. When that program ends, this one takes the server over.
func (c *cluster) attach(ctx context.Context, tookOver func()) *Server {
	ctx, cancel := context.WithCancel(ctx)
	s, settled := &Server{url: c.url(database), ended: make(chan struct{})}, make(chan struct{})
	s.leave = func() {
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
		lock, err := acquire(filepath.Join(c.dir, lockFile))
		if err != nil {
			return nil, err
		}
		if lock != nil {
			return c.own(ctx, lock)
		}
	}
}

// awaitReady returns when the database exists and accepts connections; a new cluster is known not to have it. Recovery
// after a crash may take long, so only the end of the server or of ctx stops the wait.
func (c *cluster) awaitReady(ctx context.Context, p *process, isNew bool) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-p.done:
			return fmt.Errorf("the database server in %s ended at once: %s", c.dir, c.reason())
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		// Only our own child may answer, not a server that somebody started by hand beside the lock.
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

// Abandoned reports whether a program of this user has used the directory of Options, a minute ago or more, and has
// ended. What is in it can be removed.
func Abandoned(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || int(owner(info).Uid) != os.Geteuid() {
		return false // anybody may have put anything into a directory that all write to
	}
	path := filepath.Join(dir, lockFile)
	if info, err = os.Stat(path); err != nil || time.Since(info.ModTime()) < abandonedAfter {
		return false // the program that makes it may be about to lock it
	}
	lock, err := acquire(path)
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

// logFile has what the server says, beside the cluster.
func (c *cluster) logFile() string { return filepath.Join(c.dir, "postgres.log") }

// acquire returns the locked file, or nil when another open file holds the lock. The kernel drops the lock with the
// program that holds it, however that ends; child processes do not inherit it.
func acquire(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, inDirectory(filepath.Dir(path), err)
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
