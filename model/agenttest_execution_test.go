package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/model"
)

func tally(passed, failed, errors int32) model.TestTally {
	return model.TestTally{AgentTestRunCounts: model.AgentTestRunCounts{
		Total: passed + failed + errors, Passed: passed, Failed: failed, Error: errors,
	}}
}

func TestPassHatKAveragesTests(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tallies []model.TestTally
		want    []float64
		tests   []int32
	}{
		"nothing judged": {[]model.TestTally{tally(0, 0, 3)}, []float64{}, []int32{}},
		"one test":       {[]model.TestTally{tally(4, 1, 0)}, []float64{0.8, 0.6, 0.4, 0.2, 0}, []int32{1, 1, 1, 1, 1}},
		"two tests": {[]model.TestTally{tally(3, 2, 0), tally(5, 0, 0)}, []float64{0.8, 0.65, 0.55, 0.5, 0.5},
			[]int32{2, 2, 2, 2, 2}},
		"errors": {[]model.TestTally{tally(1, 1, 3), tally(3, 0, 2)}, []float64{0.75, 0.5, 0.5}, []int32{2, 2, 1}},
		"the bad one ends": {[]model.TestTally{tally(0, 1, 4), tally(4, 1, 0)}, []float64{0.4, 0.3, 0.2, 0.1, 0},
			[]int32{2, 1, 1, 1, 1}},
		"rounded once": {[]model.TestTally{tally(4, 1, 0), tally(4, 1, 0), tally(4, 1, 0)},
			[]float64{0.8, 0.6, 0.4, 0.2, 0}, []int32{3, 3, 3, 3, 3}},
		"nothing passed":   {[]model.TestTally{tally(0, 2, 0)}, []float64{0, 0}, []int32{1, 1}},
		"no tests, either": {nil, []float64{}, []int32{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chances, tests := model.PassHatK(test.tallies)
			require.Equal(t, test.want, chances)
			require.Equal(t, test.tests, tests)
		})
	}
}

func TestPassHatKNeverGrows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		runs := rapid.Int32Range(0, 20)
		tallies := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) model.TestTally {
			return tally(runs.Draw(t, "passed"), runs.Draw(t, "failed"), 0)
		}), 0, 6).Draw(t, "tallies")
		chances, tests := model.PassHatK(tallies)
		require.Len(t, tests, len(chances))
		require.IsNonIncreasing(t, append([]float64{1, 1}, chances...))
		require.IsNonIncreasing(t, append([]int32{7, 7}, tests...))
	})
}
