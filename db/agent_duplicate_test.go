package db_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestDuplicateHasEverythingButTests(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	agent, other := newAgent(t, tenant), newAgent(t, tenant)
	newSimulationTest(t, tenant, agent.ID)
	_, err := tenant.UpdateAgentPrompt(ctx, model.UpdateAgentPromptInput{AgentID: agent.ID, Prompt: "Second."})
	require.NoError(t, err)
	ids := []string{}
	for _, name := range []string{"second_tool", "first_tool"} {
		tool, err := tenant.CreateTool(ctx, model.CreateToolInput{Name: name, TechnicalName: name})
		require.NoError(t, err)
		ids = append(ids, tool.ID)
	}
	agent, err = tenant.ConnectTools(ctx, agent.ID, ids...)
	require.NoError(t, err)
	for name, delegate := range map[string]string{"to_itself": agent.ID, "to_other": other.ID} {
		_, _, err := tenant.AddSubAgent(ctx, model.AddSubAgentInput{AgentID: agent.ID, DelegateAgentID: delegate, Name: name,
			TechnicalName: name})
		require.NoError(t, err)
	}
	_, err = tenant.DuplicateAgent(ctx, model.DuplicateAgentInput{AgentID: agent.ID, Name: strings.Repeat("x", 256)})
	faults(t, err, model.BadInput, "name", "255")
	_, err = tenant.DuplicateAgent(ctx, model.DuplicateAgentInput{AgentID: "agent_none", Name: "Copy"})
	fails(t, err, model.NotFound)

	duplicate, err := tenant.DuplicateAgent(ctx, model.DuplicateAgentInput{AgentID: agent.ID, Name: "Copy"})
	require.NoError(t, err)
	read, err := tenant.Agent(ctx, duplicate.ID)
	require.NoError(t, err)
	require.Equal(t, "Copy", read.Name)
	require.Equal(t, "Second.", read.Prompt)
	versions := versionsOf(t, tenant, duplicate.ID)
	require.Len(t, versions, 1)
	require.EqualValues(t, 1, versions[0].Version)
	tools, err := tenant.ToolsOfAgents(ctx, []string{duplicate.ID})
	require.NoError(t, err)
	require.Equal(t, ids, idsOf(tools), "tools keep their order")
	subAgents, err := tenant.SubAgentsOfAgents(ctx, []string{duplicate.ID})
	require.NoError(t, err)
	delegates := map[string]string{}
	for _, sub := range subAgents {
		delegates[sub.TechnicalName] = sub.DelegateAgentID
	}
	require.Equal(t, map[string]string{"to_itself": duplicate.ID, "to_other": other.ID}, delegates)
	originals, err := tenant.SubAgentsOfAgents(ctx, []string{agent.ID})
	require.NoError(t, err)
	require.Len(t, originals, 2)
	tests, err := tenant.AgentTests(ctx, model.PageArgs{First: 10}, &duplicate.ID, model.AgentTestFilter{})
	require.NoError(t, err)
	require.Empty(t, tests.Nodes)
}

// An agent is duplicated before it has tools or sub-agents. Later it is duplicated while the agent that it delegates to
// is deleted. If the copy is first, it delegates to that agent, and the deletion removes the relation. Otherwise the
// copy has no such relation.
func TestDuplicateWhileDelegateIsDeleted(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	agent := newAgent(t, tenant)
	_, err := tenant.DuplicateAgent(ctx, model.DuplicateAgentInput{AgentID: agent.ID, Name: "Bare"})
	require.NoError(t, err)
	for range 20 {
		other := newAgent(t, tenant)
		_, _, err := tenant.AddSubAgent(ctx, model.AddSubAgentInput{AgentID: agent.ID, DelegateAgentID: other.ID,
			Name: "Other", TechnicalName: "other"})
		require.NoError(t, err)
		var duplicate *model.Agent
		require.Empty(t, together(2, func(i int) (err error) {
			if i == 0 {
				return tenant.DeleteAgent(ctx, other.ID)
			}
			duplicate, err = tenant.DuplicateAgent(ctx, model.DuplicateAgentInput{AgentID: agent.ID, Name: "Copy"})
			return err
		}))
		subAgents, err := tenant.SubAgentsOfAgents(ctx, []string{agent.ID, duplicate.ID})
		require.NoError(t, err)
		require.Empty(t, subAgents)
	}
}

func TestPromptVersionHasNote(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	agent := newAgent(t, tenant)
	_, err := tenant.UpdateAgentPrompt(ctx, model.UpdateAgentPromptInput{AgentID: agent.ID, Prompt: "Second.",
		Note: new(" Shorter. ")})
	require.NoError(t, err)
	_, err = tenant.UpdateAgent(ctx, model.UpdateAgentInput{AgentID: agent.ID, Prompt: new("Third."),
		PromptNote: new(strings.Repeat("x", 501))})
	faults(t, err, model.BadInput, "promptNote", "0 to 500 characters")
	_, err = tenant.UpdateAgent(ctx, model.UpdateAgentInput{AgentID: agent.ID, PromptNote: new("Lost")})
	faults(t, err, model.BadInput, "promptNote", "can be given only with prompt")
	_, err = tenant.UpdateAgent(ctx, model.UpdateAgentInput{AgentID: agent.ID, PromptNote: new("")})
	require.NoError(t, err)
	versions := versionsOf(t, tenant, agent.ID)
	require.Len(t, versions, 2)
	require.Equal(t, "Shorter.", *versions[0].Note)
	require.Nil(t, versions[1].Note)
	for note, want := range map[string]*string{"  ": nil, "The first one.": new("The first one.")} {
		version, err := tenant.UpdatePromptVersion(ctx, model.UpdatePromptVersionInput{PromptVersionID: versions[1].ID,
			Note: note})
		require.NoError(t, err)
		require.Equal(t, want, version.Note)
		require.Equal(t, want, versionsOf(t, tenant, agent.ID)[1].Note)
	}
	_, err = tenant.UpdatePromptVersion(ctx, model.UpdatePromptVersionInput{PromptVersionID: "prompt_none"})
	fails(t, err, model.NotFound)
}
