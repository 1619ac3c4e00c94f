package rules

import (
	"context"
	"strings"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/model"
)

// extracts decides whether a value that was extracted is the expected one.
func (c *Checker) extracts(ctx context.Context, e *model.ExtractsExpectation, held *Conversation) (Finding, error) {
	if held.ExtractionError != nil {
		return Finding{}, &Fault{RunError: model.RunError{Cause: model.RunErrorCauseAgent, Message: *held.ExtractionError}}
	}
	value, known := held.Extracted[e.Name]
	switch {
	case !known:
		return Finding{Observed: "the agent extracts no value of this name"}, nil
	case value == nil:
		return Finding{Observed: "the conversation does not tell it"}, nil
	}
	found := Finding{Observed: content.Encode(*value), Evidence: held.saying(*value)}
	if e.Equals != nil {
		found.Passed = strings.TrimSpace(read.NewPassage(*value, false).Text) == strings.TrimSpace(read.NewPassage(*e.Equals, false).Text)
		return found, nil
	}
	expression, err := c.expressions.of(*e.Matches)
	if err != nil {
		return Finding{}, err
	}
	_, found.Passed, err = expression.Find(ctx, *value)
	return found, err
}
