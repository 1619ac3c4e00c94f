package db_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

const (
	passed = model.AgentTestRunStatusPassed
	failed = model.AgentTestRunStatusFailed
	erred  = model.AgentTestRunStatusError
)

// executed returns an execution whose runs of each test have the given outcomes. Runs without an outcome remain queued.
func executed(t *testing.T, tenant *db.Tenant, repeats int32, tests []string,
	outcomes map[string][]model.AgentTestRunStatus) *model.AgentTestExecution {
	t.Helper()
	execution, err := tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{TestIds: tests,
		Repeats: repeats, Concurrency: 50})
	require.NoError(t, err)
	for _, run := range runsOf(t, tenant, execution.ID) {
		if statuses := outcomes[run.TestedID]; int(run.Attempt) <= len(statuses) {
			require.NoError(t, finish(t, tenant, run.ID, statuses[run.Attempt-1]))
		}
	}
	return execution
}

func TestExecutionsAreCompared(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, _ := newCompany(t, store)
	agent := newAgent(t, tenant)
	var ids []string
	for range 4 {
		ids = append(ids, newSimulationTest(t, tenant, agent.ID).ID)
	}
	broken, fixed, gone, added := ids[0], ids[1], ids[2], ids[3]
	base := executed(t, tenant, 5, []string{broken, fixed, gone}, map[string][]model.AgentTestRunStatus{
		broken: {passed, passed, passed, passed, passed}, fixed: {failed, passed, erred, erred, erred},
		gone: {passed, passed, passed, passed, failed},
	})
	head := executed(t, tenant, 4, []string{added, fixed, broken}, map[string][]model.AgentTestRunStatus{
		broken: {failed, failed, failed, failed}, fixed: {passed, passed, passed}, added: {passed},
	})
	require.NoError(t, tenant.DeleteAgentTest(t.Context(), gone))

	c, err := tenant.CompareAgentTestExecutions(t.Context(), []string{base.ID}, head.ID,
		model.ComparedVariants{}, model.AgentTestCorrectionHolm)
	require.NoError(t, err)
	require.Equal(t, []string{base.ID, head.ID}, []string{c.Base.ID, c.Head.ID})
	require.Equal(t, []int32{1, 1, 2}, []int32{c.NewlyFailing, c.NewlyPassing, c.Flaky})
	require.Equal(t, &model.AgentTestRunCounts{Total: 10, Passed: 6, Failed: 1, Error: 3}, c.BaseCounts)
	require.Equal(t, &model.AgentTestRunCounts{Total: 8, Passed: 3, Failed: 4, Queued: 1}, c.HeadCounts)
	require.Len(t, c.Tests, 4)
	for i, want := range []struct {
		id         string
		change     model.AgentTestChange
		conclusion model.AgentTestConclusion
	}{
		{added, model.AgentTestChangeAdded, model.AgentTestConclusionCannotDecide},
		{fixed, model.AgentTestChangeNewlyPassing, model.AgentTestConclusionCannotDecide},
		{broken, model.AgentTestChangeNewlyFailing, model.AgentTestConclusionRegressed},
		{gone, model.AgentTestChangeRemoved, model.AgentTestConclusionCannotDecide},
	} {
		test := c.Tests[i]
		require.Equal(t, want.id, test.TestID)
		require.Contains(t, test.TestName, "Books")
		require.Equal(t, want.change, test.Change)
		require.Equal(t, want.conclusion, test.Conclusion)
		require.Equal(t, want.id != gone, test.ExistingID != nil)
		require.Len(t, test.Batch().Rows, 4)
	}
	require.InDelta(t, 1.0/126, *c.Tests[2].PValue, 1e-12)

	same, err := tenant.CompareAgentTestExecutions(t.Context(), []string{head.ID}, head.ID,
		model.ComparedVariants{}, model.AgentTestCorrectionHolm)
	require.NoError(t, err)
	require.Same(t, same.Base, same.Head)
	require.Zero(t, same.NewlyFailing+same.NewlyPassing)
	require.InDelta(t, 1, *same.PValue, 1e-9)

	several, err := tenant.CompareAgentTestExecutions(t.Context(), []string{base.ID, head.ID, base.ID}, head.ID,
		model.ComparedVariants{}, model.AgentTestCorrectionBenjaminiHochberg)
	require.NoError(t, err)
	require.Len(t, several.Bases, 2)
	require.Equal(t, base.ID, several.Base.ID)
	require.EqualValues(t, 9, several.Tests[2].Base.Judged(), "runs of a test in several bases are one sample")
	_, err = tenant.CompareAgentTestExecutions(t.Context(), slices.Repeat([]string{base.ID}, 6), head.ID,
		model.ComparedVariants{}, model.AgentTestCorrectionHolm)
	require.Contains(t, fails(t, err, model.BadInput), "moreBaseIds")

	_, err = tenant.CompareAgentTestExecutions(t.Context(), []string{base.ID}, "execution_none",
		model.ComparedVariants{}, model.AgentTestCorrectionHolm)
	require.Contains(t, fails(t, err, model.NotFound), "execution_none")
	stranger, _ := newCompany(t, store)
	_, err = stranger.CompareAgentTestExecutions(t.Context(), []string{base.ID}, head.ID,
		model.ComparedVariants{}, model.AgentTestCorrectionHolm)
	require.Contains(t, fails(t, err, model.NotFound), base.ID)
}

func TestVariantsAreComparedWithThoseOfTheSameLabel(t *testing.T) {
	t.Parallel()
	tenant, _ := newCompany(t, dbtest.New(t))
	test := newSimulationTest(t, tenant, newAgent(t, tenant).ID).ID
	start := func(labels ...string) string {
		t.Helper()
		in := model.StartAgentTestExecutionInput{TestIds: []string{test}, Repeats: 1, Concurrency: 1}
		for _, label := range labels {
			in.Variants = append(in.Variants, &model.TestVariant{Label: label})
		}
		execution, err := tenant.StartAgentTestExecution(t.Context(), in)
		require.NoError(t, err)
		return execution.ID
	}
	plain, one, two, other := start(), start("now", "small"), start("small", "now"), start("now", "large")
	compare := func(head string, bases ...string) error {
		_, err := tenant.CompareAgentTestExecutions(t.Context(), bases, head,
			model.ComparedVariants{}, model.AgentTestCorrectionHolm)
		return err
	}
	require.NoError(t, compare(two, one, two))
	for _, bases := range [][]string{{plain}, {other}, {one, plain}} {
		require.Contains(t, fails(t, compare(two, bases...), model.Unprocessable),
			`execution "`+two+`" has the variants now, small: compare executions with the same variants, or name one `+
				`variant of each`)
	}
	require.Contains(t, fails(t, compare(plain, one), model.Unprocessable), `execution "`+plain+`" has no variants`)

	limited := func(head, headVariant, base, baseVariant string) (*model.AgentTestComparison, error) {
		variants := model.ComparedVariants{}
		if baseVariant != "" {
			variants.Base = &baseVariant
		}
		if headVariant != "" {
			variants.Head = &headVariant
		}
		return tenant.CompareAgentTestExecutions(t.Context(), []string{base}, head, variants,
			model.AgentTestCorrectionHolm)
	}
	for _, sides := range [][4]string{
		{two, "small", other, "large"}, {two, "small", plain, ""}, {plain, "", two, "now"}, {two, "now", two, "small"},
	} {
		c, err := limited(sides[0], sides[1], sides[2], sides[3])
		require.NoError(t, err, sides)
		require.Len(t, c.Tests, 1)
		require.Len(t, c.Tests[0].BaseRuns, 1, "%v: one run in each variant", sides)
		require.Len(t, c.Tests[0].HeadRuns, 1, sides)
		for i, run := range []*model.AgentTestRun{c.Tests[0].HeadRuns[0], c.Tests[0].BaseRuns[0]} {
			require.Equal(t, sides[2*i], run.ExecutionID)
			require.Equal(t, sides[2*i+1] != "", run.Variant != nil)
			require.True(t, run.Variant == nil || *run.Variant == sides[2*i+1])
		}
	}
	_, err := limited(two, "small", one, "")
	require.Contains(t, fails(t, err, model.Unprocessable), `the variants now, small: name one of them as baseVariant`)
	_, err = limited(two, "large", plain, "")
	require.Contains(t, fails(t, err, model.Unprocessable), `headVariant: execution "`+two+`" has the variants now, small, `+
		`not "large"`)
	_, err = limited(plain, "now", two, "now")
	require.Contains(t, fails(t, err, model.Unprocessable), `"`+plain+`" has no variants, not "now"`)
}

func TestTestsWithMixedOutcomesAreFlaky(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, _ := newCompany(t, store)
	agent := newAgent(t, tenant)
	mixed, steady, unsure := newSimulationTest(t, tenant, agent.ID).ID, newSimulationTest(t, tenant, agent.ID).ID,
		newSimulationTest(t, tenant, agent.ID).ID
	tests := []string{mixed, steady, unsure}
	flaky := func(owner *db.Tenant) map[string]bool {
		found, err := owner.FlakyTests(t.Context(), append([]string{"test_none"}, tests...))
		require.NoError(t, err)
		for _, wanted := range []bool{true, false} {
			page, err := owner.AgentTests(t.Context(), model.PageArgs{First: 10}, nil, model.AgentTestFilter{IsFlaky: &wanted})
			require.NoError(t, err)
			for _, test := range page.Nodes {
				require.Equal(t, wanted, found[test.Row().ID], "the filter of the list agrees")
			}
			if wanted {
				require.Len(t, page.Nodes, len(found))
			}
		}
		return found
	}
	require.Empty(t, flaky(tenant))
	executed(t, tenant, 2, tests, map[string][]model.AgentTestRunStatus{
		mixed: {failed, passed}, steady: {passed, passed}, unsure: {passed, erred},
	})
	require.Equal(t, map[string]bool{mixed: true}, flaky(tenant))
	stranger, _ := newCompany(t, store)
	require.Empty(t, flaky(stranger))

	// Unfinished runs do not count. A test is not flaky if its runs differ only between executions.
	newest := executed(t, tenant, 2, tests, map[string][]model.AgentTestRunStatus{mixed: {passed, passed},
		steady: {failed, failed}, unsure: {failed}})
	require.Equal(t, map[string]bool{mixed: true}, flaky(tenant))
	for _, run := range runsOf(t, tenant, newest.ID) {
		if run.Status == model.AgentTestRunStatusQueued {
			require.NoError(t, finish(t, tenant, run.ID, passed))
		}
	}
	require.Equal(t, map[string]bool{unsure: true}, flaky(tenant))
	tallies, err := tenant.TalliesOfExecutions(t.Context(), []string{newest.ID})
	require.NoError(t, err)
	require.Equal(t, []string{unsure}, model.FlakyTestIds(tallies[newest.ID]))
}
