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
		Use: "completion", Short: "Print a script that has your shell complete commands and flags.",
		Example: `source <(agentgraph completion bash)
agentgraph completion zsh > ~/.zfunc/_agentgraph
agentgraph completion fish > ~/.config/fish/completions/agentgraph.fish`,
	}, []cli.Argument{
		{Into: &c.Shell, Name: "shell", Enum: []string{"bash", "zsh", "fish"}, Help: "bash,zsh,fish."},
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
	}
	return fmt.Errorf("there is no script for %s", c.Shell)
}
