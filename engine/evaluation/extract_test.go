package evaluation

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

func TestExtractedValuesAreReadAndChecked(t *testing.T) {
	t.Parallel()
	values := []model.ExtractedValue{{Name: "guest", Definition: "Full name of the guest",
		Type: model.ExtractedValueTypeNom}, {Name: "day", Type: model.ExtractedValueTypeText}}
	run := booked()
	const good = `{"guest": null, "day": " Monday "}`
	for name, test := range map[string]struct{ first, wrong string }{
		"right at once":      {good, ""},
		"a draft before it":  {`{"guest":"A","day":"B"} ` + good, ""},
		"a value is missing": {`{"day":"Monday"}`, `"guest" is missing`},
		"another type":       {`{"guest":["Ana"],"day":"Monday"}`, `"guest" is neither a string nor null`},
		"no object":          {"Monday", "not the JSON object"},
	} {
		p := lines(test.first, good)
		extracted, err := extract(t.Context(), as(p, model.RunErrorCauseAgent), values, run, time.Time{})
		require.NoError(t, err, name)
		require.Equal(t, model.JSONObject(`{"guest":null,"day":"Monday"}`), *extracted, name)
		if test.wrong != "" {
			require.Contains(t, p.lastOf(1), test.wrong, name)
		}
	}

	check := func(name string, equals, matches *string) model.TestCheck {
		return model.TestCheck{Expect: model.TestExpectation{Extracts: &model.ExtractsExpectation{Name: name, Equals: equals,
			Matches: matches}}}
	}
	run.Snapshot = model.RunSnapshot{
		Agent: &model.Agent{ExtractedValues: values},
		Test: &model.AgentTestRow{Checks: []model.TestCheck{
			check("day", new("{when}"), nil), check("day", nil, new("^Mon")), check("day", new("Tuesday"), nil),
			check("guest", nil, new(".")), check("gone", new("a"), nil),
		}},
	}
	run.EndReason, run.Held = new("Done"), &model.HeldConversation{EndedBy: rules.Agent}
	extractor := lines(good)
	tester := inTest(&tester{checker: rules.NewChecker(), now: time.Now, modelRoles: modelRoles{
		judge: as(lines(), model.RunErrorCauseJudge), extractor: as(extractor, model.RunErrorCauseAgent)}})
	require.NoError(t, tester.decide(t.Context(), run, content.Values{"when": "MONDAY"}))
	require.Equal(t, model.JSONObject(`{"guest":null,"day":"Monday"}`), *run.Extracted)
	var observed []string
	for _, result := range run.CheckResults {
		observed = append(observed, result.Observed)
	}
	require.Equal(t, []string{`"Monday"`, `"Monday"`, `"Monday"`, "the conversation does not contain the value",
		"the agent extracts no value of this name"}, observed)
	require.Equal(t, []bool{true, true, false, false, false}, []bool{
		run.CheckResults[0].Passed, run.CheckResults[1].Passed, run.CheckResults[2].Passed, run.CheckResults[3].Passed,
		run.CheckResults[4].Passed,
	})
	require.Equal(t, `extracts day = "MONDAY"`, run.CheckResults[0].Expected())
	require.EqualValues(t, 1, run.CheckResults[0].Evidence[0].MessageIndex)

	// If the model fails, only checks of values are undecided.
	for needs, status := range map[bool]model.AgentTestRunStatus{true: model.AgentTestRunStatusError,
		false: model.AgentTestRunStatusPassed} {
		run.Status, run.Extracted = "", nil
		tester.extractor.Model = &player{answer: func(llm.Request) line { return line{err: errors.New("away")} }}
		run.Snapshot.Test.Checks = []model.TestCheck{{Expect: model.TestExpectation{TurnsAtMost: new(int32(3))}}}
		if needs {
			run.Snapshot.Test.Checks = append(run.Snapshot.Test.Checks, check("day", new("Monday"), nil))
		}
		err := tester.decide(t.Context(), run, content.Values{})
		require.Equal(t, needs, err != nil)
		require.Equal(t, status, run.Status)
		require.Nil(t, run.Extracted)
		require.Contains(t, *run.ExtractionError, "the language model failed")
	}
}
