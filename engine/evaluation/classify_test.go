package evaluation

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

var (
	someTags = []model.ClassificationTag{
		{Name: "Booked", Definition: "The contact booked."},
		{Name: `Not "interested"`, Definition: "The contact is not interested."},
	}
	someContext = &model.ConversationContext{
		Messages: []model.TestMessage{written(model.MessageRoleAssistant, "Hello <you>"),
			written(model.MessageRoleUser, "No, thanks")},
		DataBag: model.JSONObject(`{"name":"Ana"}`),
	}
)

func TestClassificationChoosesATag(t *testing.T) {
	t.Parallel()
	not := `Not "interested"`
	for name, test := range map[string]struct {
		answers  []string
		expected string
		want     *model.ClassificationResult
		wrong    string
	}{
		"the expected tag": {
			[]string{`{"rationale":" Said no. ","tag":"Not \"interested\""}`}, not,
			&model.ClassificationResult{TagExpected: not, TagProduced: &not, Passed: true, Rationale: "Said no."}, "",
		},
		"another tag": {
			[]string{`{"rationale":"r","tag":"Not \"interested\""}`}, "Booked",
			&model.ClassificationResult{TagExpected: "Booked", TagProduced: &not, Rationale: "r"}, "",
		},
		"in a fence": {
			[]string{"```json\n" + `{"rationale":"r","tag":"Not \"interested\""}` + "\n```"}, not,
			&model.ClassificationResult{TagExpected: not, TagProduced: &not, Passed: true, Rationale: "r"}, "",
		},
		"none": {
			[]string{`{"rationale":"r","tag":null}`}, "Booked",
			&model.ClassificationResult{TagExpected: "Booked", Rationale: "r"}, "",
		},
		"an unknown tag first": {
			[]string{`{"rationale":"r","tag":"booked"}`, `{"rationale":"r","tag":null}`}, "Booked",
			&model.ClassificationResult{TagExpected: "Booked", Rationale: "r"},
			`there is no tag "booked", only Booked, Not "interested", or null`,
		},
		"an unknown tag twice":   {[]string{`{"rationale":"r","tag":"x"}`}, "Booked", nil, `there is no tag "x"`},
		"not JSON":               {[]string{"Booked"}, "Booked", nil, "not the JSON object"},
		"a missing tag":          {[]string{`{"rationale":"r"}`}, "Booked", nil, `"tag" is missing`},
		"a tag of another type":  {[]string{`{"rationale":"r","tag":1}`}, "Booked", nil, `"tag" is neither a string nor null`},
		"a missing rationale":    {[]string{`{"tag":"Booked"}`}, "Booked", nil, `"rationale" is missing`},
		"a rationale of nothing": {[]string{`{"rationale":"","tag":"Booked"}`}, "Booked", nil, `"rationale" is empty`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := lines(test.answers...)
			result, err := classify(t.Context(), as(p, model.RunErrorCauseAgent), someTags, someContext, test.expected)
			if test.want == nil {
				require.Contains(t, requireRunFault(t, err, model.RunErrorCauseAgent), test.wrong)
			} else {
				require.NoError(t, err)
			}
			require.Empty(t, cmp.Diff(test.want, result))
			if test.wrong == "" {
				require.Len(t, p.asked, 1)
				return
			}
			require.Len(t, p.asked, 2)
			require.Contains(t, p.lastOf(1), test.wrong)
		})
	}
}

func TestClassifierReceivesTagsAndConversation(t *testing.T) {
	t.Parallel()
	p := lines(`{"rationale":"r","tag":null}`)
	_, err := classify(t.Context(), as(p, model.RunErrorCauseAgent), someTags, someContext, "Booked")
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(
		[]llm.Message{{Role: llm.RoleUser, Text: `{"tags":[{"name":"Booked","definition":"The contact booked."},` +
			`{"name":"Not \"interested\"","definition":"The contact is not interested."}],"values":{"name":"Ana"},` +
			`"conversation":[{"messageIndex":0,"speaker":"agent","text":"Hello <you>"},{"messageIndex":1,"speaker":"contact","text":"No, thanks"}]}`}},
		p.asked[0].Messages))
	var schema struct {
		Properties struct{ Tag struct{ Enum []any } }
	}
	require.NoError(t, json.Unmarshal(p.asked[0].Schema, &schema))
	require.Equal(t, []any{"Booked", `Not "interested"`, nil}, schema.Properties.Tag.Enum)

	silent := &player{}
	result, err := classify(t.Context(), as(silent, model.RunErrorCauseAgent), nil, someContext, "Booked")
	require.NoError(t, err)
	require.Nil(t, result.TagProduced)
	require.False(t, result.Passed)
	require.Empty(t, silent.asked)
}

func TestMissingModelOfTheAgentIsReported(t *testing.T) {
	t.Parallel()
	asked := lines(`{"rationale":"r","tag":null}`)
	v := evaluatorOf(asked, Options{})
	p := v.ofAgent(v.tests.classifier, &model.Agent{Model: new("gone")})
	_, err := classify(t.Context(), p, someTags, someContext, "Booked")
	require.Contains(t, requireRunFault(t, err, model.RunErrorCauseAgent),
		`the classifier: the agent's model "gone" is not one of this server's models`)
	require.Empty(t, asked.asked)
}
