package apply

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// kindsOfTests are tests and the kinds that they refer to.
var kindsOfTests = []*kind{tool, agent, folder, simulation, classification}

// testFiles has the flags of the commands that compare tests with a server.
type testFiles struct {
	client.Flags
	File   []string
	From   string
	Agent  string
	Folder string
	Strict bool
	Prune  bool

	// imported has the result of importing another tool's file.
	imported *importedTests
}

func (c *testFiles) arguments() []cli.Argument {
	return []cli.Argument{
		{Into: &c.File, Name: "file", Help: "YAML files, or directories with such files; with --from, one file of the " +
			"other tool."},
	}
}

func (c *testFiles) Declare() cli.Flags {
	return slices.Concat(c.Flags.Declare(), cli.Flags{
		{Into: &c.From, Name: "from", Enum: []string{"", "promptfoo", "tau2-bench", "retell", "elevenlabs"},
			Placeholder: "TOOL", Help: "The tool that wrote the file: promptfoo, tau2-bench, retell or elevenlabs."},
		{Into: &c.Agent, Name: "agent", Placeholder: "AGENT", Complete: c.CompleteNames(client.Agents),
			Help: "With --from, the name or id of the agent that gets the tests."},
		{Into: &c.Folder, Name: "folder", Placeholder: "NAME", Complete: c.CompleteNames(client.Folders),
			Help: "With --from, the folder that gets the tests."},
		{Into: &c.Strict, Name: "strict", Help: "With --from, write nothing and fail if a part of the file would be " +
			"approximated or left out."},
		{Into: &c.Prune, Name: "prune", Help: "For each agent in the files, delete its tests and folders that the files " +
			"do not name."},
	})
}

func (c *testFiles) sources() ([]*source, error) {
	if c.From != "" {
		converted, err := c.convert()
		if err != nil {
			return nil, err
		}
		read, err := parseSource(filepath.Join(filepath.Dir(c.File[0]), "converted from "+filepath.Base(c.File[0])),
			converted)
		if err == nil {
			err = checkSource(read).err()
		}
		if err != nil {
			return nil, client.Exit(client.ExitFailed, err)
		}
		return []*source{read}, nil
	}
	if c.Agent != "" || c.Folder != "" || c.Strict {
		return nil, client.Exit(client.ExitUsage, errors.New("--agent, --folder and --strict need --from: files in "+
			"agentgraph's format name the agent and folder of each test"))
	}
	sources, err := readSources(c.File)
	if err != nil {
		return nil, err
	}
	for _, s := range sources {
		for _, m := range s.content {
			if m.name != "agentTests" {
				at := path{source: s}.member(m.name)
				return nil, client.Exit(client.ExitFailed, fmt.Errorf("%s is not a list of tests. Use agentgraph apply for other "+
					"objects", at))
			}
		}
	}
	return sources, nil
}

// convert imports another tool's file, and returns it in agentgraph's format.
func (c *testFiles) convert() ([]byte, error) {
	if len(c.File) != 1 {
		return nil, client.Exit(client.ExitUsage, errors.New("--from takes one file"))
	}
	if c.Agent == "" {
		return nil, client.Exit(client.ExitUsage, errors.New("--from needs --agent, the agent that gets the tests"))
	}
	var err error
	if c.imported, err = importFile(c.From, c.File[0]); err != nil {
		return nil, client.Exit(client.ExitFailed, err)
	}
	tests := c.imported.tests
	group := object{{"agent", c.Agent}}
	if c.Folder != "" {
		group = append(group, member{"folders", list{object{{"key", c.Folder}, {"name", c.Folder}}}})
		for i, test := range tests {
			tests[i] = test.(object).with("folderId", c.Folder)
		}
	}
	return outputFile{"tests", object{{"agentTests", list{append(group, member{"simulations", tests})}}}}.encode()
}

func (c *testFiles) report(to io.Writer) {
	if c.imported != nil && len(c.imported.report.notes) > 0 {
		c.imported.report.write(to)
	}
}

// refuseLosses returns an error if --strict is given and the import lost something.
func (c *testFiles) refuseLosses() error {
	if c.imported == nil || !c.Strict {
		return nil
	}
	parts, left := c.imported.report.count(approximated), c.imported.report.count(leftOut)
	if parts+left == 0 {
		return nil
	}
	return client.Exit(client.ExitFailed, fmt.Errorf("--strict: %s approximated, %s left out: nothing was written",
		client.Pluralize(parts, "part"), client.Pluralize(left, "part")))
}

// changeSet compares the tests of the files with those of the server.
func (c *testFiles) changeSet(cmd *cobra.Command) (*api, *changeSet, error) {
	sources, err := c.sources()
	if err != nil {
		return nil, nil, err
	}
	server, current, err := connect(cmd, c.Flags, kindsOfTests)
	if err != nil {
		return nil, nil, err
	}
	if c.From != "" {
		current.leaveMocks(sources[0], &c.imported.report)
	}
	if err := c.refuseLosses(); err != nil {
		return nil, nil, err
	}
	current.hasWholeAgents = true
	made, err := current.planFor(sources, options{prune: c.Prune})
	return server, made, err
}

// leaveMocks leaves out mocks of tools that the server does not have.
func (c *company) leaveMocks(s *source, to *report) {
	isMissing := func(mock any) bool {
		name := mock.(object).text("toolId")
		return !slices.ContainsFunc(c.resources[tool], func(t *resource) bool { return t.reference() == name })
	}
	group := s.content.list("agentTests")[0].(object)
	tests := group.list("simulations")
	for i, one := range tests {
		test := one.(object)
		mocking := test.object("toolMocking")
		for _, mock := range mocking.list("mockedTools") {
			if isMissing(mock) {
				to.addNote(leftOut, to.positionOf(test.text("name")), test.text("name"),
					"the mock of %s: the server has no tool with this technical name", mock.(object).text("toolId"))
			}
		}
		if len(mocking) > 0 {
			tests[i] = test.with("toolMocking",
				mocking.with("mockedTools", slices.DeleteFunc(slices.Clone(mocking.list("mockedTools")), isMissing)))
		}
	}
}

type testDiff struct {
	testFiles
}

func newTestDiff() *cobra.Command {
	c := &testDiff{}
	return cli.New(c, &cobra.Command{
		Use: "diff", Short: "Show what an import would change.",
		Long:    diffCodes,
		Example: "agentgraph test diff tests.yaml",
	}, c.arguments(), &c.testFiles)
}

func (c *testDiff) Run(cmd *cobra.Command) error {
	defer c.report(cmd.OutOrStdout())
	_, made, err := c.changeSet(cmd)
	if err != nil {
		return err
	}
	return made.print(cmd.OutOrStdout(), false)
}

// TestImport changes the tests of a server to match files.
type TestImport struct {
	testFiles
	DryRun bool
	Output string
	Yes    bool
}

func newTestImport() *cobra.Command {
	c := &TestImport{}
	return cli.New(c, &cobra.Command{
		Use: "import", Short: "Change the tests of a server so that they match files in agentgraph's format, or files of " +
			"promptfoo, tau2-bench, Retell or ElevenLabs.",
		Long: "The command checks everything before it writes anything. Importing the same file again changes nothing. " +
			"With --from, a list at the end shows which parts were converted, approximated and left out, by test and line.",
		Example: `agentgraph test import tests.yaml
agentgraph test import --from promptfoo promptfooconfig.yaml --agent "Clinic reception" --folder Promptfoo`,
	}, c.arguments(), &c.testFiles, cli.Flags{
		{Into: &c.DryRun, Name: "dry-run", Help: "Print what would change, like diff, without changing it."},
		{Into: &c.Output, Name: "output", Short: "o", Placeholder: "FILE",
			Help: "With --from, write the tests to this file in agentgraph's format, without a server."},
		{Into: &c.Yes, Name: "yes", Help: "Do not ask before deleting."},
	})
}

// Run compares the files with the server, and applies the differences. With --dry-run it only prints them. With
// --output it only writes the imported tests to a file.
func (c *TestImport) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	defer c.report(cmd.OutOrStdout())
	if c.Output != "" {
		if c.From == "" {
			return client.Exit(client.ExitUsage, errors.New("--output needs --from"))
		}
		text, err := c.convert()
		if err == nil {
			err = c.refuseLosses()
		}
		if err != nil {
			return err
		}
		return client.WriteFile(c.Output, text, 0o644)
	}
	server, made, err := c.changeSet(cmd)
	if err != nil {
		return err
	}
	if c.DryRun {
		return made.print(cmd.OutOrStdout(), false)
	}
	return applyChanges(ctx, cmd.OutOrStdout(), server, made, c.Prune, c.Yes)
}

type testExport struct {
	client.Flags
	Agent  []string
	Output string
	IDs    bool
}

func newTestExport() *cobra.Command {
	c := &testExport{}
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
func (c *testExport) Run(cmd *cobra.Command) error {
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
