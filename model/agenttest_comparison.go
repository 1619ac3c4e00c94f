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

// AgentTestComparison compares an execution with one or several others.
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
	// BaseCounts and HeadCounts count the tests that were judged in both.
	BaseCounts       *AgentTestRunCounts
	HeadCounts       *AgentTestRunCounts
	PValue           *float64
	StratifiedPValue *float64
	Correction       AgentTestCorrection
	Conclusion       AgentTestConclusion
	// DecidingRepeats is nil if there is a difference, or if too many repeats would be needed to show one.
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
	// DecidingRepeats is nil if there is a difference, or if too many repeats would be needed to show one.
	DecidingRepeats *int32
}

// CompareExecutions compares an execution with others by their tests. Runs of a test in several bases form one
// sample.
func CompareExecutions(
	bases []*AgentTestExecution, head *AgentTestExecution, inBases, inHead []*AgentTestExecutionTest,
	correction AgentTestCorrection,
) *AgentTestComparison {
	c := &AgentTestComparison{
		Bases: bases, Base: bases[0], Head: head, Tests: []*AgentTestComparisonTest{},
		BaseCounts: &AgentTestRunCounts{}, HeadCounts: &AgentTestRunCounts{}, Correction: correction,
	}
	inBase := pooled(inBases)
	left := make(map[sample]*AgentTestExecutionTest, len(inBase))
	for _, test := range inBase {
		left[test.sample()] = test
	}
	for _, test := range inHead {
		c.add(left[test.sample()], test)
		delete(left, test.sample())
	}
	for _, test := range inBase {
		if left[test.sample()] != nil {
			c.add(test, nil)
		}
	}
	c.conclude()
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

// add adds the comparison of one test. base or head is nil if the test did not run in that execution.
func (c *AgentTestComparison) add(base, head *AgentTestExecutionTest) {
	test := &AgentTestComparisonTest{BaseRuns: []*AgentTestRun{}, HeadRuns: []*AgentTestRun{}}
	if base != nil {
		test.name(base)
		test.Base, test.BaseRuns = base.Counts(), base.Runs
		test.IsFlakyInBase = test.Base.IsFlaky()
	}
	if head != nil {
		test.name(head)
		test.Head, test.HeadRuns = head.Counts(), head.Runs
		test.IsFlakyInHead = test.Head.IsFlaky()
	}
	test.Change = changeOf(test.Base, test.Head)
	test.Conclusion = AgentTestConclusionCannotDecide
	if test.isJudged() {
		c.BaseCounts.add(test.Base)
		c.HeadCounts.add(test.Head)
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

func (t *AgentTestComparisonTest) name(as *AgentTestExecutionTest) {
	t.TestID, t.ExistingID, t.TestName, t.RowNumber, t.RowName = as.TestID, as.ExistingID, as.TestName, as.RowNumber,
		as.RowName
}

func (c *AgentTestRunCounts) add(more *AgentTestRunCounts) {
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

// isJudged reports whether there is something to compare.
func (t *AgentTestComparisonTest) isJudged() bool {
	return t.Base != nil && t.Head != nil && t.Base.Judged() > 0 && t.Head.Judged() > 0
}

// conclude sets the conclusion for each test and for the whole suite. It uses only tests that were judged on both
// sides.
func (c *AgentTestComparison) conclude() {
	var judged []*AgentTestComparisonTest
	var spreads, turned []spread
	for _, test := range c.Tests {
		if test.isJudged() {
			s := spreadOf(test.Base, test.Head)
			judged, spreads, turned = append(judged, test), append(spreads, s), append(turned, s.turned())
		}
	}
	c.Conclusion = AgentTestConclusionCannotDecide
	if len(judged) == 0 {
		return
	}
	falls, rises := c.Correction.corrected(spreads), c.Correction.corrected(turned)
	canFall, canRise := decidable(spreads), decidable(turned)
	for i, test := range judged {
		p, adjusted := fisher(test.Base.Passed, test.Base.Failed, test.Head.Passed, test.Head.Failed),
			min(1, 2*min(falls[i], rises[i]))
		test.PValue, test.AdjustedPValue = &p, &adjusted
		test.Conclusion = conclusionOf(falls[i], rises[i], canFall[i] || canRise[i])
		if test.Conclusion == AgentTestConclusionCannotDecide || test.Conclusion == AgentTestConclusionNoDifference {
			test.DecidingRepeats = decidingRepeats(*test.Base.PassRate(), *test.Head.PassRate())
		}
	}
	whole := sumOf(spreads)
	p, stratified := fisher(c.BaseCounts.Passed, c.BaseCounts.Failed, c.HeadCounts.Passed, c.HeadCounts.Failed),
		whole.twoSided()
	c.PValue, c.StratifiedPValue = &p, &stratified
	c.Conclusion = conclusionOf(whole.fall(), whole.rise(), whole.least <= significantSide*rounding)
	if c.Conclusion == AgentTestConclusionCannotDecide || c.Conclusion == AgentTestConclusionNoDifference {
		c.DecidingRepeats = decidingRepeatsOfAll(judged)
	}
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
