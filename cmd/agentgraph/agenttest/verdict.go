package agenttest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// report is an execution as far as this program has seen it, and its outcome.
type report struct {
	// Outcome is Passed, Failed, Error, Cancelled or Inconclusive.
	Outcome  string `json:"outcome"`
	ExitCode int    `json:"exitCode"`
	// Reason is one sentence.
	Reason      string           `json:"reason"`
	Server      string           `json:"server"`
	MinPassRate *float64         `json:"minPassRate"`
	Execution   executionShown   `json:"execution"`
	Comparison  *comparisonShown `json:"comparison"`
	Runs        []runShown       `json:"runs"`
	// timeout is the --timeout that cut the execution short, or 0.
	timeout time.Duration
	// isLost: nobody saw the end.
	isLost bool
}

// comparisonShown compares an execution with its baseline.
type comparisonShown struct {
	Base struct {
		ID string `json:"id"`
	} `json:"base"`
	NewlyFailing int             `json:"newlyFailing"`
	NewlyPassing int             `json:"newlyPassing"`
	Flaky        int             `json:"flaky"`
	BaseCounts   countsShown     `json:"baseCounts"`
	HeadCounts   countsShown     `json:"headCounts"`
	PValue       *float64        `json:"pValue"`
	Conclusion   string          `json:"conclusion"`
	Tests        []comparedShown `json:"tests"`
}

type comparedShown struct {
	TestID        string       `json:"testId"`
	TestName      string       `json:"testName"`
	Base          *countsShown `json:"base"`
	Head          *countsShown `json:"head"`
	Change        string       `json:"change"`
	IsFlakyInBase bool         `json:"isFlakyInBase"`
	IsFlakyInHead bool         `json:"isFlakyInHead"`
	PValue        *float64     `json:"pValue"`
	Conclusion    string       `json:"conclusion"`
}

const compareDocument = `fragment counts on AgentTestRunCounts { total queued running passed failed error cancelled }
query ($base: ID!, $head: ID!) { compareAgentTestExecutions(baseId: $base, headId: $head) {
	base { id } newlyFailing newlyPassing flaky baseCounts { ...counts } headCounts { ...counts } pValue conclusion
	tests { testId testName base { ...counts } head { ...counts } change isFlakyInBase isFlakyInHead pValue conclusion }
} }`

// compare compares the head with the base.
func compare(ctx context.Context, server *client.Client, base, head string) (*comparisonShown, error) {
	var read struct{ CompareAgentTestExecutions *comparisonShown }
	err := server.Ask(ctx, compareDocument, client.Variables{"base": base, "head": head}, &read)
	if err == nil && read.CompareAgentTestExecutions == nil {
		err = fmt.Errorf("executions %s and %s could not be compared", base, head)
	}
	return read.CompareAgentTestExecutions, err
}

// concluded returns the names of the tests with the conclusion.
func (c *comparisonShown) concluded(conclusion string) []string {
	var names []string
	for _, test := range c.Tests {
		if test.Conclusion == conclusion {
			names = append(names, test.TestName)
		}
	}
	return names
}

// isRegressed reports whether the whole or any test got worse, beyond chance.
func (c *comparisonShown) isRegressed() bool {
	return c != nil && (c.Conclusion == "Regressed" || len(c.concluded("Regressed")) > 0)
}

// isUndecided reports whether the samples are too small, for the whole and for every test.
func (c *comparisonShown) isUndecided() bool {
	return c != nil && c.Conclusion == "CannotDecide" &&
		!slices.ContainsFunc(c.Tests, func(test comparedShown) bool { return test.Conclusion != "CannotDecide" })
}

// decide sets the outcome. The first match counts: the server was lost; cancelled; failed or regressed; an error;
// inconclusive; passed.
func (r *report) decide(lost error) {
	counts, set := r.Execution.Counts, func(code int, format string, args ...any) {
		r.Outcome = [...]string{client.ExitDone: "Passed", client.ExitFailed: "Failed", client.ExitServer: "Error", client.ExitCancelled: "Cancelled", client.ExitInconclusive: "Inconclusive"}[code]
		r.ExitCode, r.Reason = code, fmt.Sprintf(format, args...)
	}
	judged := counts.Passed + counts.Failed
	// The quotient is exact here: 7 of 100 is not below 0.07, while the product 0.07*100 is more than 7.
	rate := float64(counts.Passed) / float64(max(judged, 1))
	switch {
	case lost != nil:
		r.isLost = true
		set(client.ExitServer, "%v", lost)
	case r.Execution.Status == "Cancelled" && r.timeout > 0:
		set(client.ExitCancelled, "the execution was cancelled after %d of %d runs, because it took longer than --timeout %s",
			counts.ended()-counts.Cancelled, counts.Total, r.timeout)
	case r.Execution.Status == "Cancelled":
		set(client.ExitCancelled, "the execution was cancelled after %d of %d runs", counts.ended()-counts.Cancelled, counts.Total)
	case r.MinPassRate == nil && counts.Failed > 0:
		set(client.ExitFailed, "%d of %d runs failed", counts.Failed, counts.Total)
	case r.MinPassRate != nil && judged > 0 && rate < *r.MinPassRate:
		set(client.ExitFailed, "the pass rate is %s, below %s", percent(rate), percent(*r.MinPassRate))
	case r.Comparison.isRegressed():
		set(client.ExitFailed, "worse than the baseline %s", r.Comparison.Base.ID)
	case counts.Error > 0:
		set(client.ExitServer, "%d of %d runs could not be judged", counts.Error, counts.Total)
	case judged == 0:
		set(client.ExitInconclusive, "no run was judged")
	case counts.Failed > 0 && r.Comparison.isUndecided():
		set(client.ExitInconclusive, "too few runs to compare with the baseline %s", r.Comparison.Base.ID)
	case counts.Failed > 0:
		set(client.ExitDone, "the pass rate is %s", percent(rate))
	default:
		set(client.ExitDone, "all %d runs passed", counts.Total)
	}
}

func percent(share float64) string { return fmt.Sprintf("%.4g %%", 100*share) }
