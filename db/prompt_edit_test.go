package db_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// promptOf creates an agent with a prompt.
func promptOf(t *testing.T, tenant *db.Tenant, prompt string) *model.Agent {
	t.Helper()
	in := agentInput()
	in.Prompt = prompt
	agent, err := tenant.CreateAgent(t.Context(), in)
	require.NoError(t, err)
	return agent
}

// edited pairs texts with their replacements.
func edited(texts ...string) (edits []*model.PromptEditInput) {
	for i := 0; i < len(texts); i += 2 {
		edits = append(edits, &model.PromptEditInput{Before: texts[i], After: texts[i+1]})
	}
	return edits
}

func TestPromptEditsApplyInOrderAsOneVersion(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent := promptOf(t, tenant, "Be kind. Park é here. Go.")
	in := model.EditAgentPromptInput{AgentID: agent.ID, Note: new("Why"), ExpectedVersion: new(int32(1)),
		Edits: edited("Park é here.", "Park there. Wait.", "there. Wait", "at the gate", " Go.", "")}
	changed, err := tenant.EditAgentPrompt(t.Context(), in)
	require.NoError(t, err)
	require.Equal(t, "Be kind. Park at the gate.", changed.Prompt)
	require.EqualValues(t, 2, changed.PromptVersion)
	versions := versionsOf(t, tenant, agent.ID)
	require.Len(t, versions, 2)
	require.Equal(t, changed.Prompt, versions[0].Prompt)
	require.Equal(t, "Why", *versions[0].Note)
	page, err := tenant.AuditEvents(t.Context(), model.PageArgs{First: 10}, &model.AuditEventFilter{TargetID: &agent.ID})
	require.NoError(t, err)
	require.Len(t, page.Nodes, 2)
	require.Equal(t, model.AuditActionUpdatePrompt, page.Nodes[0].Action)

	changed, err = tenant.EditAgentPrompt(t.Context(), model.EditAgentPromptInput{AgentID: agent.ID,
		Edits: edited("kind", "fast", "fast", "kind")})
	require.NoError(t, err)
	require.EqualValues(t, 2, changed.PromptVersion, "the same prompt is no new version")
}

func TestPromptEditsAreBounded(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent := promptOf(t, tenant, "One one. aaa. "+strings.Repeat("é", 40_000))
	edit := func(edits ...string) error {
		_, err := tenant.EditAgentPrompt(t.Context(),
			model.EditAgentPromptInput{AgentID: agent.ID, Edits: edited(edits...)})
		return err
	}
	long := strings.Repeat("é", 50_000)
	for _, c := range []struct {
		path, says string
		edits      []string
	}{
		{"edits.0.before", "does not occur in the prompt. Copy", []string{"Two", "Three"}},
		{"edits.1.before", "does not occur in the prompt after the edits before it. Copy",
			[]string{"One", "Two", "One", "Six"}},
		{"edits.0.before", "occurs 2 times in the prompt. Add", []string{"ne", "x"}},
		{"edits.0.before", "occurs 2 times in the prompt. Add", []string{"aa", "x"}},
		{"edits.1.before", "occurs 3 times in the prompt after the edits before it. Add", []string{"aaa", "one", "ne", "x"}},
		{"edits.0.before", "must not be empty", []string{"", "x"}},
		{"edits.0.before", "1 to 50000 characters", []string{long + "é", "x"}},
		{"edits.0.after", "0 to 50000 characters", []string{"One", long + "é"}},
		{"edits.0.after", "U+0000", []string{"One", "\x00"}},
		{"edits", "must leave a prompt of 1 to 50000 characters, not 90011", []string{"One", long}},
		{"edits", "must leave a prompt of 1 to 50000 characters, not 0", []string{agent.Prompt, ""}},
		{"edits", "at least one edit", nil},
		{"edits", "at most 50 entries, not 51", make([]string, 102)},
	} {
		faults(t, edit(c.edits...), model.BadInput, c.path, c.says)
	}
	require.Len(t, versionsOf(t, tenant, agent.ID), 1, "nothing changed")
	require.NoError(t, edit(agent.Prompt, long))
	require.NoError(t, edit(long, "x"))

	_, err := tenant.EditAgentPrompt(t.Context(), model.EditAgentPromptInput{AgentID: agent.ID,
		Edits: edited("missing", "y"), ExpectedVersion: new(int32(1))})
	require.Contains(t, fails(t, err, model.Conflict), "it has version 3, not 1")
	_, err = tenant.EditAgentPrompt(t.Context(), model.EditAgentPromptInput{AgentID: agent.ID,
		Edits: edited("x", "y"), ExpectedUpdatedAt: &agent.UpdatedAt})
	fails(t, err, model.Conflict)
	_, err = tenant.EditAgentPrompt(t.Context(),
		model.EditAgentPromptInput{AgentID: "agent_none", Edits: edited("x", "y")})
	fails(t, err, model.NotFound)
}

// Concurrent edits of different sentences all remain.
func TestConcurrentPromptEditsAllHold(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	var before, after strings.Builder
	for i := range 20 {
		fmt.Fprintf(&before, "Rule %d: old.\n", i)
		fmt.Fprintf(&after, "Rule %d: new.\n", i)
	}
	agent := promptOf(t, tenant, before.String())
	require.Empty(t, together(20, func(i int) error {
		_, err := tenant.EditAgentPrompt(t.Context(), model.EditAgentPromptInput{AgentID: agent.ID,
			Edits: edited(fmt.Sprintf("Rule %d: old.", i), fmt.Sprintf("Rule %d: new.", i))})
		return err
	}))
	read, err := tenant.Agent(t.Context(), agent.ID)
	require.NoError(t, err)
	require.Equal(t, after.String(), read.Prompt)
	require.EqualValues(t, 21, read.PromptVersion)
}
