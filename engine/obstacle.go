package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// ObstaclesOfTests returns, by the id of the test, why it cannot be carried out with its agent as that is now, and what is
// likely a mistake: sentences, none if there is nothing. It takes two round trips, one more when tests have rows, and one for each level of
// delegation when checks expect calls that only other agents can make.
func (e *Engine) ObstaclesOfTests(ctx context.Context, t *db.Tenant, ids []string) (map[string][]string, error) {
	found, err := t.Find(ctx, db.AgentTestRows, ids, "agent_id", "kind", "variables", "tool_mocking", "tag_expected", "scenario", "criteria", "checks",
		"criteria_weights", "pass_at", "persona", "contact_says", "rows")
	if err != nil {
		return nil, err
	}
	tests := make([]*model.AgentTestRow, len(found))
	agentIDs := make([]string, len(found))
	withRows := map[string]*model.AgentTestRow{}
	for i, row := range found {
		tests[i] = rowOfTest(row)
		agentIDs[i] = tests[i].AgentID
		if len(tests[i].Rows) > 0 {
			withRows[tests[i].ID] = tests[i]
		}
	}
	if err := readStarts(ctx, t, withRows); err != nil {
		return nil, err
	}
	speakers, err := loadSpeakers(ctx, t, model.Unique(agentIDs))
	if err != nil {
		return nil, err
	}
	callable, err := e.callable(ctx, t, speakers, tests)
	if err != nil {
		return nil, err
	}
	obstacles := make(map[string][]string, len(tests))
	for _, test := range tests {
		// Without an agent it was deleted meanwhile, and its tests are about to be.
		if speaker := speakers[test.AgentID]; speaker != nil {
			obstacles[test.ID] = speaker.obstacles(test, callable[test.AgentID])
		}
	}
	return obstacles, nil
}

// readStarts reads the messages that tests start with, by their ids. They may be megabytes, and have placeholders only where there are
// rows.
func readStarts(ctx context.Context, t *db.Tenant, tests map[string]*model.AgentTestRow) error {
	if len(tests) == 0 {
		return nil
	}
	found, err := t.Find(ctx, db.AgentTestRows, slices.Sorted(maps.Keys(tests)), "conversation_messages")
	for _, row := range found {
		start := rowOfTest(row)
		tests[start.ID].ConversationMessages = start.ConversationMessages
	}
	return err
}

func rowOfTest(row model.Row) *model.AgentTestRow {
	switch test := row.(type) {
	case *model.SimulationTest:
		return test.AgentTestRow
	case *model.ClassificationTest:
		return test.AgentTestRow
	}
	return row.(*model.AgentTestRow)
}

// maxObstacles bounds those that rows have.
const maxObstacles = 10

func (s *speaker) obstacles(test *model.AgentTestRow, callable []callableTarget) []string {
	obstacles := []string{}
	if test.Kind == model.AgentTestKindClassification {
		for _, tag := range test.TagsExpected() {
			if err := expects(s.agent, tag); err != nil {
				obstacles = append(obstacles, err.Error())
			}
		}
		return obstacles[:min(len(obstacles), maxObstacles)]
	}
	values, err := bagOf(test.Variables)
	if err != nil {
		return append(obstacles, "the variables cannot be read")
	}
	if values, err = values.inAllRows(test.Rows); err != nil {
		return append(obstacles, "the rows cannot be read")
	}
	for _, name := range fillFields(values, s.agent.Fields, now()) {
		obstacles = append(obstacles, fmt.Sprintf("the agent's field %q is mandatory, and the variables have no value for it", name))
	}
	var missing *model.Error
	if err := mockingOf(test.ToolMocking).Check(s.tools, s.subAgents); errors.As(err, &missing) {
		obstacles = append(obstacles, missing.Message)
	}
	obstacles = append(obstacles, values.unfilledIn(test)...)
	if test.HasIdleWeights() {
		obstacles = append(obstacles, "the weights have no effect: without a passAt below 1, a run passes only if all that has a weight holds")
	}
	return append(obstacles, s.knownTo(test.Checks, callable)...)
}

// callableTarget is something that an agent, or one that it delegates to, can call.
type callableTarget struct {
	name string
	kind model.ToolCallKind
}

// callable returns what the agents of the tests can call by themselves, by their ids, and for agents of which a check expects another
// call, also what the agents that they delegate to can call.
func (e *Engine) callable(ctx context.Context, t *db.Tenant, speakers map[string]*speaker, tests []*model.AgentTestRow) (map[string][]callableTarget, error) {
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

// expects returns UNPROCESSABLE if the agent cannot produce the tag that a test expects.
func expects(agent *model.Agent, tag string) error {
	if agent.KnowsTag(tag) {
		return nil
	}
	return model.Errorf(model.Unprocessable, "the agent has no classification tag %q, which the test expects", tag)
}
