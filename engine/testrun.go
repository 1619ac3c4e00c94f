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
}

// situation is the state of a conversation when it is the agent's turn.
type situation struct {
	variables bag
	messages  []model.TestMessage
	// calls are the calls of earlier turns. The MessageSequence of each is the index of the message that it helped to
	// answer.
	calls []*model.ToolCall
}

// simulate lets the contact and the agent of the run's snapshot talk, judges the conversation, and sets the outcome in
// the run: messages, calls, turns, the reason of the end, results, error and status. All of these are replaced. The
// status is Passed, Failed or Error. The returned error is the cause of the status Error, only for the log. Once ctx has
// ended the error is ctx's, the status stays, and there are no results.
func (t *tester) simulate(ctx context.Context, run *model.AgentTestRun) error {
	test := run.Snapshot.Test
	run.Messages, run.ToolCalls, run.TurnCount, run.EndReason = slices.Clone(test.ConversationMessages), []*model.ToolCall{}, 0, nil
	run.CriteriaResults, run.ClassificationResult, run.Error = []model.CriterionResult{}, nil, nil
	if run.Messages == nil {
		run.Messages = []model.TestMessage{}
	}
	given := len(run.Messages)
	end, err := t.converse(ctx, run)
	if err != nil {
		return conclude(ctx, run, false, err)
	}
	run.EndReason = &end.Reason
	run.CriteriaResults, err = judge(ctx, t.rules, t.judge, test.Criteria, transcriptOf(run, given, *end))
	return conclude(ctx, run, true, err)
}

// classify lets the agent's classifier choose a tag for the test's conversation, and sets the outcome in the run as
// simulate does.
func (t *tester) classify(ctx context.Context, run *model.AgentTestRun) error {
	test := run.Snapshot.Test
	run.Messages, run.ToolCalls, run.TurnCount, run.EndReason = slices.Clone(test.ConversationContext.Messages), []*model.ToolCall{}, 0, nil
	run.CriteriaResults, run.ClassificationResult, run.Error = []model.CriterionResult{}, nil, nil
	result, err := classify(ctx, t.classifier, run.Snapshot.Agent.ClassificationTags, test.ConversationContext, test.TagExpected)
	run.ClassificationResult = result
	return conclude(ctx, run, err == nil && result.Passed, err)
}

// conclude sets the status and the error of a finished run. A false criterion decides even if others have no verdict, and
// the error says why they have none.
func conclude(ctx context.Context, run *model.AgentTestRun, passed bool, err error) error {
	if ctx.Err() != nil {
		run.CriteriaResults, run.ClassificationResult = []model.CriterionResult{}, nil
		return ctx.Err()
	}
	var fault *runFault
	if errors.As(err, &fault) {
		run.Error = &fault.RunError
	}
	switch {
	case slices.ContainsFunc(run.CriteriaResults, isFalse):
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

func isFalse(r model.CriterionResult) bool { return !r.Passed }

// converse holds the conversation of a run and returns how it ended.
func (t *tester) converse(ctx context.Context, run *model.AgentTestRun) (*ending, error) {
	test := run.Snapshot.Test
	variables, err := bagOf(test.Variables)
	if err != nil {
		return nil, faultOfAgent(err)
	}
	opener := ""
	if t.opener != nil && len(run.Messages) == 0 && run.Snapshot.Agent.WelcomeMessage() == nil && run.Snapshot.Agent.KnowledgeBaseChatID != nil {
		if opener, err = t.opener(); err != nil {
			return nil, faultOfAgent(err)
		}
	}
	opening, err := begin(run.Snapshot.Agent, opener, variables, t.now())
	if err != nil {
		return nil, faultOfAgent(err)
	}
	if len(run.Messages) == 0 && opening.welcome != nil {
		t.say(run, model.MessageRoleAssistant, *opening.welcome)
	}
	for run.TurnCount < test.MaxTurns {
		var leaving *string
		if last := len(run.Messages) - 1; last < 0 || run.Messages[last].Role == model.MessageRoleAssistant {
			next, err := contactSays(ctx, t.contact, test.Scenario, run.Messages)
			if err != nil {
				return nil, err
			}
			if leaving = next.endReason; next.text == "" {
				return t.left(run, *leaving)
			}
			t.say(run, model.MessageRoleUser, next.text)
		}
		said, err := t.answer(ctx, run, opening.values)
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
	said, calls, err := t.reply(ctx, situation{variables: variables, messages: run.Messages, calls: run.ToolCalls})
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
