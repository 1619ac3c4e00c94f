package model

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// A test is examined after each of its runs. At most 5 % of bad tests stop as good, and bad tests keep their runs.
func TestSequentialTestsRarelyDecideWrongly(t *testing.T) {
	t.Parallel()
	const executions, repeats = 20_000, 20
	random := rand.New(rand.NewPCG(7, 16))
	stopped := func(stop *StopRepeating, rate float64) (good, runs float64) {
		for range executions {
			counts := ran(0, 0)
			for counts.Judged() < repeats && !stop.IsDecided(counts.Passed, counts.Failed) {
				play(random, counts, rate)
			}
			runs += float64(counts.Judged())
			if stop.IsDecided(counts.Passed, counts.Failed) {
				good++
			}
		}
		return good / executions, runs / executions
	}
	for _, stop := range []*StopRepeating{{new(0.9), new(0.5)}, {new(0.95), new(0.8)}, {new(0.999), new(0.6)},
		{new(0.6), new(0.3)}} {
		for _, worse := range []float64{1, 0.8, 0.5} {
			good, _ := stopped(stop, *stop.Bad*worse)
			require.LessOrEqual(t, good, 0.05, "%v against %v", *stop.Good, *stop.Bad)
		}
	}
	_, runs := stopped(&StopRepeating{new(0.9), new(0.5)}, 0.4)
	require.Greater(t, runs, 19.0)
	good, runs := stopped(&StopRepeating{new(0.9), new(0.5)}, 1)
	require.Equal(t, 1.0, good)
	require.Equal(t, 6.0, runs)
}

func TestIndistinguishablePassRatesAreRefused(t *testing.T) {
	t.Parallel()
	for _, stop := range []*StopRepeating{{new(0.9), nil}, {nil, new(0.5)}, {new(0.5), new(0.5)}, {new(1.0), new(0.5)},
		{new(0.9), new(0.0)}} {
		var faults Fields
		faults.stopRepeating(stop)
		require.NotEmpty(t, faults)
	}
	var faults Fields
	faults.stopRepeating(nil)
	faults.stopRepeating(&StopRepeating{})
	faults.stopRepeating(&StopRepeating{new(0.9), new(0.5)})
	require.Empty(t, faults)
	require.True(t, (&StopRepeating{}).IsDecided(3, 1))
	require.False(t, (&StopRepeating{}).IsDecided(20, 0))
}
