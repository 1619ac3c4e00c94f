package evaluation

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

func calling(name string, where ...model.MockCondition) *model.CalledExpectation {
	return &model.CalledExpectation{NeverCalledExpectation: *avoiding(name, where...), Min: 1}
}

func avoiding(name string, where ...model.MockCondition) *model.NeverCalledExpectation {
	return &model.NeverCalledExpectation{TechnicalName: &name, Where: where}
}

func saying(text string) *model.SaidExpectation {
	return &model.SaidExpectation{Text: &text, Role: model.MessageRoleAssistant}
}

func TestUndecidedCheckKeepsTheOthers(t *testing.T) {
	t.Parallel()
	held := rules.NewConversation(&model.AgentTestRun{TurnCount: 2,
		Messages: []model.TestMessage{written(model.MessageRoleAssistant, strings.Repeat("x", 1<<20))}}, 0, rules.Agent)
	held.Tag = func(context.Context) (*string, error) { return nil, faultOfAgent(errors.New("secret")) }
	all := []model.TestCheck{{Expect: model.TestExpectation{Tag: new("Booking")}},
		{Expect: model.TestExpectation{TurnsAtMost: new(int32(9))}}}
	results, err := decideChecks(t.Context(), rules.NewChecker(), all, nil, held)
	require.ErrorContains(t, err, "the server")
	require.Len(t, results, 1, "the other check is decided")

	says := model.TestExpectation{Says: &model.SaidExpectation{Matches: new("x*y"), Role: model.MessageRoleAssistant}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = decideChecks(ctx, rules.NewChecker(), []model.TestCheck{{Expect: says}}, nil, held)
	require.ErrorIs(t, err, context.Canceled)

	late, stop := context.WithDeadline(t.Context(), startOfTest)
	defer stop()
	_, err = rules.NewChecker().Check(late, &says, held)
	require.ErrorContains(t, faultOfCheck(err), "longer than 5s")
}

// Everything contains an empty text, so such a check would say nothing.
func TestCheckWithAnEmptyTextIsUndecided(t *testing.T) {
	t.Parallel()
	held := rules.NewConversation(&model.AgentTestRun{
		TurnCount: 1, Messages: []model.TestMessage{written(model.MessageRoleAssistant, "Hello.")},
	}, 0, rules.Agent)
	pattern := &model.SaidExpectation{Matches: new("{a}"), Role: model.MessageRoleAssistant}
	for _, e := range []model.TestExpectation{
		{Says: pattern}, {NeverSays: saying("{a}")}, {Extracts: &model.ExtractsExpectation{Name: "x", Matches: new("{a}")}},
		{NeverCalled: avoiding("look", model.MockCondition{Argument: "x", Matches: new("{a}")})},
	} {
		checks := []model.TestCheck{{Expect: model.TestExpectation{Says: saying("Hello")}}, {Expect: e}}
		results, err := decideChecks(t.Context(), rules.NewChecker(), checks, content.Values{"a": ""}, held)
		require.ErrorContains(t, err, "check 2 ("+e.String()+") cannot be decided, because the value of {a} is empty")
		require.Len(t, results, 1)
	}
	equal := []model.TestCheck{{Expect: model.TestExpectation{Called: calling("look",
		model.MockCondition{Argument: "x", Equals: new("{a}")})}}}
	_, err := decideChecks(t.Context(), rules.NewChecker(), equal, content.Values{"a": ""}, held)
	require.NoError(t, err, "an empty value can be expected")
}

// The judge passes every criterion.
func TestFailedCheckFailsTheRunOfALenientJudge(t *testing.T) {
	t.Parallel()
	contact, transfer := model.ConversationEnderContact, model.ToolCallKindCallTransfer
	for _, e := range []model.TestExpectation{
		{Called: calling("book_slot", model.MockCondition{Argument: "day", Equals: new("Monday")})},
		{NeverCalled: avoiding("cancel_slot")}, {Says: saying("nine o'clock")},
		{NeverSays: saying("all booked")}, {EndedBy: &contact}, {TurnsAtMost: new(int32(0))},
		{Called: &model.CalledExpectation{NeverCalledExpectation: model.NeverCalledExpectation{Kind: &transfer}, Min: 1}},
	} {
		r := rehearsal{
			contact: &player{lines: []line{{text: "Monday at nine, please."}}},
			judge: &player{lines: []line{
				{text: `{"evidence":[{"messageIndex":1,"quote":"all booked"}],"rationale":"Yes.","passed":true}`}}},
			replies: []agentLine{{text: "You are all booked.", calls: []string{"cancel_slot"}, ends: "done"}},
			test: model.AgentTestRow{Scenario: "Books", Criteria: []string{"The agent is helpful"}, MaxTurns: 3,
				Checks: []model.TestCheck{{Expect: e}}},
		}
		tester := r.tester()
		tester.checker = rules.NewChecker()
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

// A check's texts may contain placeholders, except names. filledExpectation fills them, and Texts returns them for
// warnings.
func TestEveryTextOfAnExpectationIsFilled(t *testing.T) {
	t.Parallel()
	// visit sets each string to a placeholder, and tells what it was before.
	var visit func(path string, v reflect.Value, was func(path, text string))
	visit = func(path string, v reflect.Value, was func(path, text string)) {
		switch {
		case v.Type() == reflect.TypeFor[string]():
			was(path, v.String())
			v.SetString("{x}")
		case v.Kind() == reflect.Pointer:
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			visit(path, v.Elem(), was)
		case v.Kind() == reflect.Struct:
			for field, value := range v.Fields() {
				visit(path+"."+field.Name, value, was)
			}
		case v.Type() == reflect.TypeFor[[]model.MockCondition]():
			if v.Len() == 0 {
				v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			}
			visit(path, v.Index(0), was)
		}
	}
	var unfilled []string
	for i := range reflect.TypeFor[model.TestExpectation]().NumField() {
		var e model.TestExpectation
		name, ofField := reflect.TypeOf(e).Field(i).Name, reflect.ValueOf(&e).Elem().Field(i)
		visit(name, ofField, func(string, string) {})
		texts, filled := len(e.Texts()), 0
		e = filledExpectation(content.Values{"x": "value"}, e)
		visit(name, ofField, func(path, text string) {
			if text == "value" {
				filled++
			} else {
				unfilled = append(unfilled, path)
			}
		})
		require.Equal(t, filled, texts, "model.TestExpectation.Texts() returns what filledExpectation fills: %s", name)
	}
	require.ElementsMatch(t, []string{
		"Called.NeverCalledExpectation.TechnicalName", "Called.NeverCalledExpectation.Where.Argument", "Called.Before",
		"NeverCalled.TechnicalName", "NeverCalled.Where.Argument", "ResultJSON.TechnicalName", "Extracts.Name",
	}, unfilled, "filledExpectation fills all texts but these names")
}

// Placeholders are filled for the contact, the judge and the checks. Verdicts show the test's own text, with the
// placeholders.
func TestPlaceholdersOfATestAreFilled(t *testing.T) {
	t.Parallel()
	r := rehearsal{
		contact: &player{lines: []line{{text: "Hello."}}},
		judge:   &player{lines: []line{{text: `{"evidence":[],"rationale":"Nobody asked.","applies":false,"passed":false}`}}},
		replies: []agentLine{{text: "Good day, Ana (VIP).", ends: "done"}},
		test: model.AgentTestRow{
			Scenario: "You are {name}, {other}.", Criteria: []string{"If asked, greets {name}"}, MaxTurns: 1,
			Variables: model.JSONObject(`{"name":"Ana (VIP)"}`),
			Checks: []model.TestCheck{
				{Expect: model.TestExpectation{Says: saying("{name}")}},
				{Expect: model.TestExpectation{Says: &model.SaidExpectation{Matches: new(`day, {name}\.$`),
					Role: model.MessageRoleAssistant}}},
			},
		},
	}
	tester := r.tester()
	tester.checker = rules.NewChecker()
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
	require.Equal(t, []string{"the scenario has the placeholder {other}, which has no value and is left unchanged"},
		unfilledIn(content.Values{"name": "Ana"}, &r.test))

	r.test.Checks, r.situations = nil, nil
	require.ErrorContains(t, tester.simulate(t.Context(), run), "no criterion applies")
	require.Equal(t, model.AgentTestRunStatusError, run.Status, "the run has no verdict")
}

func TestChecksOfMissingTargetsAreReported(t *testing.T) {
	t.Parallel()
	s := &engine.Speaker{Agent: &model.Agent{ClassificationTags: []model.ClassificationTag{{Name: "A"}}},
		Tools: []*model.Tool{{TechnicalName: "look"}}}
	checks := []model.TestCheck{
		{Expect: model.TestExpectation{Tag: new("A")}}, {Expect: model.TestExpectation{Tag: new("B")}},
		{Expect: model.TestExpectation{Called: calling("look")}},
		{Expect: model.TestExpectation{Called: calling("lok")}},
		{Expect: model.TestExpectation{NeverCalled: avoiding("gone")}},
		{Expect: model.TestExpectation{NeverCalled: &model.NeverCalledExpectation{Kind: new(model.ToolCallKindSubAgent)}}},
		{Expect: model.TestExpectation{Called: calling("look")}},
		{Expect: model.TestExpectation{ResultJSON: &model.ResultExpectation{TechnicalName: new("lok")}}},
		{Expect: model.TestExpectation{NeverSays: &model.SaidExpectation{Turn: new(int32(3))}}},
		{Expect: model.TestExpectation{NeverSays: &model.SaidExpectation{Turn: new(int32(-2))}}},
	}
	checks[6].Expect.Called.Before = new("bok")
	require.Equal(t, []string{`check 2 expects the tag "B", which the agent does not have`,
		"check 4 expects a call of lok, which the agent cannot make",
		"check 5 expects no call of gone, which the agent cannot make",
		"check 7 expects a call before a call of bok, which the agent cannot make",
		"check 8 expects a result of a call of lok, which the agent cannot make",
		"check 9 is about turn 3, but the test has at most 2",
	}, unknownTo(s, &model.AgentTestRow{Checks: checks, MaxTurns: 2}, s.Callable()))
}
