package evaluation

import (
	"context"
	"maps"
	"slices"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/model"
)

// callable returns what the agents of the tests can call by themselves, by their ids, and for agents of which a check expects another
// call, also what the agents that they delegate to can call.
func (v *Evaluator) callable(
	ctx context.Context, t *db.Tenant, speakers map[string]*engine.Speaker, tests []*model.AgentTestRow,
) (map[string][]*model.CallCoverage, error) {
	callable, wider := map[string][]*model.CallCoverage{}, []string{}
	for id, s := range speakers {
		callable[id] = s.Callable()
	}
	for _, test := range tests {
		for _, check := range test.Checks {
			if expected := check.Expect.Called; expected != nil && speakers[test.AgentID] != nil && !canBeCalled(expected, callable[test.AgentID]) {
				wider = append(wider, test.AgentID)
			}
		}
	}
	all, err := v.engine.Callable(ctx, t, model.Unique(wider), speakers)
	maps.Copy(callable, all)
	return callable, err
}

// canBeCalled reports whether one of the calls is the expected one, whatever its arguments.
func canBeCalled(expected *model.CalledExpectation, callable []*model.CallCoverage) bool {
	return slices.ContainsFunc(callable, func(c *model.CallCoverage) bool {
		return (expected.TechnicalName == nil || *expected.TechnicalName == c.TechnicalName) && (expected.Kind == nil || *expected.Kind == c.Kind)
	})
}
