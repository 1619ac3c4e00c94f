package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/model"
)

// Coverage returns, by the id of the chat, what would happen to each possible call: of the chat's agent to its tools,
// its sub-agents, the transfer if allowed, and its knowledge base; and of the agents that it can really delegate to,
// each listed once with the shortest path to it. The number of statements depends only on the depth of the delegations.
func (e *Engine) Coverage(ctx context.Context, t *db.Tenant, chats []*model.SimulationChat) (map[string][]*model.CallCoverage, error) {
	surveys := make([]*survey, len(chats))
	for i, chat := range chats {
		surveys[i] = &survey{
			mocking: &chat.ToolMocking, canTransfer: e.canTransfer(), depth: e.limits.depth,
			calls: []*model.CallCoverage{}, listed: map[string]bool{chat.AgentID: true},
			next: []place{{agentIDs: []string{chat.AgentID}, path: []string{}}},
		}
	}
	known := map[string]*speaker{}
	for {
		var wanted []string
		for _, survey := range surveys {
			for _, place := range survey.next {
				if _, ok := known[place.agentID()]; !ok {
					wanted = append(wanted, place.agentID())
				}
			}
		}
		found, err := loadSpeakers(ctx, t, wanted)
		if err != nil {
			return nil, err
		}
		for _, id := range wanted {
			// An agent that was deleted meanwhile calls nothing. Its nil speaker is known.
			known[id] = found[id]
		}
		isOver := true
		for _, survey := range surveys {
			survey.descend(known)
			isOver = isOver && len(survey.next) == 0
		}
		if isOver {
			break
		}
	}
	coverage := make(map[string][]*model.CallCoverage, len(chats))
	for i, chat := range chats {
		coverage[chat.ID] = surveys[i].calls
	}
	return coverage, nil
}

// CoverageOfAgents returns, by the id of the agent, what Coverage would be of a chat with it and the mocking, which may be nil.
func (e *Engine) CoverageOfAgents(ctx context.Context, t *db.Tenant, ids []string, mocking *model.ToolMocking) (map[string][]*model.CallCoverage, error) {
	chats := make([]*model.SimulationChat, len(ids))
	for i, id := range ids {
		chats[i] = &model.SimulationChat{ID: id, AgentID: id, ToolMocking: *mockingOf(mocking)}
	}
	return e.Coverage(ctx, t, chats)
}

// CoverageOfTests returns, by the id of the simulation test, what Coverage would be of its runs.
func (e *Engine) CoverageOfTests(ctx context.Context, t *db.Tenant, ids []string) (map[string][]*model.CallCoverage, error) {
	found, err := t.Find(ctx, db.AgentTestRows, ids, "agent_id", "kind", "tool_mocking")
	if err != nil {
		return nil, err
	}
	chats := make([]*model.SimulationChat, len(found))
	for i, row := range found {
		test := rowOfTest(row)
		chats[i] = &model.SimulationChat{ID: test.ID, AgentID: test.AgentID, ToolMocking: *mockingOf(test.ToolMocking)}
	}
	return e.Coverage(ctx, t, chats)
}

// CoverageOfExecution returns what would happen to the calls of the tests that the input names, if they were run as they are now.
func (e *Engine) CoverageOfExecution(ctx context.Context, t *db.Tenant, in model.StartAgentTestExecutionInput) (*model.AgentTestExecutionCoverage, error) {
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
	ofTests, err := e.CoverageOfTests(ctx, t, ids)
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
			known[key].TestIds, known[key].TestNames = append(known[key].TestIds, id), append(known[key].TestNames, named[id].Name)
		}
	}
	slices.SortStableFunc(coverage.Calls, func(a, b *model.AgentTestCallCoverage) int {
		return cmp.Compare(urgency[a.Call.Effect], urgency[b.Call.Effect])
	})
	return coverage, nil
}

// urgency orders what would happen to calls by how soon one wants to know.
var urgency = map[model.CallEffect]int{
	model.CallEffectReal: 0, model.CallEffectDenied: 1, model.CallEffectUnavailable: 2, model.CallEffectMocked: 3,
}

// survey lists the possible calls of one chat, level by level of its delegations.
type survey struct {
	mocking     *model.ToolMocking
	canTransfer bool
	// depth bounds nested delegations.
	depth int
	calls []*model.CallCoverage
	// listed are the agents reached so far.
	listed map[string]bool
	// next holds the agents of the next level.
	next []place
}

// place is an agent in the delegations of a chat.
type place struct {
	// agentIDs lead from the chat's own agent to this one. path has the names of the delegations between them.
	agentIDs, path []string
}

func (p place) agentID() string { return p.agentIDs[len(p.agentIDs)-1] }

// descend lists the calls of the next level and collects the level below.
func (s *survey) descend(known map[string]*speaker) {
	level := s.next
	s.next = nil
	for _, at := range level {
		speaker := known[at.agentID()]
		if speaker == nil {
			continue
		}
		mocking := s.mocking
		if len(at.path) > 0 {
			mocking = delegated(mocking)
		}
		for _, target := range speaker.targets(mocking, s.canTransfer) {
			target.Path = at.path
			if target.subAgent != nil && target.Effect == model.CallEffectReal {
				s.follow(at, target)
			}
			s.calls = append(s.calls, &target.CallCoverage)
		}
		if speaker.chat != nil {
			s.calls = append(s.calls, &model.CallCoverage{
				Kind: model.ToolCallKindRetrieval, TargetID: &speaker.chat.ID, TechnicalName: knowledgeBase,
				Path: at.path, Effect: model.CallEffectReal,
			})
		}
	}
}

// follow adds the agent behind a delegation to the next level, unless asking it would be refused.
func (s *survey) follow(from place, t *target) {
	id := t.subAgent.DelegateAgentID
	switch {
	case len(from.agentIDs) > s.depth || slices.Contains(from.agentIDs, id):
		t.Effect = model.CallEffectUnavailable
	case !s.listed[id]:
		s.listed[id] = true
		s.next = append(s.next, place{
			agentIDs: append(slices.Clone(from.agentIDs), id), path: append(slices.Clone(from.path), t.TechnicalName),
		})
	}
}
