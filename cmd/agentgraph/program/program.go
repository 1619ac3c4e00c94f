// Package program has the command line of agentgraph: all commands in the order of the help.
package program

import (
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
	cli.AddGroup(program, "Manage the database:",
		admin.NewMigrate(), admin.NewDistribute(), admin.NewCompanies(), admin.NewKeys(), admin.NewPlan(),
		admin.NewRetention(), admin.NewDocuments(),
		admin.NewErase(), admin.NewAudit(), admin.NewExport(), admin.NewImport())
	cli.AddGroup(program, "Use a server:",
		newTest(), api.NewAgents(), api.NewChat(), api.NewKnowledge(), api.NewUsage(), api.NewQuery(), api.NewMCP(),
		apply.NewApply(), apply.NewDiff(), apply.NewPull(), api.NewContext())
	help := newHelp()
	cli.AddGroup(program, "About the program:", server.NewSchema(), newCompletion(), newVersion(), help)
	program.SetHelpCommand(help)
	return program
}

// newTest returns the command "test", with the commands that run tests and those that manage them as files.
func newTest() *cobra.Command {
	test := cli.Group("test", "Run agent tests on a server, and show them.", agenttest.Commands()...)
	test.AddCommand(apply.NewTestExport(), apply.NewTestImport(), apply.NewTestDiff())
	return test
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

// Run shows the help of a command, or of the program.
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

// Run prints the version.
func (versionCommand) Run(cmd *cobra.Command) error { return cli.PrintVersion(cmd) }
