// Command agentgraph runs the gateway and manages its database.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/program"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

//go:generate go run -C generate .

func newProgram() *cobra.Command { return program.New(version()) }

// streams are the input and outputs of a command. Nil for in means no input. Output goes to out. Errors and the log go
// to log.
type streams struct {
	in       io.Reader
	out, log io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, log: os.Stderr})
	stop()
	os.Exit(code)
}

// run runs a command line until it is done or ctx ends, and returns the exit code. It prints an error as one sentence.
// Without arguments it prints the help.
func run(ctx context.Context, args []string, std streams) int {
	if std.in == nil {
		std.in = strings.NewReader("")
	}
	if len(args) == 0 {
		args = []string{"help"}
	}
	program := newProgram()
	program.SetIn(std.in)
	program.SetOut(std.out)
	program.SetErr(std.log)
	return exitCode(ctx, cli.Execute(ctx, program, args), std.log)
}

// exitCode prints the error if there is one, and returns the exit code.
func exitCode(ctx context.Context, err error, log io.Writer) int {
	if err == nil {
		return client.ExitDone
	}
	code := client.ExitFailed
	var coded *client.ExitError
	var wrong *cli.UsageError
	var known *model.Error
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		code, err = client.ExitCancelled, errors.New("cancelled")
	case errors.As(err, &wrong):
		code = client.ExitUsage
	case errors.As(err, &coded):
		code = coded.Code
	case ctx.Err() != nil:
		code = client.ExitCancelled
	case pg.UnreachableNode(err) != "":
		err = fmt.Errorf("the database node %s is not available: start it, then run the command again",
			pg.UnreachableNode(err))
	case errors.As(err, &known):
		if known.Code == model.NotFound {
			code = client.ExitUsage
		}
		err = errors.New(known.Message)
	}
	_, _ = fmt.Fprintln(log, "agentgraph:", err)
	return code
}

// release is the version of a release, which the linker sets, or "".
var release string

// version returns the version of a release, or else the version that Go recorded in the build.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
