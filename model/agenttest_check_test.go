package model_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestChecksAreBounded(t *testing.T) {
	t.Parallel()
	name, many := "a", int32(2)
	says := func(expression string) *model.TestCheck {
		return &model.TestCheck{Expect: model.TestExpectation{Says: &model.SaidExpectation{Matches: &expression,
			Role: model.MessageRoleAssistant}}}
	}
	fits := func(schema string) *model.TestCheck {
		return &model.TestCheck{
			Expect: model.TestExpectation{ResultJSON: &model.ResultExpectation{Schema: model.JSONObject(schema)}}}
	}
	repeated := func(n int, c *model.TestCheck) (all []*model.TestCheck) {
		for range n {
			all = append(all, c)
		}
		return all
	}
	turns := &model.TestCheck{Expect: model.TestExpectation{TurnsAtMost: &many}}
	for _, test := range []struct {
		checks []*model.TestCheck
		path   string
	}{
		{nil, "criteria"},
		{repeated(50, turns), ""},
		{repeated(51, turns), "checks"},
		{repeated(20, says("a+")), ""},
		{repeated(21, says("a+")), "checks"},
		{repeated(5, fits("{}")), ""},
		{repeated(6, fits("{}")), "checks"},
		{repeated(1, says("(")), "checks.0.expect.says.matches"},
		{repeated(1, says(strings.Repeat("(a{9}){9}", 20))), "checks.0.expect.says.matches"},
		{repeated(1, fits(`{"$ref":"file:///etc/passwd"}`)), "checks.0.expect.resultJson.schema"},
		{repeated(1, &model.TestCheck{}), "checks.0.expect"},
		{repeated(1, &model.TestCheck{Expect: model.TestExpectation{Tag: &name, TurnsAtMost: &many}}), "checks.0.expect"},
		{repeated(1, &model.TestCheck{Expect: model.TestExpectation{Tag: &name}, Weight: new(int32(101))}),
			"checks.0.weight"},
		{repeated(1, &model.TestCheck{Expect: model.TestExpectation{Called: &model.CalledExpectation{Min: 1}}}),
			"checks.0.expect.called"},
		{repeated(1, &model.TestCheck{Expect: model.TestExpectation{Called: &model.CalledExpectation{
			NeverCalledExpectation: model.NeverCalledExpectation{TechnicalName: &name}, Min: 3, Max: &many,
		}}}), "checks.0.expect.called.max"},
		{repeated(1, &model.TestCheck{
			Expect: model.TestExpectation{NeverSays: &model.SaidExpectation{Role: model.MessageRoleUser}}}),
			"checks.0.expect.neverSays"},
	} {
		_, err := model.NewSimulationTest(model.CreateSimulationTestInput{Name: "a", Scenario: "b", MaxTurns: 1,
			Checks: test.checks}, time.Time{})
		if test.path == "" {
			require.NoError(t, err)
			continue
		}
		var fault *model.Error
		require.ErrorAs(t, err, &fault)
		require.Contains(t, fault.Fields, test.path)
		require.Len(t, fault.Fields, 1, test.path)
	}
}

func TestWeightsDecideTheVerdict(t *testing.T) {
	t.Parallel()
	one, three := new(int32(1)), new(int32(3))
	check := func(weight *int32, passed bool) model.CheckResult {
		return model.CheckResult{Check: model.TestCheck{Weight: weight}, Passed: passed}
	}
	for _, test := range []struct {
		passAt  *float64
		checks  []model.CheckResult
		results []model.CriterionResult
		// undecided has the weights of criteria without a verdict.
		undecided []*int32
		failed    bool
		score     *float64
	}{
		{nil, nil, nil, nil, false, nil},
		{nil, []model.CheckResult{check(nil, true)}, nil, nil, false, nil},
		{new(0.0), []model.CheckResult{check(nil, false), check(one, true)}, nil, nil, true, new(1.0)},
		{nil, []model.CheckResult{check(one, false), check(three, true)}, nil, nil, true, new(0.75)},
		{new(0.75), []model.CheckResult{check(one, false), check(three, true)}, nil, nil, false, new(0.75)},
		{new(0.75), []model.CheckResult{check(three, true)}, nil, []*int32{one}, false, new(1.0)},
		{new(0.75), []model.CheckResult{check(one, true)}, nil, []*int32{three}, false, new(1.0)},
		{new(0.75), []model.CheckResult{check(three, false)}, nil, []*int32{three}, true, new(0.0)},
		{nil, []model.CheckResult{check(one, true)},
			[]model.CriterionResult{{Weight: three, Passed: true, DoesNotApply: true}}, nil, false, new(1.0)},
	} {
		row := &model.AgentTestRow{PassAt: test.passAt, CriteriaWeights: test.undecided}
		for _, result := range test.checks {
			row.Checks = append(row.Checks, result.Check)
		}
		for _, result := range test.results {
			row.CriteriaWeights = append(row.CriteriaWeights, result.Weight)
		}
		run := &model.AgentTestRun{Snapshot: model.RunSnapshot{Test: row}, CheckResults: test.checks,
			CriteriaResults: test.results}
		require.Equal(t, test.failed, run.Weigh())
		require.Equal(t, test.score, run.Score)
	}
}
