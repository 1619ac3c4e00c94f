package evaluation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// tester runs agent tests. It reads no rows: a run comes with everything it needs.
type tester struct {
	modelRoles
	// reviewsContact makes the judge check after each conversation whether the contact played its part.
	reviewsContact bool
	// reply returns the agent's answer to the contact's last message, and the calls, even with an error. The error is
	// UPSTREAM_FAILED if the language model failed.
	reply func(context.Context, engine.Situation) (*engine.Reply, []*model.ToolCall, error)
	// opener returns the first message of an agent without a welcome message, or "".
	opener func() (string, error)
	// targets returns what the agent can call.
	targets func() []rules.Target
	// now returns the time of a message.
	now     func() time.Time
	checker *rules.Checker
	// The function skippedDelay returns the sum of the simulated delays that were skipped.
	skippedDelay func() time.Duration
	// The function costOf returns the cost of the conversation so far, which had this number of turns.
	costOf func(turns int32) model.Credits
	// answerTime counts the agent's time for its answers in the run, and size the bytes of the conversation.
	answerTime time.Duration
	size       int
}

// simulate runs a conversation of the contact with the agent of the run's snapshot, and then checks and judges it. It
// sets the outcome in the run and replaces all of it: messages, calls, turns, end reason, results, score, error and
// status. The status is Passed, Failed or Error. The returned error is the cause of the status Error, only for the log.
// Once ctx has ended, simulate returns ctx's error, keeps the status, and sets no results.
func (t *tester) simulate(ctx context.Context, run *model.AgentTestRun) error {
	test := run.Snapshot.Test
	run.Messages, run.ToolCalls = startOf(test.ConversationMessages, t.now())
	run.TurnCount, run.EndReason, run.Held = 0, nil, nil
	reset(run)
	t.answerTime, t.size = 0, 0
	if run.Messages == nil {
		run.Messages = []model.TestMessage{}
	}
	givenCount := len(run.Messages)
	opening, err := t.open(run)
	if err == nil {
		err = checkLength(opening.Values, test)
	}
	if err != nil {
		return conclude(ctx, run, false, faultOfAgent(err))
	}
	end, err := t.runTurns(ctx, run, opening.Values)
	if err != nil {
		return conclude(ctx, run, false, err)
	}
	held := &model.HeldConversation{EndedBy: end.By, IsMeasured: true,
		TookMs: float64(t.answerTime) / float64(time.Millisecond), SpentMicro: int64(t.costOf(run.TurnCount))}
	if t.reviewsContact {
		// If the review fails, EndReason and Held stay nil, and the conversation is not judged now or later.
		if err := t.review(ctx, run, givenCount, *end, opening.Values); err != nil {
			return conclude(ctx, run, false, err)
		}
		held.ReviewMicro = int64(t.costOf(run.TurnCount)) - held.SpentMicro
	}
	run.EndReason, run.Held = &end.Reason, held
	return t.decide(ctx, run, opening.Values)
}

// decide checks and judges the ended conversation of a run, and sets the outcome like simulate.
func (t *tester) decide(ctx context.Context, run *model.AgentTestRun, values content.Values) error {
	test := run.Snapshot.Test
	given, end := min(len(test.ConversationMessages), len(run.Messages)),
		ending{By: run.Held.EndedBy, Reason: *run.EndReason}
	t.extract(ctx, run)
	held := rules.NewConversation(run, given, end.By)
	if len(test.Criteria) > 0 {
		held.Targets = t.targets()
	}
	held.Tag, held.ExtractionError = t.tagOf(run), run.ExtractionError
	if run.Extracted != nil {
		_ = json.Unmarshal([]byte(*run.Extracted), &held.Extracted) // the extractor writes only texts and nulls
	}
	transcript := transcriptOf(run, given, end)
	transcript.Variables, transcript.values = shownVariables(values), values
	transcript.addContext(run, given, values)
	var unchecked, unjudged error
	if len(test.Checks) > 0 {
		run.CheckResults, unchecked = decideChecks(ctx, t.checker, test.Checks, values, held)
	}
	judges, answered := t.judge, &engine.Meter{}
	judges.Model = answered.Wrap(judges.Model)
	run.CriteriaResults, unjudged = judge(ctx, held, judges, test.Criteria, transcript, test.CriteriaWeights...)
	if slices.ContainsFunc(run.CriteriaResults, func(r model.CriterionResult) bool { return !r.ByProgram }) {
		run.JudgeModel, run.JudgePrompt = new(strings.Join(answered.Models(), ", ")), new(judgePrompt)
	}
	applies := func(r model.CriterionResult) bool { return r.Applies() }
	if unchecked == nil && unjudged == nil && len(test.Checks) == 0 && !slices.ContainsFunc(run.CriteriaResults, applies) {
		unjudged = t.judge.fault(nil, "found that no criterion applies, so the run has no verdict")
	}
	return conclude(ctx, run, true, errors.Join(unchecked, unjudged))
}

// startOf returns the messages that a simulation starts with, and the agent's calls for its answers among them.
func startOf(given []model.TestMessage, at time.Time) ([]model.TestMessage, []*model.ToolCall) {
	messages, calls := slices.Clone(given), []*model.ToolCall{}
	for i := range messages {
		for _, call := range messages[i].ToolCalls {
			calls = append(calls, &model.ToolCall{
				ID: model.NewID("call"), Position: int32(len(calls)), Kind: model.ToolCallKindTool,
				TechnicalName: call.TechnicalName,
				Arguments:     call.Arguments, Result: call.Result, Error: call.Error, Mocked: true, IsTurnKept: true,
				MessageSequence: int32(i - 1), StartedAt: at,
			})
		}
		messages[i].ToolCalls = nil
	}
	return messages, calls
}

// tagOf returns a function that asks the agent's classifier about a conversation once. The run stores the answer.
func (t *tester) tagOf(run *model.AgentTestRun) func(context.Context) (*string, error) {
	return func(ctx context.Context) (*string, error) {
		if run.Held.Tag == nil {
			conversation := &model.ConversationContext{Messages: run.Messages, DataBag: run.Snapshot.Test.Variables}
			result, err := classify(ctx, t.classifier, run.Snapshot.Agent.ClassificationTags, conversation, "")
			if err != nil {
				return nil, err
			}
			run.Held.Tag = new(string)
			if result.TagProduced != nil {
				run.Held.Tag = result.TagProduced
			}
		}
		if *run.Held.Tag == "" {
			return nil, nil
		}
		return run.Held.Tag, nil
	}
}

// classify asks the agent's classifier for the tag of the test's conversation, and sets the outcome like simulate.
func (t *tester) classify(ctx context.Context, run *model.AgentTestRun) error {
	test := run.Snapshot.Test
	run.Messages, run.ToolCalls, run.TurnCount, run.EndReason = slices.Clone(test.ConversationContext.Messages),
		[]*model.ToolCall{}, 0, nil
	reset(run)
	result, err := classify(ctx, t.classifier, run.Snapshot.Agent.ClassificationTags, test.ConversationContext,
		test.TagExpected)
	run.ClassificationResult = result
	return conclude(ctx, run, err == nil && result.Passed, err)
}

func reset(run *model.AgentTestRun) {
	run.CheckResults, run.CriteriaResults, run.Score = []model.CheckResult{}, []model.CriterionResult{}, nil
	run.ClassificationResult, run.Error = nil, nil
	run.Compared, run.Agreed, run.Extracted, run.ExtractionError = nil, nil, nil, nil
	run.JudgeModel, run.JudgePrompt, run.IsDoubtful = nil, nil, nil
}

// conclude sets the status, the score and the error of a finished run. A failed check or criterion decides even if
// others have no verdict. Then the error says why those have no verdict.
func conclude(ctx context.Context, run *model.AgentTestRun, passed bool, err error) error {
	if ctx.Err() != nil {
		reset(run)
		return ctx.Err()
	}
	fault, isFault := errors.AsType[*rules.Fault](err)
	if isFault {
		run.Error = &fault.RunError
	}
	switch {
	case run.Weigh():
		run.Status = model.AgentTestRunStatusFailed
	case isFault:
		run.Status = model.AgentTestRunStatusError
	case passed:
		run.Status = model.AgentTestRunStatusPassed
	default:
		run.Status = model.AgentTestRunStatusFailed
	}
	run.SetDoubt()
	return err
}

// open starts the conversation of a run, with the welcome message if there is one.
func (t *tester) open(run *model.AgentTestRun) (*engine.Opening, error) {
	variables, err := content.ValuesOf(run.Snapshot.Test.Variables)
	if err != nil {
		return nil, err
	}
	opener := ""
	if len(run.Messages) == 0 && run.Snapshot.Agent.WelcomeMessage() == nil &&
		run.Snapshot.Agent.KnowledgeBaseChatID != nil {
		if opener, err = t.opener(); err != nil {
			return nil, err
		}
	}
	opening, err := engine.Begin(run.Snapshot.Agent, opener, variables, t.now())
	if err != nil {
		return nil, err
	}
	if len(run.Messages) == 0 && opening.Welcome != nil {
		t.addMessage(run, model.MessageRoleAssistant, *opening.Welcome)
	}
	return opening, nil
}

func (t *tester) runTurns(ctx context.Context, run *model.AgentTestRun, values content.Values) (*ending, error) {
	test, givenCount := run.Snapshot.Test, len(run.Messages)
	for run.TurnCount < test.MaxTurns {
		var leaving *string
		if last := len(run.Messages) - 1; last < 0 || run.Messages[last].Role == model.MessageRoleAssistant {
			next, err := t.contactSays(ctx, test, run.Messages, run.Messages[givenCount:], values)
			if err != nil {
				return nil, err
			}
			if leaving = next.endReason; next.text == "" {
				return t.endByContact(run, *leaving)
			}
			t.addMessage(run, model.MessageRoleUser, next.text)
		}
		said, err := t.answer(ctx, run, values)
		if err != nil {
			return nil, err
		}
		run.TurnCount++
		switch {
		case said.EndReason != nil:
			return &ending{By: rules.Agent, Reason: *said.EndReason}, nil
		case leaving != nil:
			return t.endByContact(run, *leaving)
		case isPatienceExhausted(test.Persona, run.Messages[givenCount:]):
			return t.endByContact(run, "its patience ran out, because the agent kept giving the same answer.")
		}
	}
	return &ending{By: rules.Limit, Reason: fmt.Sprintf(limitReached+"%d turns was reached.", test.MaxTurns)}, nil
}

// contactSays returns the contact's next step: the test's own words for the turn, or the model's. said has the messages
// of the run itself.
func (t *tester) contactSays(ctx context.Context, test *model.AgentTestRow, messages, said []model.TestMessage,
	values content.Values) (contactMessage, error) {
	turn := 0
	for _, m := range said {
		if m.Role == model.MessageRoleUser {
			turn++
		}
	}
	if said := test.SaysIn(turn); said != nil {
		text := values.Filled(*said)
		if utf8.RuneCountInString(text) > model.MaxTestMessageLength {
			return contactMessage{}, t.contact.fault(nil, "its message %d has more than %d characters after its placeholders "+
				"are filled", turn+1, model.MaxTestMessageLength)
		}
		return contactMessage{text: text}, nil
	}
	return nextContactMessage(ctx, t.contact, test, messages, values)
}

// endByContact ends a conversation that the contact leaves, even right after the welcome message. If the agent said
// nothing, there is nothing to judge.
func (t *tester) endByContact(run *model.AgentTestRun, reason string) (*ending, error) {
	if !slices.ContainsFunc(run.Messages, func(m model.TestMessage) bool { return m.Role == model.MessageRoleAssistant }) {
		return nil, t.contact.fault(nil, "it ended the conversation before the agent said anything")
	}
	if reason == "" {
		reason = "no reason was given."
	}
	return &ending{By: rules.Contact, Reason: contactEnded + reason}, nil
}

func (t *tester) addMessage(run *model.AgentTestRun, role model.MessageRole, text string) {
	run.Messages = append(run.Messages, model.TestMessage{Role: role, Text: text, Timestamp: new(t.now())})
	t.size += len(text)
}

// maxConversation bounds the messages and calls of a run, in bytes. The turn that reaches it is the last one.
const maxConversation = 2 << 20

// answer adds the agent's answer to the last message, with its calls.
func (t *tester) answer(ctx context.Context, run *model.AgentTestRun, variables content.Values) (*engine.Reply, error) {
	began, skipped := time.Now(), t.skippedDelay()
	said, calls, err := t.reply(ctx, engine.Situation{Values: variables, Messages: run.Messages, Calls: run.ToolCalls})
	t.answerTime += time.Since(began) + t.skippedDelay() - skipped
	for _, call := range calls {
		call.Position, call.MessageSequence, call.IsTurnKept = int32(len(run.ToolCalls)), int32(len(run.Messages)-1),
			err == nil
		run.ToolCalls = append(run.ToolCalls, call)
		if t.size += len(call.Arguments); call.Result != nil {
			t.size += len(*call.Result)
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, faultOfAgent(err)
	}
	t.addMessage(run, model.MessageRoleAssistant, said.Text)
	run.Messages[len(run.Messages)-1].Usage = &said.Usage
	if t.size > maxConversation {
		return nil, faultOfAgent(model.Errorf(model.UpstreamFailed, "the messages and calls of the run have more than %d "+
			"KiB together, the limit: let the tools return less, or set fewer turns", maxConversation>>10))
	}
	return said, nil
}

// faultOfAgent returns why the agent did not answer. If neither its model nor its definition is the cause, the gateway
// is, and only the log gets the details.
func faultOfAgent(err error) *rules.Fault {
	if known, ok := errors.AsType[*model.Error](err); ok {
		switch known.Code {
		case model.UpstreamFailed, model.Unprocessable, model.NotFound, model.BadInput:
			return rules.NewFault(model.RunErrorCauseAgent, err, "the agent: "+known.Message)
		}
	}
	return rules.FaultOfGateway(err)
}
