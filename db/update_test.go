package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// An update without values, or with the stored values, keeps the time of the last change.
func TestEmptyUpdatesKeepTheUpdateTime(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	tenant := freshTenant(t)
	agent := newTaggedAgent(t, tenant, "New")
	tool, dataset := newTool(t, tenant, "book"), newDataset(t, tenant)
	chat := newChat(t, tenant, dataset.ID)
	folder := newFolder(t, tenant, agent.ID, "Smoke")
	simulation := newSimulationTest(t, tenant, agent.ID, func(in *model.CreateSimulationTestInput) {
		in.ToolMocking = &model.ToolMocking{MockCallTransfer: true}
	})
	classification := newClassificationTest(t, tenant, agent.ID, "Tags")
	campaign := newCampaign(t, tenant)

	for name, update := range map[string]func(name *string) (time.Time, error){
		"agent": func(name *string) (time.Time, error) {
			in := model.UpdateAgentInput{AgentID: agent.ID, Name: name, Tags: agent.Tags, Prompt: &agent.Prompt}
			for i := range agent.ClassificationTags {
				in.ClassificationTags = append(in.ClassificationTags, &agent.ClassificationTags[i])
			}
			changed, err := tenant.UpdateAgent(ctx, in)
			return changed.UpdatedAt, err
		},
		"tool": func(name *string) (time.Time, error) {
			changed, err := tenant.UpdateTool(ctx, model.UpdateToolInput{ToolID: tool.ID, Name: name})
			return changed.UpdatedAt, err
		},
		"chat": func(name *string) (time.Time, error) {
			changed, err := tenant.UpdateKnowledgeBaseChat(ctx, model.UpdateKnowledgeBaseChatInput{ChatID: chat.ID, Name: name})
			if changed.UpdatedAt == nil {
				return time.Time{}, err
			}
			return *changed.UpdatedAt, err
		},
		"folder": func(name *string) (time.Time, error) {
			changed, err := tenant.UpdateAgentTestFolder(ctx, model.UpdateAgentTestFolderInput{FolderID: folder.ID, Name: name})
			return changed.UpdatedAt, err
		},
		"simulation test": func(name *string) (time.Time, error) {
			changed, err := tenant.UpdateSimulationTest(ctx, model.UpdateSimulationTestInput{
				TestID: simulation.ID, Name: name, Criteria: simulation.Criteria, ToolMocking: simulation.ToolMocking,
				FolderID: new(""),
			})
			return changed.UpdatedAt, err
		},
		"classification test": func(name *string) (time.Time, error) {
			changed, err := tenant.UpdateAgentTest(ctx, model.UpdateAgentTestInput{TestID: classification.ID, Name: name})
			return changed.(*model.ClassificationTest).UpdatedAt, err
		},
		"campaign": func(name *string) (time.Time, error) {
			changed, err := tenant.UpdateCampaign(ctx, model.UpdateCampaignInput{CampaignID: campaign.ID, Name: name})
			return changed.UpdatedAt, err
		},
	} {
		first, err := update(nil)
		require.NoError(t, err, name)
		again, err := update(nil)
		require.NoError(t, err, name)
		require.True(t, first.Equal(again), "%s: %s %s", name, first, again)
		renamed, err := update(new("Another " + name))
		require.NoError(t, err, name)
		require.True(t, renamed.After(again), name)
		again, err = update(new("Another " + name))
		require.NoError(t, err, name)
		require.True(t, renamed.Equal(again), name)
	}
	moved, err := tenant.UpdateSimulationTest(ctx, model.UpdateSimulationTestInput{TestID: simulation.ID,
		FolderID: &folder.ID})
	require.NoError(t, err)
	again, err := tenant.UpdateSimulationTest(ctx, model.UpdateSimulationTestInput{TestID: simulation.ID,
		FolderID: &folder.ID})
	require.NoError(t, err)
	require.True(t, moved.UpdatedAt.After(simulation.UpdatedAt), "moving is a change")
	require.True(t, moved.UpdatedAt.Equal(again.UpdatedAt))
}
