package engine

import (
	"context"
	"strings"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/model"
)

// extracts decides whether a value that was extracted is the expected one.
func (c *checks) extracts(ctx context.Context, e *model.ExtractsExpectation, held *heldConversation) (finding, error) {
	if held.extractionError != nil {
		return finding{}, &runFault{RunError: model.RunError{Cause: model.RunErrorCauseAgent, Message: *held.extractionError}}
	}
	value, known := held.extracted[e.Name]
	switch {
	case !known:
		return finding{observed: "the agent extracts no value of this name"}, nil
	case value == nil:
		return finding{observed: "the conversation does not tell it"}, nil
	}
	found := finding{observed: content.Encode(*value), evidence: held.saying(*value)}
	if e.Equals != nil {
		found.passed = strings.TrimSpace(read.NewPassage(*value, false).Text) == strings.TrimSpace(read.NewPassage(*e.Equals, false).Text)
		return found, nil
	}
	expression, err := c.expressions.of(*e.Matches)
	if err != nil {
		return finding{}, err
	}
	_, found.passed, err = expression.Find(ctx, *value)
	return found, err
}
