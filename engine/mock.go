package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

type mockAnswer struct {
	// result is the answer, unless there is a failure.
	result  string
	failure *model.MockFailure
	// rule is the index of the rule that answers. It may be nil.
	rule  *int32
	delay time.Duration
	// unknown lists the placeholders without a value. They stay in the result.
	unknown []string
}

// answerMock returns how the mock answers the target's call with this number, counted from 0. The arguments fill the
// placeholders of its template. The variables fill those whose argument is absent or null, and those of conditions. A
// rule also applies if its conditions hold with unfilled placeholders, because recorded arguments may contain braces.
func answerMock(ctx context.Context, c *rules.Checker, m *model.Mock, technicalName string, call content.Values,
	number int32, variables content.Values) mockAnswer {
	template, delaySeconds := m.ResultTemplate, m.DelaySeconds
	var answer mockAnswer
	for i := range m.Rules {
		rule := &m.Rules[i]
		if c.Applies(ctx, rule, call, number) || c.Applies(ctx, filledRule(*rule, variables), call, number) {
			answer.rule, answer.failure = new(int32(i)), rule.Failure
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
		answer.result, answer.unknown = fillResult(*template, func(name string) any {
			if value, _ := call.Lookup(name); value != nil {
				return value
			}
			value, _ := variables.Lookup(name)
			return value
		})
	}
	return answer
}

func filledRule(rule model.MockRule, variables content.Values) *model.MockRule {
	rule.When = FillConditions(rule.When, func(text *string, write func(string) string) *string {
		if text == nil {
			return nil
		}
		places := content.Placeholder().FindAllStringIndex(*text, -1)
		filled, _ := content.FillAt(*text, places, maxResult, func(_ int, name string) (string, bool) {
			value, known := variables.Text(name)
			return write(value), known
		})
		return &filled
	})
	return &rule
}

// FillConditions returns conditions with the values that they compare with filled. The function fill gets a text that
// may be nil, and a function that encodes each value: in regular expressions, it escapes the values.
func FillConditions(conditions []model.MockCondition,
	fill func(text *string, write func(string) string) *string) []model.MockCondition {
	filled := slices.Clone(conditions)
	for i, c := range filled {
		filled[i].Equals = fill(c.Equals, func(value string) string { return value })
		filled[i].Matches = fill(c.Matches, regexp.QuoteMeta)
	}
	return filled
}

// fillResult fills the placeholders of a mock's template. {name|json} inserts a value as JSON, and {name|literal}
// inserts {name}. Values within strings of a JSON template are escaped, so that the result is JSON. Placeholders whose
// value is nil stay, and are returned.
func fillResult(template string, valueOf func(name string) any) (string, []string) {
	places := model.MockPlaceholder.FindAllStringIndex(template, -1)
	isWithin := withinTexts(template, places)
	return content.FillAt(template, places, maxResult, func(i int, name string) (string, bool) {
		if literal, isLiteral := strings.CutSuffix(name, model.MockLiteral); isLiteral {
			return "{" + literal + "}", true
		}
		name, isJSON := strings.CutSuffix(name, "|json")
		value := valueOf(name)
		switch {
		case value == nil:
			return "", false
		case isJSON && !isWithin[i]:
			return content.Encode(value), true
		case isJSON:
			value = content.Encode(value)
		}
		if !isWithin[i] {
			return content.TextOf(value), true
		}
		quoted := content.Encode(content.TextOf(value))
		return quoted[1 : len(quoted)-1], true
	})
}

// withinTexts reports for each placeholder whether it is within a string of a JSON template.
func withinTexts(template string, places [][]int) []bool {
	within := make([]bool, len(places))
	var frame strings.Builder
	inText, rest := false, 0
	for i, at := range places {
		between := template[rest:at[0]]
		for j := 0; j < len(between); j++ {
			switch between[j] {
			case '\\':
				j++
			case '"':
				inText = !inText
			}
		}
		frame.WriteString(between)
		if within[i] = inText; !inText {
			frame.WriteByte('0')
		}
		rest = at[1]
	}
	frame.WriteString(template[rest:])
	if !json.Valid([]byte(frame.String())) {
		clear(within)
	}
	return within
}

func (c *conversation) answerFromMock(ctx context.Context, call *call) (string, error) {
	answer := answerMock(ctx, c.checks, call.target.mock, call.target.TechnicalName, call.arguments, call.number,
		c.variables)
	if ctx.Err() != nil {
		return "", ctx.Err() // some conditions were not evaluated
	}
	call.record.MockRule, call.warnings = answer.rule, content.Unfilled("the mock of "+call.target.TechnicalName,
		answer.unknown)
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

// simulate returns the outcome of a call that fails in this way.
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
		return "", callError(content.Cut(text, maxError))
	}
	// An empty answer is not an error. The agent has to notice that it is empty.
	return "", nil
}
