package evaluation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// ObstaclesOfTests returns sentences by the id of the test: the reasons why the test cannot run with its current agent,
// and likely mistakes. It takes two round trips, one more if tests have rows, one more if they mock tools that are not
// connected, and one for each level of delegation if checks expect calls of sub-agents. If checks expect calls that
// only other agents can make, it takes another one for each level.
func (v *Evaluator) ObstaclesOfTests(ctx context.Context, t *db.Tenant, ids []string) (map[string][]string, error) {
	found, err := t.Find(ctx, db.AgentTestRows, ids, "agent_id", "kind", "variables", "tool_mocking", "tag_expected",
		"scenario", "criteria", "checks",
		"criteria_weights", "pass_at", "persona", "contact_says", "max_turns", "rows")
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
	speakers, err := engine.LoadSpeakers(ctx, t, model.Unique(agentIDs))
	if err != nil {
		return nil, err
	}
	callable, err := v.callable(ctx, t, speakers, tests)
	if err != nil {
		return nil, err
	}
	delegates, err := v.delegates(ctx, t, speakers, tests)
	if err != nil {
		return nil, err
	}
	suggested, err := suggestedChecks(ctx, speakers, tests)
	if err != nil {
		return nil, err
	}
	unconnected, err := unconnectedMocks(ctx, t, speakers, tests)
	if err != nil {
		return nil, err
	}
	obstacles := make(map[string][]string, len(tests))
	for _, test := range tests {
		// There is no agent if it was deleted concurrently. Its tests are then about to be deleted.
		if speaker := speakers[test.AgentID]; speaker != nil {
			obstacles[test.ID] = obstaclesOf(speaker, test, callable[test.AgentID], delegates[test.ID], suggested[test.ID],
				unconnected[test.ID])
		}
	}
	return obstacles, nil
}

// readStarts reads the messages that the tests start with into tests. The caller passes only tests with rows: the
// messages may be megabytes, and have placeholders only in such tests.
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

// maxObstacles bounds the obstacles from rows.
const maxObstacles = 10

func obstaclesOf(s *engine.Speaker, test *model.AgentTestRow, callable []*model.CallCoverage,
	delegates []*engine.Delegate, suggested []*model.SuggestedCheck, unconnected []string) []string {
	obstacles := []string{}
	if test.Kind == model.AgentTestKindClassification {
		for _, tag := range test.TagsExpected() {
			if err := expects(s.Agent, tag); err != nil {
				obstacles = append(obstacles, err.Error())
			}
		}
		return obstacles[:min(len(obstacles), maxObstacles)]
	}
	values, err := content.ValuesOf(test.Variables)
	if err != nil {
		return append(obstacles, "the variables cannot be read")
	}
	if values, err = inAllRows(values, test.Rows); err != nil {
		return append(obstacles, "the rows cannot be read")
	}
	for _, name := range engine.FillFields(values, s.Agent.Fields, engine.Now()) {
		obstacles = append(obstacles, fmt.Sprintf("the variables need a value for the agent's mandatory field %q",
			name))
	}
	for _, delegate := range delegates {
		if names := delegate.Missing(values, engine.Now()); len(names) > 0 && expectsCallOf(test, delegate.Name) {
			obstacles = append(obstacles, fmt.Sprintf("the sub-agent %s answers without values for %s: add them to the "+
				"variables", delegate.Name, strings.Join(names, ", ")))
		}
	}
	var missing *model.Error
	if err := engine.MockingOf(test.ToolMocking).Check(s.Tools, s.SubAgents); len(unconnected) > 0 {
		obstacles = append(obstacles, unconnected...)
	} else if errors.As(err, &missing) {
		obstacles = append(obstacles, missing.Message)
	}
	for _, tool := range s.Tools {
		if tool.MissingSince != nil {
			obstacles = append(obstacles, fmt.Sprintf("the MCP server no longer offers %s: calls fail unless they are mocked",
				tool.TechnicalName))
		}
	}
	obstacles = append(obstacles, unfilledIn(values, test)...)
	if test.HasIdleWeights() {
		obstacles = append(obstacles, "the weights have no effect: set passAt below 1, or remove the weights")
	}
	for _, each := range suggested {
		obstacles = append(obstacles, fmt.Sprintf("criterion %d needs the judge; the program could check this instead: %s",
			each.Criterion+1, each.Check.Description()))
	}
	return append(obstacles, unknownTo(s, test, callable)...)
}

// unconnectedMocks names the mocked tools and sub-agents that are not connected to the tests' agents, by the id of the
// test. Disconnected sub-agents have only an id.
func unconnectedMocks(ctx context.Context, t *db.Tenant, speakers map[string]*engine.Speaker,
	tests []*model.AgentTestRow) (map[string][]string, error) {
	tools, sentences := map[string][]string{}, map[string][]string{}
	for _, test := range tests {
		s, mocking := speakers[test.AgentID], engine.MockingOf(test.ToolMocking)
		if s == nil {
			continue
		}
		for _, mock := range mocking.MockedTools {
			if !slices.ContainsFunc(s.Tools, func(t *model.Tool) bool { return t.ID == mock.ToolID }) {
				tools[mock.ToolID] = append(tools[mock.ToolID], test.ID)
			}
		}
		for _, mock := range mocking.MockedSubAgents {
			if !slices.ContainsFunc(s.SubAgents, func(sub *model.SubAgent) bool { return sub.ID == mock.SubAgentID }) {
				sentences[test.ID] = append(sentences[test.ID], fmt.Sprintf("the mocked sub-agent %q is not connected to "+
					"the agent", mock.SubAgentID))
			}
		}
	}
	if len(tools) == 0 {
		return sentences, nil
	}
	ids := slices.Sorted(maps.Keys(tools))
	found, err := t.Find(ctx, db.ToolRows, ids, "technical_name")
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, row := range found {
		names[row.(*model.Tool).ID] = row.(*model.Tool).TechnicalName
	}
	for _, id := range ids {
		sentence := fmt.Sprintf("the mocked tool %q was deleted", id)
		if name, ok := names[id]; ok {
			sentence = fmt.Sprintf("the mocked tool %s is not connected to the agent", name)
		}
		for _, testID := range tools[id] {
			sentences[testID] = append(sentences[testID], sentence)
		}
	}
	return sentences, nil
}

// suggestedChecks returns the checks that could replace criteria, by the id of the test.
func suggestedChecks(ctx context.Context, speakers map[string]*engine.Speaker,
	tests []*model.AgentTestRow) (map[string][]*model.SuggestedCheck, error) {
	targets := make(map[string][]rules.Target, len(speakers))
	for id, speaker := range speakers {
		targets[id] = speaker.Targets()
	}
	suggested := make(map[string][]*model.SuggestedCheck, len(tests))
	for _, test := range tests {
		suggested[test.ID] = []*model.SuggestedCheck{}
		for i, criterion := range test.Criteria {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if expected := rules.Suggest(criterion, targets[test.AgentID]); expected != nil {
				suggested[test.ID] = append(suggested[test.ID],
					&model.SuggestedCheck{Criterion: int32(i), Check: &model.TestCheck{Expect: *expected}})
			}
		}
	}
	return suggested, nil
}

// SuggestedChecksOfTests returns the checks that could replace criteria, by the id of the test. It takes two round
// trips.
func (v *Evaluator) SuggestedChecksOfTests(
	ctx context.Context, t *db.Tenant, ids []string,
) (map[string][]*model.SuggestedCheck, error) {
	found, err := t.Find(ctx, db.AgentTestRows, ids, "agent_id", "criteria")
	if err != nil {
		return nil, err
	}
	tests, agentIDs := make([]*model.AgentTestRow, len(found)), make([]string, len(found))
	for i, row := range found {
		tests[i] = rowOfTest(row)
		agentIDs[i] = tests[i].AgentID
	}
	speakers, err := engine.LoadSpeakers(ctx, t, model.Unique(agentIDs))
	if err != nil {
		return nil, err
	}
	return suggestedChecks(ctx, speakers, tests)
}

// expects returns UNPROCESSABLE if the agent cannot produce the tag that a test expects.
func expects(agent *model.Agent, tag string) error {
	if agent.KnowsTag(tag) {
		return nil
	}
	return model.Errorf(model.Unprocessable, "the test expects the classification tag %q, which the agent does not "+
		"have", tag)
}

// expectsCallOf reports whether a check of the test expects a call of the sub-agent.
func expectsCallOf(test *model.AgentTestRow, subAgent string) bool {
	return slices.ContainsFunc(test.Checks, func(c model.TestCheck) bool {
		called := c.Expect.Called
		return called != nil && called.TechnicalName != nil && *called.TechnicalName == subAgent
	})
}

// delegates returns the agents that the agent of each simulation can really delegate to, by the id of the test. It
// leaves out tests without checks that expect a call of a sub-agent.
func (v *Evaluator) delegates(
	ctx context.Context, t *db.Tenant, speakers map[string]*engine.Speaker, tests []*model.AgentTestRow,
) (map[string][]*engine.Delegate, error) {
	chats := []*model.SimulationChat{}
	for _, test := range tests {
		s := speakers[test.AgentID]
		if s != nil && slices.ContainsFunc(s.SubAgents, func(sub *model.SubAgent) bool {
			return expectsCallOf(test, sub.TechnicalName)
		}) {
			chats = append(chats, &model.SimulationChat{ID: test.ID, AgentID: test.AgentID,
				ToolMocking: *engine.MockingOf(test.ToolMocking)})
		}
	}
	return v.engine.Delegates(ctx, t, chats, speakers)
}

// callable returns the calls that the agents of the tests can make, by the agents' ids. If a check names another
// call, it includes the calls of agents that they delegate to.
func (v *Evaluator) callable(
	ctx context.Context, t *db.Tenant, speakers map[string]*engine.Speaker, tests []*model.AgentTestRow,
) (map[string][]*model.CallCoverage, error) {
	callable, wider := map[string][]*model.CallCoverage{}, []string{}
	for id, s := range speakers {
		callable[id] = s.Callable()
	}
	for _, test := range tests {
		for _, check := range test.Checks {
			for _, call := range checkedCalls(check.Expect) {
				if speakers[test.AgentID] != nil && !canBeCalled(&call.NeverCalledExpectation, callable[test.AgentID]) {
					wider = append(wider, test.AgentID)
				}
			}
		}
	}
	all, err := v.engine.Callable(ctx, t, model.Unique(wider), speakers)
	maps.Copy(callable, all)
	return callable, err
}
