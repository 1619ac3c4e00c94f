package model

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// A test is examined after each of its runs. At most 0.1 % of good tests are called bad, and at most 5 % of bad tests
// are called good. Most of the runs are saved.
func TestSequentialTestsRarelyDecideWrongly(t *testing.T) {
	t.Parallel()
	const executions, repeats = 20_000, 20
	random := rand.New(rand.NewPCG(7, 16))
	play := func(stop *StopRepeating, rate float64) (bad, good, runs float64) {
		for range executions {
			passed, failed := int32(0), int32(0)
			for passed+failed < repeats && !stop.IsDecided(passed, failed) {
				if random.Float64() < rate {
					passed++
				} else {
					failed++
				}
			}
			runs += float64(passed + failed)
			switch isDecided := stop.IsDecided(passed, failed); {
			case isDecided && stop.evidence(passed, failed) > 0:
				bad++
			case isDecided:
				good++
			}
		}
		return bad / executions, good / executions, runs / executions
	}
	for _, stop := range []*StopRepeating{{new(0.9), new(0.5)}, {new(0.95), new(0.8)}, {new(0.999), new(0.6)},
		{new(0.6), new(0.3)}} {
		for _, better := range []float64{0, (1 - *stop.Good) / 2, 1 - *stop.Good} {
			bad, _, _ := play(stop, *stop.Good+better)
			require.LessOrEqual(t, bad, 0.002, "%v against %v", *stop.Good, *stop.Bad)
			_, good, _ := play(stop, *stop.Bad-better**stop.Bad)
			require.LessOrEqual(t, good, 0.05, "%v against %v", *stop.Good, *stop.Bad)
		}
	}
	bad, _, runs := play(&StopRepeating{new(0.9), new(0.5)}, 0.4)
	require.Greater(t, bad, 0.95, "bad tests are noticed")
	require.Less(t, runs, 11.0)
	_, good, runs := play(&StopRepeating{new(0.9), new(0.5)}, 1)
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
