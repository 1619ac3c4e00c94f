package engine

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/model"
)

// mockAnswer is how a mock answers a call.
type mockAnswer struct {
	// result is the answer, unless there is a failure.
	result  string
	failure *model.MockFailure
	// rule is the rule that answers, counted from 0. It may be nil.
	rule  *int32
	delay time.Duration
	// unknown are the placeholders without a value. They stay in the result.
	unknown []string
}

// answerMock returns how the mock answers the target's call with this number, counted from 0. Placeholders of its
// template are filled from the call's arguments, or from the variables if there is no such argument or it is null.
func (c *checks) answerMock(ctx context.Context, m *model.Mock, technicalName string, call arguments, number int32, variables bag) mockAnswer {
	template, delaySeconds := m.ResultTemplate, m.DelaySeconds
	var answer mockAnswer
	for i := range m.Rules {
		if rule := &m.Rules[i]; c.applies(ctx, rule, call, number) {
			position := int32(i)
			answer.rule, answer.failure = &position, rule.Failure
			template, delaySeconds = rule.ResultTemplate, rule.DelaySeconds
			break
		}
	}
	answer.delay = time.Duration(delaySeconds * float64(time.Second))
	switch {
	case answer.failure != nil:
	case template == nil || *template == "":
		answer.result = fmt.Sprintf(`{"status":"success","message":"The call to %s succeeded."}`, technicalName)
	default:
		answer.result, answer.unknown = fill(*template, maxResult, func(name string) (string, bool) {
			if value, ok := call.text(name); ok {
				return value, true
			}
			return variables.text(name)
		})
	}
	return answer
}

func (c *checks) applies(ctx context.Context, rule *model.MockRule, call arguments, number int32) bool {
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

func (c *checks) holds(ctx context.Context, condition model.MockCondition, call arguments) bool {
	value, present := call.reach(condition.Argument)
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
	matches, err := expression.Match(ctx, textOf(value))
	return err == nil && matches
}

// equals compares a string as it is, and any other value with the value of the JSON text.
func equals(value any, want string) bool {
	if text, ok := value.(string); ok {
		return text == want
	}
	wanted, err := parseJSON(want)
	return err == nil && same(value, wanted)
}

// mocked answers a call with its mock, after the delay.
func (c *conversation) mocked(ctx context.Context, call *call) (string, error) {
	answer := c.checks.answerMock(ctx, call.target.mock, call.target.TechnicalName, call.arguments, call.number, c.variables)
	if ctx.Err() != nil {
		return "", ctx.Err() // not all conditions were evaluated
	}
	call.record.MockRule, call.warnings = answer.rule, unfilled("the mock of "+call.target.TechnicalName, answer.unknown)
	if answer.delay > 0 {
		if err := c.effects.wait(ctx, answer.delay); err != nil {
			return "", err
		}
		call.delay = answer.delay
	}
	if answer.failure == nil {
		return answer.result, nil
	}
	return simulate(answer.failure, call.target.Kind)
}

// simulate returns the outcome of a call that really fails in this way.
func simulate(failure *model.MockFailure, kind model.ToolCallKind) (string, error) {
	callee := "the tool"
	if kind == model.ToolCallKindSubAgent {
		callee = "the sub-agent"
	}
	switch failure.Kind {
	case model.MockFailureKindTimeout:
		return "", callError(callee + " did not answer in time")
	case model.MockFailureKindMalformedJSON:
		return "", callError(callee + " answered with malformed JSON")
	case model.MockFailureKindHTTPError:
		status := http.StatusInternalServerError
		if failure.Status != nil {
			status = int(*failure.Status)
		}
		text := strings.TrimSpace(fmt.Sprintf("%s answered %d %s", callee, status, http.StatusText(status)))
		if failure.Body != nil && strings.TrimSpace(*failure.Body) != "" {
			text += ": " + strings.TrimSpace(*failure.Body)
		}
		return "", callError(cut(text, maxError))
	}
	// An empty answer is not an error, because the agent has to notice it.
	return "", nil
}
