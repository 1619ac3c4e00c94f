package evaluation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// rehearsal is a simulation run with scripted models.
type rehearsal struct {
	contact, judge *player
	// replies are the agent's answers in order. The last one repeats.
	replies []agentLine
	test    model.AgentTestRow
	agent   model.Agent

	situations []engine.Situation
}

type agentLine struct {
	text, ends string
	calls      []string
	err        error
	hook       func()
}

var startOfTest = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

func (r *rehearsal) tester() *tester {
	clock := startOfTest
	return inTest(&tester{
		modelRoles: modelRoles{
			contact: as(r.contact, model.RunErrorCauseSimulator), judge: as(r.judge, model.RunErrorCauseJudge),
			classifier: as(r.judge, model.RunErrorCauseAgent),
		},
		now: func() time.Time {
			clock = clock.Add(time.Second)
			return clock
		},
		reply: func(_ context.Context, s engine.Situation) (*engine.Reply, []*model.ToolCall, error) {
			due := r.replies[min(len(r.situations), len(r.replies)-1)]
			r.situations = append(r.situations, s)
			if due.hook != nil {
				due.hook()
			}
			var calls []*model.ToolCall
			for _, name := range due.calls {
				calls = append(calls, &model.ToolCall{ID: fmt.Sprintf("call_%d_%s", len(r.situations), name), TechnicalName: name})
			}
			if due.err != nil {
				return nil, calls, due.err
			}
			said := &engine.Reply{Text: due.text}
			if due.ends != "" {
				said.EndReason = &due.ends
			}
			return said, calls, nil
		},
	})
}

// inTest completes a tester whose agent has no opener, calls nothing and costs nothing.
func inTest(t *tester) *tester {
	t.opener = func() (string, error) { return "", nil }
	t.targets = func() []rules.Target { return nil }
	t.skippedDelay = func() time.Duration { return 0 }
	t.costOf = func(int32) model.Credits { return 0 }
	return t
}

func (r *rehearsal) run() *model.AgentTestRun {
	r.test.Criteria = append(r.test.Criteria, "Is never rude")
	if r.test.MaxTurns == 0 {
		r.test.MaxTurns = 3
	}
	if r.contact == nil {
		r.contact = lines("One", "Two", "Three", "Four")
	}
	if r.judge == nil {
		r.judge = lines(`{"evidence":[],"rationale":"r","passed":true}`)
	}
	if r.replies == nil {
		r.replies = []agentLine{{text: "Fine"}}
	}
	return &model.AgentTestRun{Status: model.AgentTestRunStatusRunning, Snapshot: model.RunSnapshot{Test: &r.test,
		Agent: &r.agent}}
}

func TestSimulationRunsToItsVerdict(t *testing.T) {
	t.Parallel()
	welcome := "Welcome, {name}"
	upstream := errors.Join(model.Errorf(model.UpstreamFailed, "model x: 503"), errors.New("dial 10.0.0.1"))
	for name, test := range map[string]struct {
		rehearsal rehearsal
		messages  []string
		turns     int32
		end       string
		status    model.AgentTestRunStatus
		cause     model.RunErrorCause
		err       string
	}{
		"the contact begins, and the turns are used up": {
			messages: []string{"user: One", "assistant: Fine", "user: Two", "assistant: Fine", "user: Three", "assistant: Fine"},
			turns:    3, end: "The test's limit of 3 turns was reached.", status: model.AgentTestRunStatusPassed,
		},
		"the welcome message begins": {
			rehearsal: rehearsal{
				agent: model.Agent{InboundWelcomeMessage: &welcome},
				test:  model.AgentTestRow{MaxTurns: 1, Variables: model.JSONObject(`{"name":7}`)},
			},
			messages: []string{"assistant: Welcome, 7", "user: One", "assistant: Fine"},
			turns:    1, end: "The test's limit of 1 turns was reached.", status: model.AgentTestRunStatusPassed,
		},
		"after a given message of the agent the contact answers": {
			rehearsal: rehearsal{agent: model.Agent{InboundWelcomeMessage: &welcome}, test: model.AgentTestRow{
				MaxTurns: 1,
				ConversationMessages: []model.TestMessage{written(model.MessageRoleUser, "Hello"),
					written(model.MessageRoleAssistant, "Hi")},
			}},
			messages: []string{"user: Hello", "assistant: Hi", "user: One", "assistant: Fine"},
			turns:    1, end: "The test's limit of 1 turns was reached.", status: model.AgentTestRunStatusPassed,
		},
		"after a given message of the contact the agent answers": {
			rehearsal: rehearsal{agent: model.Agent{InboundWelcomeMessage: &welcome}, test: model.AgentTestRow{
				MaxTurns: 1, ConversationMessages: []model.TestMessage{written(model.MessageRoleUser, "Hello")},
			}},
			messages: []string{"user: Hello", "assistant: Fine"},
			turns:    1, end: "The test's limit of 1 turns was reached.", status: model.AgentTestRunStatusPassed,
		},
		"the agent ends": {
			rehearsal: rehearsal{replies: []agentLine{{text: "Fine"}, {text: "Bye", ends: "All is done"}}},
			messages:  []string{"user: One", "assistant: Fine", "user: Two", "assistant: Bye"},
			turns:     2, end: "All is done", status: model.AgentTestRunStatusPassed,
		},
		"the contact ends": {
			rehearsal: rehearsal{contact: &player{lines: []line{{text: "One"}, leave("", "I have it.")}}},
			messages:  []string{"user: One", "assistant: Fine"},
			turns:     1, end: "The contact ended the conversation: I have it.", status: model.AgentTestRunStatusPassed,
		},
		"the contact ends with its last words": {
			rehearsal: rehearsal{contact: &player{lines: []line{{text: "One"}, leave("Bye", "I have it.")}}},
			messages:  []string{"user: One", "assistant: Fine", "user: Bye", "assistant: Fine"},
			turns:     2, end: "The contact ended the conversation: I have it.", status: model.AgentTestRunStatusPassed,
		},
		"both end": {
			rehearsal: rehearsal{contact: &player{lines: []line{leave("Bye", "x")}},
				replies: []agentLine{{text: "Bye", ends: "Mine"}}},
			messages: []string{"user: Bye", "assistant: Bye"},
			turns:    1, end: "Mine", status: model.AgentTestRunStatusPassed,
		},
		"a criterion is false": {
			rehearsal: rehearsal{test: model.AgentTestRow{MaxTurns: 1},
				judge: lines(`{"evidence":[],"rationale":"r","passed":false}`)},
			messages: []string{"user: One", "assistant: Fine"},
			turns:    1, end: "The test's limit of 1 turns was reached.", status: model.AgentTestRunStatusFailed,
		},
		"the contact says nothing": {
			rehearsal: rehearsal{contact: &player{lines: []line{leave("", "x")}}},
			messages:  []string{}, status: model.AgentTestRunStatusError, cause: model.RunErrorCauseSimulator,
			err: "the Simulator: it ended the conversation before the agent said anything",
		},
		"the contact fails": {
			rehearsal: rehearsal{
				contact: &player{lines: []line{{text: "One"}, {err: &llm.Error{Cause: llm.Unavailable, Message: "model x: 503"}}}}},
			messages: []string{"user: One", "assistant: Fine"}, turns: 1,
			status: model.AgentTestRunStatusError, cause: model.RunErrorCauseSimulator, err: "the Simulator: model x: 503",
		},
		"the agent's model fails": {
			rehearsal: rehearsal{replies: []agentLine{{text: "Fine"}, {err: upstream}}},
			messages:  []string{"user: One", "assistant: Fine", "user: Two"}, turns: 1,
			status: model.AgentTestRunStatusError, cause: model.RunErrorCauseAgent, err: "the agent: model x: 503",
		},
		"the gateway fails": {
			rehearsal: rehearsal{replies: []agentLine{{err: errors.New("pq: secret")}}},
			messages:  []string{"user: One"},
			status:    model.AgentTestRunStatusError, cause: model.RunErrorCauseInfrastructure,
			err: "something went wrong on the server, which is not the agent's fault",
		},
		"the gateway is not available": {
			rehearsal: rehearsal{replies: []agentLine{{err: model.Errorf(model.Unavailable, "draining")}}},
			messages:  []string{"user: One"},
			status:    model.AgentTestRunStatusError, cause: model.RunErrorCauseInfrastructure,
			err: "something went wrong on the server, which is not the agent's fault",
		},
		"a mandatory field has no value": {
			rehearsal: rehearsal{agent: model.Agent{Fields: []model.AgentField{{Name: "name", IsMandatory: true}}}},
			messages:  []string{}, status: model.AgentTestRunStatusError, cause: model.RunErrorCauseAgent,
			err: "the agent: the data bag must have values for the agent's mandatory fields: name",
		},
		"a message of the contact is too long": {
			rehearsal: rehearsal{test: model.AgentTestRow{ContactSays: []*string{new("Hi"), new(strings.Repeat("{a}", 101))},
				Variables: model.JSONObject(`{"a":"` + strings.Repeat("x", 100) + `"}`)}},
			messages: []string{"user: Hi", "assistant: Fine"}, turns: 1,
			status: model.AgentTestRunStatusError, cause: model.RunErrorCauseSimulator,
			err: "its message 2 has more than 10000 characters after its placeholders are filled",
		},
		"the texts of the test are too long together": {
			rehearsal: rehearsal{test: model.AgentTestRow{
				Checks: slices.Repeat([]model.TestCheck{{Expect: model.TestExpectation{NeverSays: &model.SaidExpectation{
					Text: new(strings.Repeat("{a}", 660))}}}}, 2),
				Variables: model.JSONObject(`{"a":"` + strings.Repeat("x", 1000) + `"}`)}},
			messages: []string{}, status: model.AgentTestRunStatusError, cause: model.RunErrorCauseAgent,
			err: "the test's texts have more than 1024 KiB together after their placeholders are filled",
		},
		"the judge fails": {
			rehearsal: rehearsal{test: model.AgentTestRow{MaxTurns: 1}, judge: lines("Passed.")},
			messages:  []string{"user: One", "assistant: Fine"}, turns: 1, end: "The test's limit of 1 turns was reached.",
			status: model.AgentTestRunStatusError, cause: model.RunErrorCauseJudge,
			err: "the Judge: two of its answers in a row cannot be used",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := test.rehearsal.run()
			err := test.rehearsal.tester().simulate(t.Context(), run)
			require.Equal(t, test.status, run.Status)
			require.Empty(t, cmp.Diff(test.messages, textsOf(run.Messages)))
			require.Equal(t, test.turns, run.TurnCount)
			if test.end == "" {
				require.Nil(t, run.EndReason)
			} else {
				require.Equal(t, test.end, *run.EndReason)
			}
			if test.cause != "" {
				require.Equal(t, test.cause, run.Error.Cause)
				require.Contains(t, run.Error.Message, test.err)
				require.NotContains(t, run.Error.Message, "secret")
				require.NotContains(t, run.Error.Message, "10.0.0.1")
				require.Error(t, err, "the log gets the cause")
				require.Empty(t, run.CriteriaResults)
				return
			}
			require.NoError(t, err)
			require.Nil(t, run.Error)
			require.Len(t, run.CriteriaResults, 1)
		})
	}
}

func TestConversationOfARunIsBounded(t *testing.T) {
	t.Parallel()
	r := rehearsal{test: model.AgentTestRow{MaxTurns: 30}, replies: []agentLine{{text: strings.Repeat("x", 250<<10)}},
		contact: lines("Go on")}
	run := r.run()
	require.Error(t, r.tester().simulate(t.Context(), run))
	require.Equal(t, model.AgentTestRunStatusError, run.Status)
	require.Equal(t, &model.RunError{Cause: model.RunErrorCauseAgent, Message: "the agent: the messages and calls of " +
		"the run have more than 2048 KiB together, the limit: let the tools return less, or set fewer turns"}, run.Error)
	require.EqualValues(t, 8, run.TurnCount)
}

func TestUnmetCriterionOutweighsJudgeErrors(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[string]model.AgentTestRunStatus{"true": model.AgentTestRunStatusError,
		"false": model.AgentTestRunStatusFailed} {
		r := rehearsal{test: model.AgentTestRow{MaxTurns: 1, Criteria: []string{"Is refused"}}}
		r.judge = &player{answer: func(req llm.Request) line {
			if strings.Contains(req.Messages[0].Text, "Is refused") {
				return line{err: &llm.Error{Cause: llm.Filtered, Message: "model x: filtered"}}
			}
			return line{text: `{"evidence":[],"rationale":"r","passed":` + verdict + `}`}
		}}
		run := r.run()
		require.Error(t, r.tester().simulate(t.Context(), run))
		require.Equal(t, want, run.Status)
		require.Equal(t, &model.RunError{Cause: model.RunErrorCauseJudge, Message: "the Judge: model x: filtered"}, run.Error)
		require.Len(t, run.CriteriaResults, 1)
	}
}

func TestSimulationKeepsMessagesAndCalls(t *testing.T) {
	t.Parallel()
	earlier := startOfTest.Add(-time.Hour)
	r := rehearsal{
		test: model.AgentTestRow{
			Variables:            model.JSONObject(`{"name":"Ana","age":41,"vip":true,"clinic":{"city":"Lyon"},"agency":null}`),
			ConversationMessages: []model.TestMessage{{Role: model.MessageRoleUser, Text: "Hello", Timestamp: &earlier}},
		},
		replies: []agentLine{
			{text: "Fine", calls: []string{"look", "book"}}, {text: "Good"},
			{calls: []string{"dig"}, err: model.Errorf(model.UpstreamFailed, "x")},
		},
	}
	run := r.run()
	// The partial result of an earlier attempt is replaced.
	run.ToolCalls, run.Error = []*model.ToolCall{{ID: "old"}}, &model.RunError{}
	require.Error(t, r.tester().simulate(t.Context(), run))

	type kept struct {
		Name               string
		Position, Sequence int32
		Kept               bool
	}
	var calls []kept
	for _, c := range run.ToolCalls {
		calls = append(calls, kept{c.TechnicalName, c.Position, c.MessageSequence, c.IsTurnKept})
	}
	require.Equal(t, []kept{{"look", 0, 0, true}, {"book", 1, 0, true}, {"dig", 2, 4, false}}, calls)
	require.Len(t, run.Messages, 5)
	require.Equal(t, earlier, *run.Messages[0].Timestamp)
	for i := 2; i < len(run.Messages); i++ {
		require.True(t, run.Messages[i].Timestamp.After(*run.Messages[i-1].Timestamp))
	}
	require.Len(t, r.test.ConversationMessages, 1, "the snapshot does not change")

	require.Len(t, r.situations, 3)
	require.Equal(t, content.Values{"name": "Ana", "age": json.Number("41"), "vip": true,
		"clinic": map[string]any{"city": "Lyon"}}, r.situations[0].Values)
	require.Empty(t, r.situations[0].Calls)
	require.Len(t, r.situations[1].Calls, 2)
	require.Equal(t, []string{"user: Hello", "assistant: Fine", "user: One"}, textsOf(r.situations[1].Messages))
}

func TestRunsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	for name, arrange := range map[string]func(*rehearsal, func()){
		"before it begins": func(_ *rehearsal, cancel func()) { cancel() },
		"while the contact speaks": func(r *rehearsal, cancel func()) {
			r.contact = &player{lines: []line{{text: "One"}, {hook: func(context.Context) { cancel() }}}}
		},
		"while the agent answers": func(r *rehearsal, cancel func()) {
			r.replies = []agentLine{{text: "Fine"}, {hook: cancel, err: context.Canceled, calls: []string{"book"}}}
		},
		"while it is judged": func(r *rehearsal, cancel func()) {
			r.judge = &player{lines: []line{{text: "{", hook: func(context.Context) { cancel() }}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := rehearsal{}
			arrange(&r, cancel)
			run := r.run()
			require.ErrorIs(t, r.tester().simulate(ctx, run), context.Canceled)
			require.Equal(t, model.AgentTestRunStatusRunning, run.Status)
			require.Nil(t, run.Error)
			require.Empty(t, run.CriteriaResults)
			if name == "while the agent answers" {
				require.Len(t, run.ToolCalls, 1, "the run keeps its calls")
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := rehearsal{judge: &player{lines: []line{{hook: func(context.Context) { cancel() }}}}}
	run := classification(&r)
	require.ErrorIs(t, r.tester().classify(ctx, run), context.Canceled)
	require.Equal(t, model.AgentTestRunStatusRunning, run.Status)
}

func classification(r *rehearsal) *model.AgentTestRun {
	r.test.ConversationContext, r.test.TagExpected, r.agent.ClassificationTags = someContext, "Booked", someTags
	return r.run()
}

func TestClassificationRunsToItsVerdict(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]model.AgentTestRunStatus{
		`{"rationale":"r","tag":"Booked"}`: model.AgentTestRunStatusPassed,
		`{"rationale":"r","tag":null}`:     model.AgentTestRunStatusFailed,
		`{"rationale":"r","tag":"x"}`:      model.AgentTestRunStatusError,
	} {
		r := rehearsal{judge: lines(answer)}
		run := classification(&r)
		err := r.tester().classify(t.Context(), run)
		require.Equal(t, want, run.Status)
		require.Equal(t, someContext.Messages, run.Messages)
		require.Equal(t, want == model.AgentTestRunStatusError, err != nil)
		if want == model.AgentTestRunStatusError {
			require.Equal(t, model.RunErrorCauseAgent, run.Error.Cause)
			require.Nil(t, run.ClassificationResult)
			continue
		}
		require.Nil(t, run.Error)
		require.Equal(t, want == model.AgentTestRunStatusPassed, run.ClassificationResult.Passed)
	}
}
