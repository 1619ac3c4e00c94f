package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/model"
)

// checksTimeout bounds the work on the checks of a run, but for what a language model is asked.
const checksTimeout = 5 * time.Second

// heldConversation is a conversation of a test that is over, as checks look at it.
type heldConversation struct {
	messages []model.TestMessage
	calls    []*model.ToolCall
	// turns are the numbers of the turns that the messages belong to: 0 before the first, or beforehand.
	turns  []int32
	count  int32
	ending ending
	// isMeasured is true if it is known how long the agent took for its answers, and what the conversation cost.
	isMeasured bool
	took       time.Duration
	spent      model.Credits
	// values fill the placeholders of checks.
	values content.Values
	// extracted are the values that were extracted, nil for those that the conversation does not tell; extractionError is why they were not.
	extracted       map[string]*string
	extractionError *string
	// tag asks the agent's classifier.
	tag func(context.Context) (*string, error)
}

// beforehand is the turn of messages that the test starts from.
const beforehand = -1

// heldBy returns the conversation of a run, which begins with so many messages that the test starts from.
func heldBy(run *model.AgentTestRun, start int, end ending) *heldConversation {
	// What was called for answers that the test starts from does not count.
	held := &heldConversation{messages: run.Messages, count: run.TurnCount, ending: end}
	for _, call := range run.ToolCalls {
		if int(call.MessageSequence) >= start-1 {
			held.calls = append(held.calls, call)
		}
	}
	if kept := run.Held; kept != nil {
		held.isMeasured, held.took, held.spent = kept.IsMeasured, time.Duration(kept.TookMs*float64(time.Millisecond)), model.Credits(kept.SpentMicro)
	}
	turn := int32(0)
	if start > 0 && run.Messages[start-1].Role == model.MessageRoleUser {
		turn = 1
	}
	for i, m := range run.Messages {
		if i < start {
			held.turns = append(held.turns, beforehand)
			continue
		}
		if m.Role == model.MessageRoleUser {
			turn++
		}
		held.turns = append(held.turns, turn)
	}
	return held
}

// finding is what a check comes to.
type finding struct {
	passed   bool
	observed string
	evidence []model.Evidence
}

// decide decides checks, in their order. If some cannot be decided, the error is the *runFault of the first, and the results
// of the others are returned with it. Once ctx has ended the error is ctx's.
func (c *checks) decide(ctx context.Context, all []model.TestCheck, held *heldConversation) ([]model.CheckResult, error) {
	results := make([]model.CheckResult, 0, len(all))
	var first error
	working, stop := context.WithTimeout(ctx, checksTimeout)
	defer stop()
	for _, check := range all {
		within := working
		if check.Expect.Tag != nil {
			within = ctx
		}
		expected := filledExpectation(held.values, check.Expect)
		found, err := c.look(within, &expected, held)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && first == nil:
			first = faultOfCheck(err)
		case err == nil:
			results = append(results, model.CheckResult{
				Check: check, Filled: filledIn(&check.Expect, &expected), Passed: found.passed, Observed: found.observed, Evidence: slices.Concat([]model.Evidence{}, found.evidence),
			})
		}
	}
	return results, first
}

// filledIn says what was expected, where placeholders were filled; empty if there were none.
func filledIn(given, filled *model.TestExpectation) string {
	if text := filled.String(); text != given.String() {
		return text
	}
	return ""
}

func faultOfCheck(err error) error {
	var fault *runFault
	switch {
	case errors.As(err, &fault):
		return fault
	case errors.Is(err, context.DeadlineExceeded):
		return &runFault{err: err, RunError: model.RunError{
			Cause: model.RunErrorCauseInfrastructure, Message: fmt.Sprintf("the checks took longer than %v, which is the bound", checksTimeout),
		}}
	}
	return faultOfGateway(err)
}

func (c *checks) look(ctx context.Context, e *model.TestExpectation, held *heldConversation) (finding, error) {
	switch {
	case e.Called != nil:
		return c.called(ctx, e.Called, held)
	case e.NeverCalled != nil:
		matching, _, err := c.matching(ctx, e.NeverCalled, held)
		return finding{len(matching) == 0, timesWithFailures(matching), held.citeCalls(matching)}, err
	case e.Says != nil:
		cited, err := c.saying(ctx, e.Says, held)
		return finding{len(cited) > 0, saidIn(cited), cited}, err
	case e.NeverSays != nil:
		cited, err := c.saying(ctx, e.NeverSays, held)
		return finding{len(cited) == 0, saidIn(cited), cited}, err
	case e.EndedBy != nil:
		by := map[string]model.ConversationEnder{
			speakerAgent: model.ConversationEnderAgent, speakerContact: model.ConversationEnderContact, endedByLimit: model.ConversationEnderLimit,
		}[held.ending.By]
		return finding{by == *e.EndedBy, string(by), held.lastMessage()}, nil
	case e.Extracts != nil:
		return c.extracts(ctx, e.Extracts, held)
	case e.Tag != nil:
		tag, err := held.tag(ctx)
		if err != nil || tag == nil {
			return finding{observed: "no tag"}, err
		}
		return finding{*tag == *e.Tag, *tag, nil}, nil
	case e.TurnsAtMost != nil:
		return finding{held.count <= *e.TurnsAtMost, strconv.Itoa(int(held.count)), nil}, nil
	case (e.DurationAtMost != nil || e.CreditsAtMost != nil) && !held.isMeasured:
		return finding{}, &runFault{RunError: model.RunError{
			Cause: model.RunErrorCauseInfrastructure, Message: "the version of the gateway that held the conversation did not keep how long the agent took and what it cost",
		}}
	case e.DurationAtMost != nil:
		return finding{held.took.Seconds() <= *e.DurationAtMost, fmt.Sprintf("%.3f s", held.took.Seconds()), nil}, nil
	case e.CreditsAtMost != nil:
		return finding{float64(held.spent)/float64(model.Credit) <= *e.CreditsAtMost, held.spent.String() + " credits", nil}, nil
	}
	return c.fitting(ctx, e.ResultJSON, held)
}

// saying returns where something is said.
func (c *checks) saying(ctx context.Context, e *model.SaidExpectation, held *heldConversation) (cited []model.Evidence, err error) {
	find := func(text string) (string, bool, error) {
		found := read.Find(text, *e.Text)
		return found, found != "", nil
	}
	if e.Matches != nil {
		expression, err := c.expressions.Load(*e.Matches, model.NewExpression)
		if err != nil {
			return nil, err
		}
		find = func(text string) (string, bool, error) { return expression.Find(ctx, text) }
	}
	for i, m := range held.messages {
		if m.Role != e.Role || !held.isIn(i, e.Turn) {
			continue
		}
		quote, found, err := find(m.Text)
		if err != nil {
			return nil, err
		}
		if found && len(cited) < maxEvidence {
			cited = append(cited, model.Evidence{MessageIndex: int32(i), Quote: shortQuote(quote), Speaker: &held.messages[i].Role, Kind: new(model.EvidenceKindSaid)})
		}
	}
	return cited, nil
}

// isIn reports whether a message of the run is in a turn; nil is any.
func (h *heldConversation) isIn(message int, turn *int32) bool {
	of := h.turns[message]
	switch {
	case of == beforehand:
		return false
	case turn == nil:
		return true
	case *turn < 0:
		return of > 0 && of == h.turns[len(h.turns)-1]+1+*turn
	}
	return of == *turn
}

// fitting looks for JSON that fits a schema.
func (c *checks) fitting(ctx context.Context, e *model.ResultExpectation, held *heldConversation) (finding, error) {
	schema, err := c.schemas.Load(string(e.Schema), model.NewJSONSchema)
	if err != nil {
		return finding{}, err
	}
	if e.TechnicalName == nil {
		last := held.lastOf(model.MessageRoleAssistant)
		if len(last) == 0 {
			return finding{observed: "the agent said nothing"}, nil
		}
		fault, err := misfit(ctx, schema, unfenced(held.messages[last[0].MessageIndex].Text))
		return fitted(fault, last), err
	}
	found := finding{observed: "no result of " + *e.TechnicalName}
	for _, call := range held.calls {
		if call.TechnicalName != *e.TechnicalName || call.Result == nil {
			continue
		}
		fault, err := misfit(ctx, schema, *call.Result)
		if found = fitted(fault, held.citeCalls([]*model.ToolCall{call})); err != nil || found.passed {
			return found, err
		}
	}
	return found, nil
}

func fitted(fault string, at []model.Evidence) finding {
	if fault == "" {
		return finding{true, "it fits", at}
	}
	return finding{false, fault, at}
}

// misfit says why a text is no JSON that fits the schema, "" if it is. The error is ctx's.
func misfit(ctx context.Context, schema *model.JSONSchema, text string) (string, error) {
	value, err := content.ParseJSON(text)
	if err != nil {
		return "it is not JSON", nil //nolint:nilerr // which is what was asked
	}
	var invalid *jsonschema.ValidationError
	switch err := schema.Validate(ctx, value); {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.As(err, &invalid):
		return "it does not fit: " + faultsIn(invalid), nil
	case err != nil:
		return err.Error(), nil //nolint:nilerr // which is what was asked
	}
	return "", nil
}

// unfenced returns what stands in a code block, if a text is nothing else.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	inner, isBlock := strings.CutPrefix(text, "```")
	inner, isClosed := strings.CutSuffix(inner, "```")
	language, rest, hasLines := strings.Cut(inner, "\n")
	if isBlock && isClosed && hasLines && !strings.ContainsAny(language, "{[\"") {
		return rest
	}
	return text
}

// citeCalls quotes calls by their names and arguments, in the messages of the agent that they led to.
func (h *heldConversation) citeCalls(calls []*model.ToolCall) []model.Evidence {
	var cited []model.Evidence
	agent := model.MessageRoleAssistant
	for _, call := range calls[:min(len(calls), maxEvidence)] {
		cited = append(cited, model.Evidence{
			MessageIndex: min(call.MessageSequence+1, int32(len(h.messages)-1)),
			Quote:        shortQuote(call.TechnicalName + " " + content.Encode(json.RawMessage(call.Arguments))), ToolCallID: &call.ID, Speaker: &agent, Kind: new(model.EvidenceKindCalled),
		})
	}
	return cited
}

func (h *heldConversation) lastMessage() []model.Evidence {
	if last := len(h.messages) - 1; last >= 0 {
		return h.lastOf(h.messages[last].Role)
	}
	return nil
}

// lastOf quotes the last message of the run that somebody wrote in it.
func (h *heldConversation) lastOf(role model.MessageRole) []model.Evidence {
	for i, m := range slices.Backward(h.messages) {
		if m.Role == role && h.turns[i] != beforehand {
			return []model.Evidence{{MessageIndex: int32(i), Quote: shortQuote(m.Text), Speaker: &role, Kind: new(model.EvidenceKindSaid)}}
		}
	}
	return nil
}

func shortQuote(text string) string {
	if runes := []rune(text); len(runes) > maxQuote {
		return string(runes[:maxQuote])
	}
	return text
}

func saidIn(cited []model.Evidence) string {
	if len(cited) == 0 {
		return "never said"
	}
	return fmt.Sprintf("said in message %d", cited[0].MessageIndex)
}
