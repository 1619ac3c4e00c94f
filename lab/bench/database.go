package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/agentgraph/agentgraph/db/local"
)

var (
	//go:embed data.sql
	data string
	//go:embed peers/graphjin/views.sql
	views string
)

// database is the Postgres that all servers read.
type database struct {
	server *local.Server
	pid    int
	socket string // directory
}

// settings are suited to small reads from memory. They are the same for all servers.
var settings = []string{"jit = off", "max_parallel_workers_per_gather = 0", "autovacuum = off"}

func startDatabase(ctx context.Context, directory string) (*database, error) {
	server, err := local.Start(ctx, local.Options{Dir: directory, Durable: true})
	if err != nil {
		return nil, err
	}
	address, err := url.Parse(server.URL())
	if err != nil {
		return nil, err
	}
	d := &database{server: server, socket: address.Query().Get("host")}
	text, err := os.ReadFile(filepath.Join(directory, "postgres", "postmaster.pid"))
	if err != nil {
		return nil, fmt.Errorf("find the database server's process: %w", err)
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	if d.pid, err = strconv.Atoi(string(first)); err != nil {
		return nil, fmt.Errorf("find the database server's process: %w", err)
	}
	for _, setting := range settings {
		if err := d.execute(ctx, "postgres", "ALTER SYSTEM SET "+setting); err != nil {
			return nil, err
		}
	}
	return d, d.execute(ctx, "postgres", "SELECT pg_reload_conf()")
}

// url returns the address of a database of the server, over the socket in the directory.
func (d *database) url(name, socket string) string {
	address, _ := url.Parse(d.server.URL()) // parsed before
	address.Path = "/" + name
	query := address.Query()
	query.Set("host", socket)
	address.RawQuery = query.Encode()
	return address.String()
}

func (d *database) execute(ctx context.Context, name, statements string) error {
	conn, err := pgx.Connect(ctx, d.url(name, d.socket))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.PgConn().Exec(ctx, statements).ReadAll(); err != nil {
		return fmt.Errorf("execute %.60q: %w", statements, err)
	}
	return nil
}

// fill creates the database, migrates it with the program and loads the data.
func (d *database) fill(ctx context.Context, name, program string) error {
	if err := d.execute(ctx, "postgres", "CREATE DATABASE "+name); err != nil {
		return err
	}
	if err := d.migrate(ctx, name, program); err != nil {
		return err
	}
	for _, statements := range []string{data, "VACUUM ANALYZE"} {
		if err := d.execute(ctx, name, statements); err != nil {
			return err
		}
	}
	return nil
}

func (d *database) migrate(ctx context.Context, name, program string) error {
	_, err := output(ctx, program, "migrate", "up", "--database-url", d.url(name, d.socket))
	return err
}

// copy creates a second database with the same rows, and migrates it to another program's schema.
func (d *database) copy(ctx context.Context, from, name, program string) error {
	if err := d.execute(ctx, "postgres", "CREATE DATABASE "+name+" TEMPLATE "+from); err != nil {
		return err
	}
	if err := d.migrate(ctx, name, program); err != nil {
		return err
	}
	return d.execute(ctx, name, "VACUUM ANALYZE")
}

// agent is one agent of a company.
type agent struct{ id, company string }

func (d *database) agents(ctx context.Context, name string) ([]agent, error) {
	conn, err := pgx.Connect(ctx, d.url(name, d.socket))
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }()
	rows, err := conn.Query(ctx, "SELECT id, company_id FROM agents ORDER BY company_id, id")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (a agent, err error) {
		return a, row.Scan(&a.id, &a.company)
	})
}

// keys makes a key for each company, and writes them to a file for the servers that read one.
func (d *database) keys(ctx context.Context, name, program, file string, agents []agent) (map[string]string, error) {
	keys, companies := map[string]string{}, map[string]string{}
	for _, a := range agents {
		if keys[a.company] != "" {
			continue
		}
		key, err := output(ctx, program, "keys", "create", "--company", a.company, "--scope", "admin", "--database-url",
			d.url(name, d.socket))
		if err != nil {
			return nil, err
		}
		keys[a.company], companies[key] = key, a.company
	}
	text, err := json.Marshal(companies)
	if err != nil {
		return nil, err
	}
	return keys, os.WriteFile(file, text, 0o600)
}

// output runs a program to its end and returns its output.
func output(ctx context.Context, program string, args ...string) (string, error) {
	var said, complaint bytes.Buffer
	command := exec.CommandContext(ctx, program, args...)
	command.Stdout, command.Stderr = &said, &complaint
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, complaint.String())
	}
	return strings.TrimSpace(said.String()), nil
}
