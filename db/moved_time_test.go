package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// The clock of the process that made the last change may be ahead. The next change still has a later time, so that
// expectedUpdatedAt notices it.
func TestChangesMoveTheUpdateTimeForward(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	tenant := freshTenant(t)
	agent, chat, campaign := newAgent(t, tenant), newChat(t, tenant), newCampaign(t, tenant)
	_, err := tenant.ConnectKnowledgeBaseChat(ctx, model.ConnectKnowledgeBaseChatInput{AgentID: agent.ID, ChatID: chat.ID})
	require.NoError(t, err)
	folder := newFolder(t, tenant, agent.ID, "Smoke")
	test := newSimulationTest(t, tenant, agent.ID, func(in *model.CreateSimulationTestInput) { in.FolderID = &folder.ID })
	ahead := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	for _, table := range []string{"agents", "agent_tests", "campaigns"} {
		_, err := db.Raw(tenant).ExecContext(ctx, "UPDATE "+table+" SET updated_at = '"+ahead.Format(time.RFC3339Nano)+
			"' WHERE company_id = '"+tenant.CompanyID()+"'")
		require.NoError(t, err)
	}

	_, _, err = tenant.AddCampaignField(ctx, model.AddCampaignFieldInput{CampaignID: campaign.ID, Name: "offer"})
	require.NoError(t, err)
	_, err = tenant.UpdateCampaign(ctx, model.UpdateCampaignInput{CampaignID: campaign.ID, Name: new("Other"),
		ExpectedUpdatedAt: &ahead})
	fails(t, err, model.Conflict)

	require.NoError(t, tenant.DeleteKnowledgeBaseChat(ctx, chat.ID))
	_, err = tenant.UpdateAgent(ctx, model.UpdateAgentInput{AgentID: agent.ID, Name: new("Other"),
		ExpectedUpdatedAt: &ahead})
	fails(t, err, model.Conflict)
	changed, err := tenant.Agent(ctx, agent.ID)
	require.NoError(t, err)
	require.True(t, changed.UpdatedAt.After(ahead))

	require.NoError(t, tenant.DeleteAgentTestFolder(ctx, folder.ID))
	moved, err := tenant.UpdateSimulationTest(ctx, model.UpdateSimulationTestInput{TestID: test.ID})
	require.NoError(t, err)
	require.True(t, moved.UpdatedAt.After(ahead))
}
