package evaluation

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

const (
	playedWell = `{"evidence":[],"rationale":"It asked for what it wants.","onRole":true,"loops":false,"leaked":false,"completed":true}`
	holds      = `{"evidence":[],"rationale":"r","applies":true,"passed":true}`
)

func TestJudgeReviewsTheSimulationOnce(t *testing.T) {
	t.Parallel()
	left := func() *player { return &player{lines: []line{{text: "One"}, leave("", "Enough.")}} }
	badly := func(quoted, answers string) string {
		return `{"evidence":[{"messageIndex":` + quoted + `}],"rationale":"So it is.",` + answers + `}`
	}
	for name, test := range map[string]struct {
		rehearsal rehearsal
		answers   []string
		asked     int
		fault     string
		judge     string
	}{
		"it played well": {answers: []string{playedWell, holds}, asked: 2},
		"it left its role": {
			answers: []string{badly(`2,"quote":"Two"`, `"onRole":false,"loops":false,"leaked":false,"completed":true`)},
			asked:   1, fault: `it left its role (message 2: "Two"): So it is.`},
		"all at once": {rehearsal: rehearsal{contact: left()},
			answers: []string{badly(`0,"quote":"One"`, `"onRole":false,"loops":true,"leaked":true,"completed":false`)}, asked: 1,
			fault: `it left its role and repeated itself and revealed its role and ended the conversation too early ` +
				`(message 0: "One"): So it is.`},
		"it left too early": {rehearsal: rehearsal{contact: left()},
			answers: []string{strings.Replace(playedWell, `"completed":true`, `"completed":false`, 1)}, asked: 1,
			fault: "it ended the conversation too early: It asked"},
		"the agent ended it": {
			rehearsal: rehearsal{replies: []agentLine{{text: "Bye", ends: "All is done"}}},
			answers:   []string{strings.Replace(playedWell, `"completed":true`, `"completed":false`, 1), holds}, asked: 2,
		},
		"its patience ran out": {
			rehearsal: rehearsal{test: model.AgentTestRow{Persona: &model.ContactPersona{Patience: new(int32(1))}}},
			answers:   []string{strings.Replace(playedWell, `"completed":true`, `"completed":false`, 1), holds}, asked: 2,
		},
		"the second answer can be read": {answers: []string{"It was fine.", playedWell, holds}, asked: 3},
		"an answer is missing": {
			answers: []string{`{"evidence":[],"rationale":"r","onRole":true,"loops":false,"completed":true}`}, asked: 2,
			judge: `one of "onRole", "loops", "leaked" and "completed" is missing`},
		"it is there twice": {answers: []string{strings.Replace(playedWell, `"loops"`, `"onrole":true,"loops"`,
			1)}, asked: 2, judge: `"onrole" occurs more than once`},
		"nothing is quoted": {answers: []string{strings.Replace(playedWell, `"loops":false`, `"loops":true`, 1)},
			asked: 2, judge: "no evidence quotes a message of the contact"},
		"the agent is quoted": {
			answers: []string{badly(`1,"quote":"Fine"`, `"onRole":false,"loops":false,"leaked":false,"completed":true`)},
			asked:   2, judge: "no evidence quotes a message of the contact"},
		"the quote is made up": {
			answers: []string{badly(`0,"quote":"As an AI"`, `"onRole":false,"loops":false,"leaked":false,"completed":true`)},
			asked:   2, judge: `the quote "As an AI" is neither in message 0`},
		"what the test has it say is not its own": {
			rehearsal: rehearsal{test: model.AgentTestRow{ContactSays: []*string{new("As an AI I am lost")}}},
			answers:   []string{badly(`0,"quote":"As an AI"`, `"onRole":false,"loops":false,"leaked":false,"completed":true`)},
			asked:     2, judge: "no evidence quotes a message of the contact",
		},
		"all that it says is the test's": {
			rehearsal: rehearsal{test: model.AgentTestRow{MaxTurns: 1, ContactSays: []*string{new("As an AI I am lost")}}},
			answers:   []string{holds}, asked: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := test.rehearsal
			r.judge = lines(test.answers...)
			run := r.run()
			tester := r.tester()
			tester.reviewsContact = true
			tester.costOf = func(int32) model.Credits { return model.Credits(len(r.judge.asked)) }
			err := tester.simulate(t.Context(), run)
			require.Len(t, r.judge.asked, test.asked)
			if test.fault == "" && test.judge == "" {
				require.NoError(t, err)
				require.Equal(t, model.AgentTestRunStatusPassed, run.Status)
				require.Zero(t, run.Held.SpentMicro, "the judge does not count")
				require.EqualValues(t, test.asked-1, run.Held.ReviewMicro, "the judge of the criterion does not count")
				return
			}
			require.Equal(t, model.AgentTestRunStatusError, run.Status)
			require.Empty(t, run.CriteriaResults)
			require.Nil(t, run.EndReason, "nobody judges it again")
			require.Nil(t, run.Held)
			require.NotEmpty(t, run.Messages)
			if test.judge != "" {
				require.Contains(t, requireRunFault(t, err, model.RunErrorCauseJudge), test.judge)
				return
			}
			require.Contains(t, requireRunFault(t, err, model.RunErrorCauseSimulator), "the judge finds that "+test.fault)
		})
	}
}

func TestJudgeReceivesABoundedTranscript(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 4_000)
	r := rehearsal{
		judge: lines(playedWell, holds), contact: lines(long[:3_500]),
		replies: []agentLine{{text: long, calls: []string{"book"}}},
		test: model.AgentTestRow{
			MaxTurns: 30, Scenario: "You are {name}.", Variables: model.JSONObject(`{"name":"Ana"}`),
			Persona:     &model.ContactPersona{Mood: new(model.ContactMoodAngry)},
			ContactSays: []*string{new("Hello from {name}")},
			ConversationMessages: []model.TestMessage{written(model.MessageRoleUser, "Hi"),
				written(model.MessageRoleAssistant, "Hello")},
		},
	}
	run := r.run()
	tester := r.tester()
	tester.reviewsContact = true
	require.NoError(t, tester.simulate(t.Context(), run))
	asked := r.judge.asked[0]
	require.Equal(t, reviewInstruction, asked.System)
	text := r.judge.lastOf(0)
	require.Less(t, len(text), maxTranscript+5_000)
	var shown struct {
		Part         string
		Conversation struct {
			Messages  []transcriptMessage
			Variables map[string]string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text), &shown))
	require.Contains(t, shown.Part, "You are Ana.")
	require.Contains(t, shown.Part, "angry")
	require.Equal(t, map[string]string{"name": "Ana"}, shown.Conversation.Variables)
	var isGiven []bool
	for _, m := range shown.Conversation.Messages[:5] {
		isGiven = append(isGiven, m.IsGiven)
		require.Empty(t, m.Calls)
	}
	require.Equal(t, []bool{true, true, true, false, false}, isGiven)
	require.Contains(t, text, "leftOutBefore")
}
