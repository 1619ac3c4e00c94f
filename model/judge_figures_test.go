package model

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The kappas come from the examples in Cohen (1960) and in Fleiss, Levin and Paik (2003), and one by definition.
func TestKappa(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pairs ratedPairs
		want  float64
	}{
		{ratedPairs{{20, 5}, {10, 15}}, 0.4},
		{ratedPairs{{45, 15}, {25, 15}}, 0.130434782608695},
		{ratedPairs{{10, 0}, {0, 10}}, 1},
		{ratedPairs{{0, 10}, {10, 0}}, -1},
	} {
		k, ok := c.pairs.kappa()
		require.True(t, ok)
		require.InDelta(t, c.want, k, 1e-12)
	}
	_, ok := (&ratedPairs{{0, 0}, {0, 7}}).kappa()
	require.False(t, ok)
	byRaters := map[string]*ratedPairs{"a": {{20, 5}, {10, 15}}, "b": {{10, 0}, {0, 0}}, "c": {{45, 15}, {25, 15}}}
	require.InDelta(t, (50*0.4+100*0.130434782608695)/150, *meanKappa(byRaters), 1e-12)
	require.Nil(t, meanKappa(map[string]*ratedPairs{"b": {{10, 0}, {0, 0}}}))
}

// If the labeled runs are the execution's own and the judge is binary, the rate is Tenenbein's (1970): the shares of
// the verdicts, times the shares of good runs among the labeled ones. If all labeled runs are of other executions, the
// rate is Rogan and Gladen's (1978). Neither estimate has priors, so the rates differ a little.
func TestCorrectedRateEqualsKnownEstimates(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		const scale = 1_000
		random := func() float64 { return float64(50+r.IntN(950)) * scale }
		own := judgedRuns{}
		own.passed[clearPass], own.failed[clearPass], own.unlabeled[clearPass] = random(), random(), random()
		own.passed[clearFail], own.failed[clearFail], own.unlabeled[clearFail] = random(), random(), random()
		passes := own.passed[clearPass] + own.failed[clearPass] + own.unlabeled[clearPass]
		fails := own.passed[clearFail] + own.failed[clearFail] + own.unlabeled[clearFail]
		want := (passes*own.passed[clearPass]/(own.passed[clearPass]+own.failed[clearPass]) +
			fails*own.passed[clearFail]/(own.passed[clearFail]+own.failed[clearFail])) / (passes + fails)
		rate, interval := correctedRate([]judgedRuns{own})
		require.InDelta(t, want, rate, 1e-4)
		require.True(t, interval.holds(want))

		others := judgedRuns{}
		se, sp, p := 0.7+0.29*r.Float64(), 0.7+0.29*r.Float64(), 0.2+0.6*r.Float64()
		others.passed[clearPass], others.passed[clearFail] = 1e6*se, 1e6*(1-se)
		others.failed[clearPass], others.failed[clearFail] = 1e6*(1-sp), 1e6*sp
		q := p*se + (1-p)*(1-sp)
		target := judgedRuns{}
		target.unlabeled[clearPass], target.unlabeled[clearFail] = 1e6*q, 1e6*(1-q)
		rate, _ = correctedRate([]judgedRuns{target, others})
		want, _ = roganGladen([]judgedRuns{target, others})
		require.InDelta(t, want, rate, 2e-4)
	}
}

// For many runs, the width equals that of Tenenbein's variance, which comes from another formula.
func TestCorrectedIntervalHasTenenbeinsWidth(t *testing.T) {
	t.Parallel()
	const labelled, all, se, sp, p = 1_000.0, 10_000.0, 0.85, 0.9, 0.6
	own := judgedRuns{}
	own.passed[clearPass], own.passed[clearFail] = labelled*p*se, labelled*p*(1-se)
	own.failed[clearPass], own.failed[clearFail] = labelled*(1-p)*(1-sp), labelled*(1-p)*sp
	q := p*se + (1-p)*(1-sp)
	own.unlabeled[clearPass], own.unlabeled[clearFail] = (all-labelled)*q, (all-labelled)*(1-q)
	k := p * (1 - p) * (se + sp - 1) * (se + sp - 1) / (q * (1 - q))
	half := normalSide * math.Sqrt(p*(1-p)*((1-k)/labelled+k/all))
	_, interval := correctedRate([]judgedRuns{own})
	require.InEpsilon(t, 2*half, interval.High-interval.Low, 0.01)
}

func labelsBy(criterion string, answers map[string]bool) (labels []*CriterionLabel) {
	for _, person := range []string{"Ann", "Bob", "Eve"} {
		if holds, said := answers[person]; said {
			labels = append(labels, &CriterionLabel{Person: person, Criterion: criterion, Holds: holds})
		}
	}
	return labels
}

func TestFiguresComparePeopleAndJudge(t *testing.T) {
	t.Parallel()
	var labelled []LabelledVerdict
	verdict := func(model string, passed bool, answers map[string]bool) {
		run := &AgentTestRun{ID: NewID("run"), JudgeModel: &model, JudgePrompt: new("v1")}
		labelled = append(labelled, LabelledVerdict{Run: run, Labels: labelsBy("Is kind", answers),
			Result: &CriterionResult{Criterion: "Is kind", Passed: passed}})
	}
	for i := range 40 { // people agree with each other, and the judge is a coin
		verdict("coin", i%2 == 0, map[string]bool{"Ann": i%4 < 2, "Bob": i%4 < 2})
	}
	verdict("coin", true, map[string]bool{"Ann": true, "Bob": false})
	for i := range 20 {
		verdict("good", i%2 == 0, map[string]bool{"Eve": i%2 == 0})
	}
	figures := FiguresOf(labelled)
	require.Len(t, figures, 4)
	coin, good := figures[0], figures[2]
	require.Nil(t, coin.Criterion)
	require.Equal(t, "Is kind", *figures[1].Criterion)
	require.Equal(t, "good", *good.JudgeModel)
	require.Equal(t, []int32{82, 2}, []int32{coin.Labels, coin.People})
	require.Equal(t, CountedShare{41, 82}, coin.Agreement)
	require.Equal(t, CountedShare{40, 41}, coin.PeopleAgreement)
	require.Equal(t, CountedShare{10, 20}, coin.FalsePasses, "a tie counts for nothing")
	require.Equal(t, CountedShare{10, 20}, coin.FalseFailures)
	require.True(t, coin.IsWorseThanPeople)
	require.Len(t, coin.Disagreements, maxDisagreements)
	require.False(t, good.IsWorseThanPeople)
	require.InDelta(t, 1, *good.Kappa, 1e-12)
	require.Nil(t, good.PeopleKappa)
}

func TestAnswersDecideRuns(t *testing.T) {
	t.Parallel()
	run := func(results ...CriterionResult) *AgentTestRun {
		r := &AgentTestRun{CriteriaResults: results, CheckResults: []CheckResult{}}
		r.Snapshot.Test = WeightsOf(r, new(0.5))
		return r
	}
	required := CriterionResult{Criterion: "required", Passed: true}
	idle := CriterionResult{Criterion: "idle", Passed: true, DoesNotApply: true}
	byProgram := CriterionResult{Criterion: "by program", Passed: true, ByProgram: true}
	heavy := CriterionResult{Criterion: "heavy", Weight: new(int32(3)), Passed: true}
	light := CriterionResult{Criterion: "light", Weight: new(int32(1)), Passed: false}
	yes, no := new(true), new(false)
	for name, c := range map[string]struct {
		run     *AgentTestRun
		answers map[string]*bool
		want    *bool
	}{
		"all right":           {run(required, byProgram), map[string]*bool{"required": yes}, yes},
		"wrong":               {run(required, byProgram), map[string]*bool{"required": no}, no},
		"unanswered":          {run(required, idle), map[string]*bool{"required": yes}, nil},
		"does not apply":      {run(required, idle), map[string]*bool{"required": yes, "idle": yes}, yes},
		"applies and missed":  {run(required, idle), map[string]*bool{"required": yes, "idle": no}, no},
		"enough of the score": {run(heavy, light), map[string]*bool{"heavy": yes, "light": no}, yes},
		"too little":          {run(heavy, light), map[string]*bool{"heavy": no, "light": yes}, no},
	} {
		require.Equal(t, c.want, c.run.passesWith(c.answers), name)
	}
	failed := run(required)
	failed.Error = &RunError{Cause: RunErrorCauseJudge}
	require.Nil(t, failed.passesWith(map[string]*bool{"required": yes}), "a criterion has no verdict")
}

func TestRatesIncludeRunsWithoutAJudge(t *testing.T) {
	t.Parallel()
	judge, prompt, clear := "strict", "v1", false
	count := func(execution string, judge *string, status AgentTestRunStatus, n int32) *VerdictCounts {
		c := &VerdictCounts{ExecutionID: execution, JudgeModel: judge, Status: status, IsDoubtful: &clear, Runs: n}
		if judge != nil {
			c.JudgePrompt = &prompt
		}
		return c
	}
	var labelled []LabelledVerdict
	for i := range 40 { // a quarter of the passes is wrong
		status := AgentTestRunStatusPassed
		result := CriterionResult{Criterion: "Is kind", Passed: true}
		if i >= 20 {
			status, result.Passed = AgentTestRunStatusFailed, false
		}
		run := &AgentTestRun{ID: NewID("run"), ExecutionID: "own", Status: status, JudgeModel: &judge,
			JudgePrompt: &prompt, IsDoubtful: &clear, CriteriaResults: []CriterionResult{result}}
		run.Snapshot.Test = WeightsOf(run, nil)
		labelled = append(labelled, LabelledVerdict{Run: run, Result: &run.CriteriaResults[0],
			Labels: labelsBy("Is kind", map[string]bool{"Ann": i >= 5 && i < 20})})
	}
	counts := []*VerdictCounts{
		count("own", &judge, AgentTestRunStatusPassed, 40), count("own", &judge, AgentTestRunStatusFailed, 40),
		count("own", nil, AgentTestRunStatusPassed, 80), count("two", &judge, AgentTestRunStatusPassed, 1),
		count("two", new("other"), AgentTestRunStatusPassed, 1), count("none", nil, AgentTestRunStatusPassed, 9),
	}
	rates := CorrectRates(t.Context(), []string{"own", "two", "none"}, counts, labelled)
	require.Len(t, rates, 1, "executions with two judges or without one have no corrected rate")
	own := rates["own"]
	require.InDelta(t, (0.375*80+80)/160, own.Rate, 0.01)
	require.Equal(t, []int32{40, 40}, []int32{own.Labels, own.LabelledRuns})
	require.Less(t, own.Interval.Low, own.Rate)
	require.Less(t, own.Interval.High, 0.8)
	require.Empty(t, CorrectRates(t.Context(), []string{"own"}, counts, labelled[:19]))

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Empty(t, CorrectRates(ended, []string{"own"}, counts, labelled), "nobody waits for the rates")

	again := append(judgedAgain(labelled, "again"), labelled...)
	counts = append(counts, count("again", &judge, AgentTestRunStatusPassed, 40),
		count("again", &judge, AgentTestRunStatusFailed, 40), count("again", nil, AgentTestRunStatusPassed, 80))
	rates = CorrectRates(t.Context(), []string{"own", "again"}, counts, again)
	require.Equal(t, own, rates["own"], "the same conversations count once")
	require.Equal(t, own, rates["again"])
	twice := append(judgedAgain(labelled[:19], "again"), labelled[:19]...)
	require.Empty(t, CorrectRates(t.Context(), []string{"own"}, counts, twice))

	// In the next execution, the judge judged one more conversation, which has an error in the first one.
	only := judgedAgain(labelled[:1], "more")
	only[0].Run.RejudgeOfID = new("one more")
	rates = CorrectRates(t.Context(), []string{"own"},
		append(counts, count("more", &judge, AgentTestRunStatusPassed, 1)), append(only, labelled...))
	more := append(append(only, judgedAgain(labelled, "more")...), labelled...)
	counts = append(counts, count("more", &judge, AgentTestRunStatusPassed, 21),
		count("more", &judge, AgentTestRunStatusFailed, 20))
	require.Equal(t, rates["own"], CorrectRates(t.Context(), []string{"own"}, counts, more)["own"])

	require.Equal(t, int32(40), FiguresOf(again)[0].Labels)
	require.Equal(t, CountedShare{5, 20}, FiguresOf(again)[0].FalsePasses)
}

// judgedAgain returns verdicts of the same judge on the same conversations in another execution.
func judgedAgain(labelled []LabelledVerdict, execution string) (again []LabelledVerdict) {
	for _, verdict := range labelled {
		run := *verdict.Run
		run.ID, run.ExecutionID, run.RejudgeOfID = NewID("run"), execution, &verdict.Run.ID
		again = append(again, LabelledVerdict{&run, verdict.Result, verdict.Labels})
	}
	return again
}

func TestScoresNearTheBorderAreDoubtful(t *testing.T) {
	t.Parallel()
	for score, wants := range map[float64]bool{0.6: false, 0.7: true, 0.8: true, 0.9: true, 1: false} {
		run := &AgentTestRun{Score: &score, Snapshot: RunSnapshot{Test: &AgentTestRow{PassAt: new(0.8)}}}
		run.SetDoubt()
		require.Equal(t, wants, *run.IsDoubtful, "score %v", score)
	}
}
