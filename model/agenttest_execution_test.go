package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func tally(passed, failed, errors int32) model.TestTally {
	return model.TestTally{AgentTestRunCounts: model.AgentTestRunCounts{
		Total: passed + failed + errors, Passed: passed, Failed: failed, Error: errors,
	}}
}

func TestPassHatK(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tallies []model.TestTally
		want    []float64
	}{
		"nothing judged":   {[]model.TestTally{tally(0, 0, 3)}, []float64{}},
		"one test":         {[]model.TestTally{tally(4, 1, 0)}, []float64{0.8, 0.6, 0.4, 0.2, 0}},
		"two tests":        {[]model.TestTally{tally(3, 2, 0), tally(5, 0, 0)}, []float64{0.8, 0.65, 0.55, 0.5, 0.5}},
		"errors":           {[]model.TestTally{tally(1, 1, 3), tally(3, 0, 2)}, []float64{0.75, 0.5, 1}},
		"rounded once":     {[]model.TestTally{tally(4, 1, 0), tally(4, 1, 0), tally(4, 1, 0)}, []float64{0.8, 0.6, 0.4, 0.2, 0}},
		"nothing passed":   {[]model.TestTally{tally(0, 2, 0)}, []float64{0, 0}},
		"no tests, either": {nil, []float64{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, model.PassHatK(test.tallies))
		})
	}
}
