package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// A company moves over the v1 API of a real server, with all pages of all lists. Rows that the API does not return are
// reported as an error.
func TestCompanyMovesOverTheV1API(t *testing.T) {
	t.Parallel()
	from, to := dbtest.URL(t), dbtest.URL(t)
	store := dbtest.Open(t, from, dbtest.Options())
	tenant, key := newCompany(t, store, "Old")
	ids := dbtest.Tests(t, tenant, 353, 3)
	agentID := oldCompany(t, store.Tenant(tenant.CompanyID()), ids[0])
	server := serve(t, from, key)

	command := func(want int, args ...string) (out, log string) {
		var o, l bytes.Buffer
		args = append([]string{"import", "--database-url", to, "--from-v1", server.url, "--v1-api-key", key, "--company-name",
			"New Home"}, args...)
		require.Equal(t, want, run(t.Context(), args, streams{in: strings.NewReader(""), out: &o, log: &l}), l.String())
		return o.String(), l.String()
	}
	_, log := command(0, "--dry-run")
	require.Contains(t, log, `checked "New Home" (new-home)`)
	companies, err := dbtest.Open(t, to, dbtest.Options()).Companies(t.Context())
	require.NoError(t, err)
	require.Empty(t, companies)

	kept := filepath.Join(t.TempDir(), "old.tar.gz")
	out, log := command(0, "--keep", kept)
	require.Equal(t, "new-home\n", out)
	for _, says := range []string{
		"agent tests: 355 read, 355 written\n", "agent test folders: 101 read, 101 written\n",
		"datasets: 130 read, 130 written\n",
		"knowledge base chats: 1 read, 1 written\n", "read 355 of 355 agent tests\n", "campaigns: 1 read, 1 written\n",
		"campaign items: 120 read, 120 written\n",
	} {
		require.Contains(t, log, says)
	}
	_, log = command(0)
	require.Contains(t, log, "was already imported from this archive")
	moved := dbtest.Open(t, to, dbtest.Options())
	agent, err := moved.Tenant("new-home").Agent(t.Context(), agentID)
	require.NoError(t, err)
	require.NotNil(t, agent.KnowledgeBaseChatID)
	var o, l bytes.Buffer
	require.Equal(t, 1, run(t.Context(), []string{"import", "--database-url", dbtest.URL(t), "--from-v1", server.url,
		"--v1-api-key", "wrong", "--company-name", "N"}, streams{out: &o, log: &l}))
	require.Contains(t, l.String(), "401 Unauthorized")

	// A row that was not moved makes the command fail.
	_, err = tenant.CreateAgent(t.Context(), model.CreateAgentInput{Name: "Untested", Channel: model.ChannelWeb,
		Direction: model.DirectionInbound, Language: "en", Prompt: "Hi."})
	require.NoError(t, err)
	dataset, err := tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: "With a file"})
	require.NoError(t, err)
	d, err := model.NewDocument(model.AddDocumentInput{DatasetID: dataset.ID, Name: new("a.txt"), Text: new("x")},
		dataset.CreatedAt)
	require.NoError(t, err)
	d.Size, d.ContentType = 1, "text/plain"
	require.NoError(t, tenant.AddDocument(t.Context(), d, strings.NewReader("x")))
	_, log = command(1, "--dry-run", "--company-id", "another")
	require.Contains(t, log, `not moved: 1 document of the dataset "With a file"`)
	require.Contains(t, log, "not everything was moved: see the lines that begin with \"not moved\"")
}

// oldCompany adds the other objects of a v1 server to the agent of the test, and returns the agent's id.
func oldCompany(t *testing.T, tenant *db.Tenant, testID string) string {
	t.Helper()
	ctx := t.Context()
	test, err := tenant.UpdateSimulationTest(ctx, model.UpdateSimulationTestInput{TestID: testID,
		Scenario: new("Say hello")})
	require.NoError(t, err)
	id := test.AgentID
	var datasets []string
	for i := range 130 {
		dataset, err := tenant.CreateDataset(ctx, model.CreateDatasetInput{Name: fmt.Sprintf("Dataset %d", i)})
		require.NoError(t, err)
		datasets = append(datasets, dataset.ID)
	}
	chat, err := tenant.CreateKnowledgeBaseChat(ctx, model.CreateKnowledgeBaseChatInput{Name: "Help",
		DatasetIds: datasets[:2]})
	require.NoError(t, err)
	_, err = tenant.ConnectKnowledgeBaseChat(ctx, model.ConnectKnowledgeBaseChatInput{AgentID: id, ChatID: chat.ID})
	require.NoError(t, err)
	tags := []*model.ClassificationTag{{Name: "New"}}
	_, err = tenant.UpdateAgent(ctx, model.UpdateAgentInput{AgentID: id, ClassificationTags: tags})
	require.NoError(t, err)
	for i := range 101 {
		folder, err := tenant.CreateAgentTestFolder(ctx, model.CreateAgentTestFolderInput{AgentID: id,
			Name: fmt.Sprintf("Folder %d", i), Color: "#6B7280"})
		require.NoError(t, err)
		if i > 1 {
			continue
		}
		_, err = tenant.CreateClassificationTest(ctx, model.CreateClassificationTestInput{
			AgentID: id, FolderID: &folder.ID, Name: "Tagged", TagExpected: "New",
			ConversationContext: &model.ConversationContext{
				Messages: []model.TestMessage{{Role: model.MessageRoleUser, Text: "I am new."}}},
		})
		require.NoError(t, err)
	}
	campaign, err := tenant.CreateCampaign(ctx, model.CreateCampaignInput{AgentID: id, Name: "Calls", MaxAttempts: 3,
		RetryDelayMinutes: 60})
	require.NoError(t, err)
	var items []*model.CampaignItemInput
	for i := range 120 {
		items = append(items, &model.CampaignItemInput{PhoneNumber: fmt.Sprintf("+4930123%04d", i)})
	}
	_, err = tenant.AddCampaignItems(ctx, model.AddCampaignItemsInput{CampaignID: campaign.ID, Items: items})
	require.NoError(t, err)
	_, err = tenant.RecordUsage(ctx, model.RecordUsageInput{Entries: []*model.UsageEntryInput{
		{IdempotencyKey: "1", Channel: model.ChannelWeb, AgentID: id, CampaignID: &campaign.ID, Credits: model.Credit,
			At: time.Now().Add(-time.Hour)},
	}})
	require.NoError(t, err)
	return id
}
