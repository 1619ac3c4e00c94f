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

// exactly computes fisher by counting all spreads in whole numbers. least is the smallest p that any spread has.
func exactly(passedA, failedA, passedB, failedB int64) (p, least float64) {
	a, b, passed := passedA+failedA, passedB+failedB, passedA+passedB
	ways := func(inA int64) *big.Int {
		if inA > passed {
			return new(big.Int)
		}
		return new(big.Int).Mul(new(big.Int).Binomial(a, inA), new(big.Int).Binomial(b, passed-inA))
	}
	seen, rarest := ways(passedA), ways(passedA)
	for inA := range a + 1 {
		if w := ways(inA); w.Sign() > 0 && w.Cmp(rarest) < 0 {
			rarest = w
		}
	}
	share := func(most *big.Int) float64 {
		sum := new(big.Int)
		for inA := range a + 1 {
			if w := ways(inA); w.Cmp(most) <= 0 {
				sum.Add(sum, w)
			}
		}
		share, _ := new(big.Rat).SetFrac(sum, new(big.Int).Binomial(a+b, passed)).Float64()
		return share
	}
	return share(seen), share(rarest)
}

func TestFisherCountsAllSpreads(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.SampledFrom([]int32{6, 60, 600}).Draw(t, "most")
		n := rapid.Int32Range(0, most)
		passedA, failedA, passedB, failedB := n.Draw(t, "passedA"), n.Draw(t, "failedA"), n.Draw(t, "passedB"), n.Draw(t, "failedB")
		p, least := fisher(passedA, failedA, passedB, failedB)
		wantP, wantLeast := exactly(int64(passedA), int64(failedA), int64(passedB), int64(failedB))
		require.Equal(t, wantP, p)
		require.Equal(t, wantLeast, least)
		require.True(t, p >= least && p <= 1)

		// The order of the sides does not matter, nor which outcome is called passed.
		swapped, _ := fisher(passedB, failedB, passedA, failedA)
		require.Equal(t, p, swapped)
		turned, _ := fisher(failedA, passedA, failedB, passedB)
		require.Equal(t, p, turned)
	})
}

func TestFisherOfKnownTables(t *testing.T) {
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
		p, _ := fisher(test.passedA, test.failedA, test.passedB, test.failedB)
		require.Equal(t, test.p, p, "%v", test) // equal to the last digit, not only close
	}
}

func TestConclusions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		base, head *AgentTestRunCounts
		change     AgentTestChange
		conclusion AgentTestConclusion
	}{
		"it fell":                       {ran(5, 0), ran(0, 5), AgentTestChangeNewlyFailing, AgentTestConclusionRegressed},
		"it rose":                       {ran(0, 4), ran(4, 0), AgentTestChangeNewlyPassing, AgentTestConclusionImproved},
		"too few, though it fell":       {ran(3, 0), ran(0, 3), AgentTestChangeNewlyFailing, AgentTestConclusionCannotDecide},
		"one run each":                  {ran(1, 0), ran(0, 1), AgentTestChangeNewlyFailing, AgentTestConclusionCannotDecide},
		"one run each, both passed":     {ran(1, 0), ran(1, 0), AgentTestChangeStillPassing, AgentTestConclusionCannotDecide},
		"all passed":                    {ran(5, 0), ran(5, 0), AgentTestChangeStillPassing, AgentTestConclusionNoDifference},
		"all failed":                    {ran(0, 5), ran(0, 5), AgentTestChangeStillFailing, AgentTestConclusionNoDifference},
		"one failure decides nothing":   {ran(5, 0), ran(4, 1), AgentTestChangeNewlyFailing, AgentTestConclusionCannotDecide},
		"half and half":                 {ran(3, 2), ran(2, 3), AgentTestChangeStillFailing, AgentTestConclusionNoDifference},
		"a flaky one that passes now":   {ran(4, 1), ran(5, 0), AgentTestChangeNewlyPassing, AgentTestConclusionCannotDecide},
		"a small fall of many":          {ran(95, 5), ran(80, 20), AgentTestChangeStillFailing, AgentTestConclusionRegressed},
		"nothing judged in the head":    {ran(5, 0), &AgentTestRunCounts{Total: 5, Error: 4, Cancelled: 1}, AgentTestChangeUndecided, AgentTestConclusionCannotDecide},
		"nothing judged in the base":    {&AgentTestRunCounts{Total: 5, Queued: 5}, ran(5, 0), AgentTestChangeUndecided, AgentTestConclusionCannotDecide},
		"errors are none of the sample": {&AgentTestRunCounts{Total: 9, Passed: 5, Error: 4}, ran(0, 5), AgentTestChangeNewlyFailing, AgentTestConclusionRegressed},
		"it was not there":              {nil, ran(5, 0), AgentTestChangeAdded, AgentTestConclusionCannotDecide},
		"it is gone":                    {ran(5, 0), nil, AgentTestChangeRemoved, AgentTestConclusionCannotDecide},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.change, changeOf(test.base, test.head))
			p, conclusion := conclude(test.base, test.head)
			require.Equal(t, test.conclusion, conclusion)
			judged := test.base != nil && test.head != nil && test.base.Judged() > 0 && test.head.Judged() > 0
			require.Equal(t, judged, p != nil)
		})
	}
}

func TestComparedExecutions(t *testing.T) {
	t.Parallel()
	stood := func(id string, counts *AgentTestRunCounts) *AgentTestExecutionTest {
		test := &AgentTestExecutionTest{TestID: id, ExistingID: &id, TestName: "Test " + id}
		for status, n := range map[AgentTestRunStatus]int32{
			AgentTestRunStatusPassed: counts.Passed, AgentTestRunStatusFailed: counts.Failed, AgentTestRunStatusError: counts.Error,
		} {
			for range n {
				test.Runs = append(test.Runs, &AgentTestRun{Status: status})
			}
		}
		require.Equal(t, counts, test.Counts())
		return test
	}
	deleted := stood("gone", ran(2, 0))
	deleted.ExistingID = nil
	renamed := stood("b", ran(0, 2))
	renamed.TestName = "Renamed"
	c := CompareExecutions(&AgentTestExecution{ID: "base"}, &AgentTestExecution{ID: "head"},
		[]*AgentTestExecutionTest{deleted, stood("a", ran(1, 1)), stood("b", ran(2, 0)), stood("c", ran(1, 1)), stood("e", ran(2, 0))},
		[]*AgentTestExecutionTest{renamed, stood("new", ran(1, 1)), stood("a", ran(2, 0)), stood("c", ran(0, 2)), stood("e", &AgentTestRunCounts{Total: 2, Error: 2})})
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
	require.Equal(t, AgentTestConclusionNoDifference, c.Conclusion)

	// Many tests with one run each decide together what none of them decides alone.
	var before, after []*AgentTestExecutionTest
	for _, id := range []string{"1", "2", "3", "4", "5", "6"} {
		before, after = append(before, stood(id, ran(1, 0))), append(after, stood(id, ran(0, 1)))
	}
	c = CompareExecutions(nil, nil, before, after)
	require.EqualValues(t, 6, c.NewlyFailing)
	require.Equal(t, AgentTestConclusionRegressed, c.Conclusion)
	for _, test := range c.Tests {
		require.Equal(t, AgentTestConclusionCannotDecide, test.Conclusion)
	}
	c = CompareExecutions(nil, nil, nil, nil)
	require.Nil(t, c.PValue)
	require.Equal(t, AgentTestConclusionCannotDecide, c.Conclusion)
}
