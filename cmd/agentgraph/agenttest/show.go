package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

type showCommand struct {
	client.Flags
	cli.OutputFlag
	ID    string
	style client.Style
}

func newShowCommand() *cobra.Command {
	c := &showCommand{}
	return cli.New(c, &cobra.Command{
		Use: "show", Short: "Show a test, an execution or a run with its transcript and verdicts.",
		Example: `agentgraph test show run_01m7z96rn3ec4856emjz9wpnx5
agentgraph test show "Says when the shop is open"`,
	}, []cli.Argument{
		{Into: &c.ID, Name: "id", Complete: c.CompleteNames(client.Tests),
			Help: "A test, by name or id, or the id of an execution or a run."},
	}, &c.Flags, &c.OutputFlag)
}

const kindDocument = `query ($id: ID!) { node(id: $id) { __typename } }`

const testDocument = `query ($id: ID!) { node: agentTest(id: $id) {
	id kind name agent { id name } folder { id name } createdAt updatedAt
	... on SimulationTest { scenario criteria criteriaWeights checks { description weight } passAt maxTurns variables
		conversationMessages { role text } }
	... on ClassificationTest { tagExpected conversationContext { messages { role text } dataBag } }
	rows { name values } runs(first: 10) { nodes { id attempt rowNumber rowName status durationMs finishedAt execution { id
		} } }
} }`

const runDocument = runFields + transcriptFields +
	`query ($id: ID!) { node: agentTestRun(id: $id) { ...run ...transcript execution { id } } }`

// testShown is a test with its latest runs.
type testShown struct {
	listedTest
	Scenario             string
	Criteria             []string
	CriteriaWeights      []*int
	Checks               []describedCheck
	MaxTurns             int
	Variables            json.RawMessage
	ConversationMessages []messageShown
	TagExpected          string
	ConversationContext  *struct {
		Messages []messageShown
		DataBag  json.RawMessage
	}
	Rows []struct {
		Name   *string
		Values json.RawMessage
	}
	Runs struct {
		Nodes []struct {
			runShown
			Execution namedRef
		}
	}
}

// Run shows the test, execution or run that the argument names.
func (c *showCommand) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	server, err := c.Connect(cmd)
	if err != nil {
		return err
	}
	c.style = client.StyleOf(cmd.OutOrStdout())
	show, err := c.chooseView(ctx, server)
	if err != nil {
		return client.ExitWith(ctx, err)
	}
	whole, text, err := show(ctx, server)
	if err != nil {
		return client.ExitWith(ctx, err)
	}
	if c.JSON {
		return cli.WriteJSON(cmd.OutOrStdout(), whole)
	}
	_, err = io.WriteString(cmd.OutOrStdout(), text)
	return err
}

// chooseView returns the function that shows the object with the id. If there is no such object, the argument is the
// name of a test.
func (c *showCommand) chooseView(
	ctx context.Context, server *client.Client,
) (func(context.Context, *client.Client) (whole any, text string, err error), error) {
	var named struct {
		Node *struct {
			Typename string `json:"__typename"`
		}
	}
	if err := server.Query(ctx, kindDocument, client.Variables{"id": c.ID}, &named); err != nil {
		return nil, err
	}
	if named.Node == nil && (strings.HasPrefix(c.ID, "run_") || strings.HasPrefix(c.ID, "execution_")) {
		return nil, c.notFoundError()
	}
	if named.Node == nil {
		test, err := server.Find(ctx, client.Tests, c.ID)
		c.ID = test.ID
		return c.showTest, err
	}
	switch named.Node.Typename {
	case "AgentTestExecution":
		return c.showExecution, nil
	case "AgentTestRun":
		return c.showRun, nil
	case "SimulationTest", "ClassificationTest":
		return c.showTest, nil
	}
	return nil, c.notFoundError()
}

func (c *showCommand) notFoundError() error {
	return client.Exit(client.ExitUsage, fmt.Errorf("no test, execution or run has the name or id %q", c.ID))
}

func (c *showCommand) showTest(ctx context.Context, server *client.Client) (whole any, text string, err error) {
	var read struct{ Node json.RawMessage }
	if err := server.Query(ctx, testDocument, client.Variables{"id": c.ID}, &read); err != nil {
		return nil, "", err
	}
	var test testShown
	err = json.Unmarshal(read.Node, &test)
	return read.Node, test.describe(), err
}

func (c *showCommand) showExecution(ctx context.Context, server *client.Client) (whole any, text string, err error) {
	var read struct {
		AgentTestExecution struct {
			executionShown
			Runs []runShown `json:"runs"`
		}
	}
	if err := server.Query(ctx, executionDocument, client.Variables{"id": c.ID}, &read); err != nil {
		return nil, "", err
	}
	execution := &read.AgentTestExecution
	if execution.Variants, err = readVariants(ctx, server, execution.executionShown); err != nil {
		return nil, "", err
	}
	execution.Runs, err = readRuns(ctx, server, c.ID, c.JSON)
	return execution, execution.describe(execution.Runs), err
}

func (c *showCommand) showRun(ctx context.Context, server *client.Client) (whole any, text string, err error) {
	var read struct{ Node json.RawMessage }
	if err := server.Query(ctx, runDocument, client.Variables{"id": c.ID}, &read); err != nil {
		return nil, "", err
	}
	var run struct {
		runShown
		Execution namedRef
	}
	err = json.Unmarshal(read.Node, &run)
	return read.Node, run.detail(c.style, run.Execution.ID), err
}

func writeFields(text io.Writer, namesAndValues ...any) {
	var table [][]string
	for pair := range slices.Chunk(namesAndValues, 2) {
		table = append(table, []string{fmt.Sprint(pair[0]), fmt.Sprint(pair[1])})
	}
	_ = cli.WriteTable(text, table)
}

func (t testShown) describe() string {
	var text strings.Builder
	writeFields(&text, "Test", t.ID, "Name", client.Printable(t.Name), "Kind", t.Kind, "Agent", t.Agent,
		"Folder", t.Folder)
	if context := t.ConversationContext; context != nil {
		writeFields(&text, "Expects", client.Printable(t.TagExpected), "Data bag", string(context.DataBag))
		writeMessages(&text, context.Messages, nil)
	} else {
		writeFields(&text, "Turns", fmt.Sprintf("at most %d", t.MaxTurns), "Variables", string(t.Variables), "Scenario",
			client.Printable(t.Scenario))
		for _, check := range t.Checks {
			fmt.Fprintf(&text, "  - %s\n", verdict{what: check.Description, weight: check.Weight}.title())
		}
		for i, criterion := range t.Criteria {
			weighted := verdict{what: criterion}
			if i < len(t.CriteriaWeights) {
				weighted.weight = t.CriteriaWeights[i]
			}
			fmt.Fprintf(&text, "  - %s\n", weighted.title())
		}
		writeMessages(&text, t.ConversationMessages, nil)
	}
	if len(t.Rows) > 0 {
		text.WriteString("\n")
		table := [][]string{{"ROW", "VALUES"}}
		for i, row := range t.Rows {
			table = append(table, []string{rowLabel(row.Name, new(i+1)), client.Printable(string(row.Values))})
		}
		_ = cli.WriteTable(&text, table)
	}
	if len(t.Runs.Nodes) > 0 {
		text.WriteString("\n")
		_ = cli.WriteTable(&text, t.lastRuns())
	}
	return text.String()
}

// lastRuns returns a table of the latest runs. It has a column for the row if the test has rows.
func (t testShown) lastRuns() [][]string {
	table := [][]string{{"RUN", "STATUS", "TOOK", "FINISHED", "EXECUTION", "ROW"}}
	for _, run := range t.Runs.Nodes {
		table = append(table, []string{run.ID, run.Status, formatDuration(run.DurationMs), formatTime(run.FinishedAt),
			run.Execution.ID, rowLabel(run.RowName, run.RowNumber)})
	}
	for i := range table {
		if len(t.Rows) == 0 {
			table[i] = table[i][:5]
		}
	}
	return table
}

func (e executionShown) state() string {
	if e.IsDraft {
		return e.Status + " (draft)"
	}
	return e.Status
}

func (e executionShown) describe(runs []runShown) string {
	var text strings.Builder
	writeFields(&text, "Execution", e.ID, "Agent", e.Agent, "Status", e.state(), "Verdict", orDash(e.Verdict),
		"Repeats", e.Repeats, "Created", e.CreatedAt.UTC().Format(time.DateTime), "Finished", formatTime(e.FinishedAt))
	text.WriteString(e.summary(runs) + variantsSummary(e.Variants) + flaky(runs) + "\n")
	table := [][]string{{"RUN", "STATUS", "TOOK", "TEST"}}
	for _, run := range runs {
		table = append(table, []string{run.ID, run.Status, formatDuration(run.DurationMs), run.title()})
	}
	_ = cli.WriteTable(&text, table)
	return text.String()
}

func (r runShown) detail(style client.Style, executionID string) string {
	var text strings.Builder
	testID := "deleted"
	if r.Test != nil {
		testID = r.Test.ID
	}
	_, class := r.agentAndClass()
	writeFields(&text, "Run", r.ID, "Test", fmt.Sprintf("%s (%s)", r.title(), testID), "Agent", class, "Execution",
		executionID, "Status", r.Status, "Took", formatDuration(r.DurationMs), "Prompt", promptOf(r))
	if transcript := r.transcript(); transcript != "" {
		text.WriteString("\n" + transcript)
	}
	if r.EndReason != nil {
		fmt.Fprintf(&text, "\nThe conversation ended after %s: %s\n", client.Pluralize(r.TurnCount, "turn"),
			client.Printable(*r.EndReason))
	}
	text.WriteString("\n")
	for _, verdict := range r.verdicts() {
		verdict.describe(&text, style, "")
	}
	if r.Score != nil {
		fmt.Fprintf(&text, "Score %s\n", percent(*r.Score))
	}
	if c := r.ClassificationResult; c != nil {
		fmt.Fprintf(&text, "%s\n  %s\n", c.summary(), client.Printable(c.Rationale))
	}
	if r.Error != nil {
		fmt.Fprintf(&text, "%s\n", r.Error)
	}
	return text.String()
}

func promptOf(r runShown) string {
	if r.IsDraft && r.Variant == nil {
		return fmt.Sprintf("draft on version %d", r.PromptVersion)
	}
	return fmt.Sprintf("version %d", r.PromptVersion)
}

func (r runShown) transcript() string {
	var text strings.Builder
	writeMessages(&text, r.Messages, r.ToolCalls)
	return text.String()
}

func formatDuration(ms *int) string { return formatted(ms, milliseconds) }

func formatTime(t *time.Time) string {
	return formatted(t, func(t time.Time) string { return t.UTC().Format(time.DateTime) })
}
