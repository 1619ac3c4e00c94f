package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

func TestRecordedFailuresBecomeMockFailures(t *testing.T) {
	t.Parallel()
	for _, failure := range []*model.MockFailure{
		{Kind: model.MockFailureKindTimeout}, {Kind: model.MockFailureKindMalformedJSON},
		{Kind: model.MockFailureKindHTTPError, Status: ptr(int32(404))},
		{Kind: model.MockFailureKindHTTPError, Status: ptr(int32(599))},
		{Kind: model.MockFailureKindHTTPError, Status: ptr(int32(422)), Body: ptr("no such day: Sunday\nor so")},
	} {
		for _, kind := range []model.ToolCallKind{model.ToolCallKindTool, model.ToolCallKindSubAgent} {
			_, err := simulate(failure, kind)
			require.Equal(t, failure, model.RecordedFailure(messageForModel(err)))
		}
	}
	for _, text := range []string{
		"the tool answered 302 Found", "the host of the tool cannot be found",
		"the arguments are invalid: the tool answered 404", string(errDenied),
	} {
		require.Nil(t, model.RecordedFailure(text))
	}
}

// A mock that was made from a conversation answers the same calls in the same way.
func TestRecordedCallsAreRepeated(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tool, at := "tool", time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
		before := rapid.IntRange(0, 3).Draw(t, "before")
		var calls []*model.ToolCall
		// A mock has at most 20 rules.
		for i := range rapid.IntRange(1, 20).Draw(t, "calls") {
			call := &model.ToolCall{
				Kind: model.ToolCallKindTool, TargetID: &tool, TechnicalName: "look", IsTurnKept: true, MessageSequence: 2,
				Arguments: model.JSONObject(rapid.SampledFrom([]string{
					`{}`, `{"day":"Monday"}`, `{"day":"Monday","n":1}`, `{"n":1.50}`, `{"n":null}`, `{"who":{"b":[1,"<a>"],"a":true}}`,
					`{"day":"{n}"}`,
				}).Draw(t, "arguments")),
			}
			if i < before {
				call.MessageSequence = 1
			}
			if text := rapid.SampledFrom([]string{"plain", "", `{"day":"{day} \\{n}","x":{}}`, "two", "!timeout", "!404",
				"Dear {day}, {n|json} {day|literal} {{day}}"}).
				Draw(t, "answer"); text == "!timeout" {
				call.Error = ptr("the tool did not answer in time")
			} else if text == "!404" {
				call.Error = ptr("the tool answered 404 Not Found")
			} else {
				call.Result = &text
			}
			calls = append(calls, call)
		}
		test, warnings, err := model.NewTestFromSimulationChat(model.CreateTestFromSimulationChatInput{
			Scenario: "a", Criteria: []string{"b"}, MaxTurns: 1, UpToSequence: ptr(int32(2)),
		}, model.ChatRecording{
			Chat: &model.SimulationChat{LastSequence: 3, CreatedAt: at}, Agent: &model.Agent{}, Tools: []*model.Tool{{ID: tool}},
			Calls: calls,
		}, at)
		require.NoError(t, err)
		require.Empty(t, warnings)
		mock := &test.ToolMocking.MockedTools[0].Mock
		for number, call := range calls[min(before, len(calls)):] {
			got := answerMock(t.Context(), rules.NewChecker(), mock, "look", callOf(t, string(call.Arguments)), int32(number),
				content.Values{"day": "a variable"})
			require.Empty(t, got.unknown)
			if got.failure == nil {
				require.NotNil(t, call.Result, "call %d", number)
				require.Equal(t, *call.Result, got.result)
				continue
			}
			result, err := simulate(got.failure, model.ToolCallKindTool)
			if err != nil {
				require.Equal(t, call.Error, ptr(messageForModel(err)))
			} else {
				require.Equal(t, *call.Result, result)
			}
		}
	})
}
