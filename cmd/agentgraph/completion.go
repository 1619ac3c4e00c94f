package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
)

type completionCommand struct {
	Shell string
}

// newCompletion returns the command "completion".
func newCompletion() *cobra.Command {
	c := &completionCommand{}
	return cli.New(c, &cobra.Command{
		Use: "completion", Short: "Print a script that has your shell complete commands, flags and names of agents, folders and tests.",
		Example: `source <(agentgraph completion bash)
agentgraph completion zsh > ~/.zfunc/_agentgraph
agentgraph completion fish > ~/.config/fish/completions/agentgraph.fish
agentgraph completion powershell >> $PROFILE`,
	}, []cli.Argument{
		{Into: &c.Shell, Name: "shell", Enum: []string{"bash", "zsh", "fish", "powershell"}, Help: "bash, zsh, fish or powershell."},
	})
}

// Run prints the script. It asks the program itself for the words that may follow, so it need not change with it.
func (c *completionCommand) Run(cmd *cobra.Command) error {
	out := cmd.OutOrStdout()
	switch c.Shell {
	case "bash":
		return cmd.Root().GenBashCompletionV2(out, true)
	case "zsh":
		return cmd.Root().GenZshCompletion(out)
	case "fish":
		return cmd.Root().GenFishCompletion(out, true)
	case "powershell":
		return cmd.Root().GenPowerShellCompletionWithDesc(out)
	}
	return fmt.Errorf("there is no script for %s", c.Shell)
}
