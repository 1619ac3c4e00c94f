package model

import (
	"math"
	"slices"
)

// judgeCells is the number of kinds of verdicts on runs: each of clearFail to clearPass.
const judgeCells = 4

// Kinds of verdicts on runs.
const (
	clearFail = iota
	doubtfulFail
	doubtfulPass
	clearPass
)

const (
	// jeffreys is the weight of the priors in runs. The prior of the target's rate is Jeffreys': as many good and bad
	// runs. Other rates have no prior, because many of them would outweigh the labels. The priors of verdicts have the
	// shares of all verdicts, as if the judge could not tell good runs from bad ones. So verdicts show only what labels
	// prove that they show.
	jeffreys = 0.5
	// convergence is the expected gain of logarithmic likelihood below which the search for the most likely model ends.
	convergence = 1e-8
	// maxClimbs bounds that search, bisections the search for the end of an interval, and maxGroups the size of a model.
	maxClimbs, bisections, maxGroups = 500, 12, 5
)

// judgedRuns counts the runs of an execution or of a group of executions, by the kind of the judge's verdict.
type judgedRuns struct {
	// unlabeled are runs whose true result is unknown.
	unlabeled [judgeCells]float64
	// failed and passed are runs that failed and passed according to people.
	failed, passed [judgeCells]float64
}

// add adds the counts of others.
func (r *judgedRuns) add(others *judgedRuns) {
	for g := range judgeCells {
		r.unlabeled[g] += others.unlabeled[g]
		r.failed[g] += others.failed[g]
		r.passed[g] += others.passed[g]
	}
}

// count returns the number of labeled runs with a kind of verdict, and of all runs with it.
func (r *judgedRuns) count(kind int) (labeled, all float64) {
	labeled = r.passed[kind] + r.failed[kind]
	return labeled, labeled + r.unlabeled[kind]
}

// grouped returns the first execution, and the others as at most maxGroups groups. The share of runs that the judge
// passed is similar in the executions of a group, so the share of good runs is, too. With a rate for each of many
// executions, intervals would be too narrow (Neyman and Scott 1948), and the search slow.
func grouped(runs []judgedRuns) []judgedRuns {
	if len(runs) <= 1+maxGroups {
		return runs
	}
	groups, indexes := runs[:1:1], map[int]int{}
	for i := range runs[1:] {
		one, counts := &runs[1+i], [judgeCells]float64{}
		for kind := range counts {
			_, counts[kind] = one.count(kind)
		}
		passed := counts[doubtfulPass] + counts[clearPass]
		share := passed / (passed + counts[doubtfulFail] + counts[clearFail])
		key := min(maxGroups-1, int(maxGroups*share))
		if indexes[key] == 0 {
			indexes[key], groups = len(groups), append(groups, judgedRuns{})
		}
		groups[indexes[key]].add(one)
	}
	return groups
}

// judgeModel is a model of how judges decide. It has the distribution of verdicts on good runs and the one on bad runs,
// which are the same in all executions, and then the share of good runs in each group.
type judgeModel []float64

// firstRate is the index of the target's share of good runs.
const firstRate = 2 * judgeCells

func (m judgeModel) parts() (onGood, onBad, rates []float64) {
	return m[:judgeCells], m[judgeCells:firstRate], m[firstRate:]
}

// judgeSearch searches for the most likely model of runs. The runs of the target are first.
type judgeSearch struct {
	runs []judgedRuns
	// prior is added to the counts of verdicts on good runs, and of verdicts on bad runs.
	prior [judgeCells]float64
	// at is the point of the search: the logarithms of the chances of verdicts, up to a constant, and the log-odds of
	// the rates.
	at []float64
	// inverse approximates the inverse of the negative second derivatives.
	inverse [][]float64
}

// model returns the model at the point of the search.
func (s *judgeSearch) model() judgeModel {
	m := make(judgeModel, len(s.at))
	onGood, onBad, rates := m.parts()
	for i, x := range s.at {
		m[i] = math.Exp(x)
	}
	toShares(onGood)
	toShares(onBad)
	for i := range rates {
		rates[i] /= 1 + rates[i]
	}
	return m
}

// climb moves to the most likely model, and returns its logarithmic likelihood. It uses the quasi-Newton method of
// Broyden, Fletcher, Goldfarb and Shanno (1970).
func (s *judgeSearch) climb() float64 {
	likely, slope := s.evaluate()
	for range maxClimbs {
		from, step := s.at, make([]float64, len(s.at))
		for i, row := range s.inverse {
			step[i] = dot(row, slope)
		}
		gain, length := dot(step, slope), min(1, 4/math.Sqrt(dot(step, step)))
		next, nextSlope := likely, slope
		for halved := 0; halved < 30 && gain >= convergence; halved++ {
			s.at = addScaled(from, length, step)
			if next, nextSlope = s.evaluate(); next >= likely+length*gain/1000 {
				break
			}
			length /= 2
		}
		if !(next > likely) {
			s.at = from
			break
		}
		s.bend(addScaled(s.at, -1, from), addScaled(slope, -1, nextSlope))
		likely, slope = next, nextSlope
	}
	return likely
}

// bend updates the inverse after a step that changed the slope by -fell.
func (s *judgeSearch) bend(step, fell []float64) {
	size, image := dot(step, fell), make([]float64, len(step))
	if size <= 0 {
		return
	}
	for i, row := range s.inverse {
		image[i] = dot(row, fell)
	}
	factor := (1 + dot(fell, image)/size) / size
	for i, row := range s.inverse {
		for j := range row {
			row[j] += factor*step[i]*step[j] - (image[i]*step[j]+step[i]*image[j])/size
		}
	}
}

// fixRate makes the search keep the target's rate.
func (s *judgeSearch) fixRate() {
	fixed := slices.Clone(s.inverse[firstRate])
	for i, row := range s.inverse {
		for j := range row {
			row[j] -= fixed[i] * fixed[j] / fixed[firstRate]
		}
		row[firstRate] = 0
	}
	clear(s.inverse[firstRate])
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// addScaled returns a + n*b.
func addScaled(a []float64, n float64, b []float64) []float64 {
	sum := make([]float64, len(a))
	for i := range a {
		sum[i] = a[i] + n*b[i]
	}
	return sum
}

// evaluate returns the logarithm of the probability of the runs and of the priors, with its derivatives. A derivative
// is the difference between the counts that are expected given the verdicts and given the model alone.
func (s *judgeSearch) evaluate() (likely float64, slope judgeModel) {
	m := s.model()
	slope = make(judgeModel, len(m))
	onGood, onBad, rates := m.parts()
	good, bad, byRate := slope.parts()
	add := func(n, chance float64) {
		if n > 0 {
			likely += n * math.Log(chance)
		}
	}
	copy(good, s.prior[:])
	copy(bad, s.prior[:])
	for g := range judgeCells {
		add(s.prior[g], onGood[g]*onBad[g])
	}
	add(jeffreys, rates[0]*(1-rates[0]))
	weight := jeffreys
	for i, rate := range rates {
		runs, allGood, all := &s.runs[i], weight, 2*weight
		for g := range judgeCells {
			isGood, isBad, part := rate*onGood[g], (1-rate)*onBad[g], 0.0
			if isGood+isBad > 0 {
				part = isGood / (isGood + isBad)
			}
			nowGood, nowBad := runs.passed[g]+runs.unlabeled[g]*part, runs.failed[g]+runs.unlabeled[g]*(1-part)
			good[g], bad[g] = good[g]+nowGood, bad[g]+nowBad
			allGood, all = allGood+nowGood, all+nowGood+nowBad
			add(runs.passed[g], isGood)
			add(runs.failed[g], isBad)
			add(runs.unlabeled[g], isGood+isBad)
		}
		byRate[i], weight = allGood-all*rate, 0
	}
	allGood, allBad := sum(good), sum(bad)
	for g := range judgeCells {
		good[g], bad[g] = good[g]-allGood*onGood[g], bad[g]-allBad*onBad[g]
	}
	return likely, slope
}

func sum(counts []float64) (total float64) {
	for _, n := range counts {
		total += n
	}
	return total
}

// toShares divides the counts by their sum.
func toShares(counts []float64) {
	all := sum(counts)
	for g := range counts {
		counts[g] /= all
	}
}

// correctedRate returns the share of good runs in the first execution and its 95 % interval. The other executions show
// how often the judge errs. With labeled runs of the first execution alone, the share comes from double sampling
// (Tenenbein 1970). With labeled runs of others alone, it is the estimate of Rogan and Gladen (1978). The interval has
// the rates whose profile likelihood is high enough, as in Venzon and Moolgavkar (1988). Few labels make it wider, by
// the t-distribution of Student (1908).
func correctedRate(runs []judgedRuns) (float64, RateInterval) {
	search, labeled := searchIn(grouped(runs))
	side := studentSide(max(1, labeled-1))
	most, best := search.climb(), search.at
	rate := search.model()[firstRate]
	search.fixRate()
	end := func(bound float64) float64 {
		inside, outside, from := rate, bound, best
		for range bisections {
			middle := (inside + outside) / 2
			search.at = slices.Clone(from)
			search.at[firstRate] = math.Log(middle / (1 - middle))
			if 2*(most-search.climb()) <= side*side {
				inside, from = middle, search.at
			} else {
				outside = middle
			}
		}
		return (inside + outside) / 2
	}
	return rate, RateInterval{Low: end(0), High: end(1)}
}

// searchIn returns the start of a search, and the number of labeled runs. The first steps are as if all runs were
// labeled.
func searchIn(runs []judgedRuns) (s *judgeSearch, labeled float64) {
	s = &judgeSearch{runs: runs}
	all, sizes := 0.0, make([]float64, firstRate, firstRate+len(runs))
	start := judgeModel{0.05, 0.1, 0.1, 0.75, 0.75, 0.1, 0.1, 0.05}
	for i := range runs {
		size := 0.0
		for g := range judgeCells {
			known, n := runs[i].count(g)
			labeled, size = labeled+known, size+n
			sizes[g], sizes[judgeCells+g] = sizes[g]+n, sizes[judgeCells+g]+n
		}
		all, start, sizes = all+size, append(start, 0.7/0.3), append(sizes, size*0.7*0.3)
	}
	for g := range s.prior {
		s.prior[g] = jeffreys * sizes[g] / all
	}
	for i, x := range start {
		s.at, s.inverse = append(s.at, math.Log(x)), append(s.inverse, make([]float64, len(start)))
		s.inverse[i][i] = 1 / (1 + sizes[i])
		if sizes[i] == 0 {
			s.at[i] = -700 // no run has such a verdict
		}
	}
	return s, labeled
}

// verdictKind returns the kind of a verdict.
func verdictKind(isPassed, isDoubtful bool) int {
	switch {
	case isPassed && isDoubtful:
		return doubtfulPass
	case isPassed:
		return clearPass
	case isDoubtful:
		return doubtfulFail
	}
	return clearFail
}
