package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/model"
)

// bookedSlot is a conversation in which the agent looks for a slot, books one, and says goodbye.
func bookedSlot(t *testing.T) *heldConversation {
	t.Helper()
	said := func(role model.MessageRole, text string) model.TestMessage {
		return model.TestMessage{Role: role, Text: text}
	}
	run := &model.AgentTestRun{
		TurnCount: 2,
		Messages: []model.TestMessage{
			said(model.MessageRoleAssistant, "Before: refund"), said(model.MessageRoleAssistant, "Good day, this is Robin."),
			said(model.MessageRoleUser, "A slot on Monday, please."), said(model.MessageRoleAssistant, "Monday at *nine* is free."),
			said(model.MessageRoleUser, "Fine"), said(model.MessageRoleAssistant, "```json\n{\"booked\": true, \"at\": \"09:00\"}\n```"),
		},
		ToolCalls: []*model.ToolCall{
			{ID: "call_a", Kind: model.ToolCallKindTool, TechnicalName: "find_slots", Arguments: model.JSONObject(`{"day":"Monday"}`), MessageSequence: 2, Result: new(`{"free":["09:00"]}`)},
			{ID: "call_b", Kind: model.ToolCallKindTool, TechnicalName: "book_slot", Arguments: model.JSONObject(`{"slot":{"day":"Monday","hour":9}}`), MessageSequence: 4, Result: new(`no JSON`)},
			{ID: "call_c", Kind: model.ToolCallKindTool, TechnicalName: "book_slot", Arguments: model.JSONObject(`{"slot":{"day":"Tuesday"}}`), MessageSequence: 4, Error: new("taken")},
		},
	}
	held := heldBy(run, 1, ending{By: speakerAgent, Reason: "goodbye"})
	held.isMeasured, held.took, held.spent = true, 1500*time.Millisecond, model.Credit/2
	held.tag = func(context.Context) (*string, error) { return new("Booking"), nil }
	return held
}

func calling(name string, where ...model.MockCondition) *model.CalledExpectation {
	return &model.CalledExpectation{NeverCalledExpectation: *avoiding(name, where...), Min: 1}
}

func avoiding(name string, where ...model.MockCondition) *model.NeverCalledExpectation {
	return &model.NeverCalledExpectation{TechnicalName: &name, Where: where}
}

func saying(text string) *model.SaidExpectation {
	return &model.SaidExpectation{Text: &text, Role: model.MessageRoleAssistant}
}

func TestEachExpectation(t *testing.T) {
	t.Parallel()
	monday, tuesday, sunday := model.MockCondition{Argument: "slot.day", Equals: new("Monday")}, model.MockCondition{Argument: "slot.day", Equals: new("Tuesday")}, model.MockCondition{Argument: "slot.day", Equals: new("Sunday")}
	in := func(turn int32, s *model.SaidExpectation) *model.SaidExpectation {
		s.Turn = &turn
		return s
	}
	like := func(expression string) *model.SaidExpectation {
		return &model.SaidExpectation{Matches: &expression, Role: model.MessageRoleAssistant}
	}
	by := func(s *model.SaidExpectation) *model.SaidExpectation {
		s.Role = model.MessageRoleUser
		return s
	}
	often := func(least int32, most *int32, c *model.CalledExpectation) *model.CalledExpectation {
		c.Min, c.Max = least, most
		return c
	}
	succeeding := func(c *model.CalledExpectation) *model.CalledExpectation {
		c.Succeeded = true
		return c
	}
	before := func(name string, c *model.CalledExpectation) *model.CalledExpectation {
		c.Before = &name
		return c
	}
	transfer, agent, contact := model.ToolCallKindCallTransfer, model.ConversationEnderAgent, model.ConversationEnderContact
	fits := func(name *string, schema string) *model.ResultExpectation {
		return &model.ResultExpectation{TechnicalName: name, Schema: model.JSONObject(schema)}
	}
	for _, test := range []struct {
		expect   model.TestExpectation
		passed   bool
		observed string
		// at are the messages of the evidence.
		at []int32
	}{
		{model.TestExpectation{Called: calling("book_slot")}, true, "called 2 times, of which 1 failed", []int32{5, 5}},
		{model.TestExpectation{Called: calling("book_slot", monday)}, true, "called once", []int32{5}},
		{model.TestExpectation{Called: calling("book_slot", model.MockCondition{Argument: "slot.hour", Matches: new(`^\d$`)})}, true, "called once", []int32{5}},
		{model.TestExpectation{Called: calling("book_slot", model.MockCondition{Argument: "slot.hour", Present: new(false)}, tuesday)}, true, "called once, which failed", []int32{5}},
		{model.TestExpectation{Called: calling("book_slot", sunday)}, false, "called 2 times, never with such arguments", []int32{5, 5}},
		{model.TestExpectation{Called: calling("refund")}, false, "never called", nil},
		{model.TestExpectation{Called: often(3, nil, calling("book_slot"))}, false, "called 2 times, of which 1 failed", []int32{5, 5}},
		{model.TestExpectation{Called: often(1, new(int32(1)), calling("book_slot"))}, false, "called 2 times, of which 1 failed", []int32{5, 5}},
		{model.TestExpectation{Called: before("book_slot", calling("find_slots"))}, true, "called once", []int32{3}},
		{model.TestExpectation{Called: before("find_slots", calling("book_slot"))}, false, "called 2 times, of which 1 failed, but find_slots was called before", []int32{3, 5}},
		{model.TestExpectation{Called: before("refund", calling("book_slot"))}, true, "called 2 times, of which 1 failed", []int32{5, 5}},
		{model.TestExpectation{Called: succeeding(calling("book_slot"))}, true, "called 2 times, of which 1 failed", []int32{5}},
		{model.TestExpectation{Called: succeeding(often(2, nil, calling("book_slot")))}, false, "called 2 times, of which 1 failed", []int32{5}},
		{model.TestExpectation{Called: succeeding(calling("book_slot", tuesday))}, false, "called once, which failed", []int32{5}},
		{model.TestExpectation{Called: succeeding(calling("refund"))}, false, "never called", nil},
		{model.TestExpectation{NeverCalled: avoiding("refund")}, true, "never called", nil},
		{model.TestExpectation{NeverCalled: avoiding("book_slot", tuesday)}, false, "called once, which failed", []int32{5}},
		{model.TestExpectation{NeverCalled: &model.NeverCalledExpectation{Kind: &transfer}}, true, "never called", nil},
		{model.TestExpectation{Says: saying("monday at nine")}, true, "said in message 3", []int32{3}},
		{model.TestExpectation{Says: saying("refund")}, false, "never said", nil},
		{model.TestExpectation{Says: saying("day at nine")}, false, "never said", nil},
		{model.TestExpectation{Says: in(0, saying("Robin"))}, true, "said in message 1", []int32{1}},
		{model.TestExpectation{Says: in(1, saying("Robin"))}, false, "never said", nil},
		{model.TestExpectation{Says: in(-2, saying("nine"))}, true, "said in message 3", []int32{3}},
		{model.TestExpectation{Says: in(-3, saying("Robin"))}, false, "never said", nil},
		{model.TestExpectation{Says: saying("{")}, true, "said in message 5", []int32{5}},
		{model.TestExpectation{Says: like(`(?i)\bNINE\b`)}, true, "said in message 3", []int32{3}},
		{model.TestExpectation{Says: by(saying("slot"))}, true, "said in message 2", []int32{2}},
		{model.TestExpectation{NeverSays: saying("nine")}, false, "said in message 3", []int32{3}},
		{model.TestExpectation{NeverSays: like(`refund`)}, true, "never said", nil},
		{model.TestExpectation{EndedBy: &agent}, true, "Agent", []int32{5}},
		{model.TestExpectation{EndedBy: &contact}, false, "Agent", []int32{5}},
		{model.TestExpectation{Tag: new("Booking")}, true, "Booking", nil},
		{model.TestExpectation{Tag: new("Other")}, false, "Booking", nil},
		{model.TestExpectation{TurnsAtMost: new(int32(2))}, true, "2", nil},
		{model.TestExpectation{TurnsAtMost: new(int32(1))}, false, "2", nil},
		{model.TestExpectation{DurationAtMost: new(1.5)}, true, "1.500 s", nil},
		{model.TestExpectation{DurationAtMost: new(1.4)}, false, "1.500 s", nil},
		{model.TestExpectation{CreditsAtMost: new(0.5)}, true, "0.5 credits", nil},
		{model.TestExpectation{CreditsAtMost: new(0.4)}, false, "0.5 credits", nil},
		{model.TestExpectation{ResultJSON: fits(nil, `{"type":"object","required":["booked"]}`)}, true, "it fits", []int32{5}},
		{model.TestExpectation{ResultJSON: fits(nil, `{"properties":{"booked":{"const":false}}}`)}, false, "it does not fit: booked: value must be false", []int32{5}},
		{model.TestExpectation{ResultJSON: fits(new("find_slots"), `{"properties":{"free":{"minItems":1}}}`)}, true, "it fits", []int32{3}},
		{model.TestExpectation{ResultJSON: fits(new("book_slot"), `{}`)}, false, "it is not JSON", []int32{5}},
		{model.TestExpectation{ResultJSON: fits(new("refund"), `{}`)}, false, "no result of refund", nil},
	} {
		checked := model.TestCheck{Expect: test.expect}
		results, err := newChecks().decide(t.Context(), []model.TestCheck{checked}, bookedSlot(t))
		require.NoError(t, err, checked.Description())
		require.Len(t, results, 1)
		var at []int32
		for _, e := range results[0].Evidence {
			at = append(at, e.MessageIndex)
		}
		require.Equal(t, test.passed, results[0].Passed, checked.Description())
		require.Equal(t, test.observed, results[0].Observed, checked.Description())
		require.Equal(t, test.at, at, checked.Description())
	}
}

func TestChecksThatCannotBeDecided(t *testing.T) {
	t.Parallel()
	held := bookedSlot(t)
	held.tag = func(context.Context) (*string, error) { return nil, faultOfAgent(errors.New("secret")) }
	all := []model.TestCheck{{Expect: model.TestExpectation{Tag: new("Booking")}}, {Expect: model.TestExpectation{TurnsAtMost: new(int32(9))}}}
	results, err := newChecks().decide(t.Context(), all, held)
	require.ErrorContains(t, err, "the gateway")
	require.Len(t, results, 1, "the others are decided all the same")

	held.messages[3].Text = strings.Repeat("x", 1<<20)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = newChecks().decide(ctx, []model.TestCheck{{Expect: model.TestExpectation{Says: &model.SaidExpectation{Matches: new("x*y"), Role: model.MessageRoleAssistant}}}}, held)
	require.ErrorIs(t, err, context.Canceled)

	late, stop := context.WithDeadline(t.Context(), startOfTest)
	defer stop()
	_, err = newChecks().saying(late, &model.SaidExpectation{Matches: new("x*y"), Role: model.MessageRoleAssistant}, held)
	require.ErrorContains(t, faultOfCheck(err), "longer than 5s")
}

// TestALenientJudgePassesNothingThatTheProgramDecides has a judge that says yes to everything.
func TestALenientJudgePassesNothingThatTheProgramDecides(t *testing.T) {
	t.Parallel()
	contact, transfer := model.ConversationEnderContact, model.ToolCallKindCallTransfer
	for _, e := range []model.TestExpectation{
		{Called: calling("book_slot", model.MockCondition{Argument: "day", Equals: new("Monday")})}, {NeverCalled: avoiding("cancel_slot")}, {Says: saying("nine o'clock")},
		{NeverSays: saying("all booked")}, {EndedBy: &contact}, {TurnsAtMost: new(int32(0))}, {Called: &model.CalledExpectation{NeverCalledExpectation: model.NeverCalledExpectation{Kind: &transfer}, Min: 1}},
	} {
		r := rehearsal{
			contact: &player{lines: []line{{text: "Monday at nine, please."}}},
			judge:   &player{lines: []line{{text: `{"evidence":[{"messageIndex":1,"quote":"all booked"}],"rationale":"Yes.","passed":true}`}}},
			replies: []agentLine{{text: "You are all booked.", calls: []string{"cancel_slot"}, ends: "done"}},
			test:    model.AgentTestRow{Scenario: "Books", Criteria: []string{"The agent is helpful"}, MaxTurns: 3, Checks: []model.TestCheck{{Expect: e}}},
		}
		tester := r.tester()
		tester.checks = newChecks()
		run := &model.AgentTestRun{Snapshot: model.RunSnapshot{Test: &r.test, Agent: &r.agent}}
		require.NoError(t, tester.simulate(t.Context(), run))
		require.Equal(t, model.AgentTestRunStatusFailed, run.Status, e.String())
		require.True(t, run.CriteriaResults[0].Passed)
		require.False(t, run.CheckResults[0].Passed, e.String())

		r.test.Checks[0].Weight, r.test.PassAt, r.situations = new(int32(3)), new(0.5), nil
		r.test.CriteriaWeights = []*int32{new(int32(3))}
		require.NoError(t, tester.simulate(t.Context(), run))
		require.Equal(t, model.AgentTestRunStatusPassed, run.Status, "half of the weights is enough")
		require.InDelta(t, 0.5, *run.Score, 0)
	}
}

// TestPlaceholdersOfATest fills them for the contact, the judge and the checks; verdicts keep the texts of the test.
func TestPlaceholdersOfATest(t *testing.T) {
	t.Parallel()
	r := rehearsal{
		contact: &player{lines: []line{{text: "Hello."}}},
		judge:   &player{lines: []line{{text: `{"evidence":[],"rationale":"Nobody asked.","applies":false,"passed":false}`}}},
		replies: []agentLine{{text: "Good day, Ana (VIP).", ends: "done"}},
		test: model.AgentTestRow{
			Scenario: "You are {name}, {other}.", Criteria: []string{"If asked, greets {name}"}, MaxTurns: 1, Variables: model.JSONObject(`{"name":"Ana (VIP)"}`),
			Checks: []model.TestCheck{
				{Expect: model.TestExpectation{Says: saying("{name}")}},
				{Expect: model.TestExpectation{Says: &model.SaidExpectation{Matches: new(`day, {name}\.$`), Role: model.MessageRoleAssistant}}},
			},
		},
	}
	tester := r.tester()
	tester.checks = newChecks()
	run := &model.AgentTestRun{Snapshot: model.RunSnapshot{Test: &r.test, Agent: &r.agent}}
	require.NoError(t, tester.simulate(t.Context(), run))
	require.Equal(t, model.AgentTestRunStatusPassed, run.Status)
	for _, result := range run.CheckResults {
		require.True(t, result.Passed, result.Check.Description())
		require.Contains(t, result.Check.Description(), "{name}")
		require.Contains(t, result.Expected(), "Ana")
		require.NotContains(t, result.Expected(), "{name}")
	}
	require.Equal(t, "If asked, greets {name}", run.CriteriaResults[0].Criterion)
	require.Equal(t, "If asked, greets Ana (VIP)", run.CriteriaResults[0].Expected())
	require.False(t, run.CriteriaResults[0].Applies())
	require.Contains(t, r.judge.asked[0].Messages[0].Text, "greets Ana (VIP)")
	require.Contains(t, r.judge.asked[0].Messages[0].Text, `"variables":{"name":"Ana (VIP)"}`)
	require.Contains(t, r.contact.asked[0].System, "You are Ana (VIP), {other}.")
	require.Contains(t, r.contact.asked[0].System, `{"name":"Ana (VIP)"}`)
	require.Equal(t, []string{"the scenario has the placeholder {other}, for which there is no value; it stays as it is"}, unfilledIn(content.Values{"name": "Ana"}, &r.test))

	r.test.Checks, r.situations = nil, nil
	require.ErrorContains(t, tester.simulate(t.Context(), run), "no criterion applies")
	require.Equal(t, model.AgentTestRunStatusError, run.Status, "nothing was judged")
}

func TestChecksOfWhatTheAgentDoesNotHave(t *testing.T) {
	t.Parallel()
	s := &speaker{agent: &model.Agent{ClassificationTags: []model.ClassificationTag{{Name: "A"}}}, tools: []*model.Tool{{TechnicalName: "look"}}}
	checks := []model.TestCheck{
		{Expect: model.TestExpectation{Tag: new("A")}}, {Expect: model.TestExpectation{Tag: new("B")}}, {Expect: model.TestExpectation{Called: calling("look")}},
		{Expect: model.TestExpectation{Called: calling("lok")}}, {Expect: model.TestExpectation{NeverCalled: avoiding("gone")}},
	}
	require.Equal(t, []string{`check 2 expects the tag "B", which the agent does not have`, "check 4 expects a call of lok, which the agent cannot make"}, s.knownTo(checks, s.callable()))
}
