package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agentgraph/agentgraph/db/local"
)

// environment is a Postgres, two replicas of the program, their model, and clients.
type environment struct {
	program   string
	logs      string
	directory string
	// isOwnDisk is set if the directory is on a separate disk, which can be filled. If not, noDisk is the reason.
	isOwnDisk bool
	noDisk    error
	database  *local.Server
	provider  *provider
	replicas  []*replica
	ledger    *ledger
	company   *company
}

// replica is a process of the program. It has the same address after each start.
type replica struct {
	environment *environment
	// program is the path of the executable.
	program string
	address string
	log     io.Writer
	cmd     *exec.Cmd
}

// diskSize is the size of the disk that is filled, in bytes. The disk is in memory.
const diskSize = 768 << 20

func newEnvironment(ctx context.Context, program, logs string) (_ *environment, err error) {
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("there is no %s: build it with \"make build\"", program)
	}
	s := &environment{program: program, logs: logs, ledger: &ledger{}, provider: newProvider()}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.directory, err = os.MkdirTemp("", "agentgraph-faults-"); err != nil {
		return nil, err
	}
	// Postgres may run as another user, who needs access to its directory.
	if err = os.Chmod(s.directory, 0o755); err != nil {
		return nil, err
	}
	s.noDisk = mountDisk(s.directory, diskSize)
	s.isOwnDisk = s.noDisk == nil
	if err = s.startDatabase(ctx); err != nil {
		return nil, err
	}
	for i := range 2 {
		r, err := s.newReplica(ctx, i)
		if err != nil {
			return nil, err
		}
		s.replicas = append(s.replicas, r)
	}
	return s, nil
}

func (s *environment) startDatabase(ctx context.Context) (err error) {
	s.database, err = local.Start(ctx, local.Options{Dir: filepath.Join(s.directory, "data"), Durable: true})
	return err
}

// close ends all processes and removes the directory.
func (s *environment) close() {
	for _, r := range s.replicas {
		r.kill()
	}
	s.provider.CloseClientConnections()
	s.provider.Close()
	if s.database != nil {
		_ = s.database.Stop()
	}
	if s.isOwnDisk {
		unmountDisk(s.directory)
	}
	if s.directory != "" {
		_ = os.RemoveAll(s.directory)
	}
}

// prepare creates the schema and a company, and starts the replicas.
func (s *environment) prepare(ctx context.Context) error {
	if _, err := s.command(ctx, "migrate", "up"); err != nil {
		return err
	}
	if err := s.sql(ctx, noteVerdicts); err != nil {
		return err
	}
	id, err := s.command(ctx, "companies", "create", "--name", "Faults")
	if err != nil {
		return err
	}
	key, err := s.command(ctx, "keys", "create", "--company", id, "--scope", "admin")
	if err != nil {
		return err
	}
	addresses := make([]string, len(s.replicas))
	for i, r := range s.replicas {
		addresses[i] = "http://" + r.address
		if err := r.start(ctx); err != nil {
			return err
		}
	}
	s.ledger.beginPhase("preparing")
	s.company, err = newCompany(ctx, &client{ledger: s.ledger, key: key, addresses: addresses})
	s.ledger.phases = nil
	return err
}

// command runs a command of the program on the database and returns what it prints.
func (s *environment) command(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.program, args...)
	cmd.Env = []string{"DATABASE_URL=" + s.database.URL()}
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = errors.New(string(failed.Stderr))
	}
	return strings.TrimSpace(string(out)), err
}

// sql runs statements on a new connection.
func (s *environment) sql(ctx context.Context, statements string) error {
	conn, err := pgx.Connect(ctx, s.database.URL())
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statements, pgx.QueryExecModeSimpleProtocol)
	return errors.Join(err, conn.Close(ctx))
}

func (s *environment) newReplica(ctx context.Context, i int) (*replica, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &replica{environment: s, program: s.program, address: listener.Addr().String(), log: io.Discard}
	if err := listener.Close(); err != nil {
		return nil, err
	}
	if s.logs != "" {
		if r.log, err = os.Create(filepath.Join(s.logs, fmt.Sprintf("replica-%d.log", i))); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// start runs the program and returns when it is ready.
func (r *replica) start(ctx context.Context, flags ...string) error {
	r.cmd = exec.CommandContext(ctx, r.program, append([]string{
		"serve", "--listen", r.address, "--workers", "5", "--log-level", "warn", "--drain-delay", "0s",
		"--openai-base-url", r.environment.provider.URL + "/v1", "--openai-api-key", "any", "--model-timeout", "2s",
		"--rate-limit", "0", "--company-rate-limit", "0", "--model-rate-limit", "0",
	}, flags...)...)
	r.cmd.Env = []string{"DATABASE_URL=" + r.environment.database.URL()}
	r.cmd.Stderr = r.log
	r.cmd.SysProcAttr = withParent()
	if err := r.cmd.Start(); err != nil {
		return err
	}
	return r.await(ctx)
}

// readyTimeout is how long a replica may take to become ready without faults.
const readyTimeout = time.Minute

// await returns when /readyz reports that the replica is ready.
func (r *replica) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.address+"/readyz", nil)
		if err != nil {
			return err
		}
		if response, err := http.DefaultClient.Do(request); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		if !pause(ctx, 20*time.Millisecond) {
			return fmt.Errorf("a replica was not ready within %s", readyTimeout)
		}
	}
}

// kill ends the process without warning.
func (r *replica) kill() {
	if r.cmd == nil || r.cmd.Process == nil {
		return
	}
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait() // the error says that the process was killed
}

// restart ends the process gracefully and starts it with the flags.
func (r *replica) restart(ctx context.Context, flags ...string) error {
	if err := r.stop(); err != nil {
		return err
	}
	return r.start(ctx, flags...)
}

func (r *replica) stop() error {
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	if err := r.cmd.Wait(); err != nil {
		return fmt.Errorf("a replica that was told to end: %w", err)
	}
	return nil
}
