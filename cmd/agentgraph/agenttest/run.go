package agenttest

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/model"
)

type runCommand struct {
	client.Flags
	judgingFlags
	Agent         []string
	Folder        []string
	Test          []string
	Repeat        *int32
	UntilFailed   bool
	UntilDecided  []float64
	Variant       []string
	Baseline      []string
	variants      []client.Variables
	Correction    string
	VirtualTime   bool
	RequireMocked bool
}

func newRunCommand() *cobra.Command {
	c := &runCommand{}
	return cli.New(c, &cobra.Command{
		Use: "run", Short: "Run tests on a server and wait until they end. The exit code tells the outcome.",
		Example: `agentgraph test run --agent "Clinic reception"
agentgraph test run --folder Regression --folder Safety --repeat 5 --min-pass-rate 0.9 --junit junit.xml
agentgraph test run --agent "Clinic reception" --variant now --variant fast:model=small --variant draft:prompt=@draft.md`,
	}, nil, &c.Flags, &c.judgingFlags, cli.Flags{
		{Into: &c.Agent, Name: "agent", Env: "AGENTGRAPH_TEST_AGENT", Placeholder: "AGENT",
			Complete: c.CompleteNames(client.Agents), Help: "Run all tests of this agent, by name or id. Separate several " +
				"with commas, or repeat the flag. With --folder or --test, the folders or tests must belong to it."},
		{Into: &c.Folder, Name: "folder", Env: "AGENTGRAPH_TEST_FOLDER", Xor: "tests", Placeholder: "FOLDER",
			Complete: c.CompleteNames(client.Folders), Help: "Run all tests in this folder, by name or id. Separate several " +
				"with commas, or repeat the flag."},
		{Into: &c.Test, Name: "test", Env: "AGENTGRAPH_TEST_IDS", Xor: "tests", Placeholder: "TEST",
			Complete: c.CompleteNames(client.Tests), Help: "Run this test, by name or id. Separate several with commas, or " +
				"repeat the flag."},
		{Into: &c.Repeat, Name: "repeat", Env: "AGENTGRAPH_TEST_REPEAT",
			Help: "How many times to run each test, 1 to 20. Default: 1; with --until-failed, --until-decided or " +
				"--baseline, 20."},
		{Into: &c.UntilFailed, Name: "until-failed", Env: "AGENTGRAPH_TEST_UNTIL_FAILED", Xor: "until",
			Help: "Stop repeating a test once one of its runs failed."},
		{Into: &c.UntilDecided, Name: "until-decided", Env: "AGENTGRAPH_TEST_UNTIL_DECIDED", Xor: "until",
			Placeholder: "GOOD,BAD", Help: "Stop repeating a test once Wald's sequential test shows that its pass rate is " +
				"the good one and not the bad one, such as 0.9,0.5. A bad test keeps all of its runs. This is the default " +
				"with --baseline, unless --repeat is given."},
		{Into: &c.Variant, Name: "variant", Env: "AGENTGRAPH_TEST_VARIANT", Xor: "compared", Placeholder: "LABEL:CHANGES",
			Help: "Run the tests with this variant of the agent, and compare it with the first variant. LABEL alone is the " +
				"unchanged agent. CHANGES is one or more of model=NAME, version=N, prompt=@FILE and SETTING=VALUE, with " +
				"spaces between them. SETTING is a setting of the agent's knowledge base chat, such as temperature or topN. " +
				"Give 2 to 12 variants, separated by commas or with repeated flags."},
		{Into: &c.Baseline, Name: "baseline", Env: "AGENTGRAPH_TEST_BASELINE", Xor: "compared", Placeholder: "EXECUTION",
			Help: "Compare with this finished execution, and fail if something got worse. Up to 5 executions, separated by " +
				"commas or with repeated flags, are combined into one sample."},
		{Into: &c.Correction, Name: "correction", Env: "AGENTGRAPH_TEST_CORRECTION", Default: "holm",
			Enum: []string{"holm", "benjamini-hochberg"}, Help: "How --baseline corrects for multiple comparisons: holm " +
				"or benjamini-hochberg."},
		{Into: &c.VirtualTime, Name: "virtual-time", Env: "AGENTGRAPH_TEST_VIRTUAL_TIME",
			Help: "Record the delays of mocks without waiting for them."},
		{Into: &c.RequireMocked, Name: "require-mocked", Env: "AGENTGRAPH_TEST_REQUIRE_MOCKED",
			Help: "Run nothing if a run could call a tool or transfer a call for real."},
	})
}

// Validate refuses most values that the server would refuse, before it is called.
func (c *runCommand) Validate() (err error) {
	if c.variants, err = parseVariants(c.Variant); err != nil {
		return err
	}
	n, variants := len(c.UntilDecided), len(c.Variant)
	return cmp.Or(
		cli.Refuse(c.Repeat != nil && (*c.Repeat < 1 || *c.Repeat > model.MaxRepeats), "--repeat must be 1 to 20"),
		cli.Refuse(n != 0 && n != 2, "--until-decided must be two pass rates, such as 0.9,0.5"),
		cli.Refuse(c.UntilFailed && len(c.Baseline) > 0, "--until-failed and --baseline cannot be combined, because tests "+
			"that stop at their first failure look worse than they are. Omit --until-failed"),
		cli.Refuse(variants == 1 || variants > model.MaxVariants, "--variant must be given 2 to %d times, not %d. "+
			"The others are compared with the first, which can be only a label", model.MaxVariants, variants),
		cli.Refuse(len(c.Baseline) > maxBases, "--baseline: at most %d executions, not %d", maxBases, len(c.Baseline)),
		c.judgingFlags.Validate(),
	)
}

// Run starts an execution, follows it to its end, reports it, and returns its outcome as the exit code.
func (c *runCommand) Run(cmd *cobra.Command) error {
	ctx, stop := c.withTimeout(cmd.Context())
	defer stop()
	server, err := c.connect(cmd, c.Flags)
	if err != nil {
		return err
	}
	started, err := c.begin(ctx, cmd, server)
	if err != nil {
		return exitUnstarted(ctx, c.nameEmpty(err))
	}
	return c.followAndReport(ctx, cmd, server, started, func(ctx context.Context) (*comparisonShown, error) {
		if len(c.Baseline) == 0 {
			return nil, nil
		}
		against := compareCommand{Base: c.Baseline, With: started.ID, Correction: c.Correction}
		return against.compare(ctx, server)
	})
}

const startDocument = executionFields + `mutation ($input: StartAgentTestExecutionInput!) {
	startAgentTestExecution(input: $input) { execution { ...execution } }
}`

// begin checks the input, prints an estimate of the execution, and starts it.
func (c *runCommand) begin(ctx context.Context, cmd *cobra.Command,
	server *client.Client) (started executionShown, err error) {
	if err := c.checkBaseline(ctx, server); err != nil {
		return started, err
	}
	name, value, err := c.target(ctx, server)
	if err != nil {
		return started, err
	}
	input := c.input()
	input[name] = value
	if c.variants != nil {
		input["variants"] = c.variants
	}
	if c.RequireMocked {
		if err := refuseRealCalls(ctx, server, input); err != nil {
			return started, err
		}
	}
	// Older servers have no estimates. Any other error will occur again when the execution starts.
	if estimate, err := c.fit(ctx, server, input); err == nil {
		if len(c.Baseline) == 0 && !cli.IsTerminal(cmd.ErrOrStderr()) {
			estimate.NoticedFalls = nil // nobody plans a comparison here
		}
		cmd.PrintErrln(estimate)
	}
	var response struct {
		StartAgentTestExecution struct{ Execution executionShown }
	}
	err = start(ctx, server, startDocument, input, &response)
	return response.StartAgentTestExecution.Execution, err
}

func (c *runCommand) input() client.Variables {
	repeats, stop := c.repetition()
	input := client.Variables{"repeats": repeats, "concurrency": c.Concurrency, "virtualTime": c.VirtualTime,
		"votes": c.Votes}
	if stop != nil {
		input["stopRepeating"] = stop
	}
	return input
}

// repetition returns how often to run each test, and when to stop earlier. A comparison with a baseline repeats each
// test until its runs show that it is good or bad, unless the number of runs was given. With this early stop, a test
// that always passes needs a third of the maximum number of runs.
func (c *runCommand) repetition() (repeats int32, stop client.Variables) {
	repeats = model.MaxRepeats
	rates := c.UntilDecided
	if len(c.Baseline) > 0 && len(rates) == 0 && c.Repeat == nil {
		rates = []float64{0.9, 0.5}
	}
	switch {
	case c.UntilFailed:
		stop = client.Variables{}
	case len(rates) == 2:
		stop = client.Variables{"good": rates[0], "bad": rates[1]}
	default:
		repeats = 1
	}
	if c.Repeat != nil {
		repeats = *c.Repeat
	}
	return repeats, stop
}

// fit returns the estimate of the input. Without --repeat, it first lowers the number of repeats, so that all runs fit
// into one execution.
func (c *runCommand) fit(ctx context.Context, server *client.Client,
	input client.Variables) (executionEstimate, error) {
	estimate, err := readEstimate(ctx, server, input)
	if err != nil || c.Repeat != nil || estimate.RunsAtMost <= model.MaxRuns {
		return estimate, err
	}
	repeats, _ := c.repetition()
	input["repeats"] = max(1, int(repeats)*model.MaxRuns/estimate.RunsAtMost)
	return readEstimate(ctx, server, input)
}

// checkBaseline refuses an unusable baseline before the execution starts.
func (c *runCommand) checkBaseline(ctx context.Context, server *client.Client) error {
	for _, id := range c.Baseline {
		var read struct{ AgentTestExecution *executionShown }
		err := server.Query(ctx, executionDocument, client.Variables{"id": id}, &read)
		if err == nil && read.AgentTestExecution == nil || client.CodeOf(err) == model.NotFound {
			return client.Exit(client.ExitUsage, fmt.Errorf("--baseline: execution %q does not exist", id))
		}
		if err == nil && read.AgentTestExecution.FinishedAt == nil {
			return client.Exit(client.ExitUsage, fmt.Errorf("--baseline: execution %q is not finished; wait for its end, "+
				"or name another one", id))
		}
		if err != nil {
			return err
		}
		if read.AgentTestExecution.IsDraft {
			return client.Exit(client.ExitUsage, fmt.Errorf("--baseline: execution %q used an unsaved draft of the prompt; "+
				"name one of a saved prompt", id))
		}
	}
	return nil
}

// testsDocument reads a page of tests.
const testsDocument = `query ($agent: ID, $folder: ID, $after: String) {
	page: agentTests(agentId: $agent, folderId: $folder, first: 100, after: $after) {
		nodes { id kind name agent { id name } folder { id name } lastRunId lastRunStatus lastRunAt }
		pageInfo { hasNextPage endCursor }
	}
}`

// readTests reads the tests of one agent, in one folder, or both. An empty id means all.
func readTests(ctx context.Context, server *client.Client, agentID, folderID string) ([]listedTest, error) {
	with := client.Variables{}
	if agentID != "" {
		with["agent"] = agentID
	}
	if folderID != "" {
		with["folder"] = folderID
	}
	return client.ReadAll[listedTest](ctx, server, testsDocument, with, 0)
}

// target returns the member of an execution's input that selects its tests. Several agents or folders are replaced by
// the ids of their tests. If agents are given, only their folders and tests are searched.
func (c *runCommand) target(ctx context.Context, server *client.Client) (name string, value any, err error) {
	agents, err := server.FindAll(ctx, client.Agents, c.Agent)
	if err != nil {
		return "", nil, err
	}
	texts, ids, name := c.Agent, agents, "agentId"
	switch {
	case len(c.Folder) > 0:
		texts, name = c.Folder, "folderId"
		ids, err = server.FindAll(ctx, client.Folders, texts, agents...)
	case len(c.Test) > 0:
		ids, err = server.FindAll(ctx, client.Tests, c.Test, agents...)
		return "testIds", ids, err
	}
	switch {
	case err != nil:
		return "", nil, err
	case len(ids) == 0:
		return "", nil, client.Exit(client.ExitUsage, errors.New("use --agent, --folder or --test to name the tests"))
	case len(ids) == 1:
		return name, ids[0], nil
	}
	var testIDs []string
	for i, id := range ids {
		agentID, folderID := id, ""
		if name == "folderId" {
			agentID, folderID = "", id
		}
		tests, err := readTests(ctx, server, agentID, folderID)
		if err != nil {
			return "", nil, err
		}
		if len(tests) == 0 {
			return "", nil, client.NotFound(fmt.Sprintf("%q has no tests", texts[i]))
		}
		for _, test := range tests {
			testIDs = append(testIDs, test.ID)
		}
	}
	return "testIds", testIDs, nil
}

// nameEmpty replaces the server's error about an agent or a folder without tests. The new error has the name of that
// agent or folder.
func (c *runCommand) nameEmpty(err error) error {
	switch {
	case len(c.Agent) == 1 && err.Error() == "agentId has no tests":
		return client.NotFound(fmt.Sprintf("agent %q has no tests", c.Agent[0]))
	case len(c.Folder) == 1 && err.Error() == "folderId has no tests":
		return client.NotFound(fmt.Sprintf("test folder %q has no tests", c.Folder[0]))
	}
	return err
}
