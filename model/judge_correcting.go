package model

import (
	"context"
	"math"
)

// CorrectedPassRate is a pass rate without the errors of the judge, as far as labels show them.
type CorrectedPassRate struct {
	Rate     float64
	Interval *RateInterval
	// Labels and LabelledRuns count the labels and the labeled runs for the agent and the judge.
	Labels, LabelledRuns int32
}

// VerdictCounts is how many runs of an execution passed or failed with the same judge.
type VerdictCounts struct {
	ExecutionID             string
	JudgeModel, JudgePrompt *string
	Status                  AgentTestRunStatus
	// IsDoubtful is nil in runs that an older version of the program stored without their judge.
	IsDoubtful *bool
	Runs       int32
}

// isExact reports whether the program decided, without a judge.
func (c *VerdictCounts) isExact() bool { return c.JudgeModel == nil && c.IsDoubtful != nil }

func (c *VerdictCounts) judge() judgeKey { return judgeOf(c.JudgeModel, c.JudgePrompt) }

func kindOfVerdict(status AgentTestRunStatus, isDoubtful *bool) int {
	return verdictKind(status == AgentTestRunStatusPassed, isDoubtful != nil && *isDoubtful)
}

// passesWith returns whether the run passes with the answers to its criteria instead of the judge's verdicts. It
// returns nil if an answer is missing, or if the run has an error.
func (r *AgentTestRun) passesWith(answers map[string]*bool) *bool {
	if r.Error != nil {
		return nil
	}
	corrected := *r
	corrected.CriteriaResults = nil
	for _, result := range r.CriteriaResults {
		if answer := answers[result.Criterion]; !result.ByProgram {
			if answer == nil {
				return nil
			}
			// A criterion that does not apply counts for nothing, unless people say that it was missed.
			result.DoesNotApply = result.DoesNotApply && *answer
			result.Passed = *answer
		}
		corrected.CriteriaResults = append(corrected.CriteriaResults, result)
	}
	return new(!corrected.Weigh())
}

// CorrectRates returns the corrected pass rate of each target that has one, by the id of the execution. counts counts
// the verdicts in the targets and in the executions with labeled runs. labelled has the verdicts that people labeled
// from the queue. All are on the same agent. Once ctx has ended, rates are missing: one can take milliseconds.
func CorrectRates(ctx context.Context, targets []string, counts []*VerdictCounts,
	labelled []LabelledVerdict) map[string]*CorrectedPassRate {
	rates := map[string]*CorrectedPassRate{}
	for _, target := range targets {
		if ctx.Err() != nil {
			return rates
		}
		var exact CountedShare
		judges := map[judgeKey]bool{}
		judged := int32(0)
		for _, c := range counts {
			switch {
			case c.ExecutionID != target:
			case c.isExact():
				exact.Of += c.Runs
				if c.Status == AgentTestRunStatusPassed {
					exact.Count += c.Runs
				}
			default:
				judges[c.judge()], judged = true, judged+c.Runs
			}
		}
		for judge := range judges {
			if corrected := correctedBy(target, judge, counts, labelled); len(judges) == 1 && corrected != nil {
				corrected.include(judged, exact)
				rates[target] = corrected
			}
		}
	}
	return rates
}

// correctedBy returns the corrected pass rate of the judged runs of an execution, or nil with too few labels. A
// conversation that the judge judged several times counts once, with its verdict in the target or else the newest.
func correctedBy(target string, judge judgeKey, counts []*VerdictCounts,
	labelled []LabelledVerdict) *CorrectedPassRate {
	corrected := &CorrectedPassRate{}
	indexes, runs := map[string]int{target: 0}, make([]judgedRuns, 1)
	runsOf := func(executionID string) *judgedRuns {
		i, known := indexes[executionID]
		if !known {
			i = len(runs)
			indexes[executionID], runs = i, append(runs, judgedRuns{})
		}
		return &runs[i]
	}
	answers, labeledRuns := map[*AgentTestRun]map[string]*bool{}, []*AgentTestRun{}
	labels, conversations := map[*CriterionLabel]bool{}, map[string]bool{}
	for _, verdict := range labelled {
		if verdict.Run.judge() != judge {
			continue
		}
		if answers[verdict.Run] == nil {
			answers[verdict.Run], labeledRuns = map[string]*bool{}, append(labeledRuns, verdict.Run)
		}
		answers[verdict.Run][verdict.Result.Criterion] = majority(verdict.Labels)
		for _, label := range verdict.Labels {
			labels[label] = true
		}
	}
	corrected.Labels = int32(len(labels))
	for _, run := range ownFirst(target, labeledRuns) {
		truth, kind := run.passesWith(answers[run]), kindOfVerdict(run.Status, run.IsDoubtful)
		if truth == nil || conversations[run.ConversationID()] {
			continue
		}
		conversations[run.ConversationID()] = true
		its := runsOf(run.ExecutionID)
		if *truth {
			its.passed[kind]++
		} else {
			its.failed[kind]++
		}
		corrected.LabelledRuns++
	}
	if corrected.Labels < minCorrecting || corrected.LabelledRuns == 0 {
		return nil
	}
	for _, c := range counts {
		if _, known := indexes[c.ExecutionID]; known && !c.isExact() && c.judge() == judge {
			runsOf(c.ExecutionID).unlabeled[kindOfVerdict(c.Status, c.IsDoubtful)] += float64(c.Runs)
		}
	}
	for _, run := range labeledRuns {
		if i, known := indexes[run.ExecutionID]; known && conversations[run.ConversationID()] {
			unlabeled := &runs[i].unlabeled[kindOfVerdict(run.Status, run.IsDoubtful)]
			*unlabeled = max(0, *unlabeled-1) // executions can change between the reads
		}
	}
	rate, interval := correctedRate(runs)
	corrected.Rate, corrected.Interval = rate, &interval
	return corrected
}

// ownFirst returns the runs of the execution, followed by the other runs in the same order.
func ownFirst(executionID string, runs []*AgentTestRun) []*AgentTestRun {
	var own, others []*AgentTestRun
	for _, run := range runs {
		if run.ExecutionID == executionID {
			own = append(own, run)
		} else {
			others = append(others, run)
		}
	}
	return append(own, others...)
}

// include extends the corrected rate of the judged runs to all runs, with those that the program decided. The interval
// of the mean comes from both intervals, by the method of Zou and Donner (2008).
func (c *CorrectedPassRate) include(judged int32, exact CountedShare) {
	if exact.Of == 0 {
		return
	}
	part := float64(judged) / float64(judged+exact.Of)
	rate, interval := *exact.Share(), exact.Interval()
	mean := part*c.Rate + (1-part)*rate
	low := mean - math.Hypot(part*(c.Rate-c.Interval.Low), (1-part)*(rate-interval.Low))
	high := mean + math.Hypot(part*(c.Interval.High-c.Rate), (1-part)*(interval.High-rate))
	c.Rate, c.Interval = mean, &RateInterval{Low: max(0, low), High: min(1, high)}
}

// WeightsOf returns the part of a run's test that its score depends on. passAt is the score that the run needs, or nil.
func WeightsOf(r *AgentTestRun, passAt *float64) *AgentTestRow {
	test := &AgentTestRow{PassAt: passAt}
	for _, result := range r.CheckResults {
		test.Checks = append(test.Checks, result.Check)
	}
	for _, result := range r.CriteriaResults {
		test.CriteriaWeights = append(test.CriteriaWeights, result.Weight)
	}
	return test
}
