package agenttest

import (
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// report has the last state of an execution that this program received, and its outcome.
type report struct {
	// Outcome is Passed, Failed, Error, Cancelled or Inconclusive.
	Outcome  string `json:"outcome"`
	ExitCode int    `json:"exitCode"`
	// Reason is one sentence.
	Reason      string   `json:"reason"`
	Server      string   `json:"server"`
	MinPassRate *float64 `json:"minPassRate"`
	// DecidingPassRate is the rate that --min-pass-rate is compared with, or nil if there is none.
	DecidingPassRate *float64 `json:"decidingPassRate"`
	// IsCorrected is set if MinPassRate is a bound of the corrected pass rate.
	IsCorrected bool             `json:"isCorrected,omitempty"`
	Execution   executionShown   `json:"execution"`
	Comparison  *comparisonShown `json:"comparison"`
	Runs        []runShown       `json:"runs"`
	// timeout is the --timeout that cut the execution short, or 0.
	timeout time.Duration
	// isLost is set if the connection to the server was lost before the execution ended.
	isLost bool
}

// decide sets the outcome. The first case that applies wins, so the order of the cases matters. For example, a rate
// that is too low outweighs runs that could not be judged.
func (r *report) decide(connErr error) {
	counts, set := r.Execution.Counts, func(code int, format string, args ...any) {
		r.Outcome = [...]string{client.ExitDone: "Passed", client.ExitFailed: "Failed", client.ExitServer: "Error",
			client.ExitCancelled: "Cancelled", client.ExitInconclusive: "Inconclusive"}[code]
		r.ExitCode, r.Reason = code, fmt.Sprintf(format, args...)
	}
	judged := counts.judged()
	rate, name := passRate(r.Runs)
	if r.IsCorrected && r.Execution.Corrected != nil {
		rate, name = r.Execution.Corrected.Rate, "corrected pass rate"
	}
	if judged > 0 && (!r.IsCorrected || r.Execution.Corrected != nil) {
		r.DecidingPassRate = &rate
	}
	switch {
	case connErr != nil:
		r.isLost = true
		code := client.ExitServer
		if coded, isCoded := errors.AsType[*client.ExitError](connErr); isCoded && coded.Code == client.ExitCancelled {
			code = client.ExitCancelled
		}
		set(code, "%v", connErr)
	case r.Execution.Status == "Cancelled" && r.timeout > 0:
		set(client.ExitCancelled, "the execution was cancelled after %d of %d runs, because it took longer than --timeout %s",
			counts.endedRuns()-counts.Cancelled, counts.Total, r.timeout)
	case r.Execution.Status == "Cancelled":
		set(client.ExitCancelled, "the execution was cancelled after %d of %d runs", counts.endedRuns()-counts.Cancelled,
			counts.Total)
	case r.MinPassRate == nil && counts.Failed > 0:
		set(client.ExitFailed, "%d of %d runs failed", counts.Failed, counts.Total)
	case r.IsCorrected && judged > 0 && r.Execution.Corrected == nil:
		set(client.ExitInconclusive, "there is no corrected pass rate: people labeled fewer than 20 of this judge's "+
			"verdicts, or the runs have several judges")
	case r.MinPassRate != nil && judged > 0 && rate < *r.MinPassRate:
		set(client.ExitFailed, "the %s is %s, below %s", name, percent(rate), percent(*r.MinPassRate))
	case r.Comparison.isRegressed():
		set(client.ExitFailed, "worse than the baseline %s", r.Comparison.baseIDs())
	case counts.Error > 0:
		set(client.ExitServer, "%d of %d runs could not be judged", counts.Error, counts.Total)
	case judged == 0:
		set(client.ExitInconclusive, "no run was judged")
	case r.Comparison.isEmpty():
		set(client.ExitInconclusive, "%s", r.Comparison.nothingInCommon())
	case counts.Failed > 0 && r.Comparison.isUndecided():
		set(client.ExitInconclusive, "too few runs to decide whether something is worse than the baseline "+
			"%s", r.Comparison.baseIDs())
	case r.IsCorrected:
		set(client.ExitDone, "the %s is %s, at least %s", name, percent(rate), percent(*r.MinPassRate))
	case counts.Failed > 0:
		set(client.ExitDone, "the %s is %s", name, percent(rate))
	default:
		set(client.ExitDone, "%s", allPassed(counts.Total-counts.Skipped))
	}
}

func allPassed(runs int) string {
	if runs == 1 {
		return "the run passed"
	}
	return fmt.Sprintf("all %d runs passed", runs)
}

// passRate returns the mean of the pass rates of the tests and rows, with its name. The share of all runs that passed
// would be wrong: a test that stopped early has fewer runs, so it would count less than the others. The mean is
// computed exactly and rounded once: 7 of 100 is not below 0.07.
func passRate(runs []runShown) (rate float64, name string) {
	type tally struct{ passed, judged int64 }
	tallies := map[string]tally{}
	for _, run := range runs {
		t, isPassed := tallies[run.testKey()], run.Status == "Passed"
		if isPassed {
			t.passed++
		}
		if isPassed || run.Status == "Failed" {
			t.judged++
			tallies[run.testKey()] = t
		}
	}
	sum, judged := new(big.Rat), map[int64]bool{}
	for _, t := range tallies {
		sum.Add(sum, big.NewRat(t.passed, t.judged))
		judged[t.judged] = true
	}
	if len(tallies) > 0 {
		sum.Quo(sum, big.NewRat(int64(len(tallies)), 1))
	}
	rate, _ = sum.Float64()
	if len(judged) > 1 {
		return rate, meanPassRate
	}
	return rate, "pass rate"
}

// meanPassRate is the name of the pass rate of tests with different numbers of judged runs.
const meanPassRate = "mean pass rate of the tests"

func percent(share float64) string { return fmt.Sprintf("%.4g %%", 100*share) }
