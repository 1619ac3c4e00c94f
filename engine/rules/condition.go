package rules

import (
	"context"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/model"
)

// Applies reports whether a rule of a mock is meant for a call with these arguments and this number, counted from 0.
func (c *Checker) Applies(ctx context.Context, rule *model.MockRule, call content.Values, number int32) bool {
	if rule.CallIndex != nil && *rule.CallIndex != number {
		return false
	}
	for _, condition := range rule.When {
		if !c.holds(ctx, condition, call) {
			return false
		}
	}
	return true
}

func (c *Checker) holds(ctx context.Context, condition model.MockCondition, call content.Values) bool {
	value, present := call.Reach(condition.Argument)
	if condition.Present != nil && *condition.Present != present {
		return false
	}
	if condition.Equals != nil && (!present || !equals(value, *condition.Equals)) {
		return false
	}
	if condition.Matches == nil || !present {
		return condition.Matches == nil
	}
	expression, err := c.expressions.of(*condition.Matches)
	if err != nil {
		return false // it was stored before expressions were bounded
	}
	matches, err := expression.Match(ctx, content.TextOf(value))
	return err == nil && matches
}

// equals compares a string as it is, and any other value with the value of the JSON text.
func equals(value any, want string) bool {
	if text, ok := value.(string); ok {
		return text == want
	}
	wanted, err := content.ParseJSON(want)
	return err == nil && content.Same(value, wanted)
}
