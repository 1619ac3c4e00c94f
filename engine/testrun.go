package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// tester runs tests of agents. It reads no rows: a run comes with everything it needs.
type tester struct {
	contact part
	// rules decide criteria before the judge. They may be nil.
	rules      llm.Model
	judge      part
	classifier part
	// reply lets the agent answer the contact's last message. It also returns the calls, even if it fails. Its error is
	// UPSTREAM_FAILED if the language model is at fault.
	reply func(context.Context, situation) (*reply, []*model.ToolCall, error)
	// opener returns what the agent says first without a welcome message. Nil means that it says nothing.
	opener func() (string, error)
	// now returns the time of a message.
	now func() time.Time
	// checks decide the checks of tests.
	checks *checks
	// skipped returns how long nobody waited for simulated delays, nil for never. spent returns what a conversation of so
	// many turns has cost, nil for nothing.
	skipped func() time.Duration
	spent   func(turns int32) model.Credits
	// took is how long the agent took for its answers of the run.
	took time.Duration
}

// situation is the state of a conversation when it is the agent's turn.
type situation struct {
	variables bag
	messages  []model.TestMessage
	// calls are the calls of earlier turns. The MessageSequence of each is the index of the message that it helped to
	// answer.
	calls []*model.ToolCall
}

// simulate lets the contact and the agent of the run's snapshot talk, checks and judges the conversation, and sets the
// outcome in the run: messages, calls, turns, the reason of the end, results, score, error and status. All of these are replaced. The
// status is Passed, Failed or Error. The returned error is the cause of the status Error, only for the log. Once ctx has
// ended the error is ctx's, the status stays, and there are no results.
func (t *tester) simulate(ctx context.Context, run *model.AgentTestRun) error {
	test := run.Snapshot.Test
	run.Messages, run.ToolCalls, run.TurnCount, run.EndReason = slices.Clone(test.ConversationMessages), []*model.ToolCall{}, 0, nil
	reset(run)
	t.took = 0
	if run.Messages == nil {
		run.Messages = []model.TestMessage{}
	}
	given := len(run.Messages)
	end, values, err := t.converse(ctx, run)
	if err != nil {
		return conclude(ctx, run, false, err)
	}
	run.EndReason = &end.Reason
	held := heldBy(run, given, *end)
	held.took, held.values = t.took, values
	if t.spent != nil {
		held.spent = t.spent(run.TurnCount)
	}
	held.tag = func(ctx context.Context) (*string, error) {
		conversation := &model.ConversationContext{Messages: run.Messages, DataBag: test.Variables}
		result, err := classify(ctx, t.classifier, run.Snapshot.Agent.ClassificationTags, conversation, "")
		if err != nil {
			return nil, err
		}
		return result.TagProduced, nil
	}
	transcript := transcriptOf(run, given, *end)
	transcript.Variables, transcript.values = values.told(), values
	var unchecked, unjudged error
	if len(test.Checks) > 0 {
		run.CheckResults, unchecked = t.checks.decide(ctx, test.Checks, held)
	}
	run.CriteriaResults, unjudged = judge(ctx, t.rules, t.judge, test.Criteria, transcript, test.CriteriaWeights...)
	if unchecked == nil && unjudged == nil && len(test.Checks) == 0 && !slices.ContainsFunc(run.CriteriaResults, applies) {
		unjudged = t.judge.fault(nil, "says that no criterion applies, so nothing was judged")
	}
	return conclude(ctx, run, true, errors.Join(unchecked, unjudged))
}

func applies(r model.CriterionResult) bool { return r.Applies() }

// classify lets the agent's classifier choose a tag for the test's conversation, and sets the outcome in the run as
// simulate does.
func (t *tester) classify(ctx context.Context, run *model.AgentTestRun) error {
	test := run.Snapshot.Test
	run.Messages, run.ToolCalls, run.TurnCount, run.EndReason = slices.Clone(test.ConversationContext.Messages), []*model.ToolCall{}, 0, nil
	reset(run)
	result, err := classify(ctx, t.classifier, run.Snapshot.Agent.ClassificationTags, test.ConversationContext, test.TagExpected)
	run.ClassificationResult = result
	return conclude(ctx, run, err == nil && result.Passed, err)
}

func reset(run *model.AgentTestRun) {
	run.CheckResults, run.CriteriaResults, run.Score = []model.CheckResult{}, []model.CriterionResult{}, nil
	run.ClassificationResult, run.Error = nil, nil
}

// conclude sets the status, the score and the error of a finished run. What is false decides even if others have no
// verdict, and the error says why they have none.
func conclude(ctx context.Context, run *model.AgentTestRun, passed bool, err error) error {
	if ctx.Err() != nil {
		reset(run)
		return ctx.Err()
	}
	var fault *runFault
	if errors.As(err, &fault) {
		run.Error = &fault.RunError
	}
	switch {
	case run.Weigh():
		run.Status = model.AgentTestRunStatusFailed
	case fault != nil:
		run.Status = model.AgentTestRunStatusError
	case passed:
		run.Status = model.AgentTestRunStatusPassed
	default:
		run.Status = model.AgentTestRunStatusFailed
	}
	return err
}

// converse holds the conversation of a run, and returns how it ended and the values of the agent's fields.
func (t *tester) converse(ctx context.Context, run *model.AgentTestRun) (*ending, bag, error) {
	opening, err := t.open(run)
	if err != nil {
		return nil, nil, faultOfAgent(err)
	}
	end, err := t.talk(ctx, run, opening.values)
	return end, opening.values, err
}

// open begins the conversation of a run, with the welcome message if there is one.
func (t *tester) open(run *model.AgentTestRun) (*opening, error) {
	variables, err := bagOf(run.Snapshot.Test.Variables)
	if err != nil {
		return nil, err
	}
	opener := ""
	if t.opener != nil && len(run.Messages) == 0 && run.Snapshot.Agent.WelcomeMessage() == nil && run.Snapshot.Agent.KnowledgeBaseChatID != nil {
		if opener, err = t.opener(); err != nil {
			return nil, err
		}
	}
	opening, err := begin(run.Snapshot.Agent, opener, variables, t.now())
	if err != nil {
		return nil, err
	}
	if len(run.Messages) == 0 && opening.welcome != nil {
		t.say(run, model.MessageRoleAssistant, *opening.welcome)
	}
	return opening, nil
}

// talk lets the contact and the agent talk until the conversation ends.
func (t *tester) talk(ctx context.Context, run *model.AgentTestRun, values bag) (*ending, error) {
	test := run.Snapshot.Test
	for run.TurnCount < test.MaxTurns {
		var leaving *string
		if last := len(run.Messages) - 1; last < 0 || run.Messages[last].Role == model.MessageRoleAssistant {
			next, err := contactSays(ctx, t.contact, test.Scenario, run.Messages, values)
			if err != nil {
				return nil, err
			}
			if leaving = next.endReason; next.text == "" {
				return t.left(run, *leaving)
			}
			t.say(run, model.MessageRoleUser, next.text)
		}
		said, err := t.answer(ctx, run, values)
		if err != nil {
			return nil, err
		}
		run.TurnCount++
		switch {
		case said.endReason != nil:
			return &ending{By: speakerAgent, Reason: *said.endReason}, nil
		case leaving != nil:
			return t.left(run, *leaving)
		}
	}
	return &ending{By: endedByLimit, Reason: fmt.Sprintf("The test's limit of %d turns was reached.", test.MaxTurns)}, nil
}

// left ends a conversation that the contact leaves, be it after the welcome message. If the agent said nothing, there is
// nothing to judge.
func (t *tester) left(run *model.AgentTestRun, reason string) (*ending, error) {
	if !slices.ContainsFunc(run.Messages, func(m model.TestMessage) bool { return m.Role == model.MessageRoleAssistant }) {
		return nil, t.contact.fault(nil, "it ended the conversation before the agent said anything")
	}
	if reason == "" {
		reason = "no reason was given."
	}
	return &ending{By: speakerContact, Reason: "The contact ended the conversation: " + reason}, nil
}

func (t *tester) say(run *model.AgentTestRun, role model.MessageRole, text string) {
	at := t.now()
	run.Messages = append(run.Messages, model.TestMessage{Role: role, Text: text, Timestamp: &at})
}

// answer adds the agent's answer to the last message, with its calls.
func (t *tester) answer(ctx context.Context, run *model.AgentTestRun, variables bag) (*reply, error) {
	began, skipped := time.Now(), t.delayed()
	said, calls, err := t.reply(ctx, situation{variables: variables, messages: run.Messages, calls: run.ToolCalls})
	t.took += time.Since(began) + t.delayed() - skipped
	for _, call := range calls {
		call.Position, call.MessageSequence, call.IsTurnKept = int32(len(run.ToolCalls)), int32(len(run.Messages)-1), err == nil
		run.ToolCalls = append(run.ToolCalls, call)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, faultOfAgent(err)
	}
	t.say(run, model.MessageRoleAssistant, said.text)
	return said, nil
}

// delayed is how long nobody waited for simulated delays so far.
func (t *tester) delayed() time.Duration {
	if t.skipped == nil {
		return 0
	}
	return t.skipped()
}

// faultOfAgent returns why the agent did not answer. If neither its model nor its definition is at fault, the gateway
// is, and nobody is told the details.
func faultOfAgent(err error) *runFault {
	var known *model.Error
	if errors.As(err, &known) {
		switch known.Code {
		case model.UpstreamFailed, model.Unprocessable, model.NotFound, model.BadInput:
			return &runFault{RunError: model.RunError{Cause: model.RunErrorCauseAgent, Message: "the agent: " + known.Message}, err: err}
		}
	}
	return faultOfGateway(err)
}

// faultOfGateway is a failure of the gateway itself. Its cause is only for the log.
func faultOfGateway(err error) *runFault {
	return &runFault{
		RunError: model.RunError{Cause: model.RunErrorCauseInfrastructure, Message: "something went wrong in the gateway, which is not the agent's fault"},
		err:      err,
	}
}
