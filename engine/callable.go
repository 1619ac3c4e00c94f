package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// callableTarget is something that an agent, or one that it delegates to, can call.
type callableTarget struct {
	name string
	kind model.ToolCallKind
}

// callable returns what the agents of the tests can call by themselves, by their ids, and for agents of which a check expects another
// call, also what the agents that they delegate to can call.
func (e *Engine) callable(
	ctx context.Context, t *db.Tenant, speakers map[string]*speaker, tests []*model.AgentTestRow,
) (map[string][]callableTarget, error) {
	known, callable, wider := maps.Clone(speakers), map[string][]callableTarget{}, map[string]bool{}
	for id, s := range speakers {
		callable[id] = s.callable()
	}
	for _, test := range tests {
		for _, check := range test.Checks {
			if expected := check.Expect.Called; expected != nil && !canBeCalled(expected, callable[test.AgentID]) {
				wider[test.AgentID] = true
			}
		}
	}
	next := map[string][]string{} // the agents of the next level, by the agent that they are reached from
	for id := range wider {
		next[id] = []string{id}
	}
	for range e.limits.depth {
		var wanted []string
		for from, ids := range next {
			next[from] = delegatesOf(known, ids)
			wanted = append(wanted, next[from]...)
		}
		wanted = slices.DeleteFunc(model.Unique(wanted), func(id string) bool { return known[id] != nil })
		found, err := loadSpeakers(ctx, t, wanted)
		if err != nil {
			return nil, err
		}
		maps.Copy(known, found)
		for from, ids := range next {
			for _, id := range ids {
				if s := known[id]; s != nil {
					callable[from] = append(callable[from], s.callable()...)
				}
			}
		}
	}
	return callable, nil
}

// delegatesOf returns the agents that some agents delegate to.
func delegatesOf(known map[string]*speaker, ids []string) []string {
	var delegates []string
	for _, id := range ids {
		if s := known[id]; s != nil {
			for _, sub := range s.subAgents {
				delegates = append(delegates, sub.DelegateAgentID)
			}
		}
	}
	return model.Unique(delegates)
}

// callable returns what the agent can call by itself.
func (s *speaker) callable() []callableTarget {
	var callable []callableTarget
	for _, tool := range s.tools {
		callable = append(callable, callableTarget{tool.TechnicalName, model.ToolCallKindTool})
	}
	for _, sub := range s.subAgents {
		callable = append(callable, callableTarget{sub.TechnicalName, model.ToolCallKindSubAgent})
	}
	if s.agent.CanTransfer() {
		callable = append(callable, callableTarget{llm.TransferCall, model.ToolCallKindCallTransfer})
	}
	if s.chat != nil {
		callable = append(callable, callableTarget{knowledgeBase, model.ToolCallKindRetrieval})
	}
	return callable
}

// canBeCalled reports whether one of the calls is the expected one, whatever its arguments.
func canBeCalled(expected *model.CalledExpectation, callable []callableTarget) bool {
	return slices.ContainsFunc(callable, func(c callableTarget) bool {
		return (expected.TechnicalName == nil || *expected.TechnicalName == c.name) && (expected.Kind == nil || *expected.Kind == c.kind)
	})
}
