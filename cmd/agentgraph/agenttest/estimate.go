package agenttest

import (
	"context"
	"fmt"
	"math"
	"slices"
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

// roughly returns a duration in words.
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
