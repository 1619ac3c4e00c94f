package db_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

func addSubAgent(ctx context.Context, tenant *db.Tenant, agentID, delegateID,
	technicalName string) (*model.SubAgent, error) {
	edge, _, err := tenant.AddSubAgent(ctx, model.AddSubAgentInput{
		AgentID: agentID, DelegateAgentID: delegateID, Name: "A sub-agent", TechnicalName: technicalName,
	})
	return edge, err
}

func TestSubAgentsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	a, b := newAgent(t, tenant), newAgent(t, tenant)
	var added []*model.SubAgent
	for _, e := range [][3]string{{a.ID, b.ID, "first"}, {a.ID, a.ID, "itself"}, {a.ID, b.ID, "again"},
		{b.ID, a.ID, "first"}} {
		edge, err := addSubAgent(ctx, tenant, e[0], e[1], e[2])
		require.NoError(t, err)
		added = append(added, edge)
	}
	_, err := addSubAgent(ctx, tenant, a.ID, b.ID, "again")
	faults(t, err, model.Unprocessable, "technicalName", "another sub-agent of this agent")
	_, err = addSubAgent(ctx, tenant, a.ID, "agent_unknown", "other")
	fails(t, err, model.NotFound)
	read, err := tenant.SubAgentsOfAgents(ctx, []string{a.ID, b.ID})
	require.NoError(t, err)
	byParent := map[string][]string{}
	for _, e := range read {
		byParent[e.Parent()] = append(byParent[e.Parent()], e.ID)
	}
	require.Equal(t, map[string][]string{a.ID: idsOf(added[:3]), b.ID: {added[3].ID}}, byParent)

	// A new sub-agent does not take the position of one that was removed from the middle.
	parent, err := tenant.RemoveSubAgent(ctx, added[1].ID)
	require.NoError(t, err)
	require.Equal(t, a.ID, parent.ID)
	last, err := addSubAgent(ctx, tenant, a.ID, b.ID, "itself")
	require.NoError(t, err)
	read, err = tenant.SubAgentsOfAgents(ctx, []string{a.ID})
	require.NoError(t, err)
	require.Equal(t, []string{added[0].ID, added[2].ID, last.ID}, idsOf(read))

	errs := together(2, func(int) error {
		_, err := tenant.RemoveSubAgent(ctx, last.ID)
		return err
	})
	require.Len(t, errs, 1)
	fails(t, errs[0], model.NotFound)
}

func TestTechnicalNamesOfOneAgentDiffer(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	agent, other := newAgent(t, tenant), newAgent(t, tenant)
	search, order := newTool(t, tenant, "search"), newTool(t, tenant, "order")
	connect := func(tool *model.Tool) error {
		_, err := tenant.ConnectTool(ctx, model.ConnectToolInput{AgentID: agent.ID, ToolID: tool.ID})
		return err
	}
	rename := func(tool *model.Tool, name string) error {
		_, err := tenant.UpdateTool(ctx, model.UpdateToolInput{ToolID: tool.ID, TechnicalName: &name})
		return err
	}
	require.NoError(t, connect(search))
	_, err := addSubAgent(ctx, tenant, agent.ID, other.ID, "search")
	faults(t, err, model.Unprocessable, "technicalName", "a tool of this agent")
	_, err = addSubAgent(ctx, tenant, agent.ID, other.ID, "order")
	require.NoError(t, err)
	fails(t, connect(order), model.Unprocessable)
	faults(t, rename(search, "order"), model.Unprocessable, "technicalName", "")
	require.NoError(t, rename(order, "buy"))
	faults(t, rename(search, "order"), model.Unprocessable, "technicalName", "a sub-agent of an agent that has this tool")
	require.NoError(t, rename(search, "find"))
	require.NoError(t, rename(search, "find"), "its own name")
	require.NoError(t, connect(order))
	faults(t, rename(order, "find"), model.Unprocessable, "technicalName", "another tool")
	_, err = addSubAgent(ctx, tenant, other.ID, agent.ID, "find")
	require.NoError(t, err, "another agent's tool")
}

func TestSubAgentsOfAnAgentAreBounded(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	a, b := newAgent(t, tenant), newAgent(t, tenant)
	require.NoError(t, tenant.Tx(ctx, func(ctx context.Context, tenant *db.Tenant) error {
		for i := range 127 {
			if _, err := addSubAgent(ctx, tenant, a.ID, b.ID, fmt.Sprint("agent_", i)); err != nil {
				return err
			}
		}
		return nil
	}))
	errs := together(4, func(i int) error {
		_, err := addSubAgent(ctx, tenant, a.ID, b.ID, fmt.Sprint("last_", i))
		return err
	})
	require.Len(t, errs, 3, "one place is left")
	for _, err := range errs {
		require.Contains(t, fails(t, err, model.Unprocessable), "128")
	}
}

// Concurrent changes of the same agent and tool do not deadlock, and never produce equal names.
func TestConcurrentRenamesKeepTechnicalNamesUnique(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	for round := range 6 {
		name := fmt.Sprint("same_", round)
		agents := []*model.Agent{newAgent(t, tenant), newAgent(t, tenant)}
		tool, other := newTool(t, tenant, fmt.Sprint("tool_", round)), newTool(t, tenant, fmt.Sprint("other_", round))
		chat := newChat(t, tenant)
		for _, agent := range agents {
			_, err := tenant.ConnectTool(ctx, model.ConnectToolInput{AgentID: agent.ID, ToolID: other.ID})
			require.NoError(t, err)
			_, err = tenant.ConnectKnowledgeBaseChat(ctx, model.ConnectKnowledgeBaseChatInput{AgentID: agent.ID,
				ChatID: chat.ID})
			require.NoError(t, err)
		}
		for _, err := range together(8, func(i int) (err error) {
			agent := agents[i%2]
			switch i / 2 {
			case 0:
				_, err = tenant.ConnectTool(ctx, model.ConnectToolInput{AgentID: agent.ID, ToolID: tool.ID})
			case 1:
				_, err = addSubAgent(ctx, tenant, agent.ID, agents[1-i%2].ID, name)
			case 2:
				_, err = tenant.UpdateTool(ctx, model.UpdateToolInput{ToolID: []string{tool.ID, other.ID}[i%2],
					TechnicalName: &name})
			case 3:
				if i%2 == 0 {
					return tenant.DeleteKnowledgeBaseChat(ctx, chat.ID)
				}
				_, err = tenant.UpdateAgent(ctx, model.UpdateAgentInput{AgentID: agent.ID, Prompt: &name})
			}
			return err
		}) {
			fails(t, err, model.Unprocessable)
		}
		for _, agent := range agents {
			tools, err := tenant.ToolsOfAgents(ctx, []string{agent.ID})
			require.NoError(t, err)
			subAgents, err := tenant.SubAgentsOfAgents(ctx, []string{agent.ID})
			require.NoError(t, err)
			seen := map[string]bool{}
			for _, tool := range tools {
				seen[tool.TechnicalName] = true
			}
			for _, s := range subAgents {
				require.False(t, seen[s.TechnicalName], "%s stands for a tool and a sub-agent", s.TechnicalName)
			}
		}
	}
}

func TestChangedSubAgentKeepsItsID(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	a, b := newAgent(t, tenant), newAgent(t, tenant)
	edge, err := addSubAgent(ctx, tenant, a.ID, b.ID, "first")
	require.NoError(t, err)
	name, description, empty := "Other name", "What it does now.", ""
	changed, parent, err := tenant.UpdateSubAgent(ctx, model.UpdateSubAgentInput{
		SubAgentID: edge.ID, Name: &name, Description: &description, DelegateAgentID: &a.ID,
	})
	require.NoError(t, err)
	require.Equal(t, a.ID, parent.ID)
	require.Equal(t, edge.ID, changed.ID)
	changed, _, err = tenant.UpdateSubAgent(ctx, model.UpdateSubAgentInput{SubAgentID: edge.ID})
	require.NoError(t, err)
	require.Equal(t, []string{name, description, a.ID, "first"}, []string{changed.Name, changed.Description,
		changed.DelegateAgentID, changed.TechnicalName})
	_, _, err = tenant.UpdateSubAgent(ctx, model.UpdateSubAgentInput{SubAgentID: edge.ID, Name: &empty})
	faults(t, err, model.BadInput, "name", "")
	unknown := "agent_unknown"
	_, _, err = tenant.UpdateSubAgent(ctx, model.UpdateSubAgentInput{SubAgentID: edge.ID, DelegateAgentID: &unknown})
	fails(t, err, model.NotFound)
	_, _, err = tenant.UpdateSubAgent(ctx, model.UpdateSubAgentInput{SubAgentID: "subagent_unknown"})
	fails(t, err, model.NotFound)
}
