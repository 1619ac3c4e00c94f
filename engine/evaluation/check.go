package evaluation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// checksTimeout bounds the work on the checks of a run, without calls of language models.
const checksTimeout = 5 * time.Second

// decideChecks decides checks, in order. If it cannot decide some of them, it returns the results of the others, and
// the first *rules.Fault. Once ctx has ended, it returns ctx's error.
func decideChecks(
	ctx context.Context, c *rules.Checker, all []model.TestCheck, values content.Values, held *rules.Conversation,
) ([]model.CheckResult, error) {
	results := make([]model.CheckResult, 0, len(all))
	var first error
	working, stop := context.WithTimeout(ctx, checksTimeout)
	defer stop()
	for i, check := range all {
		within := working
		if check.Expect.Tag != nil {
			within = ctx
		}
		expected := filledExpectation(values, check.Expect)
		if err := checkFilled(i, &check.Expect, &expected); err != nil {
			first = cmp.Or(first, err)
			continue
		}
		found, err := c.Check(within, &expected, held)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && first == nil:
			first = faultOfCheck(err)
		case err == nil:
			results = append(results, model.CheckResult{
				Check: check, Filled: filledIn(&check.Expect, &expected), Passed: found.Passed, Observed: found.Observed,
				Evidence: slices.Concat([]model.Evidence{}, found.Evidence),
			})
		}
	}
	return results, first
}

// checkFilled returns a *rules.Fault if the check searches for a text or an expression that is empty once its
// placeholders are filled. Such a check would always pass, or always fail.
func checkFilled(index int, given, filled *model.TestExpectation) error {
	sought := filled.Sought()
	for i, text := range given.Sought() {
		if text != "" && sought[i] == "" {
			return rules.NewFault(model.RunErrorCauseInfrastructure, nil, fmt.Sprintf("check %d (%s) cannot be decided, "+
				"because the value of %s is empty", index+1, given, content.Clip(text, maxVariable)))
		}
	}
	return nil
}

// filledIn returns the expectation with its placeholders filled, or "" if it has none.
func filledIn(given, filled *model.TestExpectation) string {
	if text := filled.String(); text != given.String() {
		return text
	}
	return ""
}

func faultOfCheck(err error) error {
	var fault *rules.Fault
	switch {
	case errors.As(err, &fault):
		return fault
	case errors.Is(err, context.DeadlineExceeded):
		return rules.NewFault(model.RunErrorCauseInfrastructure, err, fmt.Sprintf("the checks took longer than %v, the "+
			"limit: simplify their regular expressions", checksTimeout))
	}
	return rules.FaultOfGateway(err)
}
