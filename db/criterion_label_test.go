package db_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// judgedRun ends a run with a judge's verdicts on criteria, and with one verdict of the program.
func judgedRun(t *testing.T, tenant *db.Tenant, id, judge string, agreement *float64, verdicts map[string]bool) {
	t.Helper()
	run, err := tenant.ClaimRun(t.Context(), id, 1)
	require.NoError(t, err)
	run.EndReason, run.Held = new("It is over."), &model.HeldConversation{EndedBy: "agent", IsMeasured: true}
	run.CriteriaResults = []model.CriterionResult{{Criterion: "calls book", Passed: true, ByProgram: true,
		Rationale: "r", Evidence: []model.Evidence{}}}
	for _, criterion := range []string{"Is polite", "Is brief"} {
		if passed, decided := verdicts[criterion]; decided {
			run.CriteriaResults = append(run.CriteriaResults, model.CriterionResult{Criterion: criterion, Passed: passed,
				Rationale: "because", Evidence: []model.Evidence{}, Agreement: agreement})
		}
	}
	run.Status = model.AgentTestRunStatusPassed
	if run.Weigh() {
		run.Status = model.AgentTestRunStatusFailed
	}
	run.SetDoubt()
	run.JudgeModel, run.JudgePrompt = &judge, new("v1")
	require.NoError(t, tenant.FinishRun(t.Context(), run))
}

func right(runID, criterion, person string, is bool) model.LabelCriterionResultInput {
	return model.LabelCriterionResultInput{RunID: runID, Criterion: criterion, Person: &person, IsRight: &is,
		IsSampled: true}
}

func TestPeopleLabelVerdicts(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	tenant, _ := newCompany(t, dbtest.New(t))
	agent := newAgent(t, tenant)
	test := newSimulationTest(t, tenant, agent.ID)
	execution := start(t, tenant, test.ID)
	run := runsOf(t, tenant, execution.ID)[0]
	_, err := tenant.LabelCriterionResult(ctx, right(run.ID, "Is polite", "Ann", true))
	require.Contains(t, fails(t, err, model.Unprocessable), "runId")
	judgedRun(t, tenant, run.ID, "strict", nil, map[string]bool{"Is polite": true, "Is brief": false})

	label, err := tenant.LabelCriterionResult(ctx, right(run.ID, "Is brief", " Ann ", false))
	require.NoError(t, err)
	require.Equal(t, []any{"Ann", true, true}, []any{label.Person, label.Holds, label.IsSampled})
	again := right(run.ID, "Is brief", "Ann", true)
	again.Note, again.IsSampled = new(" too long "), false
	changed, err := tenant.LabelCriterionResult(ctx, again)
	require.NoError(t, err)
	require.Equal(t, []any{label.ID, false, "too long", true}, []any{changed.ID, changed.Holds, *changed.Note,
		changed.IsSampled}, "a person has one label, and a sampled label stays sampled")
	blind := model.LabelCriterionResultInput{RunID: run.ID, Criterion: "Is polite", Person: new("Bob"), Holds: new(false)}
	blinded, err := tenant.LabelCriterionResult(ctx, blind)
	require.NoError(t, err)
	require.False(t, blinded.Holds)

	for name, c := range map[string]struct {
		in    model.LabelCriterionResultInput
		code  model.Code
		field string
	}{
		"by the program":  {right(run.ID, "calls book", "Ann", true), model.Unprocessable, "criterion"},
		"not a criterion": {right(run.ID, "Is kind", "Ann", true), model.Unprocessable, "criterion"},
		"no run":          {right("run_none", "Is polite", "Ann", true), model.NotFound, ""},
		"neither": {model.LabelCriterionResultInput{RunID: run.ID, Criterion: "Is polite", Person: new("Ann")},
			model.BadInput, "isRight"},
		"nobody": {model.LabelCriterionResultInput{RunID: run.ID, Criterion: "Is polite", IsRight: new(true)},
			model.BadInput, "person"},
	} {
		_, err := tenant.LabelCriterionResult(ctx, c.in)
		known := fails(t, err, c.code)
		if c.field != "" {
			require.Contains(t, known, c.field, name)
		}
	}
	twice := right(run.ID, "Is polite", "Ann", true)
	_, err = tenant.LabelCriterionResults(ctx,
		model.LabelCriterionResultsInput{Labels: []*model.LabelCriterionResultInput{&twice, &twice}})
	require.Contains(t, fails(t, err, model.BadInput), "labels.1.criterion")
	many := model.LabelCriterionResultsInput{}
	for i := range model.MaxLabelsOfVerdict {
		in := right(run.ID, "Is polite", fmt.Sprint("Person ", i), true)
		many.Labels = append(many.Labels, &in)
	}
	_, err = tenant.LabelCriterionResults(ctx, many)
	require.Contains(t, fails(t, err, model.Unprocessable), "person", "Bob is one of them")
	many.Labels = many.Labels[1:]
	_, err = tenant.LabelCriterionResults(ctx, many)
	require.NoError(t, err)

	page, err := tenant.CriterionLabels(ctx, model.PageArgs{First: 100}, agent.ID)
	require.NoError(t, err)
	require.Len(t, page.Nodes, 51)
	require.NoError(t, tenant.DeleteAgentTestExecution(ctx, execution.ID))
	page, err = tenant.CriterionLabels(ctx, model.PageArgs{First: 100}, agent.ID)
	require.NoError(t, err)
	require.Empty(t, page.Nodes)
}

func TestLabelsOfExecutionsOfSeveralAgents(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	tenant, _ := newCompany(t, dbtest.New(t))
	agents := []*model.Agent{newAgent(t, tenant), newAgent(t, tenant)}
	tests := []string{newSimulationTest(t, tenant, agents[0].ID).ID, newSimulationTest(t, tenant, agents[1].ID).ID}
	for _, run := range runsOf(t, tenant, start(t, tenant, tests...).ID) {
		judgedRun(t, tenant, run.ID, "strict", nil, map[string]bool{"Is polite": true})
		agent := agents[slices.Index(tests, run.TestedID)]
		entries, total := queueOf(t, tenant, agent.ID, "Ann")
		require.EqualValues(t, 1, total)
		require.Equal(t, run.ID, entries[0].RunID)
		label, err := tenant.LabelCriterionResult(ctx, right(run.ID, "Is polite", "Ann", true))
		require.NoError(t, err)
		page, err := tenant.CriterionLabels(ctx, model.PageArgs{First: 100}, agent.ID)
		require.NoError(t, err)
		require.Len(t, page.Nodes, 1)
		require.Equal(t, label.ID, page.Nodes[0].ID)
		figures, err := tenant.JudgeFigures(ctx, agent.ID)
		require.NoError(t, err)
		require.NotEmpty(t, figures)
	}
}

// queueOf returns the entries of a person's queue, and their total.
func queueOf(t *testing.T, tenant *db.Tenant, agentID, person string) ([]*model.CriterionQueueEntry, int32) {
	t.Helper()
	queue, err := tenant.CriterionQueue(t.Context(), model.CriterionQueueArgs{AgentID: agentID, Person: &person,
		First: 50})
	require.NoError(t, err)
	return queue.Entries, queue.TotalCount
}

func TestQueueMixesDoubtfulVerdictsWithOthers(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	tenant, _ := newCompany(t, dbtest.New(t))
	agent := newAgent(t, tenant)
	test := newSimulationTest(t, tenant, agent.ID)
	execution, err := tenant.StartAgentTestExecution(ctx, model.StartAgentTestExecutionInput{TestIds: []string{test.ID},
		Repeats: 20, Concurrency: 1})
	require.NoError(t, err)
	doubtful := map[string]bool{}
	for i, run := range runsOf(t, tenant, execution.ID) {
		agreement := 1.0
		if doubtful[run.ID] = i%2 == 0; doubtful[run.ID] {
			agreement = 2.0 / 3
		}
		judgedRun(t, tenant, run.ID, "strict", &agreement, map[string]bool{"Is polite": i%3 > 0, "Is brief": true})
	}
	entries, total := queueOf(t, tenant, agent.ID, "Ann")
	require.Len(t, entries, 40)
	require.EqualValues(t, 40, total)
	for i, entry := range entries {
		require.Equal(t, entries[i-i%2].RunID, entry.RunID, "the verdicts of a run follow each other")
		require.Equal(t, []string{"Is polite", "Is brief"}[i%2], entry.Criterion)
		wants := model.CriterionQueueReasonNeverSeen
		if doubtful[entry.RunID] {
			wants = model.CriterionQueueReasonVotesDisagree
		}
		require.Equal(t, wants, entry.Reason)
		if i/2 < 15 { // after these, none of the ten doubtful runs is left
			require.Equal(t, i/2%3 < 2, doubtful[entry.RunID], "place %d", i)
		}
		require.Equal(t, "because", *entry.Rationale)
	}
	blind, err := tenant.CriterionQueue(ctx, model.CriterionQueueArgs{AgentID: agent.ID, Person: new("Ann"), IsBlind: true,
		First: 2, Offset: 1})
	require.NoError(t, err)
	require.Len(t, blind.Entries, 2)
	require.Equal(t, entries[1].RunID, blind.Entries[0].RunID)
	require.Nil(t, blind.Entries[0].Passed)
	require.Nil(t, blind.Entries[0].Rationale)
	end, err := tenant.CriterionQueue(ctx, model.CriterionQueueArgs{AgentID: agent.ID, Person: new("Ann"), First: 2,
		Offset: 40})
	require.NoError(t, err)
	require.Empty(t, end.Entries)
	require.EqualValues(t, 40, end.TotalCount, "the total does not depend on the page")

	// A labeled verdict stays in the queue if the person chose it, and leaves the queue if the queue chose it.
	chosen := right(entries[0].RunID, "Is polite", "Ann", true)
	chosen.IsSampled = false
	_, err = tenant.LabelCriterionResult(ctx, chosen)
	require.NoError(t, err)
	_, total = queueOf(t, tenant, agent.ID, "Ann")
	require.EqualValues(t, 40, total)
	for _, entry := range entries[:20] {
		_, err := tenant.LabelCriterionResult(ctx, right(entry.RunID, entry.Criterion, "Ann", true))
		require.NoError(t, err)
	}
	_, total = queueOf(t, tenant, agent.ID, " Ann ")
	require.EqualValues(t, 20, total, "labels have the name without the white space around it")
	bobs, total := queueOf(t, tenant, agent.ID, "Bob")
	require.EqualValues(t, 40, total)
	seen := map[string]bool{}
	for _, entry := range entries[:20] {
		seen[entry.RunID] = true
	}
	last := slices.IndexFunc(bobs, func(e *model.CriterionQueueEntry) bool { return !seen[e.RunID] })
	require.GreaterOrEqual(t, last, 0)
	hidden := 0
	for _, entry := range bobs[20:] {
		if seen[entry.RunID] {
			hidden++
		}
	}
	require.Positive(t, hidden, "most runs that Ann has labeled come last")
}

func TestFiguresAndCorrectedRatesOfLabels(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	tenant, _ := newCompany(t, dbtest.New(t))
	agent := newAgent(t, tenant)
	test := newSimulationTest(t, tenant, agent.ID)
	begin := func() *model.AgentTestExecution {
		execution, err := tenant.StartAgentTestExecution(ctx, model.StartAgentTestExecutionInput{
			TestIds: []string{test.ID}, Repeats: 20, Concurrency: 1})
		require.NoError(t, err)
		return execution
	}
	first, second := begin(), begin()
	for _, execution := range []*model.AgentTestExecution{first, second} {
		for i, run := range runsOf(t, tenant, execution.ID) {
			judgedRun(t, tenant, run.ID, "strict", nil, map[string]bool{"Is polite": i < 16})
		}
	}
	rates := func() map[string]*model.CorrectedPassRate {
		rates, err := tenant.CorrectedPassRatesOfExecutions(ctx, []string{first.ID, second.ID})
		require.NoError(t, err)
		return rates
	}
	// People say that 4 of the 16 passed runs should have failed.
	for i, run := range runsOf(t, tenant, first.ID) {
		_, err := tenant.LabelCriterionResult(ctx, right(run.ID, "Is polite", "Ann", i >= 4))
		require.NoError(t, err)
		if i == 18 {
			require.Empty(t, rates(), "with 19 labels")
		}
	}
	found := rates()
	own, other := found[first.ID], found[second.ID]
	require.InDelta(t, 0.6, own.Rate, 0.03)
	require.InDelta(t, 0.6, other.Rate, 0.05, "by the errors in the first execution")
	require.Equal(t, []int32{20, 20}, []int32{own.Labels, other.LabelledRuns})
	require.Greater(t, other.Interval.High-other.Interval.Low, own.Interval.High-own.Interval.Low)

	// The labels measure another judge of the same conversations.
	in := rejudge(first)
	in.Model = new("lenient")
	again, err := tenant.RejudgeAgentTestExecution(ctx, in)
	require.NoError(t, err)
	for i, run := range runsOf(t, tenant, again.ID) {
		judgedRun(t, tenant, run.ID, "lenient", nil, map[string]bool{"Is polite": i >= 4 && i < 16})
	}
	figures, err := tenant.JudgeFigures(ctx, agent.ID)
	require.NoError(t, err)
	require.Len(t, figures, 4)
	byJudge := map[string]*model.JudgeFigures{}
	for _, f := range figures {
		if f.Criterion == nil {
			byJudge[*f.JudgeModel] = f
		}
	}
	require.Equal(t, model.CountedShare{Count: 4, Of: 16}, byJudge["strict"].FalsePasses)
	require.Equal(t, model.CountedShare{Count: 0, Of: 4}, byJudge["strict"].FalseFailures)
	require.Len(t, byJudge["strict"].Disagreements, 4)
	require.InDelta(t, 1, *byJudge["lenient"].Kappa, 1e-12)
	require.Equal(t, model.CountedShare{Count: 20, Of: 20}, byJudge["lenient"].Agreement)
	corrected, err := tenant.CorrectedPassRatesOfExecutions(ctx, []string{again.ID})
	require.NoError(t, err)
	require.InDelta(t, 0.6, corrected[again.ID].Rate, 0.03)
}

func TestCorrectedRatesUseTheScoreThatRunsNeed(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	tenant, _ := newCompany(t, dbtest.New(t))
	agent := newAgent(t, tenant)
	weight := int32(1)
	test := newSimulationTest(t, tenant, agent.ID, func(in *model.CreateSimulationTestInput) {
		in.Criteria, in.CriteriaWeights, in.PassAt = []string{"Is polite", "Is brief"}, []*int32{&weight, &weight}, new(0.5)
	})
	execution, err := tenant.StartAgentTestExecution(ctx, model.StartAgentTestExecutionInput{
		TestIds: []string{test.ID}, Repeats: 20, Concurrency: 1})
	require.NoError(t, err)
	for _, run := range runsOf(t, tenant, execution.ID) {
		claimed, err := tenant.ClaimRun(ctx, run.ID, 1)
		require.NoError(t, err)
		claimed.EndReason, claimed.Held = new("It is over."), &model.HeldConversation{EndedBy: "agent"}
		for i, criterion := range []string{"Is polite", "Is brief"} {
			claimed.CriteriaResults = append(claimed.CriteriaResults, model.CriterionResult{Criterion: criterion,
				Passed: i == 0, Weight: &weight, Rationale: "r", Evidence: []model.Evidence{}})
		}
		require.False(t, claimed.Weigh())
		claimed.SetDoubt()
		require.True(t, *claimed.IsDoubtful, "the score is the one that the run needs")
		claimed.Status, claimed.JudgeModel, claimed.JudgePrompt = model.AgentTestRunStatusPassed, new("strict"), new("v1")
		require.NoError(t, tenant.FinishRun(ctx, claimed))
	}
	entries, _ := queueOf(t, tenant, agent.ID, "Ann")
	require.Equal(t, model.CriterionQueueReasonNearBorder, entries[0].Reason)
	for _, entry := range entries {
		_, err := tenant.LabelCriterionResult(ctx, right(entry.RunID, entry.Criterion, "Ann", true))
		require.NoError(t, err)
	}
	rates, err := tenant.CorrectedPassRatesOfExecutions(ctx, []string{execution.ID})
	require.NoError(t, err)
	require.Greater(t, rates[execution.ID].Rate, 0.9)
}
