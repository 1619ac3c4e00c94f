// Command bench compares agentgraph with other ways to serve the same reads from the same database, or with an earlier
// revision of itself. docs/internals/performance.md says what it measures and how.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// options are the command line.
type options struct {
	rounds      int
	duration    time.Duration
	connections []int
	names       []string
	workloads   []string
	pool        int
	old         string
	chats       bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Args[1:])
	if ctx.Err() != nil {
		err = errors.New("interrupted; everything is stopped and removed")
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	b := &bench{options: o}
	measure := b.run
	if o.chats {
		measure = b.turns
	}
	if err := measure(ctx); err != nil {
		return err
	}
	b.markdown(os.Stdout)
	return nil
}

func parseOptions(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	flags.IntVar(&o.rounds, "rounds", 5, "how often everything is measured")
	flags.DurationVar(&o.duration, "duration", 3*time.Second, "how long each cell is measured in a round")
	flags.IntVar(&o.pool, "pool", 20, "connections to Postgres at most, of each server")
	flags.StringVar(&o.old, "old", "", "revision to compare the tree with, instead of the peers")
	flags.BoolVar(&o.chats, "turns", false, "measure turns of chats, of the tree alone or beside -old")
	connections := flags.String("connections", "1,16,64", "numbers of connections of the clients")
	names := flags.String("servers", "raw,graphjin,postgraphile,mercurius", "servers beside agentgraph")
	chosen := flags.String("workloads", "W1,W2,W3", "workloads to measure")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.names, o.workloads = strings.Split(*names, ","), strings.Split(*chosen, ",")
	if o.chats {
		o.names = nil
	}
	for text := range strings.SplitSeq(*connections, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return o, fmt.Errorf("-connections: %q is not a number above 0", text)
		}
		o.connections = append(o.connections, n)
	}
	if o.rounds < 1 || o.duration <= 0 || o.pool < 2 {
		return o, errors.New("-rounds and -duration must be above 0, and -pool at least 2")
	}
	return o, nil
}
