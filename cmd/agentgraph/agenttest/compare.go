package agenttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

type compareCommand struct {
	client.Flags
	Base        []string
	With        string
	BaseVariant *string
	WithVariant *string
	Correction  string
	cli.OutputFlag
}

func newCompareCommand() *cobra.Command {
	c := &compareCommand{}
	return cli.New(c, &cobra.Command{
		Use: "compare", Short: "Compare an execution with earlier ones. The exit code is 1 if something got " +
			"worse, and 5 if nothing can be decided.",
		Example: "agentgraph test compare execution_01m7z9685dexj96fa38g6xqx8e --with execution_01m7z96rn3ebj8ybp0mfn1cq70",
	}, []cli.Argument{
		{Into: &c.Base, Name: "base", Help: "At most 5 earlier executions. Their runs are combined into one sample."},
	}, &c.Flags, cli.Flags{
		{Into: &c.With, Name: "with", Required: true, Placeholder: "EXECUTION",
			Help: "The execution to compare with the earlier ones."},
		{Into: &c.BaseVariant, Name: "base-variant", Placeholder: "LABEL", NotEmpty: true,
			Help: "Only the runs of this variant in the earlier executions."},
		{Into: &c.WithVariant, Name: "with-variant", Placeholder: "LABEL", NotEmpty: true,
			Help: "Only the runs of this variant in --with. Without --base-variant, the earlier executions must have " +
				"no variants. Without --with-variant, those in --with must have none."},
		{Into: &c.Correction, Name: "correction", Default: "holm", Enum: []string{"holm", "benjamini-hochberg"},
			Help: "Correction for multiple comparisons: holm or benjamini-hochberg."},
	}, &c.OutputFlag)
}

func (c *compareCommand) Validate() error {
	return cli.Refuse(len(c.Base) > maxBases, "<base>: at most %d executions, not %d", maxBases, len(c.Base))
}

// Run prints what changed. The exit code is 1 if something got worse, and 5 if nothing can be decided.
func (c *compareCommand) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	server, err := c.Connect(cmd)
	if err != nil {
		return err
	}
	comparison, err := c.compare(ctx, server)
	if err != nil {
		return client.ExitWith(ctx, err)
	}
	if c.JSON {
		err = cli.WriteJSON(cmd.OutOrStdout(), comparison)
	} else {
		_, err = fmt.Fprint(cmd.OutOrStdout(), comparison.summary(conclusions[comparison.Conclusion]))
	}
	switch {
	case err != nil:
		return err
	case comparison.isRegressed():
		return client.Exit(client.ExitFailed, fmt.Errorf("worse than %s", comparison.baseIDs()))
	case comparison.isEmpty():
		return client.Exit(client.ExitInconclusive, errors.New(comparison.nothingInCommon()))
	case comparison.isUndecided():
		return client.Exit(client.ExitInconclusive, fmt.Errorf("too few runs to decide whether %s was better or "+
			"worse", comparison.baseIDs()))
	}
	return nil
}

// comparisonShown compares an execution with its baseline.
type comparisonShown struct {
	Base         executionCompared   `json:"base"`
	Bases        []executionCompared `json:"bases"`
	Head         executionCompared   `json:"head"`
	NewlyFailing int                 `json:"newlyFailing"`
	NewlyPassing int                 `json:"newlyPassing"`
	Flaky        int                 `json:"flaky"`
	BaseCounts   countsShown         `json:"baseCounts"`
	HeadCounts   countsShown         `json:"headCounts"`
	PValue       *float64            `json:"pValue"`
	Stratified   *float64            `json:"stratifiedPValue"`
	Correction   string              `json:"correction"`
	Conclusion   string              `json:"conclusion"`
	Tests        []comparedShown     `json:"tests"`
}

type executionCompared struct {
	ID          string  `json:"id"`
	RejudgeOfID *string `json:"rejudgeOfId,omitempty"`
}

// conversations returns the id of the execution that held the conversations.
func (e executionCompared) conversations() string {
	if e.RejudgeOfID != nil {
		return *e.RejudgeOfID
	}
	return e.ID
}

type comparedShown struct {
	TestID        string       `json:"testId"`
	TestName      string       `json:"testName"`
	RowNumber     *int         `json:"rowNumber,omitempty"`
	RowName       *string      `json:"rowName,omitempty"`
	Base          *countsShown `json:"base"`
	Head          *countsShown `json:"head"`
	Change        string       `json:"change"`
	IsFlakyInBase bool         `json:"isFlakyInBase"`
	IsFlakyInHead bool         `json:"isFlakyInHead"`
	PValue        *float64     `json:"pValue"`
	Adjusted      *float64     `json:"adjustedPValue"`
	Conclusion    string       `json:"conclusion"`
	// DecidingRepeats is how many runs on each side would probably decide the comparison.
	DecidingRepeats *int `json:"decidingRepeats"`
}

func (c comparedShown) title() string { return nameWithRow(c.TestName, c.RowName, c.RowNumber) }

// maxBases is the maximum number of baselines of a comparison.
const maxBases = 5

// corrections are the values of AgentTestCorrection, by the name that flags use.
var corrections = map[string]string{"holm": "Holm", "benjamini-hochberg": "BenjaminiHochberg"}

const countsFields = `fragment counts on AgentTestRunCounts {
	total queued running passed failed error cancelled skipped passRateInterval { low high }
}
`

const compareDocument = countsFields + `query ($base: ID!, $more: [ID!]!, $head: ID!, $correction: AgentTestCorrection!, $baseVariant: String,
		$headVariant: String) {
	compareAgentTestExecutions(baseId: $base, moreBaseIds: $more, headId: $head, correction: $correction,
			baseVariant: $baseVariant, headVariant: $headVariant) {
		base { id rejudgeOfId } bases { id rejudgeOfId } head { id rejudgeOfId } newlyFailing newlyPassing flaky
		baseCounts { ...counts } headCounts { ...counts } pValue stratifiedPValue correction conclusion
		tests {
			testId testName rowNumber rowName base { ...counts } head { ...counts } change isFlakyInBase isFlakyInHead pValue
				adjustedPValue conclusion
			decidingRepeats
		}
	}
}`

func (c *compareCommand) compare(ctx context.Context, server *client.Client) (*comparisonShown, error) {
	variables := client.Variables{
		"base": c.Base[0], "more": c.Base[1:], "head": c.With, "correction": corrections[c.Correction],
		"baseVariant": c.BaseVariant, "headVariant": c.WithVariant,
	}
	var read struct{ CompareAgentTestExecutions *comparisonShown }
	err := server.Query(ctx, compareDocument, variables, &read)
	if err == nil && read.CompareAgentTestExecutions == nil {
		err = fmt.Errorf("executions %s and %s could not be compared", strings.Join(c.Base, ", "), c.With)
	}
	return read.CompareAgentTestExecutions, err
}

func (c *comparisonShown) baseIDs() string {
	ids := make([]string, len(c.Bases))
	for i, base := range c.Bases {
		ids[i] = base.ID
	}
	return strings.Join(ids, ", ")
}

func (c *comparisonShown) testsWithChange(change string) (names []string) {
	for _, test := range c.Tests {
		if test.Change == change {
			names = append(names, test.title())
		}
	}
	return names
}

// isRegressed reports whether the overall result or any single test got significantly worse.
func (c *comparisonShown) isRegressed() bool {
	return c != nil && (c.Conclusion == "Regressed" ||
		slices.ContainsFunc(c.Tests, func(test comparedShown) bool { return test.Conclusion == "Regressed" }))
}

// isEmpty reports whether no test was judged on both sides.
func (c *comparisonShown) isEmpty() bool { return c != nil && c.HeadCounts.judged() == 0 }

func (c *comparisonShown) nothingInCommon() string {
	return "nothing to compare: no test was judged both in " + c.baseIDs() + " and in " + c.Head.ID
}

// gateConclusion returns the overall conclusion for a gate, which asks only whether something got worse. If all runs
// passed, nothing got worse, even if there are too few runs to compare.
func (c *comparisonShown) gateConclusion() string {
	if c.Conclusion == "CannotDecide" && !c.isEmpty() && c.HeadCounts.Failed == 0 {
		return "not worse, because every run passed"
	}
	return conclusions[c.Conclusion]
}

// isUndecided reports whether the samples are too small, overall and for every test.
func (c *comparisonShown) isUndecided() bool {
	return c != nil && c.Conclusion == "CannotDecide" &&
		!slices.ContainsFunc(c.Tests, func(test comparedShown) bool { return test.Conclusion != "CannotDecide" })
}

// summary describes the comparison in lines. The first line has the overall result with the given conclusion. The next
// lines have the tests that failed on either side or were not judged. The last lines have the tests that ran on one
// side only.
func (c *comparisonShown) summary(conclusion string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "Against %s: %s (%s before, %s now%s); %d newly failing, %d newly passing\n", c.baseIDs(),
		conclusion, c.BaseCounts.rate(), c.HeadCounts.rate(), pValue(c.Stratified), c.NewlyFailing, c.NewlyPassing)
	isHeads := func(base executionCompared) bool { return base.conversations() == c.Head.conversations() }
	if slices.ContainsFunc(c.Bases, isHeads) {
		text.WriteString("  Both judged the same conversations. The statistics assume different ones, so they show only " +
			"how the verdicts differ.\n")
	}
	for _, test := range c.Tests {
		if test.Change == "StillPassing" || test.Change == "Added" || test.Change == "Removed" {
			continue
		}
		fmt.Fprintf(&text, "  %s: %s (%s before, %s now%s), %s", test.title(), changes[test.Change],
			test.Base.rate(), test.Head.rate(), pValue(test.Adjusted), conclusions[test.Conclusion])
		if test.DecidingRepeats != nil {
			fmt.Fprintf(&text, "; about %d runs of the test in each execution would decide", *test.DecidingRepeats)
		}
		text.WriteString("\n")
	}
	for _, side := range []struct{ change, title string }{{"Removed", "Not run now"}, {"Added", "Not in the baseline"}} {
		if names := c.testsWithChange(side.change); len(names) > 0 {
			fmt.Fprintf(&text, "  %s: %s (%s)\n", side.title, client.Pluralize(len(names), "test or row", "tests or rows"),
				someOf(names))
		}
	}
	return text.String()
}

// conclusions and changes are the words for values of AgentTestConclusion and AgentTestChange.
var (
	conclusions = map[string]string{
		"Regressed": "regressed", "Improved": "improved", "NoDifference": "no difference", "CannotDecide": "cannot decide",
	}
	changes = map[string]string{
		"NewlyFailing": "newly failing", "NewlyPassing": "newly passing", "StillFailing": "still failing",
		"Undecided": "not judged",
	}
)

func (c countsShown) judged() int { return c.Passed + c.Failed }

func (c *countsShown) rate() string {
	if c == nil {
		return "none"
	}
	return fmt.Sprintf("%d/%d%s", c.Passed, c.Passed+c.Failed, c.Interval)
}

func pValue(p *float64) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf(", p = %.2g", *p)
}
