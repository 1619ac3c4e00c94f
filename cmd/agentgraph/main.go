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

	"github.com/alecthomas/kong"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/admin"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/agenttest"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/api"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/apply"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/server"
	"github.com/agentgraph/agentgraph/model"
)

// program is the command line. Every flag has an environment variable, named in its help. A flag takes precedence over
// the environment, that over a file of settings, and that over the default.
type program struct {
	Config      string      `env:"AGENTGRAPH_CONFIG" placeholder:"FILE" help:"Read settings from this YAML file."`
	ShowVersion versionFlag `name:"version" help:"Print the version."`

	Dev        server.Dev        `cmd:"" group:"Run it:" help:"Run the gateway with everything it needs: a private Postgres unless DATABASE_URL names one, migrations and a demo company." example:"agentgraph dev\nagentgraph dev --port 9000 --ephemeral"`
	Serve      server.Serve      `cmd:"" group:"Run it:" help:"Run the gateway in production, on the database that DATABASE_URL names." example:"DATABASE_URL_FILE=/run/secrets/database agentgraph serve\nagentgraph serve --config /etc/agentgraph.yaml"`
	Doctor     server.Doctor     `cmd:"" group:"Run it:" help:"Look at the settings, the database, the model, the disk and the ports, and say what is wrong and what to do." example:"agentgraph doctor\nagentgraph doctor --json"`
	Judge      server.Judge      `cmd:"" group:"Run it:" help:"Look at the model that judges tests."`
	Migrate    admin.Migrate     `cmd:"" group:"Manage its database:" help:"Move the schema of the database up or down, or show where it stands."`
	Distribute admin.Distribute  `cmd:"" group:"Manage its database:" help:"Have a Citus cluster shard the tables by company. Run it again after migrate up." example:"agentgraph distribute --plan\nagentgraph distribute --shards 32"`
	Companies  admin.Companies   `cmd:"" group:"Manage its database:" help:"Create, list and delete companies."`
	Keys       admin.Keys        `cmd:"" group:"Manage its database:" help:"Create, take over, list and revoke the API keys of a company."`
	Plan       admin.Plan        `cmd:"" group:"Manage its database:" help:"Set, show and clear the plan of a company: its monthly credits and its budget."`
	Retention  admin.Retention   `cmd:"" group:"Manage its database:" help:"Set and show how long a company's chats, executions and campaign items are kept."`
	Erase      admin.Erase       `cmd:"" group:"Manage its database:" help:"Erase a contact: the campaign items with its phone number, the simulated chats in which that stands, and the number in runs of tests." example:"agentgraph erase --company \"Your company\" --phone +4930123456"`
	Audit      admin.Audit       `cmd:"" group:"Manage its database:" help:"Export who changed what in a company."`
	Export     admin.Export      `cmd:"" group:"Manage its database:" help:"Write a company into one file: agents, documents, tests, campaigns, usage and all that happened." example:"agentgraph export --company \"Your company\" company.zip"`
	Import     admin.Import      `cmd:"" group:"Manage its database:" help:"Make a company of such a file, with the ids that it has: all of it or nothing." example:"agentgraph import --dry-run company.zip\nagentgraph import company.zip"`
	Test       testCommand       `cmd:"" group:"Ask a server:" help:"Run tests of agents on a server, and show them."`
	Agents     api.Agents        `cmd:"" group:"Ask a server:" help:"List agents." example:"agentgraph agents\nagentgraph agents --channel Phone --name clinic"`
	Chat       api.Chat          `cmd:"" group:"Ask a server:" help:"Chat with an agent, and see its calls. Each line of standard input is a message." example:"agentgraph chat \"Clinic reception\" --data clinicName=Harbour\nagentgraph chat agent_01m7yn1htzexesns5wjxxva918 --mock"`
	Knowledge  api.Knowledge     `cmd:"" group:"Ask a server:" help:"Measure what agents find in their knowledge."`
	Usage      api.Usage         `cmd:"" group:"Ask a server:" help:"Show the credits that were used, and the plan." example:"agentgraph usage\nagentgraph usage --from 2026-01-01 --to 2026-06-30"`
	Query      api.Query         `cmd:"" group:"Ask a server:" help:"Send a GraphQL operation, and print the response. A subscription prints a line for each event." example:"agentgraph query agents.graphql --var name=clinic\necho '{ company { name } }' | agentgraph query -"`
	Apply      apply.Apply       `cmd:"" group:"Ask a server:" help:"Make a server as files say: agents, tools, knowledge, tests and campaigns." example:"agentgraph apply -f company/ --dry-run\nagentgraph apply -f company/"`
	Diff       apply.Diff        `cmd:"" group:"Ask a server:" help:"Show what apply would change." example:"agentgraph diff -f company/"`
	Pull       apply.Pull        `cmd:"" group:"Ask a server:" help:"Write what a server has as files that apply reads." example:"agentgraph pull company/"`
	Context    api.Context       `cmd:"" group:"Ask a server:" help:"Keep servers and keys to them under a name."`
	Schema     server.Schema     `cmd:"" group:"About the program:" help:"Print the GraphQL schema as one file." example:"agentgraph schema > schema.graphql"`
	Completion completionCommand `cmd:"" group:"About the program:" help:"Print a script that has your shell complete commands and flags." example:"source <(agentgraph completion bash)\nagentgraph completion zsh > ~/.zfunc/_agentgraph\nagentgraph completion fish > ~/.config/fish/completions/agentgraph.fish"`
	Complete   completeCommand   `cmd:"" hidden:"" name:"__complete"`
	Help       helpCommand       `cmd:"" group:"About the program:" help:"Show the help of a command." example:"agentgraph help test run"`
	Version    versionCommand    `cmd:"" group:"About the program:" help:"Print the version." example:"agentgraph version"`
}

// testCommand is what is done with tests of agents: they are run, and kept as files.
type testCommand struct {
	agenttest.Command
	Export apply.TestExport `cmd:"" help:"Write tests as YAML, in the format of apply." example:"agentgraph test export -o tests.yaml\nagentgraph test export --agent \"Clinic reception\""`
	Import apply.TestImport `cmd:"" help:"Make the tests of a server as files say, or as those of promptfoo, tau2-bench, Retell or ElevenLabs do." example:"agentgraph test import tests.yaml\nagentgraph test import --from promptfoo promptfooconfig.yaml --agent \"Clinic reception\" --folder Promptfoo"`
	Diff   apply.TestDiff   `cmd:"" help:"Show what an import would change." example:"agentgraph test diff tests.yaml"`
}

// streams are what a command reads from, in, which is empty if nil, and writes to: its output to out, the log to log.
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

// run runs one command line until it is done or ctx ends, and returns the exit code. An error is logged as one
// sentence. No words at all are a question for help.
func run(ctx context.Context, args []string, std streams) int {
	exit := -1
	if std.in == nil {
		std.in = strings.NewReader("")
	}
	parser, err := newParser(ctx, std, func(code int) { exit = code })
	if err != nil {
		_, _ = fmt.Fprintln(std.log, "agentgraph:", err)
		return client.ExitFailed
	}
	if len(args) == 0 {
		args = []string{"help"}
	}
	command, err := parser.Parse(args)
	if exit >= 0 {
		return exit
	}
	if err == nil {
		err = command.Run()
	}
	if exit >= 0 {
		return exit
	}
	return exitCode(ctx, err, std.log)
}

// newParser returns a parser of the command line, which calls exit when help or the version is all that is asked for.
func newParser(ctx context.Context, std streams, exit func(code int)) (*kong.Kong, error) {
	parser, err := kong.New(new(program),
		kong.Name("agentgraph"),
		kong.Description("A self-hosted GraphQL gateway for conversational AI agents."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, FlagsLast: true, WrapUpperBound: 100}),
		kong.Writers(std.out, std.log),
		kong.Exit(exit),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.BindTo(std.in, (*io.Reader)(nil)),
		kong.Vars{"version": version()},
		kong.Resolvers(new(configFile), fromFiles),
	)
	if err == nil {
		showExamples(parser.Model.Node)
	}
	return parser, err
}

// showExamples gives the commands' examples to their help.
func showExamples(node *kong.Node) {
	if example := node.Tag.Get("example"); example != "" {
		node.Detail = "Examples:\n\n  " + strings.ReplaceAll(example, "\n", "\n  ")
	}
	for _, child := range node.Children {
		showExamples(child)
	}
}

// exitCode logs the error, if there is one, and returns the exit code for it.
func exitCode(ctx context.Context, err error, log io.Writer) int {
	if err == nil || errors.Is(err, context.Canceled) && ctx.Err() != nil {
		// Nil, or the program was told to stop, and did.
		return client.ExitDone
	}
	code := client.ExitFailed
	var coded kong.ExitCoder
	var wrong *kong.ParseError
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

type helpCommand struct {
	Command []string `arg:"" optional:"" help:"The command."`
}

// Run shows the help of a command, or that of the program.
func (c *helpCommand) Run(cli *kong.Context) error {
	_, err := cli.Parse(append(c.Command, "--help"))
	return err
}

// versionFlag is --version, which does what the command does.
type versionFlag bool

// BeforeReset prints the version and ends the program.
func (versionFlag) BeforeReset(cli *kong.Context) error {
	err := versionCommand{}.Run(cli)
	cli.Exit(client.ExitDone)
	return err
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
