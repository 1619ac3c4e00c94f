package model

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// recorded returns a chat of four messages with an agent that has the tools a and b and the sub-agent s.
func recorded(calls ...*ToolCall) ChatRecording {
	r := ChatRecording{
		Chat: &SimulationChat{
			ID: "chat", AgentID: "agent", LastSequence: 5, CreatedAt: now, DataBag: JSONObject(`{"day":"Monday"}`),
			ToolMocking: ToolMocking{SideEffects: SideEffectsAllow},
		},
		Agent: &Agent{ID: "agent", Fields: []AgentField{{Name: "day"}}},
		Tools: []*Tool{{ID: "a"}, {ID: "b"}}, SubAgents: []*SubAgent{{ID: "s"}},
		Calls: calls,
	}
	for i, text := range []string{"Welcome.", "Hello.", "How can I help?", "Monday?", "Yes."} {
		role := MessageRoleAssistant
		if i%2 == 1 {
			role = MessageRoleUser
		}
		r.Messages = append(r.Messages, &SimulationChatMessage{Sequence: int32(i + 1), Role: role, Text: text,
			Timestamp: now})
	}
	return r
}

// called returns a call in the turn of the contact's message with the given sequence number. A result that begins with
// "!" is a failure.
func called(target string, sequence int32, arguments, result string) *ToolCall {
	c := &ToolCall{
		Kind: ToolCallKindTool, TargetID: &target, TechnicalName: "call_" + target,
		Arguments: JSONObject(arguments), MessageSequence: sequence, IsTurnKept: true,
	}
	if target == "s" {
		c.Kind = ToolCallKindSubAgent
	}
	if failure, failed := strings.CutPrefix(result, "!"); failed {
		c.Error = &failure
	} else {
		c.Result = &result
	}
	return c
}

func failedForReal(target string, sequence int32, failure string) *ToolCall {
	c := called(target, sequence, `{}`, "!"+failure)
	c.Real = new(true)
	return c
}

func fromChat(t *testing.T, upTo *int32, r ChatRecording) (*SimulationTest, []string) {
	t.Helper()
	test, warnings, err := NewTestFromSimulationChat(CreateTestFromSimulationChatInput{
		SimulationChatID: "chat", Scenario: "You want Monday.", Criteria: []string{"It is kind."}, MaxTurns: 10,
		UpToSequence: upTo,
	}, r, now)
	require.NoError(t, err)
	return test, warnings
}

func TestTestStartsFromTheChat(t *testing.T) {
	t.Parallel()
	test, warnings := fromChat(t, nil, recorded())
	require.Empty(t, warnings)
	require.Equal(t, "Chat of 2026-03-01 09:30", test.Name)
	require.Len(t, test.ConversationMessages, 5)
	require.Equal(t, TestMessage{Role: MessageRoleAssistant, Text: "Welcome.", Timestamp: &now},
		test.ConversationMessages[0])
	require.JSONEq(t, `{"day":"Monday"}`, string(test.Variables))
	require.Empty(t, test.ToolMocking.MockedTools)

	test, _ = fromChat(t, new(int32(2)), recorded())
	require.Equal(t, "Hello.", test.ConversationMessages[1].Text)
	require.Len(t, test.ConversationMessages, 2)
	test, _ = fromChat(t, new(int32(0)), recorded())
	require.Empty(t, test.ConversationMessages)

	odd := recorded()
	odd.Messages[2].Text, odd.Messages[0].Text = chars(MaxTestMessageLength+1), ""
	odd.Messages[4].IsConversationEnded = true
	odd.Agent.Fields = []AgentField{{Name: "name", IsMandatory: true}, {Name: "now", IsMandatory: true, IsSystem: true}}
	test, warnings = fromChat(t, nil, odd)
	require.Equal(t, chars(MaxTestMessageLength), test.ConversationMessages[1].Text)
	for i, text := range []string{`field "name" is mandatory`, `"day" is not a field`, "message 1 is empty",
		"the first 10000", "message 5 ended the conversation"} {
		require.Contains(t, warnings[i], text)
	}
	require.Len(t, warnings, 5)
}

func TestTestFromAChatIsBounded(t *testing.T) {
	t.Parallel()
	good := CreateTestFromSimulationChatInput{Scenario: "a", Criteria: []string{"b"}, MaxTurns: 1}
	long := recorded()
	long.Chat.LastSequence = 201
	crowded := recorded()
	var fields []string
	for i := range 201 {
		fields = append(fields, fmt.Sprintf(`"f%d":""`, i))
	}
	crowded.Chat.DataBag = JSONObject("{" + strings.Join(fields, ",") + "}")
	for name, test := range map[string]struct {
		r           ChatRecording
		code        Code
		field, text string
		with        func(*CreateTestFromSimulationChatInput)
	}{
		"beyond": {recorded(), Unprocessable, "upToSequence", "at most 5, the sequence of the chat's last message",
			func(in *CreateTestFromSimulationChatInput) { in.UpToSequence = new(int32(6)) }},
		"far beyond": {recorded(), Unprocessable, "upToSequence", "at most 5,",
			func(in *CreateTestFromSimulationChatInput) { in.UpToSequence = new(int32(201)) }},
		"before": {recorded(), BadInput, "upToSequence", "between 0 and 200",
			func(in *CreateTestFromSimulationChatInput) { in.UpToSequence = new(int32(-1)) }},
		"too long": {long, Unprocessable, "upToSequence", "must be given and be at most 200: the chat has 201 " +
			"messages, but a test starts from at most 200", func(*CreateTestFromSimulationChatInput) {}},
		"too many": {long, BadInput, "upToSequence", "between 0 and 200",
			func(in *CreateTestFromSimulationChatInput) { in.UpToSequence = new(int32(201)) }},
		"no scenario": {recorded(), BadInput, "scenario", "empty",
			func(in *CreateTestFromSimulationChatInput) { in.Scenario = "" }},
		"no criteria": {recorded(), BadInput, "criteria", "at least one",
			func(in *CreateTestFromSimulationChatInput) { in.Criteria = []string{} }},
		"a criterion": {recorded(), BadInput, "criteria.0", "2000",
			func(in *CreateTestFromSimulationChatInput) { in.Criteria = []string{chars(2001)} }},
		"turns": {recorded(), BadInput, "maxTurns", "30",
			func(in *CreateTestFromSimulationChatInput) { in.MaxTurns = 31 }},
		"name": {recorded(), BadInput, "name", "255",
			func(in *CreateTestFromSimulationChatInput) { in.Name = new(chars(256)) }},
		"the chat's": {crowded, Unprocessable, "simulationChatId", "its variables must have at most 200",
			func(*CreateTestFromSimulationChatInput) {}},
		"not the chat'": {crowded, BadInput, "scenario", "empty",
			func(in *CreateTestFromSimulationChatInput) { in.Scenario = "" }},
		"name and before": {recorded(), BadInput, "name", "255", func(in *CreateTestFromSimulationChatInput) {
			in.Name, in.UpToSequence = new(chars(256)), new(int32(-1))
		}},
		"before and name": {recorded(), BadInput, "upToSequence", "between 0 and 200",
			func(in *CreateTestFromSimulationChatInput) {
				in.Name, in.UpToSequence = new(chars(256)), new(int32(-1))
			}},
		"name and beyond": {recorded(), BadInput, "name", "255", func(in *CreateTestFromSimulationChatInput) {
			in.Name, in.UpToSequence = new(chars(256)), new(int32(6))
		}},
		"the chat's and before": {crowded, BadInput, "upToSequence", "between 0 and 200",
			func(in *CreateTestFromSimulationChatInput) { in.UpToSequence = new(int32(-1)) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := good
			test.with(&in)
			_, _, err := NewTestFromSimulationChat(in, test.r, now)
			faultsAs(t, err, test.code, test.field, test.text)
		})
	}
}

func TestRecordedCallsBecomeMocks(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxResultTemplate+1)
	for name, test := range map[string]struct {
		upTo     int32
		calls    []*ToolCall
		want     string
		warnings []string
	}{
		"one answer": {5, []*ToolCall{called("a", 2, `{"x":1}`, "yes"), called("a", 4, `{"x":2}`, "yes")},
			`{"resultTemplate":"yes","delaySeconds":0,"rules":null}`, nil},
		"other arguments": {5, []*ToolCall{called("a", 2, `{"x":1,"y":{"b":1,"a":2}}`, "one"),
			called("a", 4, `{"x":"two"}`, "two")}, `{"resultTemplate":"two","delaySeconds":0,"rules":[
			{"when":[{"argument":"x","equals":"1","matches":null,"present":null},{"argument":"y","equals":"{\"a\":2,\"b\":1}","matches":null,"present":null}],
				"callIndex":null,"resultTemplate":"one","delaySeconds":0,"failure":null},
			{"when":[{"argument":"x","equals":"two","matches":null,"present":null},{"argument":"y","equals":null,"matches":null,"present":false}],
				"callIndex":null,"resultTemplate":"two","delaySeconds":0,"failure":null}]}`, nil},
		"the same call again, after the cut": {1, []*ToolCall{called("a", 2, `{"x":1}`, "one"),
			called("a", 2, `{"x":1}`, "two"), called("a", 4, `{"x":1}`, "three")},
			`{"resultTemplate":"three","delaySeconds":0,"rules":[
			{"when":[{"argument":"x","equals":"1","matches":null,"present":null}],"callIndex":0,"resultTemplate":"one","delaySeconds":0,"failure":null},
			{"when":[{"argument":"x","equals":"1","matches":null,"present":null}],"callIndex":1,"resultTemplate":"two","delaySeconds":0,"failure":null},
			{"when":[{"argument":"x","equals":"1","matches":null,"present":null}],"callIndex":null,"resultTemplate":"three","delaySeconds":0,"failure":null}]}`, nil},
		"the same call again, before the cut": {5, []*ToolCall{called("a", 2, `{}`, "one"), called("a", 4, `{}`, "two")},
			`{"resultTemplate":"two","delaySeconds":0,"rules":[{"when":[],"callIndex":null,"resultTemplate":"two","delaySeconds":0,"failure":null}]}`, nil},
		"on both sides of the cut": {3, []*ToolCall{called("a", 2, `{}`, "one"), called("a", 4, `{}`, "two")},
			`{"resultTemplate":"two","delaySeconds":0,"rules":[{"when":[],"callIndex":null,"resultTemplate":"two","delaySeconds":0,"failure":null}]}`, nil},
		"a failure": {5, []*ToolCall{called("a", 2, `{}`, "!the tool answered 404 Not Found: none")},
			`{"resultTemplate":null,"delaySeconds":0,"rules":[
			{"when":null,"callIndex":null,"resultTemplate":null,"delaySeconds":0,"failure":{"kind":"HttpError","status":404,"body":"none"}}]}`, nil},
		"after a failure that no mock repeats": {1, []*ToolCall{called("a", 2, `{}`, "!the arguments are invalid"),
			called("a", 2, `{}`, "one"), called("a", 4, `{}`, "two")}, `{"resultTemplate":"two","delaySeconds":0,"rules":[
			{"when":[],"callIndex":1,"resultTemplate":"one","delaySeconds":0,"failure":null},
			{"when":[],"callIndex":null,"resultTemplate":"two","delaySeconds":0,"failure":null}]}`,
			[]string{"left out, because no mock can repeat its failure: the arguments"}},
		"a real failure that no mock repeats": {5, []*ToolCall{failedForReal("a", 2, "the host of the tool refuses connections")},
			`{"resultTemplate":null,"delaySeconds":0,"rules":[
			{"when":null,"callIndex":null,"resultTemplate":null,"delaySeconds":0,"failure":{"kind":"HttpError","status":502,
				"body":"the host of the tool refuses connections"}}]}`,
			[]string{"a call of call_a fails with the status 502, because no mock can repeat its failure: the host"}},
		"it failed first": {1, []*ToolCall{called("a", 2, `{}`, "!the tool did not answer in time"),
			called("a", 2, `{}`, "")}, `{"resultTemplate":null,"delaySeconds":0,"rules":[
			{"when":[],"callIndex":0,"resultTemplate":null,"delaySeconds":0,"failure":{"kind":"Timeout","status":null}},
			{"when":[],"callIndex":null,"resultTemplate":null,"delaySeconds":0,"failure":{"kind":"EmptyBody","status":null}}]}`, nil},
		"other failures": {5, []*ToolCall{called("a", 2, `{}`, "!the arguments are invalid")}, `null`,
			[]string{"no mock can repeat its failure: the arguments", "none of its calls can be repeated"}},
		"too long": {5, []*ToolCall{called("a", 2, `{}`, long), called("a", 2, `{}`, "short")},
			`{"resultTemplate":"short","delaySeconds":0,"rules":null}`, []string{"50001 characters"}},
		"braces in JSON": {5, []*ToolCall{called("a", 2, `{}`, `{"x":"\\{day} {d\"}"}`)},
			`{"resultTemplate":"{\"x\":\"\\\\{day|literal} {d\\\"}\"}","delaySeconds":0,"rules":null}`, nil},
		"braces in text": {5, []*ToolCall{called("a", 2, `{"who":{"n":1}}`, "{day} {who.n|json} {x|literal} { y}")},
			`{"resultTemplate":"{day|literal} {who.n|json|literal} {x|literal|literal} { y}","delaySeconds":0,"rules":null}`, nil},
		"an argument that no rule can name": {5, []*ToolCall{called("a", 2, `{"":1}`, "one"),
			called("a", 2, `{"":2}`, "two")}, `{"resultTemplate":"two","delaySeconds":0,"rules":null}`,
			[]string{"cannot distinguish it from others", "cannot distinguish it from others"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, warnings := fromChat(t, &test.upTo, recorded(test.calls...))
			got := []byte("null")
			if len(made.ToolMocking.MockedTools) > 0 {
				require.Equal(t, "a", made.ToolMocking.MockedTools[0].ToolID)
				var err error
				got, err = json.Marshal(made.ToolMocking.MockedTools[0].Mock)
				require.NoError(t, err)
			}
			require.JSONEq(t, test.want, string(got))
			require.Len(t, warnings, len(test.warnings), "%v", warnings)
			for i, text := range test.warnings {
				require.Contains(t, warnings[i], text)
			}
		})
	}
}

func TestMockRulesAreBounded(t *testing.T) {
	t.Parallel()
	var calls []*ToolCall
	for i := range maxRules + 3 {
		calls = append(calls, called("a", 2, fmt.Sprintf(`{"n":%d}`, i), fmt.Sprint("answer ", i)))
	}
	test, warnings := fromChat(t, nil, recorded(calls...))
	require.Contains(t, warnings[0], "need 23 rules, but a mock has at most 20")
	rules := test.ToolMocking.MockedTools[0].Rules
	require.Len(t, rules, maxRules)
	require.Equal(t, "answer 3", *rules[0].ResultTemplate)
}

func TestOnlyCallsOfConnectedTargetsAreMocked(t *testing.T) {
	t.Parallel()
	transfer := called("", 4, `{}`, "done")
	transfer.Kind, transfer.TargetID = ToolCallKindCallTransfer, nil
	inner := called("b", 4, `{}`, "of the sub-agent")
	inner.DelegationID = new("call")
	lost := called("b", 4, `{}`, "of a turn that failed")
	lost.IsTurnKept = false
	later := called("b", 6, `{}`, "of a turn that is new")
	search := called("b", 4, `{}`, "found")
	search.Kind, search.TargetID = ToolCallKindRetrieval, nil
	wrong := called("", 4, `{}`, "!there is no tool x")
	wrong.TargetID = nil
	r := recorded(called("a", 2, `{}`, "real"), called("s", 2, `{}`, "42"), called("gone", 2, `{}`, "x"), transfer, inner,
		lost, later, search, wrong)
	test, warnings := fromChat(t, nil, r)
	require.Equal(t, &ToolMocking{
		MockedTools:      []MockedTool{{ToolID: "a", Mock: Mock{ResultTemplate: new("real")}}},
		MockedSubAgents:  []MockedSubAgent{{SubAgentID: "s", Mock: Mock{ResultTemplate: new("42")}}},
		MockCallTransfer: true, SideEffects: SideEffectsDeny,
	}, test.ToolMocking)
	require.Equal(t, []string{
		"the tool call_gone is no longer connected to the agent, so its record is left out",
		"the knowledge base cannot be mocked: runs of the test search its current content",
	}, warnings)

	// Mocks of the chat remain unchanged, even those of calls that failed.
	mocked := called("a", 2, `{}`, "from the mock")
	mocked.Mocked = true
	r = recorded(mocked, called("a", 2, `{}`, "!the arguments are invalid"), called("b", 2, `{}`, "real"),
		called("s", 2, `{}`, "!the arguments are invalid"))
	own := ToolMocking{
		MockedTools: []MockedTool{{ToolID: "a", Mock: Mock{ResultTemplate: new("Hello {day}"), DelaySeconds: 3}},
			{ToolID: "gone"}},
		MockedSubAgents:  []MockedSubAgent{{SubAgentID: "gone"}},
		MockAllSubAgents: true, SideEffects: SideEffectsDeny,
	}
	r.Chat.ToolMocking = own
	test, warnings = fromChat(t, nil, r)
	require.Equal(t, []MockedTool{own.MockedTools[0], {ToolID: "b", Mock: Mock{ResultTemplate: new("real")}}},
		test.ToolMocking.MockedTools)
	require.Empty(t, test.ToolMocking.MockedSubAgents)
	require.True(t, test.ToolMocking.MockAllSubAgents && test.ToolMocking.Denies())
	require.Equal(t, []string{
		"the tool gone is no longer connected to the agent, so its mock is left out",
		"the sub-agent gone is no longer connected to the agent, so its mock is left out",
	}, warnings)
	require.Len(t, r.Chat.ToolMocking.MockedTools, 2, "the chat stays as it is")
	require.Equal(t, "gone", r.Chat.ToolMocking.MockedTools[1].ToolID)
}
