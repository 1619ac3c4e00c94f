// Command faults breaks the program's dependencies while clients use it. Then it compares the responses with the
// database. docs/internals/performance.md has the results.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// errVerdict is returned when the rows in Postgres contradict the acknowledged operations.
var errVerdict = errors.New("the database contradicts the acknowledged operations")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Args[1:])
	if ctx.Err() != nil {
		err = errors.New("interrupted; everything is stopped and removed")
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		if errors.Is(err, errVerdict) {
			os.Exit(1)
		}
		os.Exit(2) // not all faults could be injected
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("faults", flag.ExitOnError)
	program := flags.String("program", "bin/agentgraph", "the program to test")
	isShort := flags.Bool("short", false, "a tenth of the faults, in two minutes")
	old := flags.String("old", "", "a program of the previous version: instead of faults, upgrade from it to the "+
		"program, back, and up again")
	logs := flags.String("logs", "", "directory for the logs of the replicas; without it they are deleted")
	if err := flags.Parse(args); err != nil {
		return err
	}
	steps, verdict, first := scenario(*isShort), (*ledger).verdict, *program
	if *old != "" {
		steps, verdict, first = upgrade(*old, *program), (*ledger).verdictOfUpgrade, *old
	}
	s, err := newEnvironment(ctx, first, *logs)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	ledger, err := s.run(ctx, steps)
	if err != nil {
		return err
	}
	if err := ledger.compare(ctx, s.database.URL()); err != nil {
		return err
	}
	ledger.print(os.Stdout)
	if err := verdict(ledger); err != nil {
		return fmt.Errorf("%w: %w", errVerdict, err)
	}
	return nil
}
