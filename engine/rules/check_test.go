package rules

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// bookedSlot is a conversation in which the agent looks for a slot, books one, and says goodbye.
func bookedSlot(t *testing.T) *Conversation {
	t.Helper()
	wrote := func(role model.MessageRole, text string) model.TestMessage {
		return model.TestMessage{Role: role, Text: text}
	}
	run := &model.AgentTestRun{
		TurnCount: 2,
		Messages: []model.TestMessage{
			wrote(model.MessageRoleAssistant, "Before: refund"), wrote(model.MessageRoleAssistant, "Good day, this is Robin."),
			wrote(model.MessageRoleUser, "A slot on Monday, please."),
			wrote(model.MessageRoleAssistant, "Monday at *nine* is free."),
			wrote(model.MessageRoleUser, "Fine"), wrote(model.MessageRoleAssistant, "```json\n{\"booked\": true, \"at\": "+
				"\"09:00\"}\n```"),
		},
		ToolCalls: []*model.ToolCall{
			{ID: "call_a", Kind: model.ToolCallKindTool, TechnicalName: "find_slots",
				Arguments: model.JSONObject(`{"day":"Monday"}`), MessageSequence: 2, Result: new(`{"free":["09:00"]}`)},
			{ID: "call_b", Kind: model.ToolCallKindTool, TechnicalName: "book_slot",
				Arguments: model.JSONObject(`{"slot":{"day":"Monday","hour":9}}`), MessageSequence: 4, Result: new(`no JSON`)},
			{ID: "call_c", Kind: model.ToolCallKindTool, TechnicalName: "book_slot",
				Arguments: model.JSONObject(`{"slot":{"day":"Tuesday"}}`), MessageSequence: 4, Error: new("taken")},
		},
	}
	held := NewConversation(run, 1, Agent)
	held.isMeasured, held.duration, held.credits = true, 1500*time.Millisecond, model.Credit/2
	held.Tag = func(context.Context) (*string, error) { return new("Booking"), nil }
	return held
}

func called(name string, where ...model.MockCondition) *model.CalledExpectation {
	return &model.CalledExpectation{NeverCalledExpectation: *uncalled(name, where...), Min: 1}
}

func uncalled(name string, where ...model.MockCondition) *model.NeverCalledExpectation {
	return &model.NeverCalledExpectation{TechnicalName: &name, Where: where}
}

func said(text string) *model.SaidExpectation {
	return &model.SaidExpectation{Text: &text, Role: model.MessageRoleAssistant}
}

func TestExpectationsAreDecided(t *testing.T) {
	t.Parallel()
	monday, tuesday, sunday := model.MockCondition{Argument: "slot.day", Equals: new("Monday")},
		model.MockCondition{Argument: "slot.day", Equals: new("Tuesday")}, model.MockCondition{Argument: "slot.day",
			Equals: new("Sunday")}
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
	transfer, agent, contact := model.ToolCallKindCallTransfer, model.ConversationEnderAgent,
		model.ConversationEnderContact
	fits := func(name *string, schema string) *model.ResultExpectation {
		return &model.ResultExpectation{TechnicalName: name, Schema: model.JSONObject(schema)}
	}
	held := bookedSlot(t)
	held.messages[5].Usage = &model.AnswerUsage{FirstTokenMs: new(0.0)}
	held.Extracted = map[string]*string{"day": new("Monday")}
	decided, described := map[string]bool{}, map[string]string{} // fields, and the field of each description
	for _, test := range []struct {
		expect   model.TestExpectation
		passed   bool
		observed string
		// at lists the messages of the evidence.
		at []int32
	}{
		{model.TestExpectation{Called: called("book_slot")}, true, "called 2 times, of which 1 failed", []int32{5, 5}},
		{model.TestExpectation{Called: called("book_slot", monday)}, true, "called once", []int32{5}},
		{model.TestExpectation{Called: called("book_slot", model.MockCondition{Argument: "slot.hour", Matches: new(`^\d$`)})},
			true, "called once", []int32{5}},
		{model.TestExpectation{Called: called("book_slot", model.MockCondition{Argument: "slot.hour", Present: new(false)},
			tuesday)}, true, "called once, which failed", []int32{5}},
		{model.TestExpectation{Called: called("book_slot", sunday)}, false, "called 2 times, never with such arguments",
			[]int32{5, 5}},
		{model.TestExpectation{Called: called("refund")}, false, "never called", nil},
		{model.TestExpectation{Called: often(3, nil, called("book_slot"))}, false, "called 2 times, of which 1 failed",
			[]int32{5, 5}},
		{model.TestExpectation{Called: often(1, new(int32(1)), called("book_slot"))}, false,
			"called 2 times, of which 1 failed", []int32{5, 5}},
		{model.TestExpectation{Called: before("book_slot", called("find_slots"))}, true, "called once", []int32{3}},
		{model.TestExpectation{Called: often(1, new(int32(2)), called("book_slot"))}, true,
			"called 2 times, of which 1 failed", []int32{5, 5}},
		{model.TestExpectation{Called: before("find_slots", called("book_slot"))}, false,
			"called 2 times, of which 1 failed, but find_slots was called earlier", []int32{3, 5}},
		{model.TestExpectation{Called: before("refund", called("book_slot"))}, true, "called 2 times, of which 1 failed",
			[]int32{5, 5}},
		{model.TestExpectation{Called: succeeding(called("book_slot"))}, true, "called 2 times, of which 1 failed",
			[]int32{5}},
		{model.TestExpectation{Called: succeeding(often(2, nil, called("book_slot")))}, false,
			"called 2 times, of which 1 failed", []int32{5}},
		{model.TestExpectation{Called: succeeding(called("book_slot", tuesday))}, false, "called once, which failed",
			[]int32{5}},
		{model.TestExpectation{Called: succeeding(called("refund"))}, false, "never called", nil},
		{model.TestExpectation{NeverCalled: uncalled("refund")}, true, "never called", nil},
		{model.TestExpectation{NeverCalled: uncalled("book_slot", tuesday)}, false, "called once, which failed", []int32{5}},
		{model.TestExpectation{NeverCalled: &model.NeverCalledExpectation{Kind: &transfer}}, true, "never called", nil},
		{model.TestExpectation{Says: said("monday at nine")}, true, "said in message 3", []int32{3}},
		{model.TestExpectation{Says: said("refund")}, false, "never said", nil},
		{model.TestExpectation{Says: said("day at nine")}, false, "never said", nil},
		{model.TestExpectation{Says: in(0, said("Robin"))}, true, "said in message 1", []int32{1}},
		{model.TestExpectation{Says: in(1, said("Robin"))}, false, "never said", nil},
		{model.TestExpectation{Says: in(-2, said("nine"))}, true, "said in message 3", []int32{3}},
		{model.TestExpectation{Says: in(-3, said("Robin"))}, false, "never said", nil},
		{model.TestExpectation{Says: said("{")}, true, "said in message 5", []int32{5}},
		{model.TestExpectation{Says: like(`(?i)\bNINE\b`)}, true, "said in message 3", []int32{3}},
		{model.TestExpectation{Says: by(said("slot"))}, true, "said in message 2", []int32{2}},
		{model.TestExpectation{NeverSays: said("nine")}, false, "said in message 3", []int32{3}},
		{model.TestExpectation{NeverSays: like(`refund`)}, true, "never said", nil},
		{model.TestExpectation{EndedBy: &agent}, true, "Agent", []int32{5}},
		{model.TestExpectation{EndedBy: &contact}, false, "Agent", []int32{5}},
		{model.TestExpectation{Tag: new("Booking")}, true, "Booking", nil},
		{model.TestExpectation{Tag: new("Other")}, false, "Booking", nil},
		{model.TestExpectation{TurnsAtMost: new(int32(2))}, true, "2", nil},
		{model.TestExpectation{TurnsAtMost: new(int32(1))}, false, "2", nil},
		{model.TestExpectation{DurationAtMost: new(1.5)}, true, "1.500 s", nil},
		{model.TestExpectation{DurationAtMost: new(1.4)}, false, "1.500 s", nil},
		{model.TestExpectation{FirstTokenAtMost: new(0.0)}, true, "0.000 s", []int32{5}},
		{model.TestExpectation{CreditsAtMost: new(0.5)}, true, "0.5 credits", nil},
		{model.TestExpectation{CreditsAtMost: new(0.4)}, false, "0.5 credits", nil},
		{model.TestExpectation{ResultJSON: fits(nil, `{"type":"object","required":["booked"]}`)}, true, "it matches the schema",
			[]int32{5}},
		{model.TestExpectation{ResultJSON: fits(nil, `{"properties":{"booked":{"const":false}}}`)}, false,
			"it does not match the schema: booked: value must be false", []int32{5}},
		{model.TestExpectation{ResultJSON: fits(new("find_slots"), `{"properties":{"free":{"minItems":1}}}`)}, true,
			"it matches the schema", []int32{3}},
		{model.TestExpectation{ResultJSON: fits(new("book_slot"), `{}`)}, false, "it is not JSON", []int32{5}},
		{model.TestExpectation{ResultJSON: fits(new("refund"), `{}`)}, false, "no result of refund", nil},
		{model.TestExpectation{Extracts: &model.ExtractsExpectation{Name: "day", Equals: new("monday")}}, true, `"Monday"`,
			[]int32{3}},
		{model.TestExpectation{Extracts: &model.ExtractsExpectation{Name: "day", Matches: new("^T")}}, false, `"Monday"`,
			[]int32{3}},
	} {
		found, err := NewChecker().Check(t.Context(), &test.expect, held)
		require.NoError(t, err, test.expect.String())
		var at []int32
		for _, e := range found.Evidence {
			at = append(at, e.MessageIndex)
		}
		require.Equal(t, test.passed, found.Passed, test.expect.String())
		require.Equal(t, test.observed, found.Observed, test.expect.String())
		require.Equal(t, test.at, at, test.expect.String())
		for field, value := range reflect.ValueOf(test.expect).Fields() {
			if value.IsNil() {
				continue
			}
			decided[field.Name] = true
			text := test.expect.String()
			require.Equal(t, field.Name, cmp.Or(described[text], field.Name), "model.TestExpectation.String() is %q", text)
			described[text] = field.Name
		}
	}
	for field := range reflect.TypeFor[model.TestExpectation]().Fields() {
		require.True(t, decided[field.Name], "a row of this test for %s", field.Name)
	}
}

func TestUndecidableExpectationsAreReported(t *testing.T) {
	t.Parallel()
	held := bookedSlot(t)
	held.Tag = func(context.Context) (*string, error) { return nil, errors.New("no classifier") }
	_, err := NewChecker().Check(t.Context(), &model.TestExpectation{Tag: new("Booking")}, held)
	require.ErrorContains(t, err, "no classifier")

	held.messages[3].Text = strings.Repeat("x", 1<<20)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = NewChecker().Check(ctx,
		&model.TestExpectation{Says: &model.SaidExpectation{Matches: new("x*y"), Role: model.MessageRoleAssistant}}, held)
	require.ErrorIs(t, err, context.Canceled)

	where := model.MockCondition{Argument: "slot.day", Matches: new("Mon")}
	_, err = NewChecker().Check(ctx, &model.TestExpectation{NeverCalled: uncalled("book_slot", where)}, held)
	require.ErrorIs(t, err, context.Canceled, "a condition that was not evaluated decides nothing")

	held.isMeasured = false
	for _, e := range []model.TestExpectation{
		{CreditsAtMost: new(1.0)}, {DurationAtMost: new(1.0)}, {FirstTokenAtMost: new(1.0)},
	} {
		_, err = NewChecker().Check(t.Context(), &e, held)
		require.ErrorContains(t, err, "did not record", e.String())
	}
}

// checked returns the finding of an expectation that is decided.
func checked(t *testing.T, e model.TestExpectation, c *Conversation) Finding {
	t.Helper()
	found, err := NewChecker().Check(t.Context(), &e, c)
	require.NoError(t, err, e.String())
	return found
}

// An expectation of success compares the order with the first call that succeeded.
func TestSuccessfulCallIsNotBeforeAnEarlierOne(t *testing.T) {
	t.Parallel()
	call := func(name string, failure *string) *model.ToolCall {
		return &model.ToolCall{TechnicalName: name, Error: failure}
	}
	c := NewConversation(&model.AgentTestRun{Messages: []model.TestMessage{{Role: model.MessageRoleAssistant}},
		ToolCalls: []*model.ToolCall{call("book_slot", new("taken")), call("find_slots", nil), call("book_slot", nil)}},
		0, Agent)
	e := called("book_slot")
	e.Before = new("find_slots")
	require.True(t, checked(t, model.TestExpectation{Called: e}, c).Passed)
	e.Succeeded = true
	require.False(t, checked(t, model.TestExpectation{Called: e}, c).Passed)
}

// The messages that a test starts with, and the calls for them, are not the agent's. If the last of them is the
// contact's, the agent's first answer is in turn 1.
func TestMessagesOfTheTestDoNotCount(t *testing.T) {
	t.Parallel()
	answer := func(text string, milliseconds float64) model.TestMessage {
		return model.TestMessage{Role: model.MessageRoleAssistant, Text: text,
			Usage: &model.AnswerUsage{FirstTokenMs: &milliseconds}}
	}
	asked := model.TestMessage{Role: model.MessageRoleUser, Text: "A slot, please."}
	run := &model.AgentTestRun{TurnCount: 1, Messages: []model.TestMessage{answer("Hello", 9_000), asked,
		answer("One moment.", 500), answer("It is booked.", 1_500)}}
	for name, at := range map[string]int32{"old": 0, "booked": 1, "left": 3} {
		run.ToolCalls = append(run.ToolCalls, &model.ToolCall{TechnicalName: name, MessageSequence: at})
	}
	c := NewConversation(run, 2, Agent)
	require.True(t, checked(t, model.TestExpectation{NeverCalled: uncalled("old")}, c).Passed)
	require.True(t, checked(t, model.TestExpectation{Called: called("booked")}, c).Passed)
	require.EqualValues(t, 3, checked(t, model.TestExpectation{Called: called("left")}, c).Evidence[0].MessageIndex,
		"a call after the last message is cited at that message")
	first := said("booked")
	first.Turn = new(int32(1))
	require.True(t, checked(t, model.TestExpectation{Says: first}, c).Passed)
	began := checked(t, model.TestExpectation{FirstTokenAtMost: new(1.5)}, c)
	require.Equal(t, Finding{true, "1.500 s", began.Evidence}, began)
	require.EqualValues(t, 3, began.Evidence[0].MessageIndex)
	require.False(t, checked(t, model.TestExpectation{FirstTokenAtMost: new(1.4)}, c).Passed)

	run.Messages, run.TurnCount = run.Messages[:2], 0
	c = NewConversation(run, 2, Contact)
	schema := &model.ResultExpectation{Schema: model.JSONObject(`{}`)}
	require.Equal(t, "the agent said nothing", checked(t, model.TestExpectation{ResultJSON: schema}, c).Observed)
	require.Equal(t, Finding{true, "0.000 s", nil}, checked(t, model.TestExpectation{FirstTokenAtMost: new(1.0)}, c))
}

func TestExtractedTextIsComparedWithoutOuterSpaces(t *testing.T) {
	t.Parallel()
	c := bookedSlot(t)
	c.Extracted = map[string]*string{"day": new(" Monday\n")}
	e := &model.ExtractsExpectation{Name: "day", Equals: new("monday ")}
	require.True(t, checked(t, model.TestExpectation{Extracts: e}, c).Passed)
}

// A code block that never ends is not JSON.
func TestOnlyWholeCodeBlocksAreOpened(t *testing.T) {
	t.Parallel()
	require.Equal(t, `{"a":1}`, strings.TrimSpace(unfenced("```json\n{\"a\":1}\n```")))
	for _, text := range []string{"```json\n{}", "{}\n```", "```{}```"} {
		require.Equal(t, text, unfenced(text))
	}
}

// One of several results is enough. The citations of an expectation are bounded.
func TestAnyResultMayMatchTheSchema(t *testing.T) {
	t.Parallel()
	run := &model.AgentTestRun{}
	for i := range MaxEvidence + 2 {
		run.Messages = append(run.Messages, model.TestMessage{Role: model.MessageRoleAssistant, Text: "Certainly."})
		result := `{"n":1}`
		if i > 0 {
			result = `{}`
		}
		run.ToolCalls = append(run.ToolCalls, &model.ToolCall{TechnicalName: "count", Result: &result})
	}
	c := NewConversation(run, 0, Agent)
	schema := &model.ResultExpectation{TechnicalName: new("count"), Schema: model.JSONObject(`{"required":["n"]}`)}
	require.True(t, checked(t, model.TestExpectation{ResultJSON: schema}, c).Passed)
	require.Len(t, checked(t, model.TestExpectation{Says: said("certainly")}, c).Evidence, MaxEvidence)
}
