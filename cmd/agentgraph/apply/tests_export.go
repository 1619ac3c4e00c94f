package apply

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// TestExport writes tests as files.
type TestExport struct {
	client.Flags
	Agent  []string
	Output string
	IDs    bool
}

// NewTestExport returns the command "export".
func NewTestExport() *cobra.Command {
	c := &TestExport{}
	return cli.New(c, &cobra.Command{
		Use: "export", Short: "Write tests as YAML, in the format of apply.",
		Long: "The files contain only the list agentTests. The agents, tools and sub-agents that they name must exist " +
			"on the server that imports them.",
		Example: `agentgraph test export -o tests.yaml
agentgraph test export --agent "Clinic reception"`,
	}, nil, &c.Flags, cli.Flags{
		{Into: &c.Agent, Name: "agent", Placeholder: "AGENT", Complete: c.CompleteNames(client.Agents),
			Help: "Only tests of the agent with this name or id; separate several with commas, or repeat the flag."},
		{Into: &c.Output, Name: "output", Short: "o", Placeholder: "FILE",
			Help: "Write to this file instead of standard output."},
		{Into: &c.IDs, Name: "ids", Default: "true", Negatable: true, Help: "Write ids, so that tests can be renamed " +
			"and moved in the files. A server that does not know an id finds the test by its name."},
	})
}

// Run reads the server and writes its tests.
func (c *TestExport) Run(cmd *cobra.Command) error {
	server, there, err := connect(cmd, c.Flags, kindsOfTests)
	if err != nil {
		return err
	}
	agents, err := server.FindAll(cmd.Context(), client.Agents, c.Agent)
	if err != nil {
		return client.ExitWith(cmd.Context(), err)
	}
	content := there.tests(agents, c.IDs)
	text, err := outputFile{"tests", content}.encode()
	if err != nil {
		return client.Exit(client.ExitFailed, err)
	}
	showNotes(cmd.ErrOrStderr(), there.notes)
	if c.Output != "" {
		return client.WriteFile(c.Output, text, 0o644)
	}
	_, err = cmd.OutOrStdout().Write(text)
	return err
}

// tests returns the tests of the agents in the format of files. Without ids it returns the tests of all agents.
func (c *company) tests(agents []string, withIDs bool) object {
	for _, k := range []*kind{folder, simulation, classification} {
		c.assignKeys(k)
	}
	slices.SortFunc(c.resources[agent], func(a, b *resource) int {
		return strings.Compare(a.name()+"\x00"+a.id, b.name()+"\x00"+
			b.id)
	})
	groups := list{}
	for _, t := range c.resources[agent] {
		if len(agents) > 0 && !slices.Contains(agents, t.id) {
			continue
		}
		group := object{{"agent", t.name()}}
		for _, k := range []*kind{folder, simulation, classification} {
			if all := c.listed(k, t, withIDs); len(all) > 0 {
				group = append(group, member{k.list, all})
			}
		}
		if len(group) == 1 {
			continue
		}
		hasSameName := func(other *resource) bool { return other != t && other.name() == t.name() }
		if slices.ContainsFunc(c.resources[agent], hasSameName) {
			group[0].value = t.id
		}
		groups = append(groups, group)
	}
	return object{{"agentTests", groups}}
}
