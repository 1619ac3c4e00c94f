package model

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestWilsonMatchesPublishedData compares with the examples of Newcombe (1998), Statistics in Medicine 17, table I.
func TestWilsonMatchesPublishedData(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		passed, judged int32
		low, high      float64
	}{{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718}} {
		interval := wilson(test.passed, test.judged)
		require.InDelta(t, test.low, interval.Low, 5e-5)
		require.InDelta(t, test.high, interval.High, 5e-5)
		turned := wilson(test.judged-test.passed, test.judged)
		require.InDelta(t, 1-interval.Low, turned.High, 1e-12)
	}
	require.Nil(t, wilson(0, 0))
	require.Equal(t, float64(1), wilson(5, 5).High) //nolint:testifylint // exactly
}

// TestStratifiedTestMatchesPublishedData compares with the example of R's mantelhaen.test, which asks whether
// penicillin helps when given late: S = 16, and the exact p is 0.03994.
func TestStratifiedTestMatchesPublishedData(t *testing.T) {
	t.Parallel()
	var strata []passDistribution
	for _, s := range []struct{ curedLate, diedLate, cured, died int32 }{{0, 5, 0, 6}, {0, 6, 3, 3}, {2, 4, 6, 0},
		{6, 0, 5, 1}, {5, 0, 2, 0}} {
		strata = append(strata, newDistribution(ran(s.curedLate, s.diedLate), ran(s.cured, s.died)))
	}
	sum := sumDistributions(strata)
	require.Equal(t, 16, sum.observed)
	require.InDelta(t, 0.03994, sum.twoSided(), 5e-6)
}

func TestTwoSidedSpreadEqualsFisher(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int32Range(0, 40)
		base, head := ran(n.Draw(t, "passed before"), n.Draw(t, "failed before")),
			ran(n.Draw(t, "passed now"), n.Draw(t, "failed now"))
		s := newDistribution(base, head)
		// If both sides have the same number of runs, Fisher's p is twice the smaller of fall and rise.
		if base.Judged() == head.Judged() {
			require.InDelta(t, fisher(base.Passed, base.Failed, head.Passed, head.Failed), s.twoSided(), 1e-9)
		}
		require.InDelta(t, 1, s.falls[len(s.falls)-1], 1e-9)
		require.InDelta(t, s.rise(), s.turned().fall(), 1e-12)
		require.InDelta(t, s.rise(), newDistribution(head, base).fall(), 1e-9)
		require.InDelta(t, s.twoSided(), sumDistributions([]passDistribution{s}).twoSided(), 1e-12)
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		require.LessOrEqual(t, s.reached(p), p*rounding)
		require.InDelta(t, s.fall(), s.reached(s.fall()), 1e-8)
	})
}

func TestCorrectionsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int32Range(0, 6)
		var tests []passDistribution
		for range rapid.IntRange(1, 8).Draw(t, "tests") {
			base, head := ran(n.Draw(t, "passed before"), n.Draw(t, "failed before")),
				ran(n.Draw(t, "passed now"), n.Draw(t, "failed now"))
			tests = append(tests, newDistribution(base, head))
		}
		holm := AgentTestCorrectionHolm.corrected(tests)
		hochberg := AgentTestCorrectionBenjaminiHochberg.corrected(tests)
		for i, a := range tests {
			require.GreaterOrEqual(t, holm[i]*rounding, a.fall())
			require.GreaterOrEqual(t, hochberg[i], a.fall())
			// The values do not exceed those of Bonferroni, and have the same order.
			require.LessOrEqual(t, holm[i], a.fall()*float64(len(tests))*rounding)
			for j, b := range tests {
				if a.fall() < b.fall() {
					require.LessOrEqual(t, holm[i], holm[j]*rounding)
					require.LessOrEqual(t, hochberg[i], hochberg[j]*rounding)
				}
			}
		}
	})
	// A test that passed five of five runs now passes none: 49 other tests that always pass do not weaken this result.
	tests := []passDistribution{newDistribution(ran(5, 0), ran(0, 5))}
	for range 49 {
		tests = append(tests, newDistribution(ran(5, 0), ran(5, 0)))
	}
	require.InDelta(t, 1.0/252, AgentTestCorrectionHolm.corrected(tests)[0], 1e-12)
	// If the other tests can fall as far, the correction counts each of them.
	for i := 1; i < 50; i++ {
		tests[i] = newDistribution(ran(2, 3), ran(3, 2))
	}
	require.InDelta(t, 50.0/252, AgentTestCorrectionHolm.corrected(tests)[0], 1e-12)
	// If 20 tests fall as far, Benjamini and Hochberg finds all of them, and Holm none.
	for i := range 20 {
		tests[i] = newDistribution(ran(5, 0), ran(0, 5))
	}
	require.Greater(t, AgentTestCorrectionHolm.corrected(tests)[0], significantSide)
	require.LessOrEqual(t, AgentTestCorrectionBenjaminiHochberg.corrected(tests)[0], significantSide)
}

func TestDecidingRepeatsAreComputed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		base, head float64
		repeats    int32
	}{{1, 0, 4}, {1, 0.6, 16}, {1, 0.8, 39}, {0.5, 0.5, 0}, {0.9, 0.89, 0}, {0.6, 1, 16}, {0.9, 0.6, 36}} {
		repeats := decidingRepeats(test.base, test.head, 1)
		if test.repeats == 0 {
			require.Nil(t, repeats)
			continue
		}
		require.Equal(t, test.repeats, *repeats, "%v", test)
		higher, lower := max(test.base, test.head), min(test.base, test.head)
		require.Less(t, powerByCounting(higher, lower, test.repeats-1), decided, "%v", test)
		for n := test.repeats; n <= test.repeats+10; n++ {
			require.GreaterOrEqual(t, powerByCounting(higher, lower, n), decided, "%v by %d", test, n)
		}
	}
}

// powerByCounting adds the chances of all results of n runs on each side that are significant.
func powerByCounting(higher, lower float64, n int32) (power float64) {
	chance := func(rate float64, passed int32) float64 {
		return binomial(n, passed) * math.Pow(rate, float64(passed)) * math.Pow(1-rate, float64(n-passed))
	}
	for more := range n + 1 {
		for fewer := range n + 1 {
			base := &AgentTestRunCounts{Passed: more, Failed: n - more}
			head := &AgentTestRunCounts{Passed: fewer, Failed: n - fewer}
			if newDistribution(base, head).fall() <= significantSide*rounding {
				power += chance(higher, more) * chance(lower, fewer)
			}
		}
	}
	return power
}

// suite returns the pass rates of tests. Some tests always pass, others are flaky.
func suite(random *rand.Rand, tests int) []float64 {
	chances := make([]float64, tests)
	for i := range chances {
		chances[i] = []float64{1, 0.95, 0.8, 0.6, 0.5}[random.IntN(5)]
	}
	return chances
}

func runs(random *rand.Rand, chance float64, repeats int) *AgentTestRunCounts {
	var counts AgentTestRunCounts
	for range repeats {
		if counts.Total++; random.Float64() < chance {
			counts.Passed++
		} else {
			counts.Failed++
		}
	}
	return &counts
}

// compared runs a suite twice. In the second run, the first tests have a new pass rate, the argument now. fallen is the
// number of these tests.
func compared(random *rand.Rand, before []float64, bases, repeats, fallen int, now float64,
	correction AgentTestCorrection) *AgentTestComparison {
	c := &AgentTestComparison{BaseCounts: &AgentTestRunCounts{}, HeadCounts: &AgentTestRunCounts{}, Correction: correction}
	for i, chance := range before {
		test := &AgentTestComparisonTest{Base: runs(random, chance, bases*repeats)}
		if i < fallen {
			chance = now
		}
		test.Head = runs(random, chance, repeats)
		c.BaseCounts.addCounts(test.Base)
		c.HeadCounts.addCounts(test.Head)
		c.Tests = append(c.Tests, test)
	}
	conclude(c.Correction, c)
	return c
}

// TestUnchangedSuiteIsRarelyCalledWorse simulates suites in which nothing changed, and counts those that the gate
// of "agentgraph test run --baseline" would stop.
func TestUnchangedSuiteIsRarelyCalledWorse(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ tests, bases, repeats, suites int }{
		{20, 1, 5, 400}, {20, 3, 5, 400}, {200, 1, 5, 60},
	} {
		for _, correction := range AllAgentTestCorrection {
			t.Run(fmt.Sprintf("%d tests, %d times %d runs, %s", size.tests, size.bases, size.repeats, correction),
				func(t *testing.T) {
					t.Parallel()
					random, alarms := rand.New(rand.NewPCG(2, uint64(size.tests))), 0
					for range size.suites {
						c := compared(random, suite(random, size.tests), size.bases, size.repeats, 0, 0, correction)
						if c.isRegressed() {
							alarms++
						}
					}
					require.LessOrEqual(t, float64(alarms)/float64(size.suites), significant)
				})
		}
	}
}

// TestRegressionOfOneTestIsFound checks the statistical power that docs/reference/judging.md states.
func TestRegressionOfOneTestIsFound(t *testing.T) {
	t.Parallel()
	random, found := rand.New(rand.NewPCG(2, 2)), 0
	for range 100 {
		before := suite(random, 20)
		before[0] = 1
		c := compared(random, before, 1, 20, 1, 0.6, AgentTestCorrectionHolm)
		if c.Tests[0].Conclusion == AgentTestConclusionRegressed {
			found++
		}
	}
	require.GreaterOrEqual(t, found, 60)
}

// isRegressed is the decision of the gate.
func (c *AgentTestComparison) isRegressed() bool {
	return c.Conclusion == AgentTestConclusionRegressed ||
		slices.ContainsFunc(c.Tests, func(test *AgentTestComparisonTest) bool {
			return test.Conclusion == AgentTestConclusionRegressed
		})
}

// The corrections sum over groups of tests with equal runs. They still agree with their definitions.
func TestCorrectionsCountEachTest(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 5))
	for range 20 {
		tests := make([]passDistribution, 60)
		for i := range tests {
			tests[i] = newDistribution(ran(random.Int32N(3), 1+random.Int32N(2)), ran(1+random.Int32N(2), random.Int32N(3)))
		}
		order := make([]int, len(tests))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(tests[a].fall(), tests[b].fall()) })
		most, least, holm, hochberg := 0.0, 1.0, make([]float64, len(tests)), make([]float64, len(tests))
		can := make([]bool, len(tests))
		for rank, i := range order {
			sum := 0.0
			for _, other := range order[rank:] {
				sum += tests[other].reached(tests[i].fall())
			}
			most = max(most, min(1, sum))
			holm[i] = most
		}
		for rank := len(order); rank > 0; rank-- {
			i, sum := order[rank-1], 0.0
			for _, other := range tests {
				sum += other.reached(tests[i].fall())
			}
			least = min(least, sum/(1-significantSide)/float64(rank))
			hochberg[i] = max(tests[i].fall(), least)
		}
		for i, test := range tests {
			rarest := test.minFall
			sum := rarest
			for j, other := range tests {
				if j != i {
					sum += other.reached(rarest)
				}
			}
			can[i] = sum <= significantSide*rounding
		}
		require.InDeltaSlice(t, holm, AgentTestCorrectionHolm.corrected(tests), 1e-9)
		require.InDeltaSlice(t, hochberg, AgentTestCorrectionBenjaminiHochberg.corrected(tests), 1e-9)
		require.Equal(t, can, decidable(tests))
	}
}
