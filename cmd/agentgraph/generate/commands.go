package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/program"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/server"
)

// fewCommands is the maximum number of commands that each describe the same flag. A flag of more commands is described
// once for all of them.
const fewCommands = 7

type (
	// commandLine has all commands, and the flags that many of them share.
	commandLine struct {
		Groups []*commandGroup
		Shared []cli.Flag
	}
	commandGroup struct {
		Title    string
		Commands []*command
	}
	// command is a command with its own flags, the names of its shared flags, and the titles of its groups of server
	// settings.
	command struct {
		*cobra.Command
		Usage     string
		Arguments [][2]string
		Flags     []cli.Flag
		Shared    []string
		Settings  []string
	}
)

// readCommands returns the executable commands in the order of the help.
func readCommands() *commandLine {
	line := new(commandLine)
	root := program.New("")
	for _, group := range root.Groups() {
		read := &commandGroup{Title: strings.TrimSuffix(group.Title, ":")}
		for _, child := range root.Commands() {
			if child.GroupID == group.ID {
				read.addCommand(child)
			}
		}
		line.Groups = append(line.Groups, read)
	}
	line.share()
	return line
}

// addCommand adds a command, or its subcommands.
func (g *commandGroup) addCommand(cmd *cobra.Command) {
	if !cmd.HasSubCommands() {
		g.Commands = append(g.Commands,
			&command{Command: cmd, Usage: cli.Usage(cmd), Arguments: cli.Arguments(cmd), Flags: cli.DeclaredFlags(cmd)})
	}
	for _, child := range cmd.Commands() {
		g.addCommand(child)
	}
}

// share moves server settings and common flags out of the commands.
func (l *commandLine) share() {
	key := func(f cli.Flag) string { return f.Summary() + f.Env + f.Help }
	uses := map[string]int{}
	groups := server.SettingGroups()
	l.each(func(c *command) {
		for _, group := range groups {
			rest := slices.DeleteFunc(slices.Clone(c.Flags), func(f cli.Flag) bool {
				return slices.ContainsFunc(group.Flags, func(setting cli.Flag) bool { return setting.Name == f.Name })
			})
			if len(rest) == len(c.Flags)-len(group.Flags) {
				c.Flags, c.Settings = rest, append(c.Settings, group.Title)
			}
		}
		for _, f := range c.Flags {
			uses[key(f)]++
		}
	})
	l.each(func(c *command) {
		c.Flags = slices.DeleteFunc(c.Flags, func(f cli.Flag) bool {
			isShared := uses[key(f)] > fewCommands
			if isShared {
				c.Shared = append(c.Shared, "`--"+f.Name+"`")
			}
			if isShared && !slices.ContainsFunc(l.Shared, func(other cli.Flag) bool { return key(other) == key(f) }) {
				l.Shared = append(l.Shared, f)
			}
			return isShared
		})
	})
}

func (l *commandLine) each(fn func(*command)) {
	for _, group := range l.Groups {
		for _, c := range group.Commands {
			fn(c)
		}
	}
}

func defaultOf(f cli.Flag) string {
	if _, isSwitch := f.Into.(*bool); isSwitch {
		return cmp.Or(f.Default, "false")
	}
	return f.Default
}
