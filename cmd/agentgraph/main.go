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

	"github.com/agentgraph/agentgraph/cmd/agentgraph/admin"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/agenttest"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/api"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/apply"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/server"
	"github.com/agentgraph/agentgraph/model"
)

// newProgram returns the command line. Every flag has an environment variable, named in its help. A flag takes
// precedence over the environment, that over a file of settings, and that over the default.
func newProgram() *cobra.Command {
	program := cli.NewProgram("agentgraph", version(), "A self-hosted GraphQL gateway for conversational AI agents.")
	cli.AddGroup(program, "Run it:", server.NewDev(), server.NewServe(), server.NewDoctor(), server.NewJudge())
	cli.AddGroup(program, "Manage its database:",
		admin.NewMigrate(), admin.NewDistribute(), admin.NewCompanies(), admin.NewKeys(), admin.NewPlan(),
		admin.NewRetention(),
		admin.NewErase(), admin.NewAudit(), admin.NewExport(), admin.NewImport())
	cli.AddGroup(program, "Ask a server:",
		newTest(), api.NewAgents(), api.NewChat(), api.NewKnowledge(), api.NewUsage(), api.NewQuery(),
		apply.NewApply(), apply.NewDiff(), apply.NewPull(), api.NewContext())
	help := newHelp()
	cli.AddGroup(program, "About the program:", server.NewSchema(), newCompletion(), newVersion(), help)
	program.SetHelpCommand(help)
	return program
}

// newTest returns the command "test": tests of agents are run, and kept as files.
func newTest() *cobra.Command {
	test := cli.Group("test", "Run tests of agents on a server, and show them.", agenttest.Commands()...)
	test.AddCommand(apply.NewTestExport(), apply.NewTestImport(), apply.NewTestDiff())
	return test
}

// streams are what a command reads from, in, which is empty if nil, and writes to: its output to out, the log to log.
type streams struct {
	in       io.Reader
	out, log io.Writer
}

func init() {
	// Commands stand in the help, and are completed, in the order in which they are added. It is one setting for all of
	// cobra.
	cobra.EnableCommandSorting = false
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, log: os.Stderr})
	stop()
	os.Exit(code)
}

// run runs one command line until it is done or ctx ends, and returns the exit code. An error is logged as one
// sentence. No words at all are a question for help.
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

// exitCode logs the error, if there is one, and returns the exit code for it.
func exitCode(ctx context.Context, err error, log io.Writer) int {
	if err == nil || errors.Is(err, context.Canceled) && ctx.Err() != nil {
		// Nil, or the program was interrupted and stopped.
		return client.ExitDone
	}
	code := client.ExitFailed
	var coded client.ExitCoder
	var wrong *cli.UsageError
	var known *model.Error
	switch {
	case errors.As(err, &wrong):
		code = client.ExitUsage
	case errors.As(err, &coded):
		code = coded.ExitCode()
	case errors.As(err, &known):
		err = errors.New(known.Message)
	}
	_, _ = fmt.Fprintln(log, "agentgraph:", err)
	return code
}

type helpCommand struct {
	Command []string
}

func newHelp() *cobra.Command {
	c := &helpCommand{}
	return cli.New(c, &cobra.Command{
		Use: "help", Short: "Show the help of a command.", Example: "agentgraph help test run",
	}, []cli.Argument{
		{Into: &c.Command, Name: "command", Optional: true, Help: "The command."},
	})
}

// Run shows the help of a command, or that of the program.
func (c *helpCommand) Run(cmd *cobra.Command) error {
	of, rest, err := cmd.Root().Find(c.Command)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return cli.NotACommand(of, rest)
	}
	return of.Help()
}

type versionCommand struct{}

func newVersion() *cobra.Command {
	return cli.New(versionCommand{}, &cobra.Command{Use: "version", Short: "Print the version.",
		Example: "agentgraph version"}, nil)
}

// Run prints the version.
func (versionCommand) Run(cmd *cobra.Command) error { return cli.PrintVersion(cmd) }

// release is the version that the linker sets for a release, else "".
var release string

// version returns the version of a release, or else what Go recorded about the build.
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
