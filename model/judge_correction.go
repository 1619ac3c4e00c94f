package model

import "math"

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
	// jeffreys is the weight of the priors in runs. The prior of a rate is Jeffreys': as many good and bad runs. The
	// priors of verdicts have the shares of all verdicts, as if the judge could not tell good runs from bad ones. So
	// verdicts show only what labels prove that they show.
	jeffreys = 0.5
	// convergence is the change of a probability below which the search for the most likely model ends.
	convergence = 1e-6
	// maxFits bounds that search, and bisections the search for the end of an interval.
	maxFits, bisections = 1_000, 15
)

// judgedRuns counts the runs of one execution, by the kind of the judge's verdict.
type judgedRuns struct {
	// unlabeled are runs whose true result is unknown.
	unlabeled [judgeCells]float64
	// failed and passed are runs that failed and passed according to people.
	failed, passed [judgeCells]float64
}

// judgeModel is a model of how judges decide. A judge has one distribution of verdicts on good runs and one on bad
// runs, which are the same in all executions. The shares of good runs differ between executions.
type judgeModel struct {
	onGood, onBad [judgeCells]float64
	// prior is added to the counts of verdicts on good runs, and of verdicts on bad runs.
	prior [judgeCells]float64
	// rates has the share of good runs in each execution.
	rates []float64
}

// fit returns the most likely model for the runs of executions, and its logarithmic likelihood. The search starts at m.
// It uses expectation maximization (Dempster, Laird and Rubin 1977). A fixed model keeps its first rate.
func (m judgeModel) fit(runs []judgedRuns, isFixed bool) (judgeModel, float64) {
	for range maxFits {
		next, moved := m.step(runs, isFixed), 0.0
		for g := range judgeCells {
			moved = max(moved, math.Abs(next.onGood[g]-m.onGood[g]), math.Abs(next.onBad[g]-m.onBad[g]))
		}
		for i := range runs {
			moved = max(moved, math.Abs(next.rates[i]-m.rates[i]))
		}
		if m = next; moved < convergence {
			break
		}
	}
	return m, m.likelihood(runs)
}

// step divides the unlabeled runs into good and bad ones by the model, and returns the model of the result.
func (m judgeModel) step(runs []judgedRuns, isFixed bool) judgeModel {
	var good, bad [judgeCells]float64
	next := judgeModel{prior: m.prior, rates: make([]float64, len(runs))}
	for i := range runs {
		allGood, all := jeffreys, 2*jeffreys
		for g := range judgeCells {
			isGood, isBad := m.rates[i]*m.onGood[g], (1-m.rates[i])*m.onBad[g]
			part := 0.0
			if isGood+isBad > 0 {
				part = isGood / (isGood + isBad)
			}
			nowGood, nowBad := runs[i].passed[g]+runs[i].unlabeled[g]*part, runs[i].failed[g]+runs[i].unlabeled[g]*(1-part)
			good[g], bad[g] = good[g]+nowGood, bad[g]+nowBad
			allGood, all = allGood+nowGood, all+nowGood+nowBad
		}
		next.rates[i] = allGood / all
	}
	if isFixed {
		next.rates[0] = m.rates[0]
	}
	next.onGood, next.onBad = sharesOf(good, m.prior), sharesOf(bad, m.prior)
	return next
}

// sharesOf returns the distribution of verdicts. The prior is added to the counts.
func sharesOf(counts, prior [judgeCells]float64) (shares [judgeCells]float64) {
	sum := 0.0
	for g, n := range counts {
		shares[g] = n + prior[g]
		sum += shares[g]
	}
	for g := range shares {
		shares[g] /= sum
	}
	return shares
}

// likelihood returns the logarithm of the probability of the runs, with the priors.
func (m judgeModel) likelihood(runs []judgedRuns) (sum float64) {
	add := func(n, chance float64) {
		if n > 0 {
			sum += n * math.Log(chance)
		}
	}
	for i, rate := range m.rates {
		for g := range judgeCells {
			add(runs[i].passed[g], rate*m.onGood[g])
			add(runs[i].failed[g], (1-rate)*m.onBad[g])
			add(runs[i].unlabeled[g], rate*m.onGood[g]+(1-rate)*m.onBad[g])
		}
		add(jeffreys, rate)
		add(jeffreys, 1-rate)
	}
	for g := range judgeCells {
		add(m.prior[g], m.onGood[g])
		add(m.prior[g], m.onBad[g])
	}
	return sum
}

// correctedRate returns the share of good runs in the first execution and its 95 % interval. The other executions show
// how often the judge errs. With labeled runs of the first execution alone, the share comes from double sampling
// (Tenenbein 1970). With labeled runs of others alone, it is the estimate of Rogan and Gladen (1978). The interval has
// the rates whose profile likelihood is high enough, as in Venzon and Moolgavkar (1988). Few labels make it wider, by
// the t-distribution of Student (1908).
func correctedRate(runs []judgedRuns) (float64, RateInterval) {
	start, labeled := startOf(runs)
	side := studentSide(max(1, labeled-1))
	best, most := start.fit(runs, false)
	end := func(bound float64) float64 {
		inside, outside, from := best.rates[0], bound, best
		for range bisections {
			from.rates = append([]float64{(inside + outside) / 2}, from.rates[1:]...)
			tried, likely := from.fit(runs, true)
			if 2*(most-likely) <= side*side {
				inside, from = tried.rates[0], tried
			} else {
				outside = tried.rates[0]
			}
		}
		return (inside + outside) / 2
	}
	return best.rates[0], RateInterval{Low: end(0), High: end(1)}
}

// startOf returns the model at which the search starts, and the number of labeled runs.
func startOf(runs []judgedRuns) (start judgeModel, labeled float64) {
	all := 0.0
	for i := range runs {
		start.rates = append(start.rates, 0.7)
		for g := range judgeCells {
			known := runs[i].passed[g] + runs[i].failed[g]
			labeled, all = labeled+known, all+known+runs[i].unlabeled[g]
			start.prior[g] += known + runs[i].unlabeled[g]
		}
	}
	for g := range start.prior {
		start.prior[g] *= jeffreys / all
	}
	start.onGood = sharesOf([...]float64{0.05, 0.1, 0.1, 0.75}, start.prior)
	start.onBad = sharesOf([...]float64{0.75, 0.1, 0.1, 0.05}, start.prior)
	return start, labeled
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
