package model

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"sort"
)

const (
	// significant is the highest p-value that counts as a difference.
	significant = 0.05
	// significantSide is the half of the significance level for a drop. The other half is for a rise.
	significantSide = significant / 2
	// normalSide and normalPower are the quantiles of the normal distribution at 97.5 % and 80 %.
	normalSide  = 1.959963984540054
	normalPower = 0.8416212335729143
	// maxDecidingRepeats bounds the repeats that are worth planning: five executions with the most repeats.
	maxDecidingRepeats = 100
)

// RateInterval is a confidence interval of a rate, from 0 to 1.
type RateInterval struct {
	Low  float64
	High float64
}

// wilson returns Wilson's score interval at 95 %, or nil if nothing was counted.
func wilson(passed, judged int32) *RateInterval {
	if judged == 0 {
		return nil
	}
	n, rate, z2 := float64(judged), float64(passed)/float64(judged), normalSide*normalSide
	middle := (rate + z2/(2*n)) / (1 + z2/n)
	half := normalSide / (1 + z2/n) * math.Sqrt(rate*(1-rate)/n+z2/(4*n*n))
	interval := &RateInterval{Low: max(0, middle-half), High: min(1, middle+half)}
	// Floating-point rounding would move the ends slightly away from 0 and 1.
	if passed == 0 {
		interval.Low = 0
	}
	if passed == judged {
		interval.High = 1
	}
	return interval
}

// studentSide returns the quantile of Student's t-distribution at 97.5 %, by the expansion of Fisher and Cornish
// (1960).
func studentSide(freedom float64) float64 {
	const z = normalSide
	return z + z*(z*z+1)/(4*freedom) + z*((5*z*z+16)*z*z+3)/(96*freedom*freedom)
}

// fisher returns the two-sided p-value of Fisher's exact test for equal chances to pass on both sides. The number of
// runs on each side and the total number of passed runs are given. The p-value is the probability of the observed
// result and of all results that are no more likely. It computes with integers, so that only the result is rounded.
func fisher(passedA, failedA, passedB, failedB int32) float64 {
	a, b, passed := int64(passedA+failedA), int64(passedB+failedB), int64(passedA+passedB)
	lowest, highest := max(0, passed-b), min(a, passed)
	// ways[i] is the number of ways in which lowest+i runs of A passed.
	ways := make([]*big.Int, highest-lowest+1)
	ways[0] = new(big.Int).Mul(new(big.Int).Binomial(a, lowest), new(big.Int).Binomial(b, passed-lowest))
	for i := 1; i < len(ways); i++ {
		inA := lowest + int64(i)
		next := new(big.Int).Mul(ways[i-1], big.NewInt((a-inA+1)*(passed-inA+1)))
		ways[i] = next.Quo(next, big.NewInt(inA*(b-passed+inA)))
	}
	seen, sum := ways[int64(passedA)-lowest], new(big.Int)
	for _, n := range ways {
		if n.Cmp(seen) <= 0 {
			sum.Add(sum, n)
		}
	}
	p, _ := new(big.Rat).SetFrac(sum, new(big.Int).Binomial(a+b, passed)).Float64()
	return p
}

// passDistribution is the distribution of the number of passed runs of the head if the sides do not differ. The number
// of runs on each side and the total number of passed runs are given. For one test it is hypergeometric. For a suite it
// is the sum of its tests' distributions, so that each test is compared only with itself. That is the exact form of
// Cochran, Mantel and Haenszel's test.
type passDistribution struct {
	// lowest is the smallest possible number, and observed is the observed one.
	lowest, observed int
	// chances are the probabilities of lowest, lowest+1 and so on.
	chances []float64
	// falls and rises are the probabilities of at most and of at least each number.
	falls, rises []float64
	// minFall and minRise are the smallest probabilities of a fall and of a rise. If no run passed, minRise assumes
	// instead that all runs of the head passed. If all runs passed, minFall assumes that all runs of the head failed.
	minFall, minRise float64
	// identity identifies the distribution of a test: the numbers of its runs in the base, of those in the head, and of
	// all passed ones. conclude gives each sum a negative number of its own.
	identity [3]int
}

func newDistribution(base, head *AgentTestRunCounts) passDistribution {
	ofBase, ofHead, passed := int(base.Judged()), int(head.Judged()), int(base.Passed+head.Passed)
	lowest, highest := max(0, passed-ofBase), min(ofHead, passed)
	all := logChoose(ofBase+ofHead, passed)
	chances := make([]float64, highest-lowest+1)
	for i := range chances {
		chances[i] = math.Exp(logChoose(ofHead, lowest+i) + logChoose(ofBase, passed-lowest-i) - all)
	}
	s := passDistribution{lowest: lowest, observed: int(head.Passed), chances: chances,
		identity: [3]int{ofBase, ofHead, passed}}
	s.accumulate()
	s.minFall, s.minRise = s.chances[0], s.chances[len(chances)-1]
	if other := math.Exp(-logChoose(ofBase+ofHead, ofHead)); passed == 0 {
		s.minRise = other
	} else if passed == ofBase+ofHead {
		s.minFall = other
	}
	return s
}

func logChoose(n, k int) float64 {
	all, _ := math.Lgamma(float64(n + 1))
	chosen, _ := math.Lgamma(float64(k + 1))
	left, _ := math.Lgamma(float64(n - k + 1))
	return all - chosen - left
}

// accumulate sums the probabilities from either end, so that small ones are not lost next to large ones.
func (s *passDistribution) accumulate() {
	s.falls, s.rises = make([]float64, len(s.chances)), make([]float64, len(s.chances))
	fall, rise := 0.0, 0.0
	for i := range s.chances {
		last := len(s.chances) - 1 - i
		fall, rise = fall+s.chances[i], rise+s.chances[last]
		s.falls[i], s.rises[last] = min(1, fall), min(1, rise)
	}
}

func sumDistributions(tests []passDistribution) passDistribution {
	sum := passDistribution{chances: []float64{1}, minFall: 1, minRise: 1}
	for _, s := range tests {
		next := make([]float64, len(sum.chances)+len(s.chances)-1)
		for i, a := range sum.chances {
			for j, b := range s.chances {
				next[i+j] += a * b
			}
		}
		sum = passDistribution{lowest: sum.lowest + s.lowest, observed: sum.observed + s.observed, chances: next,
			minFall: sum.minFall * s.minFall, minRise: sum.minRise * s.minRise}
	}
	sum.accumulate()
	return sum
}

// fall and rise are the probabilities that at most, or at least, the observed number of runs of the head pass.
func (s passDistribution) fall() float64 { return s.falls[s.observed-s.lowest] }
func (s passDistribution) rise() float64 { return s.rises[s.observed-s.lowest] }

// twoSided is twice the smaller of fall and rise.
func (s passDistribution) twoSided() float64 { return min(1, 2*min(s.fall(), s.rise())) }

// rounding is the maximum ratio of two sums of the same probabilities, which can differ by rounding errors.
const rounding = 1 + 1e-9

// reached returns the highest probability of a fall that is at most p, or 0 if there is none. That is the chance to see
// a p-value of at most p if the sides do not differ.
func (s passDistribution) reached(p float64) float64 {
	if n := sort.Search(len(s.falls), func(i int) bool { return s.falls[i] > p*rounding }); n > 0 {
		return s.falls[n-1]
	}
	return 0
}

// turned returns the distribution with fall and rise exchanged.
func (s passDistribution) turned() passDistribution {
	t := passDistribution{lowest: 0, observed: s.lowest + len(s.chances) - 1 - s.observed,
		minFall: s.minRise, minRise: s.minFall, identity: s.identity}
	t.chances, t.falls, t.rises = slices.Clone(s.chances), slices.Clone(s.rises), slices.Clone(s.falls)
	slices.Reverse(t.chances)
	slices.Reverse(t.falls)
	slices.Reverse(t.rises)
	return t
}

// distributionGroup counts the tests with the same distribution. Even thousands of rows have few distributions, so sums
// over all tests are computed over these.
type distributionGroup struct {
	passDistribution
	tests int
}

func groupDistributions(tests []passDistribution) (kinds []*distributionGroup, kindOf []*distributionGroup) {
	known := map[[3]int]*distributionGroup{}
	kindOf = make([]*distributionGroup, len(tests))
	for i, test := range tests {
		kind := known[test.identity]
		if kind == nil {
			kind = &distributionGroup{passDistribution: test}
			known[test.identity], kinds = kind, append(kinds, kind)
		}
		kind.tests++
		kindOf[i] = kind
	}
	return kinds, kindOf
}

// expectedBelow returns an upper bound of the expected number of tests with a p-value of at most p, if the sides do not
// differ.
func expectedBelow(kinds []*distributionGroup, p float64) (sum float64) {
	for _, kind := range kinds {
		sum += float64(kind.tests) * kind.reached(p)
	}
	return sum
}

// corrected returns the p-value of a fall of each test, corrected for the number of tests. The correction is discrete:
// a test with few runs has few possible p-values. So each other test counts only by its chance of reaching so small a
// p-value.
func (c AgentTestCorrection) corrected(tests []passDistribution) []float64 {
	order := make([]int, len(tests))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(tests[a].fall(), tests[b].fall()) })
	result := make([]float64, len(tests))
	kinds, kindOf := groupDistributions(tests)
	sum := 0.0
	if c == AgentTestCorrectionBenjaminiHochberg {
		// The step-up procedure of Döhler, Durand and Roquain (2018) for discrete p-values.
		least := 1.0
		for rank := len(order); rank > 0; rank-- {
			p := tests[order[rank-1]].fall()
			if rank == len(order) || p != tests[order[rank]].fall() {
				sum = expectedBelow(kinds, p)
			}
			least = min(least, sum/(1-significantSide)/float64(rank))
			result[order[rank-1]] = max(p, least)
		}
		return result
	}
	// Holm's step-down procedure for discrete p-values, by Westfall and Wolfinger (1997): tests with a smaller p-value do
	// not count. Of equal p-values the first has the highest sum, which applies to all of them.
	most := 0.0
	for rank, i := range order {
		if p := tests[i].fall(); rank == 0 || p != tests[order[rank-1]].fall() {
			most = max(most, min(1, expectedBelow(kinds, p)))
		}
		result[i] = most
		kindOf[i].tests--
	}
	return result
}

// decidable reports for each test whether its number of runs could show a significant fall among all of the tests.
func decidable(tests []passDistribution) []bool {
	kinds, kindOf := groupDistributions(tests)
	can := make(map[*distributionGroup]bool, len(kinds))
	for _, kind := range kinds {
		rarest := kind.minFall
		kind.tests-- // without the test itself
		can[kind] = rarest+expectedBelow(kinds, rarest) <= significantSide*rounding
		kind.tests++
	}
	each := make([]bool, len(tests))
	for i, kind := range kindOf {
		each[i] = can[kind]
	}
	return each
}

// decidingRepeats returns how many runs of a test on each side would show the difference in four of five cases. So does
// each larger number. It returns nil if the rates are equal, or if the number exceeds maxDecidingRepeats. comparisons
// is the number of comparisons with the same base.
func decidingRepeats(base, head float64, comparisons int) *int32 {
	const margin = 5 // of the approximation
	mean := (base + head) / 2
	about := repeatsFor(head-base, 2*mean*(1-mean), base*(1-base)+head*(1-head), 2*maxDecidingRepeats, comparisons)
	if about == nil {
		return nil
	}
	n, higher, lower := min(*about, maxDecidingRepeats)+margin, max(base, head), min(base, head)
	for n > 1 && noticedDifference(higher, lower, n-1, comparisons) >= decided {
		n--
	}
	if n > maxDecidingRepeats {
		return nil
	}
	return &n
}

// decidingRepeatsOfAll returns about how many runs would show the overall difference of all tests. It returns the
// number of runs of each test, or nil if the number exceeds MaxRepeats. The variance of the sum is the sum of the
// tests' variances.
func decidingRepeatsOfAll(tests []*AgentTestComparisonTest, comparisons int) *int32 {
	var difference, same, different float64
	for _, test := range tests {
		if !test.isJudged() {
			continue
		}
		base, head := *test.Base.PassRate(), *test.Head.PassRate()
		mean := (base + head) / 2
		difference += head - base
		same += 2 * mean * (1 - mean)
		different += base*(1-base) + head*(1-head)
	}
	return repeatsFor(difference, same, different, MaxRepeats, comparisons)
}

// repeatsFor returns the sample size that shows a difference. same is the variance of a pair of runs without a change,
// and different the variance of a pair with a change. It includes the correction of Casagrande, Pike and Smith (1978)
// for exact tests, and Bonferroni's for the number of comparisons. It returns nil if the size exceeds the limit.
func repeatsFor(difference, same, different, limit float64, comparisons int) *int32 {
	difference = math.Abs(difference)
	if difference < 1e-9 { // a rounding error of zero
		return nil
	}
	side := math.Sqrt2 * math.Erfinv(1-significant/float64(comparisons))
	root := side*math.Sqrt(same) + normalPower*math.Sqrt(different)
	n := root * root / (difference * difference)
	n = math.Ceil(n / 4 * math.Pow(1+math.Sqrt(1+4/(n*difference)), 2))
	if n > limit {
		return nil
	}
	return new(int32(n))
}
