package model

import "math"

// noticed is the chance with which a fall must be found to count as noticed.
const noticed = 0.9

// NoticedRate returns the highest pass rate, in tenths, to which a test that always passed can fall so that a
// comparison of two executions with these repeats notices it in nine of ten cases. It returns false if no fall is
// noticed.
func NoticedRate(repeats int32) (rate float64, ok bool) {
	fails := int32(1)
	for fails <= repeats && fallsByChance(repeats, fails) > significantSide*rounding {
		fails++
	}
	if fails > repeats {
		return 0, false
	}
	for tenths := 9; tenths >= 0; tenths-- {
		rate, chance := float64(tenths)/10, 0.0
		for n := fails; n <= repeats; n++ {
			chance += binomial(repeats, n) * math.Pow(1-rate, float64(n)) * math.Pow(rate, float64(repeats-n))
		}
		if chance >= noticed {
			return rate, true
		}
	}
	return 0, false
}

// fallsByChance is the one-sided p-value of Fisher's exact test for the number of failed runs, if none failed before.
func fallsByChance(repeats, fails int32) float64 {
	return binomial(repeats, fails) / binomial(2*repeats, fails)
}

// binomial returns the number of ways to choose k of n.
func binomial(n, k int32) float64 {
	ways := 1.0
	for i := range k {
		ways *= float64(n-i) / float64(i+1)
	}
	return ways
}
