// Command growth measures the same queries on three databases: a small one, one of medium size, and one with the rows
// of a service after years. docs/internals/performance.md has the results.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/local"
	"github.com/agentgraph/agentgraph/db/schema"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "growth:", err)
		os.Exit(1)
	}
}

// size has the numbers of rows in a database.
type size struct{ companies, agents, runs, entries, messages, items int }

// fullSize has the size of a service after years.
var fullSize = size{companies: 1_000, agents: 200_000, runs: 1_000_000, entries: 5_000_000, messages: 2_000_000,
	items: 500_000}

// scaled returns the size multiplied by the given factor, with at least two rows of each kind.
func (s size) scaled(by float64) size {
	part := func(n int) int { return max(2, int(float64(n)*by)) }
	return size{part(s.companies), part(s.agents), part(s.runs), part(s.entries), part(s.messages), part(s.items)}
}

// fractions has the sizes of the small, the medium and the large database, as fractions of the large one.
var fractions = []float64{0.001, 0.075, 1}

// itemsPerSample is the number of items for each measured claim. A claim takes ten pending items, and half of the items
// are pending.
const itemsPerSample = 25

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("growth", flag.ExitOnError)
	scale := flags.Float64("scale", 1, "size of the large database: 1 takes some ten minutes and ten GB")
	times := flags.Int("times", 1_000, "how often each query is measured")
	dir := flags.String("dir", "", "directory for the databases, a new one without it; it is removed at the end")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *scale <= 0 || *times < 1 {
		return errors.New("-scale and -times must be above 0")
	}
	var measured []*measurement
	for _, fraction := range fractions {
		s := fullSize.scaled(*scale).scaled(fraction)
		s.items = max(s.items, itemsPerSample**times)
		m, err := measure(ctx, *dir, s, *times)
		if err != nil {
			return err
		}
		measured = append(measured, m)
	}
	return printAll(out, measured)
}

// measure fills a new database, measures it and removes it.
func measure(ctx context.Context, parent string, s size, times int) (*measurement, error) {
	dir, err := os.MkdirTemp(parent, "agentgraph-growth-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o755); err != nil { // Postgres may run as another user.
		return nil, err
	}
	server, err := local.Start(ctx, local.Options{Dir: filepath.Join(dir, "data"), Durable: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = server.Stop() }()
	migrator, err := schema.NewMigrator(ctx, server.URL())
	if err != nil {
		return nil, err
	}
	err = migrator.Up(ctx)
	_ = migrator.Close()
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, server.URL())
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	m := &measurement{size: s}
	start := time.Now()
	if err := fill(ctx, conn, s); err != nil {
		return nil, err
	}
	m.filledIn = time.Since(start)
	if m.tables, m.bytes, err = sizes(ctx, conn); err != nil {
		return nil, err
	}
	store, err := db.Open(ctx, server.URL(), db.Options{})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	defer writeBeside(ctx, store.Tenant(largest), s)()
	return m, m.measure(ctx, store.Tenant(largest), times)
}
