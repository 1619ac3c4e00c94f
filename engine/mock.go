package engine

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/model"
)

// mockAnswer is how a mock answers a call.
type mockAnswer struct {
	// result is handed back, unless there is a failure.
	result  string
	failure *model.MockFailure
	// rule is the one that answers, counted from 0; nil when none does.
	rule  *int32
	delay time.Duration
	// unknown are the placeholders without a value; they stay in the result.
	unknown []string
}

// answerMock returns how the mock answers the call of the target with the number, counted from 0. A placeholder
// of its template is filled from the call's arguments, and from the variables where there is no such argument or it is null.
func answerMock(m *model.Mock, technicalName string, call arguments, number int32, variables map[string]string) mockAnswer {
	template, delaySeconds := m.ResultTemplate, m.DelaySeconds
	var answer mockAnswer
	for i := range m.Rules {
		if rule := &m.Rules[i]; applies(rule, call, number) {
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
			value, ok := variables[name]
			return value, ok
		})
	}
	return answer
}

func applies(rule *model.MockRule, call arguments, number int32) bool {
	if rule.CallIndex != nil && *rule.CallIndex != number {
		return false
	}
	for _, condition := range rule.When {
		if !holds(condition, call) {
			return false
		}
	}
	return true
}

func holds(c model.MockCondition, call arguments) bool {
	value, present := call.reach(c.Argument)
	if c.Present != nil && *c.Present != present {
		return false
	}
	if c.Equals != nil && (!present || !equals(value, *c.Equals)) {
		return false
	}
	if c.Matches != nil {
		// Validated when the chat was started.
		expression, err := regexp.Compile(*c.Matches)
		return err == nil && present && expression.MatchString(textOf(value))
	}
	return true
}

// equals compares a text as it is, and any other value with what the JSON text stands for.
func equals(value any, want string) bool {
	if text, ok := value.(string); ok {
		return text == want
	}
	wanted, err := parseJSON(want)
	return err == nil && same(value, wanted)
}

// mocked answers a call as its mock says, after the delay.
func (c *conversation) mocked(ctx context.Context, call *call) (string, error) {
	answer := answerMock(call.target.mock, call.target.TechnicalName, call.arguments, call.number, c.variables)
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

// simulate is what a call that fails for real comes to.
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
		return "", callError(strings.TrimSpace(fmt.Sprintf("%s answered %d %s", callee, status, http.StatusText(status))))
	}
	// An empty answer is no error of the call: the agent has to notice.
	return "", nil
}
