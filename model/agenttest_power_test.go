package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNoticedRateDependsOnRepeats(t *testing.T) {
	t.Parallel()
	for repeats, want := range map[int32]float64{4: 0, 5: 0.1, 10: 0.3, 20: 0.6} {
		rate, ok := NoticedRate(repeats, repeats, nil, 1)
		require.True(t, ok, repeats)
		require.InDelta(t, want, rate, 1e-9, repeats)
	}
	for _, repeats := range []int32{1, 2, 3} {
		_, ok := NoticedRate(repeats, repeats, nil, 1)
		require.False(t, ok, repeats)
	}
}

// If a gate stops good tests early, it detects a lower pass rate nearly as well as with all 20 runs of each test.
func TestStoppedTestsDetectDrops(t *testing.T) {
	t.Parallel()
	stop := &StopRepeating{new(0.9), new(0.5)}
	rate, ok := NoticedRate(20, 20, stop, 1)
	require.True(t, ok)
	require.InDelta(t, 0.5, rate, 1e-9)
	require.InDelta(t, 0.87, noticedAt(0.6, 20, 20, stop, 1), 0.01)
	require.InDelta(t, 0.95, noticedAt(0.6, 20, 20, nil, 1), 0.01)
	rate, ok = NoticedRate(6, 20, stop, 1)
	require.True(t, ok)
	require.InDelta(t, 0.3, rate, 1e-9)
	require.Equal(t, int32(6), stop.RunsIfPassing(20))
	require.Equal(t, int32(3), stop.RunsIfPassing(3))
	require.Equal(t, int32(20), (&StopRepeating{}).RunsIfPassing(20))
	require.Equal(t, int32(20), (*StopRepeating)(nil).RunsIfPassing(20))
}

// Each of two comparisons with the same base gets half of the significance level.
func TestNoticedRateCountsComparisons(t *testing.T) {
	t.Parallel()
	rate, ok := NoticedRate(4, 4, nil, 1)
	require.True(t, ok)
	require.Zero(t, rate)
	_, ok = NoticedRate(4, 4, nil, 2)
	require.False(t, ok)
	_, ok = NoticedRate(5, 5, nil, 2)
	require.True(t, ok)
}

// Four runs would show the drop of one variant. For two variants, they are too few.
func TestRunsOfSeveralVariantsCannotDecide(t *testing.T) {
	t.Parallel()
	runs := func(passed, failed int32) *AgentTestRunCounts {
		return &AgentTestRunCounts{Passed: passed, Failed: failed}
	}
	for _, test := range []struct {
		repeats    int32
		variants   int
		conclusion AgentTestConclusion
		deciding   *int32
	}{
		{4, 1, AgentTestConclusionRegressed, nil}, {4, 2, AgentTestConclusionCannotDecide, new(int32(5))},
		{5, 2, AgentTestConclusionRegressed, nil},
	} {
		var comparisons []*AgentTestComparison
		for range test.variants {
			n := test.repeats
			comparisons = append(comparisons, &AgentTestComparison{BaseCounts: runs(2*n, 0), HeadCounts: runs(n, n),
				Tests: []*AgentTestComparisonTest{{Base: runs(n, 0), Head: runs(0, n)}, {Base: runs(n, 0), Head: runs(n, 0)}}})
		}
		conclude(AgentTestCorrectionHolm, comparisons...)
		for _, c := range comparisons {
			require.Equal(t, test.conclusion, c.Conclusion)
			require.Equal(t, test.deciding, c.DecidingRepeats)
			require.Equal(t, test.conclusion, c.Tests[0].Conclusion)
			require.Equal(t, test.deciding, c.Tests[0].DecidingRepeats)
		}
	}
}

// The drop is significant with one variant. With several, neither the test nor all tests together can decide.
func TestHiddenDropsCannotBeDecided(t *testing.T) {
	t.Parallel()
	for variants, want := range map[int]AgentTestConclusion{1: AgentTestConclusionRegressed,
		2: AgentTestConclusionCannotDecide, 3: AgentTestConclusionCannotDecide} {
		var comparisons []*AgentTestComparison
		for range variants {
			base, head := &AgentTestRunCounts{Passed: 16, Failed: 4}, &AgentTestRunCounts{Passed: 9, Failed: 11}
			comparisons = append(comparisons, &AgentTestComparison{BaseCounts: base, HeadCounts: head,
				Tests: []*AgentTestComparisonTest{{Base: base, Head: head}}})
		}
		conclude(AgentTestCorrectionHolm, comparisons...)
		for _, c := range comparisons {
			require.Equal(t, want, c.Conclusion, variants)
			require.Equal(t, want, c.Tests[0].Conclusion, variants)
		}
	}
}
