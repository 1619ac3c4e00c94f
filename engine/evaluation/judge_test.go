package evaluation

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// booked returns a run in which the agent booked a slot with the help of a sub-agent.
func booked() *model.AgentTestRun {
	ok, failed, delegation := `{"ok":true}`, "the tool answered 500", "call_1"
	return &model.AgentTestRun{
		Messages: []model.TestMessage{
			written(model.MessageRoleAssistant, "Welcome"),
			written(model.MessageRoleUser, "Monday, please"),
			written(model.MessageRoleAssistant, "It is “booked”."),
		},
		ToolCalls: []*model.ToolCall{
			{ID: delegation, TechnicalName: "ask_expert", Arguments: model.JSONObject(`{"request":"<Monday>"}`), Result: &ok,
				MessageSequence: 1},
			{ID: "call_2", TechnicalName: "book", Arguments: model.JSONObject(`{"day":"Monday"}`), Error: &failed,
				MessageSequence: 1, DelegationID: &delegation},
		},
	}
}

func TestJudgeSeesTranscriptAndCriterionOnly(t *testing.T) {
	t.Parallel()
	p := lines(`{"evidence":[],"rationale":"It was.","passed":true}`)
	run := booked()
	run.Snapshot.Test = &model.AgentTestRow{Scenario: "SECRET"}
	end := ending{By: rules.Agent, Reason: "Done"}
	results, err := judge(t.Context(), nil, as(p, model.RunErrorCauseJudge), []string{"Is never <rude>"},
		transcriptOf(run, 1, end))
	require.NoError(t, err)
	require.Equal(t, []model.CriterionResult{{Criterion: "Is never <rude>", Passed: true, Rationale: "It was.",
		Evidence: []model.Evidence{}}}, results)
	require.Len(t, p.asked, 1)
	req := p.asked[0]
	require.Empty(t, cmp.Diff([]llm.Message{{Role: llm.RoleUser, Text: `{"transcript":{"messages":[` +
		`{"messageIndex":0,"speaker":"agent","isGiven":true,"text":"Welcome"},` +
		`{"messageIndex":1,"speaker":"contact","text":"Monday, please"},` +
		`{"messageIndex":2,"speaker":"agent","calls":[` +
		`{"name":"ask_expert","arguments":{"request":"<Monday>"},"result":"{\"ok\":true}"},` +
		`{"name":"book","arguments":{"day":"Monday"},"within":"ask_expert","error":"the tool answered 500"}],"text":"It is “booked”."}],` +
		`"ending":{"by":"agent","reason":"Done"}},"criterion":"Is never <rude>"}`}}, req.Messages))
	require.Empty(t, req.Tools)
	require.True(t, json.Valid(req.Schema))
	require.NotContains(t, req.System+req.Messages[0].Text, "SECRET")
}

func TestJudgeVerdictsAreValidated(t *testing.T) {
	t.Parallel()
	const good = `{"evidence":[{"messageIndex":2,"quote":"is \"booked\""},{"messageIndex":2,"quote":"book {\"day\": \"Monday\"}"},` +
		`{"messageIndex":1,"quote":"Monday"}],"rationale":" It did. ","passed":false}`
	byAgent, byContact := new(model.MessageRoleAssistant), new(model.MessageRoleUser)
	said, called := new(model.EvidenceKindSaid), new(model.EvidenceKindCalled)
	want := model.CriterionResult{Criterion: "Books", Rationale: "It did.", Evidence: []model.Evidence{
		{MessageIndex: 2, Quote: "is “booked”", Speaker: byAgent, Kind: said},
		{MessageIndex: 2, Quote: `book {"day":"Monday"}`, ToolCallID: new("call_2"), Speaker: byAgent, Kind: called},
		{MessageIndex: 1, Quote: "Monday", Speaker: byContact, Kind: said},
	}}
	for name, test := range map[string]struct{ first, wrong string }{
		"right at once": {good, ""},
		"a false quote": {
			`{"evidence":[{"messageIndex":2,"quote":"It is cancelled"}],"rationale":"r","passed":true}`,
			`the quote "It is cancelled" is neither in message 2`},
		"a quote of another": {
			`{"evidence":[{"messageIndex":1,"quote":"booked"}],"rationale":"r","passed":true}`, `is neither in message 1`},
		"an empty quote": {`{"evidence":[{"messageIndex":1,"quote":"…"}],"rationale":"r","passed":true}`,
			`is neither in message 1`},
		"a long quote": {`{"evidence":[{"messageIndex":1,"quote":"` + strings.Repeat("a", 1001) +
			`"}],"rationale":"r","passed":true}`, "at most 1000 characters"},
		"no such message": {`{"evidence":[{"messageIndex":3,"quote":"a"}],"rationale":"r","passed":true}`,
			"no message with the messageIndex 3"},
		"a negative message": {`{"evidence":[{"messageIndex":-1,"quote":"a"}],"rationale":"r","passed":true}`,
			"no message with the messageIndex -1"},
		"not JSON":                        {"It passed.", "not the JSON object"},
		"in a fence":                      {"```json\n" + good + "\n```", ""},
		"in a plain fence":                {"\n```\n" + good + "```\n", ""},
		"in words":                        {"Here is the verdict: " + good + " I hope it helps.", ""},
		"in a fence in words":             {"Sure!\n\n```json\n" + good + "\n```\nThat is all.", ""},
		"two objects":                     {good + "\n" + good, ""},
		"two fences":                      {"```json\n" + good + "\n```\n```json\n" + good + "\n```", ""},
		"an example before it":            {`With {"passed":true} it would be: ` + good, ""},
		"a footnote after it":             {good + ` As [1] says.`, ""},
		"thoughts":                        {"<think>\nPerhaps {\"passed\":true}, or {\n</think>\n" + good, ""},
		"thoughts without a beginning":    {"It was booked, I think: {\n</think>" + good, ""},
		"thoughts only":                   {"<think>" + "It was booked.", "not the JSON object"},
		"endless thoughts after a brace":  {"Judging {hours}. <Thinking>" + good, "not the JSON object"},
		"a text that looks like thoughts": {`With {"note":"<think>"} it would be: ` + good, ""},
		"a draft in endless thoughts": {"<think>\nFirst try: " + strings.Replace(good, "false", "true", 1),
			"not the JSON object"},
		"two verdicts": {strings.Replace(good, `"passed":false`, `"passed":true`, 1) + "\n" + good,
			"two verdicts that contradict each other"},
		"a verdict that applies": {strings.Replace(good, `"passed"`, `"applies":false,"passed"`, 1) + good,
			"two verdicts that contradict each other"},
		"a draft that breaks off": {`{"evidence":[{"messageIndex":2,"quo` + "\n\nAgain:\n" + good, ""},
		"an object after it":      {good + ` {"passed":true}`, `"evidence" is missing`},
		"passed twice": {`{"evidence":[],"rationale":"r","passed":false,"passed":true}`,
			`"passed" occurs more than once`},
		"passed in two cases": {`{"evidence":[],"rationale":"r","passed":false,"Passed":true}`,
			`"Passed" occurs more than once`},
		"passed in another case": {`{"evidence":[],"rationale":"r","PASSED":true}`,
			`it has "PASSED" instead of "passed"`},
		"a quote twice": {
			`{"evidence":[{"messageIndex":1,"quote":"a","quote":"Monday"}],"rationale":"r","passed":false}`,
			`"quote" occurs more than once`},
		"the contact's word for it": {
			`{"evidence":[{"messageIndex":1,"quote":"Monday"}],"rationale":"r","passed":true}`,
			"no evidence cites a message or call of the agent itself"},
		"a cut object":   {"```json\n" + strings.TrimSuffix(good, "}") + "\n```", "not the JSON object"},
		"a fenced array": {"```json\n[" + good + "]\n```", "not the JSON object"},
		"fenced, with a fault": {"```json\n" + `{"evidence":[],"passed":true}` + "\n```",
			`"rationale" is missing`},
		"an array":             {"[]", "not the JSON object"},
		"an array of verdicts": {"[ " + good + "]", "not the JSON object"},
		"verdict as text":      {strconv.Quote(good), "not the JSON object"},
		"null":                 {"null", `"passed" is missing`},
		"passed as text": {`{"evidence":[],"rationale":"r","passed":"true"}`,
			`not the JSON object that is asked for ("passed" cannot be a JSON string)`},
		"without passed":     {`{"evidence":[],"rationale":"r"}`, `"passed" is missing`},
		"without evidence":   {`{"rationale":"r","passed":true}`, `"evidence" is missing`},
		"without rationale":  {`{"evidence":[],"passed":true}`, `"rationale" is missing`},
		"an empty rationale": {`{"evidence":[],"rationale":" ","passed":true}`, `"rationale" is empty`},
		"a long rationale": {`{"evidence":[],"rationale":"` + strings.Repeat("a", 4001) + `","passed":true}`,
			"at most 4000 characters"},
		"without message index": {`{"evidence":[{"quote":"a"}],"rationale":"r","passed":true}`,
			`"messageIndex" is missing`},
		"without quote": {`{"evidence":[{"messageIndex":1}],"rationale":"r","passed":true}`,
			`"quote" is missing`},
		"too much evidence": {`{"evidence":[` + strings.Repeat(`{"messageIndex":1,"quote":"Monday"},`, 10) +
			`{"messageIndex":1,"quote":"Monday"}],"rationale":"r","passed":true}`, "at most 10 entries"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			part, shown := lines(test.first, good), transcriptOf(booked(), 0, ending{})
			results, err := judge(t.Context(), nil, as(part, model.RunErrorCauseJudge), []string{"Books"}, shown)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff([]model.CriterionResult{want}, results))
			if test.wrong == "" {
				require.Len(t, part.asked, 1)
				return
			}
			require.Len(t, part.asked, 2)
			require.Equal(t, llm.Message{Role: llm.RoleAssistant, Text: test.first}, part.asked[1].Messages[1])
			require.Contains(t, part.lastOf(1), test.wrong)
			require.NotEmpty(t, part.asked[1].Schema)

			results, err = judge(t.Context(), nil, as(lines(test.first), model.RunErrorCauseJudge), []string{"Books"}, shown)
			require.Contains(t, requireRunFault(t, err, model.RunErrorCauseJudge), test.wrong)
			require.Empty(t, results, "an unusable verdict is not returned")
		})
	}
}

// The judge is asked again before a criterion without a stated condition does not apply. Its second answer counts.
func TestJudgeConfirmsThatAnUnconditionalCriterionDoesNotApply(t *testing.T) {
	t.Parallel()
	const dodge = `{"evidence":[],"rationale":"r","applies":false,"passed":false}`
	const missed = `{"evidence":[],"rationale":"r","applies":true,"passed":false}`
	for name, test := range map[string]struct {
		criterion string
		votes     int
		answers   []string
		applies   bool
	}{
		"corrected":    {"The agent is friendly", 1, []string{dodge, missed}, true},
		"confirmed":    {"The agent corrects the contact's mistake", 1, []string{dodge, dodge}, false},
		"after a slip": {"The agent is friendly", 1, []string{"?", dodge}, false},
		"votes":        {"The agent is friendly", 3, []string{dodge, dodge, dodge, dodge, dodge, dodge}, false},
		"conditional":  {"If the contact is angry, the agent is friendly", 1, []string{dodge}, false},
	} {
		m := lines(test.answers...)
		role := as(m, model.RunErrorCauseJudge)
		role.votes = test.votes
		results, err := judge(t.Context(), nil, role, []string{test.criterion}, transcriptOf(booked(), 0, ending{}))
		require.NoError(t, err, name)
		require.Equal(t, test.applies, results[0].Applies(), name)
		require.Len(t, m.asked, len(test.answers), name)
	}
}

func TestEvidenceOfSpeechComesFromAgentMessages(t *testing.T) {
	t.Parallel()
	const result, said = `{"messageIndex":2,"quote":"500"}`, `{"messageIndex":2,"quote":"booked"}`
	verdict := func(passed bool, evidence string) string {
		return fmt.Sprintf(`{"evidence":[%s],"rationale":"r","passed":%t}`, evidence, passed)
	}
	for criterion, wantsSaid := range map[string]bool{
		"The agent says that the tool failed": true, "tells the contact about the error": true,
		"Mentions the code 500.": true,
		"The agent calls book and then clearly tells the contact what came back": true,
		"The assistant only mentions what it knows":                              true,
		"The agent says nothing about errors":                                    false, "tells the caller nothing": false,
		"The agent never mentions a code":       false,
		"The agent does not say that it failed": false, "If the contact says Monday, the agent calls book": false,
		"Books Monday": false,
	} {
		shown := transcriptOf(booked(), 0, ending{})
		judgeWith := func(answers ...string) ([]model.CriterionResult, error) {
			return judge(t.Context(), nil, as(lines(answers...), model.RunErrorCauseJudge), []string{criterion}, shown)
		}
		_, err := judgeWith(verdict(true, result), verdict(true, result))
		if wantsSaid {
			require.Contains(t, requireRunFault(t, err, model.RunErrorCauseJudge),
				"no evidence quotes a message of the agent", criterion)
		} else {
			require.NoError(t, err, criterion)
		}
		results, err := judgeWith(verdict(true, result+","+said))
		require.NoError(t, err, criterion)
		require.Equal(t, model.EvidenceKindResult, *results[0].Evidence[0].Kind)
		require.Equal(t, model.EvidenceKindSaid, *results[0].Evidence[1].Kind)
		results, err = judgeWith(verdict(false, result))
		require.NoError(t, err, criterion)
		require.False(t, results[0].Passed)
	}
}

func TestJudgeDecidesEachCriterionSeparately(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	var tooMany atomic.Bool
	var once sync.Once
	full := make(chan struct{})
	p := &player{answer: func(req llm.Request) line {
		var asked question
		if err := json.Unmarshal([]byte(req.Messages[0].Text), &asked); err != nil {
			return line{err: err}
		}
		said := line{text: `{"evidence":[],"rationale":"On ` + asked.Criterion + `.","passed":` +
			map[bool]string{true: "true", false: "false"}[asked.Criterion < "c"] + `}`}
		switch asked.Criterion {
		case "e":
			return line{err: &llm.Error{Cause: llm.Rejected, Message: "on e"}}
		case "f":
			return line{err: &llm.Error{Cause: llm.Rejected, Message: "on f"}}
		}
		said.hook = func(context.Context) {
			n := now.Add(1)
			if n == judgedAtOnce {
				once.Do(func() { close(full) })
			}
			if n > judgedAtOnce {
				tooMany.Store(true)
			}
			<-full // judgedAtOnce criteria are judged concurrently
			now.Add(-1)
		}
		return said
	}}
	results, err := judge(t.Context(), nil, as(p, model.RunErrorCauseJudge), []string{"a", "b", "c", "e", "f", "d"},
		transcript{})
	require.Equal(t, "the Judge: on e", requireRunFault(t, err, model.RunErrorCauseJudge))
	var told []string
	for _, r := range results {
		require.Equal(t, r.Criterion < "c", r.Passed)
		require.Equal(t, "On "+r.Criterion+".", r.Rationale)
		told = append(told, r.Criterion)
	}
	require.Equal(t, []string{"a", "b", "c", "d"}, told)
	require.False(t, tooMany.Load())
}
