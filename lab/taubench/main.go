// Command taubench judges the published trials of tau-bench by exact checks, and simulates the gate on their pass
// rates. docs/internals/decisions/agent-tests.md shows how to run it, and what it prints.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "taubench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, files []string, out io.Writer) error {
	if len(files) == 0 {
		return errors.New("name the files with trials, such as tau-bench/historical_trajectories/gpt-4o-airline.json")
	}
	for _, file := range files {
		trials, err := readTrials(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %d conversations\n", filepath.Base(file), len(trials))
		checks, err := checksOf(ctx, trials)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		judged, err := judge(ctx, trials, checks)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		judged.print(out)
		if err := simulate(ctx, trials, out); err != nil {
			return err
		}
	}
	return nil
}

// trial is a recorded conversation in a file of results.
type trial struct {
	Task   int `json:"task_id"`
	Trial  int
	Reward float64
	Info   struct {
		Task task
	}
	Messages []message `json:"traj"`
}

// task has the reference solution: the calls that lead to the expected state, and texts that the agent must say.
type task struct {
	Instruction string
	Actions     []struct {
		Name      string
		Arguments json.RawMessage `json:"kwargs"`
	}
	Outputs []string
}

// message is a message in the format of OpenAI's chat completions.
type message struct {
	Role, Content string
	Calls         []struct {
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
	CallID string `json:"tool_call_id"`
}

func readTrials(file string) ([]trial, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var trials []trial
	if err := json.Unmarshal(text, &trials); err != nil {
		return nil, fmt.Errorf("%s has no trials of tau-bench: %w", file, err)
	}
	if len(trials) == 0 || len(trials[0].Messages) == 0 {
		return nil, fmt.Errorf("%s has no trials of tau-bench", file)
	}
	return trials, nil
}
