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
	// convergence is the gain of logarithmic likelihood below which the search for the most likely model ends.
	convergence = 1e-6
	// maxLeaps bounds that search, bisections the search for the end of an interval, and maxGroups the size of a model.
	maxLeaps, bisections, maxGroups = 500, 12, 10
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

// grouped returns the first execution, and at most maxGroups groups of the others. The share of runs that the judge
// passed is similar in the executions of a group, so the share of good runs is, too. With a rate for each of many
// executions, the intervals would be too narrow (Neyman and Scott 1948), and the search slow.
func grouped(runs []judgedRuns) []judgedRuns {
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
// which are the same in all executions. The share of good runs in each group follows.
type judgeModel []float64

func (m judgeModel) parts() (onGood, onBad, rates []float64) {
	return m[:judgeCells], m[judgeCells : 2*judgeCells], m[2*judgeCells:]
}

// judgeSample is the runs that a model describes. The first ones are those of the target.
type judgeSample struct {
	runs []judgedRuns
	// prior is added to the counts of verdicts on good runs, and of verdicts on bad runs.
	prior [judgeCells]float64
}

// fit returns the most likely model, and its logarithmic likelihood. The search starts at m. It uses expectation
// maximization (Dempster, Laird and Rubin 1977), accelerated as in Varadhan and Roland (2008): each leap extrapolates
// two steps. A fixed model keeps its first rate.
func (s *judgeSample) fit(m judgeModel, isFixed bool) (judgeModel, float64) {
	likely := s.likelihood(m)
	for range maxLeaps {
		one := s.step(m, isFixed)
		next := s.step(one, isFixed)
		gained := s.likelihood(next) - likely
		leapt := s.step(leap(m, one, next), isFixed)
		if more := s.likelihood(leapt) - likely; more > gained {
			next, gained = leapt, more
		}
		m, likely = next, likely+gained
		if gained < convergence {
			break
		}
	}
	return m, likely
}

// leap extrapolates two steps from m. Each share gets at most halfway from that of the second step to 0 or 1.
func leap(m, one, two judgeModel) judgeModel {
	var moved, bent float64
	for i := range m {
		moved += (one[i] - m[i]) * (one[i] - m[i])
		bent += (two[i] - 2*one[i] + m[i]) * (two[i] - 2*one[i] + m[i])
	}
	far, next := 1.0, make(judgeModel, len(m))
	if bent > 0 {
		far = max(1, math.Sqrt(moved/bent))
	}
	for i := range m {
		at := m[i] + 2*far*(one[i]-m[i]) + far*far*(two[i]-2*one[i]+m[i])
		next[i] = min(max(at, two[i]/2), (1+two[i])/2)
	}
	return next
}

// step divides the unlabeled runs into good and bad ones by the model, and returns the model of the result.
func (s *judgeSample) step(m judgeModel, isFixed bool) judgeModel {
	onGood, onBad, rates := m.parts()
	next := make(judgeModel, len(m))
	good, bad, nextRates := next.parts()
	copy(good, s.prior[:])
	copy(bad, s.prior[:])
	weight := jeffreys
	for i := range s.runs {
		allGood, all := weight, 2*weight
		for g := range judgeCells {
			isGood, isBad := rates[i]*onGood[g], (1-rates[i])*onBad[g]
			part := 0.0
			if isGood+isBad > 0 {
				part = isGood / (isGood + isBad)
			}
			nowGood := s.runs[i].passed[g] + s.runs[i].unlabeled[g]*part
			nowBad := s.runs[i].failed[g] + s.runs[i].unlabeled[g]*(1-part)
			good[g], bad[g] = good[g]+nowGood, bad[g]+nowBad
			allGood, all = allGood+nowGood, all+nowGood+nowBad
		}
		nextRates[i], weight = allGood/all, 0
	}
	if isFixed {
		nextRates[0] = rates[0]
	}
	toShares(good)
	toShares(bad)
	return next
}

// toShares divides the counts by their sum.
func toShares(counts []float64) {
	sum := 0.0
	for _, n := range counts {
		sum += n
	}
	for g := range counts {
		counts[g] /= sum
	}
}

// likelihood returns the logarithm of the probability of the runs, with the priors.
func (s *judgeSample) likelihood(m judgeModel) (sum float64) {
	onGood, onBad, rates := m.parts()
	add := func(n, chance float64) {
		if n > 0 {
			sum += n * math.Log(chance)
		}
	}
	for i, rate := range rates {
		for g := range judgeCells {
			add(s.runs[i].passed[g], rate*onGood[g])
			add(s.runs[i].failed[g], (1-rate)*onBad[g])
			add(s.runs[i].unlabeled[g], rate*onGood[g]+(1-rate)*onBad[g])
		}
	}
	add(jeffreys, rates[0]*(1-rates[0]))
	for g := range judgeCells {
		add(s.prior[g], onGood[g]*onBad[g])
	}
	return sum
}

// correctedRate returns the share of good runs in the first execution and its 95 % interval. The other executions show
// how often the judge errs. With labeled runs of the first execution alone, the share is that of double sampling
// (Tenenbein 1970). With labeled runs of others alone, it is that of Rogan and Gladen (1978). The interval has the
// rates whose profile likelihood is high enough, as in Venzon and Moolgavkar (1988). Few labels make it wider, by the
// t-distribution of Student (1908).
func correctedRate(runs []judgedRuns) (float64, RateInterval) {
	sample, start, labeled := sampleOf(grouped(runs))
	side := studentSide(max(1, labeled-1))
	best, most := sample.fit(start, false)
	_, _, rates := best.parts()
	end := func(bound float64) float64 {
		inside, outside, from := rates[0], bound, best
		for range bisections {
			tried := slices.Clone(from)
			tried[2*judgeCells] = (inside + outside) / 2
			if fitted, likely := sample.fit(tried, true); 2*(most-likely) <= side*side {
				inside, from = tried[2*judgeCells], fitted
			} else {
				outside = tried[2*judgeCells]
			}
		}
		return (inside + outside) / 2
	}
	return rates[0], RateInterval{Low: end(0), High: end(1)}
}

// sampleOf returns the sample, the model at which the search starts, and the number of labeled runs.
func sampleOf(runs []judgedRuns) (sample *judgeSample, start judgeModel, labeled float64) {
	sample = &judgeSample{runs: runs}
	start = judgeModel{0.05, 0.1, 0.1, 0.75, 0.75, 0.1, 0.1, 0.05}
	sum := 0.0
	for i := range runs {
		start = append(start, 0.7)
		for g := range judgeCells {
			known, all := runs[i].count(g)
			labeled, sum = labeled+known, sum+all
			sample.prior[g] += all
		}
	}
	onGood, onBad, _ := start.parts()
	for g := range sample.prior {
		sample.prior[g] *= jeffreys / sum
		onGood[g], onBad[g] = onGood[g]+sample.prior[g], onBad[g]+sample.prior[g]
	}
	toShares(onGood)
	toShares(onBad)
	return sample, start, labeled
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
