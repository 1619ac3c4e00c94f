package model

import "math"

// noticed is the minimum probability of detecting a drop of the pass rate. A comparison that reaches it notices the
// drop.
const noticed = 0.9

// decided is the probability with which the suggested number of runs decides a comparison.
const decided = 0.8

// NoticedRate returns the highest pass rate below 1 that a comparison calls a drop from 1 in nine of ten cases. Only
// multiples of 0.1 are tried. The test passed base times before. It now runs repeats times, or until stop decides; a
// nil stop never decides. The comparison is one of several with the same base. NoticedRate returns false if it detects
// no drop.
func NoticedRate(base, repeats int32, stop *StopRepeating, comparisons int) (rate float64, ok bool) {
	for tenths := 9; tenths >= 0; tenths-- {
		rate := float64(tenths) / 10
		if noticedAt(rate, base, repeats, stop, comparisons) >= noticed {
			return rate, true
		}
	}
	return 0, false
}

// noticedAt returns the probability that a comparison detects a drop of the pass rate from 1 to the given rate.
func noticedAt(rate float64, base, repeats int32, stop *StopRepeating, comparisons int) float64 {
	// chances[n] is the probability that n runs failed and that the test is not decided yet.
	chances, sum := []float64{1}, 0.0
	for runs := int32(0); len(chances) > 0; runs++ {
		next := make([]float64, len(chances)+1)
		for failed, chance := range chances {
			failed := int32(failed)
			switch {
			case chance == 0:
			case runs < repeats && (stop == nil || !stop.IsDecided(runs-failed, failed)):
				next[failed] += chance * rate
				next[failed+1] += chance * (1 - rate)
			case fallsByChance(base, runs, failed) <= significantSide/float64(comparisons)*rounding:
				sum += chance
			}
		}
		if runs == repeats {
			break
		}
		chances = next
	}
	return sum
}

// fallsByChance is the one-sided p-value of Fisher's exact test for the number of failed runs, if none failed before.
func fallsByChance(base, runs, failed int32) float64 {
	return binomial(runs, failed) / binomial(base+runs, failed)
}

// noticedDifference returns the probability that a comparison of n runs on each side, with these pass rates, finds the
// difference. The comparison is one of several with the same base.
func noticedDifference(higher, lower float64, n int32, comparisons int) float64 {
	ways, all := binomials(n), binomials(2*n)
	chance := func(rate float64, passed int32) float64 {
		return ways[passed] * math.Pow(rate, float64(passed)) * math.Pow(1-rate, float64(n-passed))
	}
	// isFall reports whether the one-sided p-value of Fisher's exact test is small enough.
	isFall := func(more, fewer int32) bool {
		sum := 0.0
		for k := max(0, more+fewer-n); k <= fewer; k++ {
			sum += ways[k] * ways[more+fewer-k]
		}
		return sum/all[more+fewer] <= significantSide/float64(comparisons)*rounding
	}
	found, below := 0.0, 0.0 // below is the chance that the lower side has one of the first numbers
	fewer := int32(0)
	for more := range n + 1 {
		for ; fewer < more && isFall(more, fewer); fewer++ {
			below += chance(lower, fewer)
		}
		found += chance(higher, more) * below
	}
	return found
}

// binomials returns the numbers of ways to choose 0 to n of n.
func binomials(n int32) []float64 {
	ways := []float64{1}
	for k := range n {
		ways = append(ways, ways[k]*float64(n-k)/float64(k+1))
	}
	return ways
}

// binomial returns the number of ways to choose k of n.
func binomial(n, k int32) float64 {
	ways := 1.0
	for i := range k {
		ways *= float64(n-i) / float64(i+1)
	}
	return ways
}

// RunsIfPassing returns how many runs of a test are made if all of them pass.
func (s *StopRepeating) RunsIfPassing(repeats int32) int32 {
	for runs := range repeats {
		if s != nil && s.IsDecided(runs, 0) {
			return runs
		}
	}
	return repeats
}
