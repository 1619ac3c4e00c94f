package model

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRowsAndStartingCallsAreBounded(t *testing.T) {
	t.Parallel()
	valid := func() CreateSimulationTestInput {
		return CreateSimulationTestInput{Name: "a", Scenario: "b", Criteria: []string{"c"}, MaxTurns: 1}
	}
	row := func(name *string, values string) *TestRow { return &TestRow{Name: name, Values: JSONObject(values)} }
	call := []TestMessageCall{{TechnicalName: "find", Result: new("x")}}
	user, agent := MessageRoleUser, MessageRoleAssistant
	for path, change := range map[string]func(*CreateSimulationTestInput){
		"rows.1.name": func(in *CreateSimulationTestInput) {
			in.Rows = []*TestRow{row(new("a"), `{"b":1}`), row(new("a"), `{"b":2}`)}
		},
		"rows.1": func(in *CreateSimulationTestInput) {
			in.Rows = []*TestRow{row(nil, `{"b":1,"c":2}`), row(nil, `{"c":2, "b":1}`)}
		},
		"rows.0.values": func(in *CreateSimulationTestInput) { in.Rows = []*TestRow{row(nil, `{"b":null}`)} },
		"rows.0.name": func(in *CreateSimulationTestInput) {
			in.Rows = []*TestRow{row(new(strings.Repeat("a", 101)), `{"b":1}`)}
		},
		"rows": func(in *CreateSimulationTestInput) {
			for i := range 51 {
				in.Rows = append(in.Rows, row(new(strings.Repeat("a", i+1)), `{"b":"`+strings.Repeat("x", 10_000)+`"}`))
			}
		},
		"conversationContext.0.toolCalls": func(in *CreateSimulationTestInput) {
			in.ConversationContext = []*TestMessage{{Role: agent, Text: "Hello", ToolCalls: call}}
		},
		"conversationContext.1.toolCalls": func(in *CreateSimulationTestInput) {
			in.ConversationContext = []*TestMessage{{Role: user, Text: "Hello"}, {Role: user, Text: "Hello", ToolCalls: call}}
		},
		"conversationContext.1.toolCalls.0.result": func(in *CreateSimulationTestInput) {
			in.ConversationContext = []*TestMessage{{Role: user, Text: "Hello"},
				{Role: agent, Text: "Hello", ToolCalls: []TestMessageCall{{TechnicalName: "find"}}}}
		},
	} {
		in := valid()
		change(&in)
		_, err := NewSimulationTest(in, time.Time{})
		var known *Error
		require.ErrorAs(t, err, &known, path)
		require.Contains(t, known.Fields, path)
		require.Len(t, known.Fields, 1, path)
	}
	_, err := NewClassificationTest(CreateClassificationTestInput{Name: "a", TagExpected: "b",
		ConversationContext: &ConversationContext{
			Messages: []TestMessage{{Role: user, Text: "Hello"}, {Role: agent, Text: "Hello", ToolCalls: call}},
		}}, time.Time{})
	require.ErrorContains(t, err, "conversationContext.messages.1.toolCalls")

	in := valid()
	in.Rows = []*TestRow{row(new("a"), `{"b":1}`), row(nil, `{"b":1}`), row(nil, `{"b":1.0}`)}
	in.ConversationContext = []*TestMessage{{Role: user, Text: "Hello"}, {Role: agent, Text: "Hello", ToolCalls: call}}
	_, err = NewSimulationTest(in, time.Time{})
	require.NoError(t, err)
}

func TestRowsFillTheExpectedTag(t *testing.T) {
	t.Parallel()
	table := func(expected string, values ...string) *AgentTestRow {
		test := &AgentTestRow{TagExpected: expected}
		for _, v := range values {
			test.Rows = append(test.Rows, TestRow{Values: JSONObject(v)})
		}
		return test
	}
	require.Equal(t, []string{"{tag}"}, table("{tag}").TagsExpected(), "without rows nothing fills it")
	require.Equal(t, []string{"New", "Old"}, table("{tag}", `{"tag":"New"}`, `{"tag":"Old"}`, `{"tag":"New"}`).
		TagsExpected())
	require.Equal(t, []string{"New"}, table("{tag}", `{"tag":"New"}`, `{"tag":7}`, `{"other":"x"}`).TagsExpected(),
		"the data bag may fill it")
	require.Empty(t, table("{kind} {tag}", `{"tag":"New"}`).TagsExpected())
	require.Equal(t, []string{"New"}, table("New", `{"tag":"Old"}`).TagsExpected())
}
