// Package rules makes the decisions that need no language model: whether arguments match a schema or the conditions of
// a mock, and whether an ended conversation meets a check or a criterion. Start reading at [Checker] and [Decide].
package rules

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/model"
)

// Check decides whether a conversation meets an expectation, whose placeholders must be filled. The error is a *Fault
// or ctx's error.
func (c *Checker) Check(ctx context.Context, e *model.TestExpectation, conversation *Conversation) (Finding, error) {
	switch {
	case e.Called != nil:
		return c.checkCalled(ctx, e.Called, conversation)
	case e.NeverCalled != nil:
		matching, _, err := c.matching(ctx, e.NeverCalled, conversation)
		return Finding{len(matching) == 0, timesWithFailures(matching), conversation.citeCalls(matching)}, err
	case e.Says != nil:
		cited, err := c.messagesWithText(ctx, e.Says, conversation)
		return Finding{len(cited) > 0, saidIn(cited), cited}, err
	case e.NeverSays != nil:
		cited, err := c.messagesWithText(ctx, e.NeverSays, conversation)
		return Finding{len(cited) == 0, saidIn(cited), cited}, err
	case e.EndedBy != nil:
		by := map[string]model.ConversationEnder{
			Agent: model.ConversationEnderAgent, Contact: model.ConversationEnderContact, Limit: model.ConversationEnderLimit,
		}[conversation.endedBy]
		return Finding{by == *e.EndedBy, string(by), conversation.lastMessage()}, nil
	case e.Extracts != nil:
		return c.checkExtracted(ctx, e.Extracts, conversation)
	case e.Tag != nil:
		tag, err := conversation.Tag(ctx)
		if err != nil || tag == nil {
			return Finding{Observed: "no tag"}, err
		}
		return Finding{*tag == *e.Tag, *tag, nil}, nil
	case e.TurnsAtMost != nil:
		return Finding{conversation.count <= *e.TurnsAtMost, strconv.Itoa(int(conversation.count)), nil}, nil
	case (e.DurationAtMost != nil || e.CreditsAtMost != nil) && !conversation.isMeasured:
		return Finding{}, errNotMeasured()
	case e.DurationAtMost != nil:
		return Finding{conversation.duration.Seconds() <= *e.DurationAtMost,
			fmt.Sprintf("%.3f s", conversation.duration.Seconds()), nil}, nil
	case e.FirstTokenAtMost != nil:
		return conversation.firstTokens(*e.FirstTokenAtMost)
	case e.CreditsAtMost != nil:
		passed := float64(conversation.credits)/float64(model.Credit) <= *e.CreditsAtMost
		return Finding{passed, conversation.credits.String() + " credits", nil}, nil
	}
	return c.checkResultSchema(ctx, e.ResultJSON, conversation)
}

// errNotMeasured returns the fault of a conversation whose time and cost are not known.
func errNotMeasured() error {
	return NewFault(model.RunErrorCauseInfrastructure, nil, "the conversation is from an older server version, which "+
		"did not record the agent's time and cost")
}

// firstTokens decides whether each answer began within the seconds. It cites the slowest answer.
func (c *Conversation) firstTokens(seconds float64) (Finding, error) {
	most, measured := 0.0, 0
	var cited []model.Evidence
	for i, m := range c.messages {
		if m.Usage == nil || c.turns[i] == fromTest {
			continue
		}
		measured++
		if first := m.Usage.FirstTokenMs; first != nil && *first/1000 >= most {
			cited, most = []model.Evidence{c.quote(i, m.Text)}, *first/1000
		}
	}
	if measured == 0 && c.count > 0 {
		return Finding{}, errNotMeasured()
	}
	return Finding{most <= seconds, fmt.Sprintf("%.3f s", most), cited}, nil
}

// messagesWithText returns the messages that contain the expected text, as evidence.
func (c *Checker) messagesWithText(ctx context.Context, e *model.SaidExpectation,
	conversation *Conversation) ([]model.Evidence, error) {
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
	return conversation.findInMessages(e.Role, e.Turn, find)
}

func (c *Checker) checkResultSchema(ctx context.Context, e *model.ResultExpectation,
	conversation *Conversation) (Finding, error) {
	schema, err := c.schemas.Load(string(e.Schema), model.NewJSONSchema)
	if err != nil {
		return Finding{}, err
	}
	if e.TechnicalName == nil {
		last := conversation.lastOf(model.MessageRoleAssistant)
		if len(last) == 0 {
			return Finding{Observed: "the agent said nothing"}, nil
		}
		fault, err := schemaFault(ctx, schema, unfenced(conversation.messages[last[0].MessageIndex].Text))
		return fitted(fault, last), err
	}
	found := Finding{Observed: "no result of " + *e.TechnicalName}
	for _, call := range conversation.calls {
		if call.TechnicalName != *e.TechnicalName || call.Result == nil {
			continue
		}
		fault, err := schemaFault(ctx, schema, *call.Result)
		if found = fitted(fault, conversation.citeCalls([]*model.ToolCall{call})); err != nil || found.Passed {
			return found, err
		}
	}
	return found, nil
}

func fitted(fault string, at []model.Evidence) Finding {
	if fault == "" {
		return Finding{true, "it matches the schema", at}
	}
	return Finding{false, fault, at}
}

// schemaFault returns why a text is not JSON that matches the schema, or "" if it is. It returns only ctx's error.
func schemaFault(ctx context.Context, schema *model.JSONSchema, text string) (string, error) {
	value, err := content.ParseJSON(text)
	if err != nil {
		return "it is not JSON", nil //nolint:nilerr // the fault is the result
	}
	var invalid *jsonschema.ValidationError
	switch err := schema.Validate(ctx, value); {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.As(err, &invalid):
		return "it does not match the schema: " + faultsIn(invalid), nil
	case err != nil:
		return err.Error(), nil //nolint:nilerr // the fault is the result
	}
	return "", nil
}

// unfenced returns the content of a code block, if a text has nothing else.
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

func saidIn(cited []model.Evidence) string {
	if len(cited) == 0 {
		return "never said"
	}
	return fmt.Sprintf("said in message %d", cited[0].MessageIndex)
}

// checkExtracted decides whether an extracted value is the expected one.
func (c *Checker) checkExtracted(ctx context.Context, e *model.ExtractsExpectation,
	conversation *Conversation) (Finding, error) {
	if conversation.ExtractionError != nil {
		return Finding{}, NewFault(model.RunErrorCauseAgent, nil, *conversation.ExtractionError)
	}
	value, known := conversation.Extracted[e.Name]
	switch {
	case !known:
		return Finding{Observed: "the agent extracts no value of this name"}, nil
	case value == nil:
		return Finding{Observed: "the conversation does not contain the value"}, nil
	}
	found := Finding{Observed: content.Encode(*value), Evidence: conversation.quoteLast(*value)}
	if e.Equals != nil {
		folded := func(text string) string { return read.NewPassage(text, false).Text }
		found.Passed = folded(*value) == folded(*e.Equals)
		return found, nil
	}
	expression, err := c.expressions.Load(*e.Matches, model.NewExpression)
	if err != nil {
		return Finding{}, err
	}
	_, found.Passed, err = expression.Find(ctx, *value)
	return found, err
}
