package evaluation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// JudgeModels returns the names of the models that can judge tests. The first is the default.
func (v *Evaluator) JudgeModels() []string { return slices.Clone(v.judgeNames) }

// withJudge sets the judge of the roles to the model with the name. An empty name changes nothing. It returns a
// *rules.Fault if the model is not a judge.
func (v *Evaluator) withJudge(take *modelRoles, name string, counted *engine.Meter) error {
	if name == "" {
		return nil
	}
	judge := v.judges[name]
	if judge == nil {
		return take.judge.fault(nil, "the model %q is not one of this server's judges", name)
	}
	take.judge.Model = counted.Wrap(judge)
	return nil
}

// rejudge judges another run's conversation again, and sets the outcome in run as simulate does.
func (v *Evaluator) rejudge(ctx context.Context, t *db.Tenant, runner *tester, run *model.AgentTestRun) error {
	found, err := t.Find(ctx, db.AgentTestRunRows, []string{*run.RejudgeOfID},
		"messages", "tool_calls", "turn_count", "end_reason", "held", "started_at", "criteria_results", "extracted")
	if err != nil {
		if pg.IsUnavailable(err) {
			return err
		}
		return conclude(ctx, run, false, rules.FaultOfGateway(err))
	}
	reset(run)
	if len(found) == 0 || found[0].(*model.AgentTestRun).EndReason == nil {
		return conclude(ctx, run, false, rules.FaultOfGateway(fmt.Errorf("run %s has no conversation", *run.RejudgeOfID)))
	}
	held := found[0].(*model.AgentTestRun)
	run.Messages, run.ToolCalls, run.TurnCount, run.EndReason, run.Held = held.Messages, held.ToolCalls, held.TurnCount,
		held.EndReason, conversationOf(held)
	run.Extracted = held.Extracted
	variables, err := content.ValuesOf(run.Snapshot.Test.Variables)
	if err != nil {
		return conclude(ctx, run, false, rules.FaultOfGateway(err))
	}
	began := run.CreatedAt
	if held.StartedAt != nil {
		began = *held.StartedAt
	}
	opening, err := engine.Begin(run.Snapshot.Agent, "", variables, began)
	if err != nil {
		return conclude(ctx, run, false, faultOfAgent(err))
	}
	err = runner.decide(ctx, run, opening.Values)
	if run.Status.IsFinal() {
		run.Compare(held)
	}
	return err
}

const (
	contactEnded = "The contact ended the conversation: "
	limitReached = "The test's limit of "
)

// conversationOf returns the stored conversation of a run. Runs of older versions stored none; for them, the end reason
// shows who ended it.
func conversationOf(run *model.AgentTestRun) *model.HeldConversation {
	if run.Held != nil {
		return new(*run.Held)
	}
	kept := &model.HeldConversation{EndedBy: rules.Agent}
	switch {
	case strings.HasPrefix(*run.EndReason, contactEnded):
		kept.EndedBy = rules.Contact
	case strings.HasPrefix(*run.EndReason, limitReached):
		kept.EndedBy = rules.Limit
	}
	return kept
}
