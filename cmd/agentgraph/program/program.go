// Package program has the command line of agentgraph: all commands in the order of the help.
package program

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/admin"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/agenttest"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/api"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/apply"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/server"
)

func init() {
	// The help and completions list commands in the order of AddCommand. This setting is global in cobra.
	cobra.EnableCommandSorting = false
}

// New returns the root command of the program. A flag overrides its environment variable, which overrides the settings
// file, which overrides the default.
func New(version string) *cobra.Command {
	program := cli.NewProgram("agentgraph", version, "A self-hosted GraphQL gateway for conversational AI agents.")
	cli.AddGroup(program, "Run the gateway:", server.NewDev(), server.NewServe(), server.NewDoctor(), server.NewJudge())
	cli.AddGroup(program, "Manage the database:", admin.Commands()...)
	test := cli.Group("test", "Run tests of agents on a server, and show them.",
		slices.Concat(agenttest.Commands(), apply.TestCommands())...)
	cli.AddGroup(program, "Use a server:", slices.Concat([]*cobra.Command{test}, api.Commands(), apply.Commands(),
		[]*cobra.Command{api.Contexts()})...)
	help := newHelp()
	cli.AddGroup(program, "About the program:", server.NewSchema(), newCompletion(), newVersion(), help)
	program.SetHelpCommand(help)
	return program
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

func (c *helpCommand) Run(cmd *cobra.Command) error {
	command, rest, err := cmd.Root().Find(c.Command)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return cli.NotACommand(command, rest)
	}
	return command.Help()
}

type versionCommand struct{}

func newVersion() *cobra.Command {
	return cli.New(versionCommand{}, &cobra.Command{Use: "version", Short: "Print the version.",
		Example: "agentgraph version"}, nil)
}

func (versionCommand) Run(cmd *cobra.Command) error { return cli.PrintVersion(cmd) }
