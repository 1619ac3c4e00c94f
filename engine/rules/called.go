package rules

import (
	"context"
	"fmt"
	"slices"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/model"
)

func (c *Checker) checkCalled(
	ctx context.Context, e *model.CalledExpectation, conversation *Conversation,
) (Finding, error) {
	matching, others, err := c.matching(ctx, &e.NeverCalledExpectation, conversation)
	all := matching
	if e.Succeeded {
		matching = slices.DeleteFunc(slices.Clone(all), (*model.ToolCall).Failed)
	}
	n := len(matching)
	isOften := n >= int(e.Min) && (e.Max == nil || n <= int(*e.Max))
	found := Finding{isOften, timesWithFailures(all), conversation.citeCalls(matching)}
	switch {
	case len(all) == 0 && len(others) > 0:
		found.Observed, found.Evidence = times(len(others))+", never with such arguments", conversation.citeCalls(others)
	case n == 0:
		found.Evidence = conversation.citeCalls(all)
	}
	if err != nil || n == 0 || e.Before == nil {
		return found, err
	}
	for _, call := range conversation.calls {
		if call == matching[0] {
			break
		}
		if call.TechnicalName == *e.Before {
			found.Passed, found.Evidence = false, conversation.citeCalls([]*model.ToolCall{call, matching[0]})
			found.Observed += fmt.Sprintf(", but %s was called earlier", *e.Before)
			break
		}
	}
	return found, nil
}

// matching returns the calls that match the expectation, and those that differ only in their arguments.
func (c *Checker) matching(
	ctx context.Context, e *model.NeverCalledExpectation, conversation *Conversation,
) (matching, others []*model.ToolCall, err error) {
	for _, call := range conversation.calls {
		if e.TechnicalName != nil && *e.TechnicalName != call.TechnicalName || e.Kind != nil && *e.Kind != call.Kind {
			continue
		}
		with, _, _ := content.ParseArguments(string(call.Arguments)) // unreadable arguments count as none
		if c.Applies(ctx, &model.MockRule{When: e.Where}, with, 0) {
			matching = append(matching, call)
		} else {
			others = append(others, call)
		}
		if ctx.Err() != nil {
			return nil, nil, ctx.Err() // not all conditions were evaluated
		}
	}
	return matching, others, nil
}

func times(n int) string {
	switch n {
	case 0:
		return "never called"
	case 1:
		return "called once"
	}
	return fmt.Sprintf("called %d times", n)
}

// timesWithFailures returns how often a call was made, and how many of these calls failed, as text.
func timesWithFailures(calls []*model.ToolCall) string {
	failed := 0
	for _, call := range calls {
		if call.Failed() {
			failed++
		}
	}
	switch {
	case failed == 0:
		return times(len(calls))
	case failed < len(calls):
		return fmt.Sprintf("%s, of which %d failed", times(len(calls)), failed)
	case failed == 1:
		return "called once, which failed"
	}
	return times(len(calls)) + ", all of which failed"
}
