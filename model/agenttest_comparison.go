package model

import "math/big"

// significant is the highest p that counts as a difference.
const significant = 0.05

// AgentTestComparison compares two executions.
type AgentTestComparison struct {
	Base *AgentTestExecution
	Head *AgentTestExecution
	// Tests are those of the head in its order, then those of the base alone.
	Tests        []*AgentTestComparisonTest
	NewlyFailing int32
	NewlyPassing int32
	Flaky        int32
	// BaseCounts and HeadCounts are of the tests that were judged in both.
	BaseCounts *AgentTestRunCounts
	HeadCounts *AgentTestRunCounts
	PValue     *float64
	Conclusion AgentTestConclusion
}

// AgentTestComparisonTest is a test in two executions.
type AgentTestComparisonTest struct {
	Owned

	// TestID and TestName are those that the test had; ExistingID is nil when it was deleted.
	TestID     string
	ExistingID *string
	TestName   string
	// Base and Head are nil where the test did not run.
	Base          *AgentTestRunCounts
	Head          *AgentTestRunCounts
	BaseRuns      []*AgentTestRun
	HeadRuns      []*AgentTestRun
	Change        AgentTestChange
	IsFlakyInBase bool
	IsFlakyInHead bool
	PValue        *float64
	Conclusion    AgentTestConclusion
}

// CompareExecutions compares two executions by their tests.
func CompareExecutions(base, head *AgentTestExecution, inBase, inHead []*AgentTestExecutionTest) *AgentTestComparison {
	c := &AgentTestComparison{
		Base: base, Head: head, Tests: []*AgentTestComparisonTest{},
		BaseCounts: &AgentTestRunCounts{}, HeadCounts: &AgentTestRunCounts{},
	}
	byID := make(map[string]*AgentTestExecutionTest, len(inBase))
	for _, test := range inBase {
		byID[test.TestID] = test
	}
	for _, test := range inHead {
		c.add(byID[test.TestID], test)
		delete(byID, test.TestID)
	}
	for _, test := range inBase {
		if byID[test.TestID] != nil {
			c.add(test, nil)
		}
	}
	c.PValue, c.Conclusion = conclude(c.BaseCounts, c.HeadCounts)
	return c
}

// add compares a test. It may be nil in one of the executions.
func (c *AgentTestComparison) add(base, head *AgentTestExecutionTest) {
	test := &AgentTestComparisonTest{BaseRuns: []*AgentTestRun{}, HeadRuns: []*AgentTestRun{}}
	if base != nil {
		test.TestID, test.ExistingID, test.TestName = base.TestID, base.ExistingID, base.TestName
		test.Base, test.BaseRuns = base.Counts(), base.Runs
		test.IsFlakyInBase = test.Base.IsFlaky()
	}
	if head != nil {
		test.TestID, test.ExistingID, test.TestName = head.TestID, head.ExistingID, head.TestName
		test.Head, test.HeadRuns = head.Counts(), head.Runs
		test.IsFlakyInHead = test.Head.IsFlaky()
	}
	test.Change = changeOf(test.Base, test.Head)
	test.PValue, test.Conclusion = conclude(test.Base, test.Head)
	if test.PValue != nil {
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

func (c *AgentTestRunCounts) add(more *AgentTestRunCounts) {
	c.Total += more.Total
	c.Queued += more.Queued
	c.Running += more.Running
	c.Passed += more.Passed
	c.Failed += more.Failed
	c.Error += more.Error
	c.Cancelled += more.Cancelled
}

// changeOf says how a test stands in the head against the base; nil is where it does not stand.
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

// conclude returns the p of two samples and what it decides; no p when one of them has no judged run or is
// not there.
func conclude(base, head *AgentTestRunCounts) (*float64, AgentTestConclusion) {
	if base == nil || head == nil || base.Judged() == 0 || head.Judged() == 0 {
		return nil, AgentTestConclusionCannotDecide
	}
	p, least := fisher(base.Passed, base.Failed, head.Passed, head.Failed)
	if base.Passed+head.Passed == 0 || base.Failed+head.Failed == 0 {
		// Nothing could have come out otherwise given that all came out alike. What counts is whether so
		// many runs would have shown it, had they not.
		_, least = fisher(base.Judged(), 0, 0, head.Judged())
	}
	switch rise := *head.PassRate() - *base.PassRate(); {
	case p <= significant && rise < 0:
		return &p, AgentTestConclusionRegressed
	case p <= significant && rise > 0:
		return &p, AgentTestConclusionImproved
	case least > significant:
		return &p, AgentTestConclusionCannotDecide
	}
	return &p, AgentTestConclusionNoDifference
}

// fisher returns the two-sided p of Fisher's exact test that the chance to pass is the same on both sides: the
// probability, given how many runs each side has and how many of all passed, of what was seen and of everything
// that is no more likely. The second value is the least p that this number of passed runs could have, however they are spread. Both
// are computed in whole numbers, so that only the result is rounded.
func fisher(passedA, failedA, passedB, failedB int32) (p, least float64) {
	a, b, passed := int64(passedA+failedA), int64(passedB+failedB), int64(passedA+passedB)
	lowest, highest := max(0, passed-b), min(a, passed)
	// ways counts, for each possible number of passed runs of A from the lowest up, the ways to choose them.
	ways := make([]*big.Int, highest-lowest+1)
	ways[0] = new(big.Int).Mul(new(big.Int).Binomial(a, lowest), new(big.Int).Binomial(b, passed-lowest))
	for i := 1; i < len(ways); i++ {
		inA := lowest + int64(i)
		next := new(big.Int).Mul(ways[i-1], big.NewInt((a-inA+1)*(passed-inA+1)))
		ways[i] = next.Quo(next, big.NewInt(inA*(b-passed+inA)))
	}
	seen, rarest := ways[int64(passedA)-lowest], ways[0]
	if last := ways[len(ways)-1]; last.Cmp(rarest) < 0 {
		rarest = last
	}
	chance := func(most *big.Int) float64 {
		sum := new(big.Int)
		for _, n := range ways {
			if n.Cmp(most) <= 0 {
				sum.Add(sum, n)
			}
		}
		share, _ := new(big.Rat).SetFrac(sum, new(big.Int).Binomial(a+b, passed)).Float64()
		return share
	}
	return chance(seen), chance(rarest)
}
