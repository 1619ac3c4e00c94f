package engine

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/graph-gophers/dataloader/v7"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// Rehearsal is the agent's side of the conversation of one test run. The agent and the prompts of its sub-agents come
// from the run's snapshot. Its tools, sub-agents and knowledge base chat are the current ones.
type Rehearsal struct {
	engine  *Engine
	run     *model.AgentTestRun
	meter   *Meter
	mocking *model.ToolMocking
	effects effects
	load    dataloader.Thunk[*Speaker]
	skipped atomic.Int64
}

// Rehearse starts reading the calls that the agent of a run can make. Opener, Targets and Answer wait for the result.
// The meter counts the tokens of the agent's answers.
func (e *Engine) Rehearse(ctx context.Context, t *db.Tenant, run *model.AgentTestRun, m *Meter) *Rehearsal {
	agent := run.Snapshot.Agent
	r := &Rehearsal{
		engine: e, run: run, meter: m, mocking: MockingOf(run.Snapshot.Test.ToolMocking),
		load: e.speakers.Load(ctx, speakerKey{run.CompanyID, agent.ID, t}), effects: e.effects(t, run.ID, agent.ID),
	}
	open := r.effects.open
	r.effects.open = func(ctx context.Context, sub *model.SubAgent) (*Speaker, error) {
		s, err := open(ctx, sub)
		version, isKept := agent.DelegateVersions[sub.DelegateAgentID]
		if err == nil && isKept && version != s.Agent.PromptVersion {
			s.Agent.Prompt, err = t.PromptOfVersion(ctx, s.Agent.ID, version)
		}
		return s, err
	}
	if run.Snapshot.VirtualTime {
		r.effects.wait = func(ctx context.Context, delay time.Duration) error {
			r.skipped.Add(int64(delay))
			return ctx.Err()
		}
	}
	return r
}

// Skipped returns the sum of the simulated delays that were skipped so far.
func (r *Rehearsal) Skipped() time.Duration { return time.Duration(r.skipped.Load()) }

// speaker returns the agent of the snapshot with what it has now. A variant's settings replace the settings of the
// chat.
func (r *Rehearsal) speaker() (*Speaker, error) {
	s, err := r.load()
	if err != nil {
		return nil, err
	}
	own := *s // other runs may share the speaker
	own.Agent = r.run.Snapshot.Agent
	own.chat = own.Agent.Tried.Apply(s.chat)
	return &own, nil
}

// Opener returns the first message of an agent without a welcome message, or "".
func (r *Rehearsal) Opener() (string, error) {
	s, err := r.speaker()
	if err != nil || s.chat == nil {
		return "", err
	}
	return s.chat.PromptSettings.Opener, nil
}

// Targets returns the tools and sub-agents that the agent can call, or nil if they cannot be read.
func (r *Rehearsal) Targets() []rules.Target {
	s, err := r.load()
	if err != nil {
		return nil
	}
	return s.Targets()
}

// Targets returns the tools and sub-agents that the agent can call.
func (s *Speaker) Targets() (targets []rules.Target) {
	for _, each := range s.targets(&model.ToolMocking{}, true) {
		var schema struct{ Properties map[string]any }
		_ = json.Unmarshal(each.parameters, &schema) // unreadable schemas have no parameters
		targets = append(targets, rules.Target{Name: each.TechnicalName,
			Parameters: slices.Sorted(maps.Keys(schema.Properties))})
	}
	return targets
}

// Answer returns the agent's answer to the contact's last message, and the calls, even with an error. The error is
// UPSTREAM_FAILED if the language model failed.
func (r *Rehearsal) Answer(ctx context.Context, situation Situation) (*Reply, []*model.ToolCall, error) {
	s, err := r.speaker()
	if err != nil {
		return nil, nil, err
	}
	if err := r.mocking.Check(s.Tools, s.SubAgents); err != nil {
		return nil, nil, err
	}
	if s.chat == nil && s.Agent.Tried.PromptSettings != nil {
		return nil, nil, model.Errorf(model.Unprocessable, "its knowledge base chat was disconnected, so the settings of "+
			"the variant cannot be tried")
	}
	e := r.engine
	counted := &Meter{}
	defer func() { r.meter.addAll(counted) }()
	next := &turn{
		chooseModel: e.modelChooser(counted, e.tested), rephraser: counted.Wrap(e.rephraser),
		skippedDelay: r.Skipped, limits: e.limits, effects: r.effects,
		checks:    e.checks,
		variables: situation.Values, mocking: r.mocking, samples: e.samples,
	}
	reply, calls, err := next.rehearse(ctx, s, situation)
	if reply != nil {
		reply.Usage = *e.usageOf(reply, counted, e.Spent(s.Agent, counted, 1).Credits)
	}
	return reply, calls, err
}

// Situation is the state of a conversation when it is the agent's turn.
type Situation struct {
	Values   content.Values
	Messages []model.TestMessage
	// Calls are the calls of earlier turns. The MessageSequence of each is the index of the message that it helped to
	// answer.
	Calls []*model.ToolCall
}

// rehearse returns the agent's answer in a test, as in a chat, and the calls, even with an error. A turn can be used
// only once.
func (t *turn) rehearse(ctx context.Context, s *Speaker, at Situation) (*Reply, []*model.ToolCall, error) {
	messages := make([]*model.SimulationChatMessage, len(at.Messages))
	for i, m := range at.Messages {
		messages[i] = &model.SimulationChatMessage{Sequence: int32(i), Role: m.Role, Text: m.Text}
	}
	s.recognize(at.Calls)
	c, err := t.converse(s, history(messages, at.Calls), mockedBefore(at.Calls))
	if err != nil {
		return nil, nil, err
	}
	var said *Reply
	var calls []*model.ToolCall
	for event, err := range c.events(ctx) {
		switch {
		case err != nil:
			return nil, calls, err
		case event.reply != nil:
			said = event.reply
		case event.started != nil:
			calls = append(calls, event.started)
		case event.finished != nil:
			for i, call := range calls {
				if call.ID == event.finished.call.ID {
					calls[i] = &event.finished.call
				}
			}
		}
	}
	return said, calls, nil
}

// recognize sets the current target of each call in a test's starting conversation. The model does not see calls
// without a target.
func (s *Speaker) recognize(calls []*model.ToolCall) {
	for _, call := range calls {
		if call.TargetID != nil || call.Kind != model.ToolCallKindTool {
			continue
		}
		for _, tool := range s.Tools {
			if tool.TechnicalName == call.TechnicalName {
				call.TargetID = &tool.ID
			}
		}
		for _, subAgent := range s.SubAgents {
			if subAgent.TechnicalName == call.TechnicalName {
				call.Kind, call.TargetID = model.ToolCallKindSubAgent, &subAgent.ID
			}
		}
	}
}
