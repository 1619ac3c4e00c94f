package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/model"
)

// Coverage returns the effect of each possible call in the chats, by the id of the chat. It covers the calls of the
// chat's agent to its tools, its sub-agents, the transfer if allowed, and its knowledge base. It also covers agents
// that the chat's agent can really delegate to, each once, with the shortest path to it. The number of statements
// depends only on the depth of the delegations.
func (e *Engine) Coverage(
	ctx context.Context, t *db.Tenant, chats []*model.SimulationChat,
) (map[string][]*model.CallCoverage, error) {
	surveys := make([]*survey, len(chats))
	for i, chat := range chats {
		surveys[i] = surveyOf(chat.AgentID, &chat.ToolMocking, e.canTransfer(), e.limits.depth)
		surveys[i].samples = e.samples
	}
	if err := reach(ctx, t, surveys, map[string]*Speaker{}); err != nil {
		return nil, err
	}
	coverage := make(map[string][]*model.CallCoverage, len(chats))
	for i, chat := range chats {
		coverage[chat.ID] = surveys[i].calls
	}
	return coverage, nil
}

// Callable returns the calls that each agent, or an agent that it delegates to, could make without mocks, by the id
// of the agent. It does not read the speakers in known again.
func (e *Engine) Callable(
	ctx context.Context, t *db.Tenant, agentIDs []string, known map[string]*Speaker,
) (map[string][]*model.CallCoverage, error) {
	callable := make(map[string][]*model.CallCoverage, len(agentIDs))
	surveys := make([]*survey, len(agentIDs))
	for i, id := range agentIDs {
		surveys[i] = surveyOf(id, &model.ToolMocking{}, true, e.limits.depth)
	}
	err := reach(ctx, t, surveys, maps.Clone(known))
	for i, id := range agentIDs {
		callable[id] = surveys[i].calls
	}
	return callable, err
}

// reach completes each survey. For each level it reads the speakers that are not known, all at once.
func reach(ctx context.Context, t *db.Tenant, surveys []*survey, known map[string]*Speaker) error {
	for {
		var wanted []string
		for _, survey := range surveys {
			for _, place := range survey.next {
				if _, ok := known[place.agentID()]; !ok {
					wanted = append(wanted, place.agentID())
				}
			}
		}
		found, err := LoadSpeakers(ctx, t, wanted)
		if err != nil {
			return err
		}
		for _, id := range wanted {
			// A deleted agent calls nothing. Its nil speaker counts as known.
			known[id] = found[id]
		}
		isOver := true
		for _, survey := range surveys {
			survey.descend(known)
			isOver = isOver && len(survey.next) == 0
		}
		if isOver {
			return nil
		}
	}
}

// CoverageOfAgents returns Coverage for a new chat with each agent and the mocking, by the id of the agent. mocking may
// be nil.
func (e *Engine) CoverageOfAgents(
	ctx context.Context, t *db.Tenant, ids []string, mocking *model.ToolMocking,
) (map[string][]*model.CallCoverage, error) {
	chats := make([]*model.SimulationChat, len(ids))
	for i, id := range ids {
		chats[i] = &model.SimulationChat{ID: id, AgentID: id, ToolMocking: *MockingOf(mocking)}
	}
	return e.Coverage(ctx, t, chats)
}

// Delegate is an agent that the agent of a chat can really delegate to, directly or through others.
type Delegate struct {
	// Name is the technical name of the sub-agent.
	Name string
	// path has the agents from the one after the chat's own to this one.
	path []*model.Agent
}

// Missing returns the mandatory fields of the agent that have no value.
func (d *Delegate) Missing(values content.Values, at time.Time) (fields []string) {
	values = maps.Clone(values)
	for _, agent := range d.path {
		fields = FillFields(values, agent.Fields, at)
	}
	return fields
}

func (d *Delegate) hasField(name string) bool {
	return slices.ContainsFunc(d.path[len(d.path)-1].Fields, func(f model.AgentField) bool { return f.Name == name })
}

// Delegates returns the agents that the agent of each chat can really delegate to, each once, by the id of the chat. It
// takes a round trip for each level of delegation, but does not read the speakers in known again.
func (e *Engine) Delegates(
	ctx context.Context, t *db.Tenant, chats []*model.SimulationChat, known map[string]*Speaker,
) (map[string][]*Delegate, error) {
	surveys, known := make([]*survey, len(chats)), maps.Clone(known)
	for i, chat := range chats {
		surveys[i] = surveyOf(chat.AgentID, &chat.ToolMocking, true, e.limits.depth)
	}
	err := reach(ctx, t, surveys, known)
	delegates := make(map[string][]*Delegate, len(chats))
	for i, chat := range chats {
		for _, node := range surveys[i].reached {
			delegate := &Delegate{Name: node.path[len(node.path)-1]}
			for _, id := range node.agentIDs[1:] {
				if speaker := known[id]; speaker != nil {
					delegate.path = append(delegate.path, speaker.Agent)
				}
			}
			if len(delegate.path) == len(node.path) {
				delegates[chat.ID] = append(delegates[chat.ID], delegate)
			}
		}
	}
	return delegates, err
}

// survey lists the possible calls of one chat, level by level of its delegations.
type survey struct {
	mocking     *model.ToolMocking
	samples     map[string]*model.Mock
	canTransfer bool
	// depth bounds nested delegations.
	depth int
	calls []*model.CallCoverage
	// listed has the agents that were reached so far.
	listed map[string]bool
	// next holds the agents of the next level, and reached the agents of all levels except the first.
	next, reached []delegationNode
}

func surveyOf(agentID string, mocking *model.ToolMocking, canTransfer bool, depth int) *survey {
	return &survey{
		mocking: mocking, canTransfer: canTransfer, depth: depth, calls: []*model.CallCoverage{},
		listed: map[string]bool{agentID: true}, next: []delegationNode{{agentIDs: []string{agentID}, path: []string{}}},
	}
}

// delegationNode is an agent in the delegations of a chat.
type delegationNode struct {
	// agentIDs lead from the chat's own agent to this one. path has the names of the delegations between them.
	agentIDs, path []string
}

func (p delegationNode) agentID() string { return p.agentIDs[len(p.agentIDs)-1] }

// Callable returns the calls that the agent itself could make without mocks.
func (s *Speaker) Callable() []*model.CallCoverage {
	own := surveyOf(s.Agent.ID, &model.ToolMocking{}, true, 0)
	own.descend(map[string]*Speaker{s.Agent.ID: s})
	return own.calls
}

// descend lists the calls of the next level and collects the level below.
func (s *survey) descend(known map[string]*Speaker) {
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
			target.sample(s.samples).Path = at.path
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

// follow adds the agent behind a delegation to the next level, unless the delegation would be refused.
func (s *survey) follow(from delegationNode, t *target) {
	id := t.subAgent.DelegateAgentID
	switch {
	case len(from.agentIDs) > s.depth || slices.Contains(from.agentIDs, id):
		t.Effect = model.CallEffectUnavailable
	case !s.listed[id]:
		s.listed[id] = true
		node := delegationNode{
			agentIDs: append(slices.Clone(from.agentIDs), id), path: append(slices.Clone(from.path), t.TechnicalName),
		}
		s.next, s.reached = append(s.next, node), append(s.reached, node)
	}
}
