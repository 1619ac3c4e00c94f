package model

// noticed is the minimum probability of detecting a drop of the pass rate. A comparison that reaches it notices the
// drop.
const noticed = 0.9

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
