package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// simulatedGate simulates a suite whose tests have these pass rates, against a new baseline of the same number of runs
// of each test. fall changes the rates. It returns whether the gate fails, and the number of runs except those of the
// baseline.
func simulatedGate(random *rand.Rand, rates []float64, fall func(i int, rate float64) float64, base int32,
	stop *StopRepeating) (isAlarm bool, runs int32) {
	c := &AgentTestComparison{Correction: AgentTestCorrectionHolm, BaseCounts: ran(0, 0), HeadCounts: ran(0, 0)}
	for i, rate := range rates {
		test := &AgentTestComparisonTest{Base: ran(0, 0), Head: ran(0, 0)}
		for test.Base.Judged() < base {
			play(random, test.Base, rate)
		}
		for test.Head.Judged() < MaxRepeats &&
			(stop == nil || !stop.IsDecided(test.Head.Passed, test.Head.Failed)) {
			play(random, test.Head, fall(i, rate))
		}
		c.Tests, runs = append(c.Tests, test), runs+test.Head.Judged()
		c.BaseCounts.addCounts(test.Base)
		c.HeadCounts.addCounts(test.Head)
	}
	conclude(c.Correction, c)
	return c.Conclusion == AgentTestConclusionRegressed ||
		slices.ContainsFunc(c.Tests, func(test *AgentTestComparisonTest) bool {
			return test.Conclusion == AgentTestConclusionRegressed
		}), runs
}

func play(random *rand.Rand, counts *AgentTestRunCounts, rate float64) {
	if counts.Total++; random.Float64() < rate {
		counts.Passed++
		return
	}
	counts.Failed++
}

// suiteOf returns the pass rates of a suite: the tests have the given rates in turn.
func suiteOf(tests int, rates ...float64) (suite []float64) {
	for i := range tests {
		suite = append(suite, rates[i%len(rates)])
	}
	return suite
}

// A gate that stops tests early raises false alarms in at most 5 % of the suites that did not change. The bound leaves
// three standard errors of the simulation. When tests also stopped as bad, the rate was up to 14 %.
func TestGatesThatStopEarlyRarelyRaiseFalseAlarms(t *testing.T) {
	t.Parallel()
	suites, bound, sizes := 500, 0.08, []int{40}
	if *showSimulation {
		suites, bound, sizes = 4000, 0.06, []int{5, 20, 40}
	}
	stop := &StopRepeating{new(0.9), new(0.5)}
	for _, base := range []int32{MaxRepeats, 5} {
		for _, rates := range [][]float64{{0.5}, {0.8}, {0.95}, {1}, {1, 0.95, 0.8, 0.5}} {
			for _, tests := range sizes {
				var line string
				for _, s := range []*StopRepeating{stop, nil} {
					if s == nil && !*showSimulation {
						continue
					}
					alarms, runs := simulatedGates(suites, suiteOf(tests, rates...), unchanged, base, s)
					found := wilson(int32(alarms), int32(suites))
					line += fmt.Sprintf(" | %.1f %% (%.1f to %.1f), %.1f runs", float64(alarms)/float64(suites)*100, found.Low*100,
						found.High*100, runs)
					require.LessOrEqual(t, float64(alarms), float64(suites)*bound, "%d tests of %v, a baseline of %d", tests, rates,
						base)
				}
				if *showSimulation {
					fmt.Printf("baseline of %d, %d tests of %v%s\n", base, tests, rates, line)
				}
			}
		}
	}
}

func unchanged(_ int, rate float64) float64 { return rate }

func simulatedGates(suites int, rates []float64, fall func(i int, rate float64) float64, base int32,
	stop *StopRepeating) (alarms int, runs float64) {
	random := rand.New(rand.NewPCG(1, 1))
	for range suites {
		isAlarm, n := simulatedGate(random, rates, fall, base, stop)
		if runs += float64(n) / float64(len(rates)*suites); isAlarm {
			alarms++
		}
	}
	return alarms, runs
}

// A gate that stops early notices nearly what all 20 runs of each test notice.
func TestGatesThatStopEarlyNoticeFalls(t *testing.T) {
	t.Parallel()
	const suites = 500
	one := func(to float64) func(i int, rate float64) float64 {
		return func(i int, rate float64) float64 {
			if i == 0 {
				return rate * to
			}
			return rate
		}
	}
	all := func(to float64) func(i int, rate float64) float64 {
		return func(_ int, rate float64) float64 { return rate * to }
	}
	for name, test := range map[string]struct {
		rates []float64
		fall  func(i int, rate float64) float64
		least float64
	}{
		"one of 30 falls to 60 %":           {suiteOf(30, 1), one(0.6), 0.85},
		"all of 30 fall to 90 %":            {suiteOf(30, 1), all(0.9), 0.99},
		"one of 20 at 80 % falls to 8 %":    {suiteOf(20, 0.8), one(0.1), 0.95},
		"a mixed suite of 20 falls by 20 %": {suiteOf(20, 1, 0.95, 0.8, 0.5), all(0.8), 0.95},
	} {
		found, runs := simulatedGates(suites, test.rates, test.fall, MaxRepeats, &StopRepeating{new(0.9), new(0.5)})
		require.GreaterOrEqual(t, float64(found), suites*test.least, name)
		if *showSimulation {
			every, _ := simulatedGates(suites, test.rates, test.fall, MaxRepeats, nil)
			fmt.Printf("%s: found in %d of %d, in %.1f runs of each test; by all 20 runs, in %d\n", name, found, suites, runs,
				every)
		}
	}
}
