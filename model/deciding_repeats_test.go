package model

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The suggested number of runs decides a suite in about four of five cases. If it decided nearly all, fewer runs would
// suffice.
func TestSuggestedRepeatsDecideMostSuites(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 5))
	for _, suite := range [][][2]float64{
		{{1, 0.6}, {1, 0.6}},
		{{0.9, 0.6}, {0.8, 0.7}, {1, 0.7}, {0.5, 0.3}},
		{{1, 0.9}, {0.9, 0.8}, {1, 0.8}, {0.7, 0.6}, {1, 1}, {0.9, 0.7}, {0.8, 0.7}, {1, 0.8}},
	} {
		tests := []*AgentTestComparisonTest{}
		for _, rates := range suite {
			tests = append(tests, &AgentTestComparisonTest{Base: tenRuns(rates[0]), Head: tenRuns(rates[1])})
		}
		repeats := decidingRepeatsOfAll(tests, 1)
		require.NotNil(t, repeats)
		decided := 0
		for range 1000 {
			spreads := []passDistribution{}
			for _, rates := range suite {
				spreads = append(spreads, newDistribution(played(random, rates[0], *repeats), played(random, rates[1], *repeats)))
			}
			if sumDistributions(spreads).fall() <= significantSide {
				decided++
			}
		}
		require.Greater(t, decided, 780, "%v by %d", suite, *repeats)
		require.Less(t, decided, 970, "%v by %d: fewer would suffice", suite, *repeats)
	}
	require.Nil(t, decidingRepeatsOfAll([]*AgentTestComparisonTest{{Base: tenRuns(0.3), Head: tenRuns(0.6)},
		{Base: tenRuns(0.6), Head: tenRuns(0.3)}}, 1), "no difference was seen")
	require.Nil(t, decidingRepeatsOfAll([]*AgentTestComparisonTest{{Base: tenRuns(0.6), Head: tenRuns(0.5)}}, 1),
		"an execution cannot have that many runs")
}

func tenRuns(rate float64) *AgentTestRunCounts {
	passed := int32(10*rate + 0.5)
	return &AgentTestRunCounts{Total: 10, Passed: passed, Failed: 10 - passed}
}

func played(random *rand.Rand, rate float64, runs int32) *AgentTestRunCounts {
	counts := &AgentTestRunCounts{Total: runs}
	for range runs {
		if random.Float64() < rate {
			counts.Passed++
		} else {
			counts.Failed++
		}
	}
	return counts
}
