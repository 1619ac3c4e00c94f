package model

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// simulatedJudge errs on good runs and on bad runs. Doubtful verdicts are those on which its votes disagree.
type simulatedJudge struct {
	name string
	// errs returns the chances to fail a good run and to pass a bad one, if the share of good runs is p.
	errs func(r *rand.Rand, p float64) (onGood, onBad float64)
	// votes are the votes on each verdict.
	votes int
}

const simulatedError = 0.15

func sidedError(net, p float64) (onGood, onBad float64) {
	return max(0, -net) / p, max(0, net) / (1 - p)
}

var simulatedJudges = []simulatedJudge{
	{"passes 15 points too many", func(_ *rand.Rand, p float64) (float64, float64) {
		return sidedError(simulatedError, p)
	}, 1},
	{"passes 15 points too few", func(_ *rand.Rand, p float64) (float64, float64) {
		return sidedError(-simulatedError, p)
	}, 1},
	{"errs on 15 % of good and of bad runs", func(*rand.Rand, float64) (float64, float64) {
		return simulatedError, simulatedError
	}, 1},
	{"errs by any number of points up to 15", func(r *rand.Rand, p float64) (float64, float64) {
		return sidedError(simulatedError*(2*r.Float64()-1), p)
	}, 1},
	{"each of 3 votes errs on 15 %", func(*rand.Rand, float64) (float64, float64) {
		return simulatedError, simulatedError
	}, 3},
	{"never errs", func(*rand.Rand, float64) (float64, float64) { return 0, 0 }, 1},
}

// labelling is how many of 400 runs are labeled in the execution, and in each of some earlier ones.
type labelling struct {
	name                      string
	here, earlier, executions int
}

var labellings = []labelling{
	{"100 in the execution", 100, 0, 4},
	{"20 in the execution, 20 in each of 4 earlier ones", 20, 20, 4},
	{"25 in each of 4 earlier ones", 0, 25, 4},
	{"1 in each of 100 earlier ones", 0, 1, 100},
}

const simulatedRuns = 400

// simulate draws the runs of the executions, the first with the rate p. The queue takes two thirds of the labeled runs
// from doubtful ones, as long as there are any. For the first execution, it also returns how many runs are labeled
// and, for a judge with one vote, how many of these are good.
func (m labelling) simulate(r *rand.Rand, judge simulatedJudge, p float64) (runs []judgedRuns, good, labelled int32) {
	onGood, onBad := judge.errs(r, p)
	for i := range 1 + m.executions {
		rate, n := p, m.here
		if i > 0 {
			rate, n = 0.5+0.45*r.Float64(), m.earlier
		}
		type drawn struct {
			isGood bool
			kind   int
		}
		var doubtful, clear []drawn
		for range simulatedRuns {
			run, passes := drawn{isGood: r.Float64() < rate}, 0
			for range judge.votes {
				if errs := r.Float64() < map[bool]float64{true: onGood, false: onBad}[run.isGood]; errs != run.isGood {
					passes++
				}
			}
			isPassed, isClear := 2*passes > judge.votes, passes == 0 || passes == judge.votes
			run.kind = verdictKind(isPassed, !isClear)
			if isClear {
				clear = append(clear, run)
			} else {
				doubtful = append(doubtful, run)
			}
		}
		counts, first := judgedRuns{}, min(len(doubtful), 2*n/3)
		order := append(append(append([]drawn{}, doubtful[:first]...), clear...), doubtful[first:]...)
		for at, run := range order {
			switch {
			case at >= n:
				counts.unlabeled[run.kind]++
			case run.isGood:
				counts.passed[run.kind]++
			default:
				counts.failed[run.kind]++
			}
			if i == 0 && at < n && run.isGood && judge.votes == 1 {
				good++
			}
		}
		runs = append(runs, counts)
	}
	return runs, good, int32(m.here)
}

// roganGladen is the estimate of Rogan and Gladen (1978), with the interval of the delta method. The judge's errors are
// those on all labeled runs.
func roganGladen(runs []judgedRuns) (float64, RateInterval) {
	var good, goodPassed, bad, badFailed, all, passed float64
	for i := range runs {
		for g := range judgeCells {
			good, bad = good+runs[i].passed[g], bad+runs[i].failed[g]
			if g >= doubtfulPass {
				goodPassed += runs[i].passed[g]
			} else {
				badFailed += runs[i].failed[g]
			}
			if i > 0 {
				continue
			}
			n := runs[i].passed[g] + runs[i].failed[g] + runs[i].unlabeled[g]
			if all += n; g >= doubtfulPass {
				passed += n
			}
		}
	}
	se, sp, q := goodPassed/good, badFailed/bad, passed/all
	j := se + sp - 1
	p := min(1, max(0, (q+sp-1)/j))
	half := normalSide / j * math.Sqrt(q*(1-q)/all+p*p*se*(1-se)/good+(1-p)*(1-p)*sp*(1-sp)/bad)
	return p, RateInterval{max(0, p-half), min(1, p+half)}
}

// ppi is prediction-powered inference (PPI++, Angelopoulos, Duchi and Zrnic 2023) on the first execution.
func ppi(runs *judgedRuns) (float64, RateInterval) {
	var n, unlabeled, y, f, fu, yf float64
	for g := range judgeCells {
		isPassed := 0.0
		if g >= doubtfulPass {
			isPassed = 1
		}
		labelled := runs.passed[g] + runs.failed[g]
		n, unlabeled, y = n+labelled, unlabeled+runs.unlabeled[g], y+runs.passed[g]
		f, fu, yf = f+isPassed*labelled, fu+isPassed*runs.unlabeled[g], yf+isPassed*runs.passed[g]
	}
	y, f, fu, yf = y/n, f/n, fu/unlabeled, yf/n
	lambda := 0.0
	if q := (f*n + fu*unlabeled) / (n + unlabeled); q > 0 && q < 1 {
		lambda = (yf - y*f) / (q * (1 - q) * (1 + n/unlabeled))
	}
	p := y + lambda*(fu-f)
	variance := y*(1-y) - 2*lambda*(yf-y*f) + lambda*lambda*f*(1-f)
	half := normalSide * math.Sqrt(max(0, variance)/n+lambda*lambda*fu*(1-fu)/unlabeled)
	return p, RateInterval{p - half, p + half}
}

func (i RateInterval) holds(p float64) bool { return i.Low <= p && p <= i.High }

var showSimulation = flag.Bool("simulation", false, "print the table of docs/internals/decisions/agent-tests.md")

// In suites with rates from 50 to 95 %, the interval covers the truth in at least 93 of 100 suites, for every judge and
// every choice of labeled runs. With labeled runs of earlier executions, it is at most 60 % as wide as that of the
// execution's labeled runs alone, if the judge's error is at most 15 points.
func TestCorrectedRateCoversTheTruth(t *testing.T) {
	t.Parallel()
	suites := 250
	if *showSimulation {
		suites = 1_000
	}
	var table strings.Builder
	table.WriteString("| judge | labeled runs | covers | width | of labels alone | PPI++ covers " +
		"| Rogan–Gladen covers |\n")
	table.WriteString("|---|---|--:|--:|--:|--:|--:|\n")
	for _, judge := range simulatedJudges {
		for _, m := range labellings {
			r := rand.New(rand.NewPCG(1, 2))
			covered, ppiCovered, rgCovered, width, alone := 0, 0, 0, 0.0, 0.0
			for range suites {
				p := 0.5 + 0.45*r.Float64()
				if judge.votes == 1 && judge.name != simulatedJudges[5].name {
					p = 0.5 + 0.35*r.Float64() // so that an error of 15 points is possible
				}
				runs, good, labelled := m.simulate(r, judge, p)
				_, interval := correctedRate(runs)
				width += interval.High - interval.Low
				covered += countIf(interval.holds(p))
				if _, rg := roganGladen(runs); rg.holds(p) {
					rgCovered++
				}
				if labelled > 0 {
					_, powered := ppi(&runs[0])
					ppiCovered += countIf(powered.holds(p))
					if judge.votes > 1 { // two thirds are doubtful runs, so take a random sample of the same size
						good = 0
						for range labelled {
							good += int32(countIf(r.Float64() < p))
						}
					}
					only := wilson(good, labelled)
					alone += only.High - only.Low
				}
			}
			share := func(n int) float64 { return 100 * float64(n) / float64(suites) }
			require.GreaterOrEqual(t, share(covered), 93.0, "%s, %s", judge.name, m.name)
			ratio, byPPI := "–", "–"
			if alone > 0 {
				ratio, byPPI = fmt.Sprintf("%.0f %%", 100*width/alone), fmt.Sprintf("%.1f %%", share(ppiCovered))
			}
			if m.earlier > 0 && alone > 0 {
				require.LessOrEqual(t, width/alone, 0.6, "%s, %s", judge.name, m.name)
			}
			fmt.Fprintf(&table, "| %s | %s | %.1f %% | %.1f | %s | %s | %.1f %% |\n", judge.name, m.name, share(covered),
				100*width/float64(suites), ratio, byPPI, share(rgCovered))
		}
	}
	if *showSimulation {
		_, _ = os.Stdout.WriteString(table.String())
	}
}

// The search finds the same model from different starts, even if few of many runs are labeled.
func TestSearchFindsTheMostLikelyModel(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(8, 9))
	for range 20 {
		runs, _, _ := labelling{here: 1, earlier: 1, executions: 20}.simulate(r, simulatedJudges[4], 0.8)
		for i := range runs {
			for g := range judgeCells {
				runs[i].unlabeled[g] *= 10
			}
		}
		search, labeled := searchIn(grouped(runs))
		require.InDelta(t, 21, labeled, 0)
		most, rate := search.climb(), search.model()[firstRate]
		search, _ = searchIn(grouped(runs))
		for i := range search.at {
			search.at[i] += 0.5 * r.Float64()
		}
		require.InDelta(t, most, search.climb(), 1e-3)
		require.InDelta(t, rate, search.model()[firstRate], 0.01)
	}
}

// A judge whose errors nobody labeled yet proves nothing: the interval is about that of the labeled runs alone, here
// Wilson's from 83.9 %.
func TestVerdictsProveOnlyWhatLabelsShow(t *testing.T) {
	t.Parallel()
	runs := judgedRuns{}
	runs.passed[clearPass], runs.unlabeled[clearPass] = 20, 80
	rate, interval := correctedRate([]judgedRuns{runs})
	require.InDelta(t, 0.839, interval.Low, 0.01)
	require.Greater(t, interval.High, 0.99)
	require.InDelta(t, 0.98, rate, 0.01)
}

// simulatedSizes are pairs of runs and labeled runs.
var simulatedSizes = [][2]int{{50, 20}, {50, 40}, {100, 20}, {100, 40}, {100, 100}, {400, 20}, {400, 40}, {400, 100}}

// In executions with their own labels, the interval covers the truth in at least 93 of 100 suites. So it does at rates
// from 50 to 99 %, and for judges that pass any share of bad runs and fail up to 30 % of good ones. The allowance is
// three standard errors of the simulation, and half a point for the steps of binomial distributions.
func TestCorrectedRateCoversGoodAgents(t *testing.T) {
	t.Parallel()
	suites := 100
	if *showSimulation {
		suites = 2_000
	}
	floor := 0.925 - 3*math.Sqrt(0.93*0.07/float64(suites))
	known, cells, covered, worst := map[judgedRuns]RateInterval{}, 0, 0, suites
	var width, alone float64
	for _, p := range []float64{0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.99} {
		for _, size := range simulatedSizes {
			for i := range 12 {
				onBad, onGood := []float64{0, 0.3, 0.6, 1}[i%4], []float64{0, 0.15, 0.3}[i/4]
				r, covers := rand.New(rand.NewPCG(5, uint64(cells))), 0
				for range suites {
					runs, good := ownLabels(r, size[0], size[1], p, onGood, onBad)
					interval, ok := known[runs]
					if !ok {
						_, interval = correctedRate([]judgedRuns{runs})
						known[runs] = interval
					}
					only := wilson(good, int32(size[1]))
					covers, width, alone = covers+countIf(interval.holds(p)), width+interval.High-interval.Low,
						alone+only.High-only.Low
				}
				cells, covered, worst = cells+1, covered+covers, min(worst, covers)
				require.GreaterOrEqual(t, float64(covers)/float64(suites), floor,
					"rate %v, %d runs, %d labeled, passes %v of bad and fails %v of good runs", p, size[0], size[1], onBad, onGood)
			}
		}
	}
	all := float64(cells * suites)
	require.Greater(t, float64(covered)/all, 0.95)
	require.Less(t, width/alone, 1.02, "labels alone are as good")
	if *showSimulation {
		t.Logf("%d cells: mean coverage %.1f %%, lowest %.1f %%, width %.0f %% of labels alone", cells,
			100*float64(covered)/all, 100*float64(worst)/float64(suites), 100*width/alone)
	}
}

// ownLabels draws the runs of one execution and labels the first ones. It returns how many of these are good.
func ownLabels(r *rand.Rand, all, labelled int, p, onGood, onBad float64) (runs judgedRuns, good int32) {
	for i := range all {
		isGood := r.Float64() < p
		kind := verdictKind(r.Float64() < map[bool]float64{true: 1 - onGood, false: onBad}[isGood], false)
		switch {
		case i >= labelled:
			runs.unlabeled[kind]++
		case isGood:
			runs.passed[kind]++
			good++
		default:
			runs.failed[kind]++
		}
	}
	return runs, good
}

func countIf(is bool) int {
	if is {
		return 1
	}
	return 0
}
