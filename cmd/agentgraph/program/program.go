// Package program has the command line of agentgraph: all commands in the order of the help.
package program

import (
	"bytes"
	"io"
	"slices"
	"strings"

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
	test := cli.Group("test", "Run agent tests on a server, and show them.",
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

type completionCommand struct {
	Shell string
}

func newCompletion() *cobra.Command {
	c := &completionCommand{}
	return cli.New(c, &cobra.Command{
		Use: "completion", Short: "Print a shell completion script for commands, flags, and names of agents, folders and " +
			"tests.",
		Example: `source <(agentgraph completion bash)
agentgraph completion zsh > ~/.zfunc/_agentgraph
agentgraph completion fish > ~/.config/fish/completions/agentgraph.fish
agentgraph completion powershell >> $PROFILE`,
	}, []cli.Argument{
		{Into: &c.Shell, Name: "shell", Enum: []string{"bash", "zsh", "fish", "powershell"},
			Help: "bash, zsh, fish or powershell."},
	})
}

// Run prints the script. The script asks the program for candidates, so it stays valid after updates.
func (c *completionCommand) Run(cmd *cobra.Command) error {
	out := cmd.OutOrStdout()
	switch c.Shell {
	case "bash":
		return writeBashCompletion(cmd.Root(), out)
	case "zsh":
		return cmd.Root().GenZshCompletion(out)
	case "fish":
		return cmd.Root().GenFishCompletion(out, true)
	}
	return cmd.Root().GenPowerShellCompletionWithDesc(out) // the argument has one of the four values
}

// bashNames completes names, which may contain spaces. It replaces the part of cobra's script that handles candidates
// without descriptions. That part inserts a common prefix unescaped, and compares names case-sensitively.
const bashNames = `
__agentgraph_complete_names() {
    local name
    COMPREPLY=()
    for name in "${completions[@]}"; do
        case ${cur} in
        \"*) name=${name//\\/\\\\} name=${name//\"/\\\"} name=${name//\$/\\\$} name=${name//\` + "`" + `/\\\` + "`" + `} ;;
        \'*) [[ ${name} == *\'* ]] && continue ;;
        # 63 lists the candidates without inserting anything.
        *) [[ ${COMP_TYPE} == 63 ]] || printf -v name "%q" "${name}" ;;
        esac
        COMPREPLY+=("${name}")
    done
}

# Ends a quote that the last word begins with, so that the command line can be read.
__agentgraph_end_quote() {
    case ${cur} in
    \"*) [[ ${#cur} -gt 1 && ${cur} == *\" && ${cur} != *\\\" ]] || requestComp+=\" ;;
    \'*) [[ ${#cur} -gt 1 && ${cur} == *\' ]] || requestComp+=\' ;;
    esac
}
`

// These lines of cobra's bash script are extended with calls of the functions in bashNames.
const (
	bashBeforeRequest   = "    __agentgraph_debug \"Calling ${requestComp}\"\n"
	bashBeforeSelection = "        # First, escape the completions to handle special characters\n"
)

func writeBashCompletion(root *cobra.Command, out io.Writer) error {
	var script bytes.Buffer
	if err := root.GenBashCompletionV2(&script, true); err != nil {
		return err
	}
	text := strings.Replace(script.String(), bashBeforeRequest, "    __agentgraph_end_quote\n"+bashBeforeRequest, 1)
	text = strings.Replace(text, bashBeforeSelection, "        __agentgraph_complete_names\n        return 0\n"+
		bashBeforeSelection, 1)
	_, err := io.WriteString(out, text+bashNames)
	return err
}
