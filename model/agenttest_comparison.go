package model

import "slices"

// maxBases bounds the executions that one execution is compared with.
const maxBases = 5

// CheckBases returns BAD_INPUT when an execution would be compared with too many others.
func CheckBases(ids []string) error {
	var faults Fields
	faults.list("moreBaseIds", len(ids)-1, maxBases-1)
	return faults.Err()
}

// AgentTestComparison compares an execution, the head, with one or several others, its bases.
type AgentTestComparison struct {
	// Bases are the executions that the head is compared with. Base is the first of them.
	Bases []*AgentTestExecution
	Base  *AgentTestExecution
	Head  *AgentTestExecution
	// Tests are the tests of the head in its order, followed by those that only the base has.
	Tests        []*AgentTestComparisonTest
	NewlyFailing int32
	NewlyPassing int32
	Flaky        int32
	// BaseCounts and HeadCounts count the runs of the tests that have judged runs in both the bases and the head.
	BaseCounts       *AgentTestRunCounts
	HeadCounts       *AgentTestRunCounts
	PValue           *float64
	StratifiedPValue *float64
	// AdjustedPValue is the stratified p-value, corrected for the number of comparisons with the same base.
	AdjustedPValue *float64
	Correction     AgentTestCorrection
	Conclusion     AgentTestConclusion
	// DecidingRepeats is nil if there is a difference, if the pass rates are equal, or if showing a difference would need
	// too many repeats.
	DecidingRepeats *int32
}

// AgentTestComparisonTest compares one test, or one row of a test, between two executions.
type AgentTestComparisonTest struct {
	Owned

	// TestID and TestName are the id and name at the time of the run. ExistingID is nil when the test was deleted.
	TestID     string
	ExistingID *string
	TestName   string
	RowNumber  *int32
	RowName    *string
	// Base and Head are nil where the test did not run.
	Base          *AgentTestRunCounts
	Head          *AgentTestRunCounts
	BaseRuns      []*AgentTestRun
	HeadRuns      []*AgentTestRun
	Change        AgentTestChange
	IsFlakyInBase bool
	IsFlakyInHead bool
	PValue        *float64
	// AdjustedPValue is corrected for the number of tests.
	AdjustedPValue *float64
	Conclusion     AgentTestConclusion
	// DecidingRepeats is nil if there is a difference, if the pass rates are equal, or if showing a difference would need
	// too many repeats.
	DecidingRepeats *int32
}

// CompareExecutions compares the head with the bases, test by test. Runs of a test in several bases form one sample.
func CompareExecutions(
	bases []*AgentTestExecution, head *AgentTestExecution, inBases, inHead []*AgentTestExecutionTest,
	correction AgentTestCorrection,
) *AgentTestComparison {
	c := compareTests(pooled(inBases), inHead)
	c.Bases, c.Base, c.Head, c.Correction = bases, bases[0], head, correction
	conclude(correction, c)
	return c
}

// compareTests compares the tests of two executions. It leaves the conclusions to conclude.
func compareTests(inBase, inHead []*AgentTestExecutionTest) *AgentTestComparison {
	c := &AgentTestComparison{
		Tests: []*AgentTestComparisonTest{}, BaseCounts: &AgentTestRunCounts{}, HeadCounts: &AgentTestRunCounts{},
	}
	left := make(map[sample]*AgentTestExecutionTest, len(inBase))
	for _, test := range inBase {
		left[test.sample()] = test
	}
	for _, test := range inHead {
		c.addTest(left[test.sample()], test)
		delete(left, test.sample())
	}
	for _, test := range inBase {
		if left[test.sample()] != nil {
			c.addTest(test, nil)
		}
	}
	return c
}

// pooled merges the entries of each test and row into one entry with all of their runs.
func pooled(tests []*AgentTestExecutionTest) []*AgentTestExecutionTest {
	samples, each := map[sample]*AgentTestExecutionTest{}, []*AgentTestExecutionTest{}
	for _, test := range tests {
		if known := samples[test.sample()]; known != nil {
			known.Runs = append(known.Runs, test.Runs...)
			continue
		}
		once := *test
		once.Runs = slices.Clone(test.Runs)
		samples[test.sample()] = &once
		each = append(each, &once)
	}
	return each
}

// addTest adds the comparison of one test. base or head is nil if the test did not run in that execution.
func (c *AgentTestComparison) addTest(base, head *AgentTestExecutionTest) {
	test := &AgentTestComparisonTest{BaseRuns: []*AgentTestRun{}, HeadRuns: []*AgentTestRun{}}
	if base != nil {
		test.copyIdentity(base)
		test.Base, test.BaseRuns = base.Counts(), base.Runs
		test.IsFlakyInBase = test.Base.IsFlaky()
	}
	if head != nil {
		test.copyIdentity(head)
		test.Head, test.HeadRuns = head.Counts(), head.Runs
		test.IsFlakyInHead = test.Head.IsFlaky()
	}
	test.Change = changeOf(test.Base, test.Head)
	test.Conclusion = AgentTestConclusionCannotDecide
	if test.isJudged() {
		c.BaseCounts.addCounts(test.Base)
		c.HeadCounts.addCounts(test.Head)
	}
	switch test.Change {
	case AgentTestChangeNewlyFailing:
		c.NewlyFailing++
	case AgentTestChangeNewlyPassing:
		c.NewlyPassing++
	}
	if test.IsFlakyInBase || test.IsFlakyInHead {
		c.Flaky++
	}
	c.Tests = append(c.Tests, test)
}

func (t *AgentTestComparisonTest) copyIdentity(as *AgentTestExecutionTest) {
	t.TestID, t.ExistingID, t.TestName, t.RowNumber, t.RowName = as.TestID, as.ExistingID, as.TestName, as.RowNumber,
		as.RowName
}

func (c *AgentTestRunCounts) addCounts(more *AgentTestRunCounts) {
	c.Total += more.Total
	c.Queued += more.Queued
	c.Running += more.Running
	c.Passed += more.Passed
	c.Failed += more.Failed
	c.Error += more.Error
	c.Cancelled += more.Cancelled
	c.Skipped += more.Skipped
}

// changeOf returns how a test changed between base and head. A nil argument means that the test did not run there.
func changeOf(base, head *AgentTestRunCounts) AgentTestChange {
	switch {
	case base == nil:
		return AgentTestChangeAdded
	case head == nil:
		return AgentTestChangeRemoved
	case base.Judged() == 0 || head.Judged() == 0:
		return AgentTestChangeUndecided
	}
	failed, fails := base.Failed > 0, head.Failed > 0
	switch {
	case failed && fails:
		return AgentTestChangeStillFailing
	case failed:
		return AgentTestChangeNewlyPassing
	case fails:
		return AgentTestChangeNewlyFailing
	}
	return AgentTestChangeStillPassing
}

// isJudged reports whether the test has judged runs on both sides.
func (t *AgentTestComparisonTest) isJudged() bool {
	return t.Base != nil && t.Head != nil && t.Base.Judged() > 0 && t.Head.Judged() > 0
}

// conclude sets the conclusions of comparisons with the same base, for each test and for all tests together. It uses
// only tests with judged runs on both sides. It corrects the conclusion on a test for the number of tests in all
// comparisons, and the conclusion on all tests together for the number of comparisons.
func conclude(correction AgentTestCorrection, comparisons ...*AgentTestComparison) {
	var judged []*AgentTestComparisonTest
	var distributions, sums []passDistribution
	var alone []difference // what each test would show if its comparison were the only one
	var whole []*AgentTestComparison
	for _, c := range comparisons {
		c.Conclusion = AgentTestConclusionCannotDecide
		before := len(distributions)
		for _, test := range c.Tests {
			if test.isJudged() {
				judged, distributions = append(judged, test), append(distributions, newDistribution(test.Base, test.Head))
			}
		}
		if len(distributions) > before {
			sum := sumDistributions(distributions[before:])
			sum.identity[0] = -1 - len(sums) // unique, because different sums have different distributions
			whole, sums = append(whole, c), append(sums, sum)
			alone = append(alone, correction.differences(distributions[before:])...)
		}
	}
	for i, d := range correction.differences(distributions) {
		test := judged[i]
		if d.conclusion == AgentTestConclusionNoDifference && !alone[i].needsRuns() {
			d.conclusion = AgentTestConclusionCannotDecide // only the number of comparisons hides the difference
		}
		p := fisher(test.Base.Passed, test.Base.Failed, test.Head.Passed, test.Head.Failed)
		test.PValue, test.AdjustedPValue, test.Conclusion = &p, &d.pValue, d.conclusion
		if d.needsRuns() {
			test.DecidingRepeats = decidingRepeats(*test.Base.PassRate(), *test.Head.PassRate(), len(sums))
		}
	}
	for i, d := range AgentTestCorrectionHolm.differences(sums) {
		c := whole[i]
		if d.conclusion == AgentTestConclusionNoDifference && sums[i].twoSided() <= significant*rounding {
			d.conclusion = AgentTestConclusionCannotDecide // only the number of comparisons hides the difference
		}
		p, stratified := fisher(c.BaseCounts.Passed, c.BaseCounts.Failed, c.HeadCounts.Passed, c.HeadCounts.Failed),
			sums[i].twoSided()
		c.PValue, c.StratifiedPValue, c.AdjustedPValue, c.Conclusion = &p, &stratified, &d.pValue, d.conclusion
		if d.needsRuns() {
			c.DecidingRepeats = decidingRepeatsOfAll(c.Tests, len(sums))
		}
	}
}

// difference is the result of comparing the runs of two sides, corrected for the number of such comparisons.
type difference struct {
	pValue     float64
	conclusion AgentTestConclusion
}

func (d difference) needsRuns() bool {
	return d.conclusion == AgentTestConclusionCannotDecide || d.conclusion == AgentTestConclusionNoDifference
}

// differences returns the difference that each of the distributions shows, corrected for their number.
func (c AgentTestCorrection) differences(distributions []passDistribution) []difference {
	turned := Map(distributions, func(s passDistribution) passDistribution { return s.turned() })
	falls, rises := c.corrected(distributions), c.corrected(turned)
	canFall, canRise := decidable(distributions), decidable(turned)
	all := make([]difference, len(distributions))
	for i := range distributions {
		all[i] = difference{min(1, 2*min(falls[i], rises[i])),
			conclusionOf(falls[i], rises[i], canFall[i] || canRise[i])}
	}
	return all
}

// conclusionOf returns the conclusion from the probabilities of a fall and a rise. Each gets half of the significance
// level.
func conclusionOf(fall, rise float64, isDecidable bool) AgentTestConclusion {
	switch {
	case fall <= significantSide*rounding:
		return AgentTestConclusionRegressed
	case rise <= significantSide*rounding:
		return AgentTestConclusionImproved
	case isDecidable:
		return AgentTestConclusionNoDifference
	}
	return AgentTestConclusionCannotDecide
}
