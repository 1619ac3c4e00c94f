package evaluation

import (
	"context"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// EstimateOfExecution estimates the runs, time and credits of an execution with the input, by the last runs of its
// tests. It also returns the falls of the pass rate that a comparison with the execution would notice. It returns the
// errors of db.Tenant.TestsToRun.
func (v *Evaluator) EstimateOfExecution(ctx context.Context, t *db.Tenant,
	in model.StartAgentTestExecutionInput) (*model.AgentTestExecutionEstimate, error) {
	tests, err := t.TestsToRun(ctx, in)
	if err != nil {
		return nil, err
	}
	ids := model.Map(tests, func(test *model.AgentTestRow) string { return test.ID })
	measured, err := t.MeasuredTests(ctx, ids)
	if err != nil {
		return nil, err
	}
	runs := []*model.AgentTestRun{}
	for _, test := range measured {
		if test.LastRun.ID != "" {
			runs = append(runs, &test.LastRun)
		}
	}
	credits, err := t.CreditsOfRuns(ctx, runs)
	if err != nil {
		return nil, err
	}
	return v.estimate(in, measured, credits), nil
}

// estimate weights each test by its rows. Tests without a run count like the mean of the others. The time is at least
// that of the longest run. The cost of judging grows with the votes. Reviews of contacts in the last runs count only if
// the server still makes them.
func (v *Evaluator) estimate(in model.StartAgentTestExecutionInput, tests []*db.MeasuredTest,
	credits map[string]model.Credits) *model.AgentTestExecutionEstimate {
	var rows, timed, priced int32
	var millis, longest int64
	var spent, reviews model.Credits
	votes := model.Credits(1)
	if in.Votes != nil {
		votes = model.Credits(*in.Votes)
	}
	for _, test := range tests {
		rows += test.Rows
		if took := test.LastRun.DurationMs; took != nil {
			timed, millis = timed+test.Rows, millis+int64(test.Rows)*int64(*took)
			longest = max(longest, int64(*took))
		}
		if cost, ok := credits[test.LastRun.ID]; ok {
			if held := test.LastRun.Held; held != nil && held.IsMeasured {
				judging := max(0, cost-model.Credits(held.SpentMicro+held.ReviewMicro))
				cost += judging*votes/model.Credits(test.LastVotes) - judging
				reviews += model.Credits(held.ReviewMicro) * model.Credits(test.Rows)
			}
			priced, spent = priced+test.Rows, spent+cost*model.Credits(test.Rows)
		}
	}
	rows *= int32(max(1, len(in.Variants)))
	repeats := in.StopRepeating.RunsIfPassing(in.Repeats)
	e := &model.AgentTestExecutionEstimate{
		Runs: rows * repeats, RunsAtMost: rows * in.Repeats,
		NoticedFalls: noticedFalls(in.Repeats, in.StopRepeating, max(1, len(in.Variants)-1)),
	}
	if timed > 0 {
		all := float64(millis) / float64(timed) * float64(e.Runs)
		e.Seconds = new(max(float64(longest), all/float64(max(1, in.Concurrency))) / 1000)
	}
	ofAll := func(sum model.Credits) *model.Credits {
		return new(sum * model.Credits(e.Runs) / model.Credits(priced))
	}
	switch {
	case priced > 0 && v.reviewsContact && reviews > 0:
		e.Credits, e.ReviewCredits = ofAll(spent), ofAll(reviews)
	case priced > 0:
		e.Credits = ofAll(spent - reviews)
	}
	return e
}

// noticedFalls returns the smallest fall of the pass rate that each comparison notices: first with the given repeats,
// then with the maximum of repeats. All comparisons have the same base.
func noticedFalls(repeats int32, stop *model.StopRepeating, comparisons int) []*model.NoticedFall {
	falls := []*model.NoticedFall{noticedFall(repeats, stop, comparisons)}
	if repeats < model.MaxRepeats {
		falls = append(falls, noticedFall(model.MaxRepeats, nil, comparisons))
	}
	return falls
}

func noticedFall(repeats int32, stop *model.StopRepeating, comparisons int) *model.NoticedFall {
	fall := &model.NoticedFall{Repeats: repeats}
	if rate, ok := model.NoticedRate(repeats, repeats, stop, comparisons); ok {
		fall.PassRate = &rate
	}
	return fall
}
