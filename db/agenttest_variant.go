package db

import (
	"context"
	"fmt"
	"slices"

	"github.com/agentgraph/agentgraph/model"
)

// plan returns the tests to run: each test in every variant, or once if there are no variants. The runs of a test
// follow each other, so that a slow minute of a provider affects all variants.
func plan(ids []string, attempts int32, variants []model.TestVariant) []plannedTest {
	planned := make([]plannedTest, 0, len(ids)*max(1, len(variants)))
	for _, id := range ids {
		if len(variants) == 0 {
			planned = append(planned, plannedTest{id: id, attempts: attempts})
		}
		for i := range variants {
			planned = append(planned, plannedTest{id: id, attempts: attempts, variant: &variants[i]})
		}
	}
	return planned
}

// applyVariants replaces the agents in the snapshots by the agents of the plan's variants. It returns UNPROCESSABLE if
// a variant changes the prompt of several agents, or tries a version or settings that an agent cannot have.
func (t tenantTx) applyVariants(ctx context.Context, variants []model.TestVariant, planned []plannedTest,
	snapshots []model.RunSnapshot) error {
	saved, err := t.promptsOfVariants(ctx, variants, snapshots)
	if err != nil {
		return err
	}
	type key struct{ agentID, label string }
	tried := map[key]*model.Agent{}
	for i, p := range planned {
		if p.variant == nil {
			continue
		}
		agent := snapshots[i].Agent
		k := key{agent.ID, p.variant.Label}
		if tried[k] == nil {
			tried[k] = p.variant.Apply(agent, saved[p.variant.Label])
		}
		snapshots[i].Agent = tried[k]
	}
	return nil
}

// promptsOfVariants returns the saved prompts that variants try, by their labels.
func (t tenantTx) promptsOfVariants(ctx context.Context, variants []model.TestVariant,
	snapshots []model.RunSnapshot) (map[string]string, error) {
	agent := snapshots[0].Agent
	isOne := !slices.ContainsFunc(snapshots, func(s model.RunSnapshot) bool { return s.Agent.ID != agent.ID })
	chatless := ""
	for _, s := range snapshots {
		if s.Agent.KnowledgeBaseChatID == nil {
			chatless = s.Agent.ID
		}
	}
	var faults model.Fields
	versions := []AgentVersion{}
	for i, v := range variants {
		if v.ChangesPrompt() && !isOne {
			faults.Add(fmt.Sprintf("variants.%d", i), "can change the prompt only if all tests belong to one agent")
		}
		if v.PromptVersion != nil {
			versions = append(versions, AgentVersion{agent.ID, *v.PromptVersion})
		}
		v.CheckSettings(&faults, fmt.Sprintf("variants.%d.promptSettings", i), t.store.rerankModels, chatless)
	}
	if len(faults) > 0 || len(versions) == 0 {
		return nil, faults.As(model.Unprocessable)
	}
	found, err := t.PromptsOf(ctx, versions)
	if err != nil {
		return nil, err
	}
	prompts := map[string]string{}
	for i, v := range variants {
		at := slices.IndexFunc(found, func(p *model.PromptVersion) bool {
			return v.PromptVersion != nil && p.Version == *v.PromptVersion
		})
		switch {
		case at >= 0:
			prompts[v.Label] = found[at].Prompt
		case v.PromptVersion != nil:
			faults.Add(fmt.Sprintf("variants.%d.promptVersion", i), "names version %d, which the agent does not have",
				*v.PromptVersion)
		}
	}
	return prompts, faults.As(model.Unprocessable)
}

// variantOf returns the variant of an execution with the label. It is nil without a label.
func variantOf(execution *model.AgentTestExecution, label *string) *model.TestVariant {
	for i := range execution.Tried {
		if label != nil && execution.Tried[i].Label == *label {
			return &execution.Tried[i]
		}
	}
	return nil
}
