package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// spec describes a server that can be started.
type spec struct {
	name    string
	command []string
	dialect dialect
	// database is the name of the database that the server reads.
	database string
}

// server is a running server.
type server struct {
	spec
	process *os.Process
	ended   chan struct{}
	log     string
	address string
	// requests are the requests of each workload.
	requests map[string][]request
}

const (
	startPatience = time.Minute
	stopPatience  = 10 * time.Second
)

// start starts a server and returns when it answers. The server reads the Postgres whose socket is in the directory
// socket.
func (b *bench) start(ctx context.Context, s spec, socket string) (*server, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	log, err := os.CreateTemp(b.directory, s.name+"-*.log")
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	command := exec.Command(s.command[0], s.command[1:]...)
	command.Stdout, command.Stderr = log, log
	command.Env = append(os.Environ(), b.environment(s, address, socket)...)
	// The kernel ends the server with this program.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", s.name, err)
	}
	running := &server{
		spec: s, process: command.Process, ended: make(chan struct{}), log: log.Name(),
		address: address, requests: map[string][]request{},
	}
	go func() {
		_ = command.Wait() // startup errors show in the log
		close(running.ended)
	}()
	for workload := range s.dialect {
		running.requests[workload] = s.dialect.requests(workload, b.agents, b.keys)
	}
	if err := running.awaitReady(ctx); err != nil {
		running.stop()
		return nil, err
	}
	return running, nil
}

// environment returns a server's environment variables. agentgraph and its peers use different names.
func (b *bench) environment(s spec, address, socket string) []string {
	url := b.database.url(s.database, socket)
	return []string{
		"DATABASE_URL=" + url, "LISTEN=" + address, "POOL=" + strconv.Itoa(b.pool), "KEYS=" + b.keyFile,
		"NODE_ENV=production",
		"PGHOST=" + socket, "PGPORT=5432", "PGUSER=postgres", "PGDATABASE=" + s.database,
		"AGENTGRAPH_LISTEN=" + address, "AGENTGRAPH_RATE_LIMIT=0", "AGENTGRAPH_COMPANY_RATE_LIMIT=0",
		"AGENTGRAPH_MODEL_RATE_LIMIT=0",
		"AGENTGRAPH_MAX_CONNECTIONS=" + strconv.Itoa(b.pool),
	}
}

func (s *server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.answers()
		if err == nil {
			return nil
		}
		select {
		case <-s.ended:
			return fmt.Errorf("%s ended: %s", s.name, s.logTail())
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w: %s", s.name, err, s.logTail())
		case <-tick.C:
		}
	}
}

// answers sends the server one request of each workload, one at a time. GraphJin panics if an operation arrives while
// it compiles the same one.
func (s *server) answers() error {
	a, err := newAsker(s.address)
	if err != nil {
		return err
	}
	defer a.close()
	for _, requests := range s.requests {
		if _, err := a.ask(requests[0]); err != nil {
			return err
		}
	}
	return nil
}

// logTail returns the end of the server's log.
func (s *server) logTail() string {
	text, _ := os.ReadFile(s.log) // a missing log means that the server wrote nothing
	return string(text[max(len(text)-2000, 0):])
}

// stop asks the server to end, and kills it if it does not end in time.
func (s *server) stop() {
	select {
	case <-s.ended:
		return
	default:
	}
	_ = syscall.Kill(-s.process.Pid, syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(stopPatience):
		_ = syscall.Kill(-s.process.Pid, syscall.SIGKILL)
		<-s.ended
	}
}

func freeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

func build(ctx context.Context, directory, pkg, program string) error {
	command := exec.CommandContext(ctx, "go", "build", "-o", program, pkg)
	command.Dir = directory
	if text, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", pkg, err, text)
	}
	return nil
}

// checkout writes the files of a revision to the directory.
func checkout(ctx context.Context, repository, revision, directory string) error {
	archive := filepath.Join(directory, "revision.tar")
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	if _, err := output(ctx, "git", "-C", repository, "archive", "--output", archive, revision); err != nil {
		return err
	}
	_, err := output(ctx, "tar", "-x", "-C", directory, "-f", archive)
	return errors.Join(err, os.Remove(archive))
}
