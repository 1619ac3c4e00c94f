package model_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestExpressionsAreBoundedAfterExpansion(t *testing.T) {
	t.Parallel()
	for text, isAllowed := range map[string]bool{
		``: true, `^\+?\d{6,15}$`: true, `(?i)\b(monday|tuesday)\b`: true, `\p{L}{1,300}`: true, `(a{1,30}){1,25}`: true,
		strings.Repeat("x", 1_000): true, strings.Repeat("x", 1_001): false,
		`(?:` + strings.Repeat("x", 900) + `){1000}`: false, `((a{30}){30}){30}`: false, `(?:[a-z]{500}){2,}`: false,
		`a{1000}b{1000}`: false,
	} {
		expression, err := model.NewExpression(text)
		require.Equal(t, isAllowed, err == nil, "%.40s: %v", text, err)
		if err == nil {
			require.Equal(t, text, expression.String())
		}
	}
	_, err := model.NewExpression("(")
	require.Error(t, err)
}

func TestLargeExpressionsAreRefusedWithTheLimit(t *testing.T) {
	t.Parallel()
	const size, syntax = "must compile to at most 1000 instructions: use fewer or shorter repetitions",
		"must be a regular expression in RE2 syntax"
	for text, want := range map[string]string{
		`a{2000}`: size, `a{0,1001}`: size, `a{1001,}`: size, `a{99999999999}`: size, `(a{100}){100}`: size,
		`((a{30}){30}){30}`: size, `(\pL{40}){40}`: size, `a{1000}b{1000}`: size,
		`a{5,2}`: syntax, `(`: syntax, `(?<!a)b`: syntax,
	} {
		check := &model.TestCheck{Expect: model.TestExpectation{
			Says: &model.SaidExpectation{Matches: &text, Role: model.MessageRoleAssistant},
		}}
		_, err := model.NewSimulationTest(model.CreateSimulationTestInput{Name: "a", Scenario: "b", MaxTurns: 1,
			Checks: []*model.TestCheck{check}}, time.Time{})
		fault, _ := errors.AsType[*model.Error](err)
		require.Equal(t, model.Fields{"checks.0.expect.says.matches": {want}}, fault.Fields, text)
	}
}

func TestMatchingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	expression, err := model.NewExpression(`(x+x+){1,100}y`)
	require.NoError(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	text := &counting{Context: ended}
	matches, err := expression.Match(text, strings.Repeat("x", 1<<20))
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, matches)
	require.LessOrEqual(t, text.asked, 3, "it is not read to its end")
}

// counting is a context that counts calls of Err.
type counting struct {
	context.Context
	asked int
}

func (c *counting) Err() error { c.asked++; return c.Context.Err() }

func FuzzExpressions(f *testing.F) {
	for _, text := range []string{`a`, `^\d{4}-\d\d$`, `(?:x{9}){9}`, `[^\W\d_]+|é*?`, `(?s).{3,}$`} {
		f.Add(text, "2026-03-01 aé")
	}
	f.Fuzz(func(t *testing.T, text, subject string) {
		expression, err := model.NewExpression(text)
		if err != nil {
			return
		}
		matches, err := expression.Match(t.Context(), subject)
		require.NoError(t, err)
		require.Equal(t, regexp.MustCompile(text).MatchString(subject), matches, "%q on %q", text, subject)
	})
}
