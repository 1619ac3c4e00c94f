package agenttest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

const estimateDocument = `query ($input: StartAgentTestExecutionInput!) {
	agentTestExecutionEstimate(input: $input) {
		runs runsAtMost seconds credits reviewCredits noticedFalls { repeats passRate }
	}
}`

// executionEstimate has the estimated runs, time and credits of an execution, and the drops of a test's pass rate that
// a comparison detects.
type executionEstimate struct {
	Runs, RunsAtMost int
	Seconds, Credits *float64
	ReviewCredits    *float64
	NoticedFalls     []noticedFall
}

// noticedFall is the smallest drop from a pass rate of 100 % that a comparison detects. PassRate is the rate after the
// drop.
type noticedFall struct {
	Repeats  int
	PassRate *float64
}

func readEstimate(ctx context.Context, server *client.Client, input client.Variables) (executionEstimate, error) {
	var read struct{ AgentTestExecutionEstimate executionEstimate }
	err := server.Query(ctx, estimateDocument, client.Variables{"input": input}, &read)
	return read.AgentTestExecutionEstimate, err
}

// String returns the number of runs, the time and the credits. With NoticedFalls, further sentences say which drops a
// comparison detects.
func (e executionEstimate) String() string {
	text := client.Pluralize(e.Runs, "run")
	if e.Runs < e.RunsAtMost {
		text += fmt.Sprintf(" if all pass, at most %d", e.RunsAtMost)
	}
	switch {
	case e.Seconds != nil && e.Credits != nil && *e.Credits > 0:
		text += fmt.Sprintf(": about %s and %s credits", roughly(*e.Seconds), formatCredits(*e.Credits))
		if e.ReviewCredits != nil {
			text += fmt.Sprintf(", %s of them to review contacts", formatCredits(*e.ReviewCredits))
		}
	case e.Seconds != nil:
		text += ": about " + roughly(*e.Seconds)
	}
	for i, fall := range e.NoticedFalls {
		repeats := client.Pluralize(fall.Repeats, "repeat")
		switch {
		case i > 0:
			text += "; " + repeats + " detect "
		case e.Runs < e.RunsAtMost:
			text += ". A comparison of up to " + repeats + " detects "
		default:
			text += ". A comparison of " + repeats + " detects "
		}
		text += fall.String()
	}
	if slices.ContainsFunc(e.NoticedFalls, func(f noticedFall) bool { return f.PassRate != nil }) {
		text += ". This assumes that no other test fails"
	}
	return text + "."
}

func (f noticedFall) String() string {
	if f.PassRate == nil {
		return "no drop of a single test"
	}
	return fmt.Sprintf("a test's drop from 100 %% to %.0f %% in 9 of 10 cases", *f.PassRate*100)
}

func roughly(seconds float64) string {
	n := int(math.Ceil(seconds))
	switch d := time.Duration(n) * time.Second; {
	case d < 90*time.Second:
		return client.Pluralize(n, "second")
	case d < 90*time.Minute:
		return fmt.Sprintf("%.0f minutes", d.Minutes())
	default:
		return fmt.Sprintf("%.1f hours", d.Hours())
	}
}

// Bounds of the error of refuseRealCalls. It lists at most maxGroups groups, and for each at most maxTools tools and
// maxReal tests.
const (
	maxReal   = 3
	maxTools  = 10
	maxGroups = 10
)

const coverageDocument = `query ($input: StartAgentTestExecutionInput!) {
	agentTestExecutionCoverage(input: $input) { calls { call { kind technicalName path effect } testIds testNames } }
}`

// coveredCall is a call that tests may make, and its effect in their runs.
type coveredCall struct {
	Call struct {
		Kind, TechnicalName, Effect string
		Path                        []string
	}
	TestIds, TestNames []string
}

// refuseRealCalls returns an error if the tests would really call tools or transfer calls. The error names each such
// call with its tests. Knowledge base searches and delegation are allowed, because they have no side effects.
func refuseRealCalls(ctx context.Context, server *client.Client, input client.Variables) error {
	var read struct {
		AgentTestExecutionCoverage struct{ Calls []coveredCall }
	}
	if err := server.Query(ctx, coverageDocument, client.Variables{"input": input}, &read); err != nil {
		return err
	}
	var tools []string
	testsOf := map[string][]string{}
	for _, covered := range read.AgentTestExecutionCoverage.Calls {
		call := covered.Call
		if call.Effect != "Real" || call.Kind != "Tool" && call.Kind != "CallTransfer" {
			continue
		}
		tool := strings.Join(append(call.Path, call.TechnicalName), " / ")
		if testsOf[tool] == nil {
			tools = append(tools, tool)
		}
		for i, id := range covered.TestIds {
			testsOf[tool] = append(testsOf[tool], client.Quoted(covered.TestNames[i])+" ("+id+")")
		}
	}
	if len(tools) == 0 {
		return nil
	}
	return client.Exit(client.ExitCancelled, fmt.Errorf("nothing was run: --require-mocked refuses real calls. Mock "+
		"these first:\n%s", strings.Join(realCalls(tools, testsOf), "\n")))
}

// realCalls returns the lines of the error: one for each tool. Tools with the same tests form a group, with the tests
// below them.
func realCalls(tools []string, testsOf map[string][]string) (lines []string) {
	var groups []string
	toolsOf := map[string][]string{}
	for _, tool := range tools {
		tests := strings.Join(testsOf[tool], "\n")
		if toolsOf[tests] == nil {
			groups = append(groups, tests)
		}
		toolsOf[tests] = append(toolsOf[tests], tool)
	}
	for i, group := range groups {
		if i == maxGroups {
			return append(lines, fmt.Sprintf("and more tools, in %s of tests", client.Pluralize(len(groups)-i, "other set")))
		}
		some := toolsOf[group]
		lines = append(lines, some[:min(len(some), maxTools)]...)
		if left := len(some) - maxTools; left > 0 {
			lines = append(lines, fmt.Sprintf("and %d more tools", left))
		}
		tests := strings.Split(group, "\n")
		shown := strings.Join(tests[:min(len(tests), maxReal)], ", ")
		if left := len(tests) - maxReal; left > 0 {
			shown += fmt.Sprintf(" and %d more", left)
		}
		lines = append(lines, fmt.Sprintf("  in %s: %s", client.Pluralize(len(tests), "test"), shown))
	}
	return lines
}
