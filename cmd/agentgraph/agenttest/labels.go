package agenttest

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// labelledAgent is the flag that names an agent.
type labelledAgent struct {
	client.Flags
	Agent string
}

func (c *labelledAgent) Declare() cli.Flags {
	return append(c.Flags.Declare(), cli.Flag{Into: &c.Agent, Name: "agent", Required: true, Placeholder: "AGENT",
		Complete: c.CompleteNames(client.Agents), Help: "The agent, by name or id."})
}

func (c *labelledAgent) find(cmd *cobra.Command) (*client.Client, string, error) {
	server, err := c.Connect(cmd)
	if err != nil {
		return nil, "", err
	}
	agent, err := server.Find(cmd.Context(), client.Agents, c.Agent)
	return server, agent.ID, client.ExitWith(cmd.Context(), err)
}

type labelsShow struct {
	labelledAgent
	cli.OutputFlag
}

func newLabelsShow() *cobra.Command {
	c := &labelsShow{}
	return cli.New(c, &cobra.Command{
		Use: "show", Short: "Show how well the judges of an agent's tests agree with people.",
		Example: `agentgraph test labels show --agent "Clinic reception"`,
	}, nil, &c.labelledAgent, &c.OutputFlag)
}

const figuresDocument = `query ($agent: ID!) { judgeFigures(agentId: $agent) {
	judgeModel judgePrompt criterion labels people agreement { count of share interval { low high } } kappa
	peopleAgreement { count of share interval { low high } } peopleKappa
	falsePasses { count of share interval { low high } } falseFailures { count of share interval { low high } }
	isWorseThanPeople disagreements { runId criterion passed labels { person holds note } }
} }`

// countedShown is a share with its numerator Count and its denominator Of.
type countedShown struct {
	Count, Of int
	Share     *float64
	Interval  *intervalShown
}

func (c countedShown) String() string {
	if c.Share == nil {
		return "-"
	}
	return fmt.Sprintf("%d of %d%s", c.Count, c.Of, c.Interval)
}

// figuresShown measures how well a judge agrees with people, for all of its criteria or for one. It has the columns of
// the table.
type figuresShown struct {
	JudgeModel, Criterion                 *string
	Labels                                int
	Agreement, FalsePasses, FalseFailures countedShown
	Kappa, PeopleKappa                    *float64
	IsWorseThanPeople                     bool
}

// Run prints a line for each judge and criterion, or the figures with their wrong verdicts as JSON.
func (c *labelsShow) Run(cmd *cobra.Command) error {
	server, agentID, err := c.find(cmd)
	if err != nil {
		return err
	}
	var read struct{ JudgeFigures json.RawMessage }
	var figures []figuresShown
	err = server.Query(cmd.Context(), figuresDocument, client.Variables{"agent": agentID}, &read)
	if err == nil {
		err = json.Unmarshal(read.JudgeFigures, &figures)
	}
	if err != nil {
		return client.ExitWith(cmd.Context(), err)
	}
	table := [][]string{{"JUDGE", "LABELS", "AGREES", "KAPPA", "PEOPLE'S KAPPA", "FALSE PASSES", "FALSE FAILURES",
		"CRITERION"}}
	kappa := func(k *float64) string {
		return formatted(k, func(k float64) string { return fmt.Sprintf("%.2f", k) })
	}
	for _, f := range figures {
		criterion := "all"
		if f.Criterion != nil {
			criterion = client.Printable(*f.Criterion)
		}
		table = append(table, []string{client.Printable(orDash(f.JudgeModel)), fmt.Sprint(f.Labels), f.Agreement.String(),
			kappa(f.Kappa), kappa(f.PeopleKappa), f.FalsePasses.String(), f.FalseFailures.String(), criterion})
		if f.IsWorseThanPeople {
			cmd.PrintErrf("Warning: %s agrees less with people than people agree with each other (%s)\n",
				client.Printable(orDash(f.JudgeModel)), criterion)
		}
	}
	return c.Print(cmd.OutOrStdout(), read.JudgeFigures, table)
}

type labelsExport struct {
	labelledAgent
	Queue  int
	Person *string
	Blind  bool
}

func newLabelsExport() *cobra.Command {
	c := &labelsExport{}
	return cli.New(c, &cobra.Command{
		Use: "export", Short: "Print the labels of an agent as CSV, or with --queue the verdicts to label next.",
		Example: `agentgraph test labels export --agent "Clinic reception" > labels.csv
agentgraph test labels export --agent "Clinic reception" --queue 50 --blind --person Ann > ann.csv`,
	}, nil, &c.labelledAgent, cli.Flags{
		{Into: &c.Queue, Name: "queue", Placeholder: "N", Help: "Print the next N verdicts to label, at most 1000, with " +
			"their conversations. Fill in the column \"holds\" with yes or no."},
		{Into: &c.Person, Name: "person", Placeholder: "NAME",
			Help: "Who labels the verdicts of --queue. Default: the API key's name."},
		{Into: &c.Blind, Name: "blind", Help: "Leave the judge's verdicts out of --queue."},
	})
}

func (c *labelsExport) Validate() error {
	return cli.Refuse(c.Queue < 0 || c.Queue > 1000, "--queue must be 1 to 1000")
}

const (
	labelsDocument = `query ($agent: ID!, $after: String) {
	page: criterionLabels(agentId: $agent, first: 100, after: $after) {
		nodes { runId criterion holds person note isSampled updatedAt } pageInfo { hasNextPage endCursor }
	}
}`
	queueDocument = `query ($agent: ID!, $person: String, $blind: Boolean!, $first: Int!, $offset: Int!) {
	criterionQueue(agentId: $agent, person: $person, isBlind: $blind, first: $first, offset: $offset) {
		entries { runId criterion expected passed rationale run { messages { role text } toolCalls { technicalName arguments
			result error mocked messageSequence } } }
	}
}`
	queuedPerRequest = 20
)

// labelColumns are the columns of a file of labels. An export of labels also has updatedColumn, and an export of the
// queue has queueColumns.
var (
	labelColumns = []string{"run_id", "criterion", "holds", "person", "note", "sampled"}
	queueColumns = []string{"expected", "verdict", "rationale", "conversation"}
)

const updatedColumn = "updated_at"

// The texts of labels and entries are "" if the server sends null.
type labelShown struct {
	RunID, Criterion, Person, Note string
	Holds, IsSampled               bool
	UpdatedAt                      time.Time
}

type queuedShown struct {
	RunID, Criterion, Expected, Rationale string
	Passed                                *bool
	Run                                   runShown
}

func (c *labelsExport) Run(cmd *cobra.Command) error {
	server, agentID, err := c.find(cmd)
	if err != nil {
		return err
	}
	rows := [][]string{append(slices.Clone(labelColumns), updatedColumn)}
	if c.Queue > 0 {
		rows, err = c.readQueue(cmd.Context(), server, agentID)
	} else {
		var labels []labelShown
		labels, err = client.ReadAll[labelShown](cmd.Context(), server, labelsDocument, client.Variables{"agent": agentID}, 0)
		for _, l := range labels {
			rows = append(rows, []string{l.RunID, l.Criterion, yesOrNo(&l.Holds), l.Person, l.Note, yesOrNo(&l.IsSampled),
				l.UpdatedAt.Format(time.RFC3339)})
		}
	}
	if err != nil {
		return client.ExitWith(cmd.Context(), err)
	}
	for _, row := range rows[1:] {
		for i := range row {
			row[i] = escapeFormula(row[i])
		}
	}
	return csv.NewWriter(cmd.OutOrStdout()).WriteAll(rows)
}

// readQueue returns a table of the queue. A person fills in its column "holds".
func (c *labelsExport) readQueue(ctx context.Context, server *client.Client, agentID string) ([][]string, error) {
	rows := [][]string{slices.Concat(labelColumns, queueColumns)}
	person := ""
	if c.Person != nil {
		person = *c.Person
	}
	for len(rows)-1 < c.Queue {
		first := min(queuedPerRequest, c.Queue-len(rows)+1)
		with := client.Variables{"agent": agentID, "blind": c.Blind, "first": first, "offset": len(rows) - 1,
			"person": c.Person}
		var read struct {
			CriterionQueue struct{ Entries []queuedShown }
		}
		if err := server.Query(ctx, queueDocument, with, &read); err != nil {
			return nil, err
		}
		for _, e := range read.CriterionQueue.Entries {
			rows = append(rows, []string{e.RunID, e.Criterion, "", person, "", "yes", e.Expected, yesOrNo(e.Passed),
				e.Rationale, e.Run.transcript()})
		}
		if len(read.CriterionQueue.Entries) < first {
			break
		}
	}
	return rows, nil
}

func yesOrNo(is *bool) string {
	switch {
	case is == nil:
		return ""
	case *is:
		return "yes"
	}
	return "no"
}

// formulas are the first characters of cells that spreadsheets calculate.
const formulas = "=+-@\t\r"

// escapeFormula puts an apostrophe before a text that looks like a formula. A formula that already has apostrophes
// before it gets one more, so that unescapeFormula restores it.
func escapeFormula(cell string) string {
	if isFormula(cell) {
		return "'" + cell
	}
	return cell
}

func unescapeFormula(cell string) string {
	if isFormula(cell) {
		return strings.TrimPrefix(cell, "'")
	}
	return cell
}

// isFormula reports whether a text looks like a formula after any apostrophes.
func isFormula(cell string) bool {
	text := strings.TrimLeft(cell, "'")
	return text != "" && strings.ContainsRune(formulas, rune(text[0]))
}
