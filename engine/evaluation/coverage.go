package evaluation

import (
	"cmp"
	"context"
	"slices"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/model"
)

// CoverageOfTests returns the Coverage of the runs of each simulation test, by the id of the test.
func (v *Evaluator) CoverageOfTests(ctx context.Context, t *db.Tenant,
	ids []string) (map[string][]*model.CallCoverage, error) {
	found, err := t.Find(ctx, db.AgentTestRows, ids, "agent_id", "kind", "tool_mocking")
	if err != nil {
		return nil, err
	}
	chats := make([]*model.SimulationChat, len(found))
	for i, row := range found {
		test := rowOfTest(row)
		chats[i] = &model.SimulationChat{ID: test.ID, AgentID: test.AgentID, ToolMocking: *engine.MockingOf(test.ToolMocking)}
	}
	return v.engine.Coverage(ctx, t, chats)
}

// CoverageOfExecution returns the calls that the input's tests could make if they were run now, with their effects. The
// most important effects come first.
func (v *Evaluator) CoverageOfExecution(ctx context.Context, t *db.Tenant,
	in model.StartAgentTestExecutionInput) (*model.AgentTestExecutionCoverage, error) {
	tests, err := t.TestsToRun(ctx, in)
	if err != nil {
		return nil, err
	}
	var ids []string
	named := map[string]*model.AgentTestRow{}
	for _, test := range tests {
		if test.Kind == model.AgentTestKindSimulation {
			ids = append(ids, test.ID)
			named[test.ID] = test
		}
	}
	ofTests, err := v.CoverageOfTests(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	coverage := &model.AgentTestExecutionCoverage{Simulations: int32(len(ids)), Calls: []*model.AgentTestCallCoverage{}}
	known := map[string]*model.AgentTestCallCoverage{}
	for _, id := range ids {
		for _, call := range ofTests[id] {
			key := content.Encode([]any{named[id].AgentID, call})
			if known[key] == nil {
				known[key] = &model.AgentTestCallCoverage{Call: call, AgentID: named[id].AgentID}
				coverage.Calls = append(coverage.Calls, known[key])
			}
			known[key].TestIds, known[key].TestNames = append(known[key].TestIds, id),
				append(known[key].TestNames, named[id].Name)
		}
	}
	slices.SortStableFunc(coverage.Calls, func(a, b *model.AgentTestCallCoverage) int {
		return cmp.Compare(urgency[a.Call.Effect], urgency[b.Call.Effect])
	})
	return coverage, nil
}

// urgency orders the effects of calls, the most important first.
var urgency = map[model.CallEffect]int{
	model.CallEffectReal: 0, model.CallEffectDenied: 1, model.CallEffectUnavailable: 2, model.CallEffectMocked: 3,
}
