package model

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func ran(passed, failed int32) *AgentTestRunCounts {
	return &AgentTestRunCounts{Total: passed + failed, Passed: passed, Failed: failed}
}

// exactly returns the p-value that fisher should return. It counts all outcomes in whole numbers.
func exactly(passedA, failedA, passedB, failedB int64) float64 {
	a, b, passed := passedA+failedA, passedB+failedB, passedA+passedB
	ways := func(inA int64) *big.Int {
		if inA > passed {
			return new(big.Int)
		}
		return new(big.Int).Mul(new(big.Int).Binomial(a, inA), new(big.Int).Binomial(b, passed-inA))
	}
	seen, sum := ways(passedA), new(big.Int)
	for inA := range a + 1 {
		if w := ways(inA); w.Cmp(seen) <= 0 {
			sum.Add(sum, w)
		}
	}
	share, _ := new(big.Rat).SetFrac(sum, new(big.Int).Binomial(a+b, passed)).Float64()
	return share
}

func TestFisherEqualsExactCounting(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		// With more than about 500 runs on each side, p may underflow to 0.
		most := rapid.SampledFrom([]int32{6, 60, 300}).Draw(t, "most")
		n := rapid.Int32Range(0, most)
		passedA, failedA, passedB, failedB := n.Draw(t, "passedA"), n.Draw(t, "failedA"), n.Draw(t, "passedB"),
			n.Draw(t, "failedB")
		p := fisher(passedA, failedA, passedB, failedB)
		require.Equal(t, exactly(int64(passedA), int64(failedA), int64(passedB), int64(failedB)), p)
		require.True(t, p > 0 && p <= 1)

		// The order of the sides does not matter, nor which outcome is called passed.
		swapped := fisher(passedB, failedB, passedA, failedA)
		require.Equal(t, p, swapped)
		turned := fisher(failedA, passedA, failedB, passedB)
		require.Equal(t, p, turned)
	})
}

func TestFisherMatchesKnownTables(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		passedA, failedA, passedB, failedB int32
		p                                  float64
	}{
		{3, 1, 1, 3, 34.0 / 70},
		{5, 0, 0, 5, 2.0 / 252},
		{4, 0, 0, 4, 2.0 / 70},
		{3, 0, 0, 3, 2.0 / 20},
		{1, 0, 0, 1, 1},
		{7, 0, 9, 0, 1},
		{500, 500, 500, 500, 1},
		{36, 4, 36, 4, 1},
	} {
		p := fisher(test.passedA, test.failedA, test.passedB, test.failedB)
		require.Equal(t, test.p, p, "%v", test) // equal to the last digit, not only close
	}
}

func TestConclusionsFollowFromCounts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		base, head *AgentTestRunCounts
		change     AgentTestChange
		conclusion AgentTestConclusion
	}{
		"it fell":                     {ran(5, 0), ran(0, 5), AgentTestChangeNewlyFailing, AgentTestConclusionRegressed},
		"it rose":                     {ran(0, 4), ran(4, 0), AgentTestChangeNewlyPassing, AgentTestConclusionImproved},
		"too few, though it fell":     {ran(3, 0), ran(0, 3), AgentTestChangeNewlyFailing, AgentTestConclusionCannotDecide},
		"one run each":                {ran(1, 0), ran(0, 1), AgentTestChangeNewlyFailing, AgentTestConclusionCannotDecide},
		"one run each, both passed":   {ran(1, 0), ran(1, 0), AgentTestChangeStillPassing, AgentTestConclusionCannotDecide},
		"all passed":                  {ran(5, 0), ran(5, 0), AgentTestChangeStillPassing, AgentTestConclusionNoDifference},
		"all failed":                  {ran(0, 5), ran(0, 5), AgentTestChangeStillFailing, AgentTestConclusionNoDifference},
		"one failure decides nothing": {ran(5, 0), ran(4, 1), AgentTestChangeNewlyFailing, AgentTestConclusionCannotDecide},
		"half and half":               {ran(3, 2), ran(2, 3), AgentTestChangeStillFailing, AgentTestConclusionNoDifference},
		"a flaky one that passes now": {ran(4, 1), ran(5, 0), AgentTestChangeNewlyPassing, AgentTestConclusionCannotDecide},
		"a small fall of many":        {ran(95, 5), ran(80, 20), AgentTestChangeStillFailing, AgentTestConclusionRegressed},
		"nothing judged in the head": {ran(5, 0), &AgentTestRunCounts{Total: 5, Error: 4, Cancelled: 1},
			AgentTestChangeUndecided, AgentTestConclusionCannotDecide},
		"nothing judged in the base": {&AgentTestRunCounts{Total: 5, Queued: 5}, ran(5, 0), AgentTestChangeUndecided,
			AgentTestConclusionCannotDecide},
		"errors are not in the sample": {&AgentTestRunCounts{Total: 9, Passed: 5, Error: 4}, ran(0, 5),
			AgentTestChangeNewlyFailing, AgentTestConclusionRegressed},
		"it was added":   {nil, ran(5, 0), AgentTestChangeAdded, AgentTestConclusionCannotDecide},
		"it was removed": {ran(5, 0), nil, AgentTestChangeRemoved, AgentTestConclusionCannotDecide},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.change, changeOf(test.base, test.head))
			c := &AgentTestComparison{Correction: AgentTestCorrectionHolm, Tests: []*AgentTestComparisonTest{
				{Base: test.base, Head: test.head, Conclusion: AgentTestConclusionCannotDecide},
			}, BaseCounts: test.base, HeadCounts: test.head}
			conclude(c.Correction, c)
			require.Equal(t, test.conclusion, c.Tests[0].Conclusion)
			require.Equal(t, test.conclusion, c.Conclusion, "all tests have the conclusion of the only test")
			judged := test.base != nil && test.head != nil && test.base.Judged() > 0 && test.head.Judged() > 0
			require.Equal(t, judged, c.Tests[0].PValue != nil)
			require.Equal(t, judged, c.Tests[0].AdjustedPValue != nil)
			require.Equal(t, judged, c.StratifiedPValue != nil)
		})
	}
}

func TestNoDifferenceNeedsRunsThatCanShowOne(t *testing.T) {
	t.Parallel()
	for head, conclusion := range map[int32]AgentTestConclusion{
		1: AgentTestConclusionCannotDecide, // the good test alone can fall, and its p-value is at least 1/11
		5: AgentTestConclusionNoDifference,
	} {
		c := CompareExecutions([]*AgentTestExecution{{}}, &AgentTestExecution{},
			[]*AgentTestExecutionTest{ranWith("good", ran(10, 0)), ranWith("bad", ran(0, 10))},
			[]*AgentTestExecutionTest{ranWith("good", ran(head, 0)), ranWith("bad", ran(0, head))},
			AgentTestCorrectionHolm)
		require.Equal(t, conclusion, c.Conclusion, head)
	}
}

// ranWith returns a test whose runs had these outcomes.
func ranWith(id string, counts *AgentTestRunCounts) *AgentTestExecutionTest {
	test := &AgentTestExecutionTest{TestID: id, ExistingID: &id, TestName: "Test " + id}
	for status, n := range map[AgentTestRunStatus]int32{
		AgentTestRunStatusPassed: counts.Passed, AgentTestRunStatusFailed: counts.Failed,
		AgentTestRunStatusError: counts.Error,
	} {
		for range n {
			test.Runs = append(test.Runs, &AgentTestRun{Status: status})
		}
	}
	return test
}

func TestExecutionsAreCompared(t *testing.T) {
	t.Parallel()
	deleted := ranWith("gone", ran(2, 0))
	deleted.ExistingID = nil
	renamed := ranWith("b", ran(0, 2))
	renamed.TestName = "Renamed"
	c := CompareExecutions([]*AgentTestExecution{{ID: "base"}}, &AgentTestExecution{ID: "head"},
		[]*AgentTestExecutionTest{deleted, ranWith("a", ran(1, 1)), ranWith("b", ran(2, 0)), ranWith("c", ran(1, 1)),
			ranWith("e", ran(2, 0))},
		[]*AgentTestExecutionTest{renamed, ranWith("new", ran(1, 1)), ranWith("a", ran(2, 0)), ranWith("c", ran(0, 2)),
			ranWith("e", &AgentTestRunCounts{Total: 2, Error: 2})},
		AgentTestCorrectionHolm)
	var ids, names []string
	var changes []AgentTestChange
	for _, test := range c.Tests {
		ids, names, changes = append(ids, test.TestID), append(names, test.TestName), append(changes, test.Change)
		require.Equal(t, test.TestID == "gone", test.ExistingID == nil)
		if test.Base != nil {
			require.Len(t, test.BaseRuns, int(test.Base.Total))
		}
		if test.Head != nil {
			require.Len(t, test.HeadRuns, int(test.Head.Total))
		}
	}
	require.Equal(t, []string{"b", "new", "a", "c", "e", "gone"}, ids, "those of the head in its order, then the others")
	require.Equal(t, []string{"Renamed", "Test new", "Test a", "Test c", "Test e", "Test gone"}, names)
	require.Equal(t, []AgentTestChange{
		AgentTestChangeNewlyFailing, AgentTestChangeAdded, AgentTestChangeNewlyPassing, AgentTestChangeStillFailing,
		AgentTestChangeUndecided, AgentTestChangeRemoved,
	}, changes)
	require.Equal(t, []int32{1, 1, 3}, []int32{c.NewlyFailing, c.NewlyPassing, c.Flaky})
	require.True(t, c.Tests[2].IsFlakyInBase && !c.Tests[2].IsFlakyInHead && c.Tests[1].IsFlakyInHead)
	require.Equal(t, ran(4, 2), c.BaseCounts, "of the tests that were judged in both")
	require.Equal(t, ran(2, 4), c.HeadCounts)
	require.InDelta(t, 0.567, *c.PValue, 1e-3)
	require.InDelta(t, 7.0/12, *c.StratifiedPValue, 1e-9)
	require.Equal(t, AgentTestConclusionCannotDecide, c.Conclusion,
		"1/6 * 1/2 * 1/2 is the smallest possible p-value")

	// Many tests with one run each decide together what none of them decides alone.
	var before, after []*AgentTestExecutionTest
	for _, id := range []string{"1", "2", "3", "4", "5", "6"} {
		before, after = append(before, ranWith(id, ran(1, 0))), append(after, ranWith(id, ran(0, 1)))
	}
	c = CompareExecutions([]*AgentTestExecution{nil}, nil, before, after, AgentTestCorrectionHolm)
	require.EqualValues(t, 6, c.NewlyFailing)
	require.Equal(t, AgentTestConclusionRegressed, c.Conclusion)
	for _, test := range c.Tests {
		require.Equal(t, AgentTestConclusionCannotDecide, test.Conclusion)
	}
	c = CompareExecutions([]*AgentTestExecution{nil}, nil, nil, nil, AgentTestCorrectionHolm)
	require.Nil(t, c.PValue)
	require.Equal(t, AgentTestConclusionCannotDecide, c.Conclusion)

	// Runs of a test in several bases form one sample.
	bases := []*AgentTestExecution{{ID: "first"}, {ID: "second"}}
	c = CompareExecutions(bases, nil,
		[]*AgentTestExecutionTest{ranWith("a", ran(2, 0)), ranWith("b", ran(1, 0)), ranWith("a", ran(2, 1))},
		[]*AgentTestExecutionTest{ranWith("a", ran(1, 1)), ranWith("b", ran(1, 0))}, AgentTestCorrectionHolm)
	require.Equal(t, bases, c.Bases)
	require.Same(t, bases[0], c.Base)
	require.Len(t, c.Tests, 2)
	require.Equal(t, ran(4, 1), c.Tests[0].Base)
	require.Len(t, c.Tests[0].BaseRuns, 5)
	require.True(t, c.Tests[0].IsFlakyInBase)
}
