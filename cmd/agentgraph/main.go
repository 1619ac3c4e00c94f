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
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/admin"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/agenttest"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/server"
	"github.com/agentgraph/agentgraph/model"
)

// program is the command line. Every flag has an environment variable, named in its help. A flag takes precedence over
// the environment, and the environment over the default.
type program struct {
	Dev       server.Dev        `cmd:"" help:"Run the gateway with everything it needs: a private Postgres unless DATABASE_URL names one, migrations and a demo company."`
	Serve     server.Serve      `cmd:"" help:"Run the gateway in production, on the database that DATABASE_URL names."`
	Migrate   admin.Migrate     `cmd:"" help:"Move the schema of the database up or down, or show where it stands."`
	Companies admin.Companies   `cmd:"" help:"Create and list companies."`
	Keys      admin.Keys        `cmd:"" help:"Create, take over, list and revoke the API keys of a company."`
	Test      agenttest.Command `cmd:"" help:"Run tests of agents on a server, and show them."`
	Plan      admin.Plan        `cmd:"" help:"Set, show and clear the plan of a company: its monthly credits and its budget."`
	Audit     admin.Audit       `cmd:"" help:"Export who changed what in a company."`
	Schema    server.Schema     `cmd:"" help:"Print the GraphQL schema as one file."`
	Export    admin.Export      `cmd:"" help:"Write a company into one file: agents, documents, tests, campaigns, usage and all that happened."`
	Import    admin.Import      `cmd:"" help:"Make a company of such a file, with the ids that it has: all of it or nothing."`
	Version   versionCommand    `cmd:"" help:"Print the version."`
}

// streams are what a command reads from, in, and writes to: its output to out, the log to log.
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

// run runs one command line until it is done or ctx ends. It returns the exit code: 0, 1 if the command failed, 2 if
// the command line is wrong. The test commands have codes of their own. An error is logged as one sentence.
func run(ctx context.Context, args []string, std streams) int {
	var p program
	exit := -1
	parser, err := kong.New(&p,
		kong.Name("agentgraph"),
		kong.Description("A self-hosted GraphQL gateway for conversational AI agents."),
		kong.UsageOnError(),
		kong.Writers(std.out, std.log),
		kong.Exit(func(code int) { exit = code }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.BindTo(std.in, (*io.Reader)(nil)),
		kong.Vars{"version": version()},
		kong.Resolvers(fromFiles),
	)
	if err != nil {
		_, _ = fmt.Fprintln(std.log, "agentgraph:", err)
		return 1
	}
	command, err := parser.Parse(args)
	if exit >= 0 {
		return exit
	}
	if err != nil {
		_, _ = fmt.Fprintln(std.log, "agentgraph:", err)
		if isOf(err, "test") {
			return agenttest.ExitUsage
		}
		return 2
	}
	err = command.Run()
	var coded kong.ExitCoder
	if errors.As(err, &coded) {
		_, _ = fmt.Fprintln(std.log, "agentgraph:", err)
		return coded.ExitCode()
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		// The program was told to stop, and did.
		return 0
	}
	if err != nil {
		var known *model.Error
		if errors.As(err, &known) {
			err = errors.New(known.Message)
		}
		_, _ = fmt.Fprintln(std.log, "agentgraph:", err)
		return 1
	}
	return 0
}

// fromFiles reads the value of a flag from a file, as containers receive secrets. The path is in the environment
// variable of the flag with _FILE appended. Surrounding white space, such as a final newline, is removed.
var fromFiles kong.ResolverFunc = func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, variable := range flag.Envs {
		path := os.Getenv(variable + "_FILE")
		if path == "" {
			continue
		}
		if os.Getenv(variable) != "" {
			return nil, fmt.Errorf("%[1]s and %[1]s_FILE exclude each other", variable)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read %s_FILE: %w", variable, err)
		}
		return strings.TrimSpace(string(text)), nil
	}
	return nil, nil
}

// isOf reports whether the error is about the command line of the command.
func isOf(err error, command string) bool {
	var wrong *kong.ParseError
	return errors.As(err, &wrong) && slices.ContainsFunc(wrong.Context.Path, func(p *kong.Path) bool {
		return p.Command != nil && p.Command.Name == command
	})
}

type versionCommand struct{}

// Run prints the version.
func (versionCommand) Run(cli *kong.Context) error {
	_, err := fmt.Fprintln(cli.Stdout, "agentgraph", version())
	return err
}

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
