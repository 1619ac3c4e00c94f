package db_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func datasetsOf(t *testing.T, tenant *db.Tenant, chatID string) []string {
	t.Helper()
	datasets, err := dbtest.Find[*model.Dataset](t.Context(), tenant, db.DatasetsOfChats, []string{chatID})
	require.NoError(t, err)
	for _, d := range datasets {
		require.Equal(t, chatID, d.Parent())
	}
	return idsOf(datasets)
}

func TestKnowledgeBaseChatDefaults(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	chat := newChat(t, tenant)
	require.Equal(t, model.LlmSettings{Temperature: 0.1, TopP: 0.3, PresencePenalty: 0.4, FrequencyPenalty: 0.7},
		chat.LlmSettings)
	settings := chat.PromptSettings
	require.Contains(t, settings.Prompt, "{knowledge}")
	settings.Prompt = ""
	require.Equal(t, model.PromptSettings{SimilarityThreshold: 0.2, KeywordsSimilarityWeight: 0.7, TopN: 6,
		ShowQuote: true}, settings)
	require.Nil(t, chat.UpdatedAt)
	read, err := tenant.KnowledgeBaseChat(t.Context(), chat.ID)
	require.NoError(t, err)
	same(t, chat, read)
}

func TestKnowledgeBaseChatIsMergedKeyByKey(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	a, b := newDataset(t, tenant), newDataset(t, tenant)
	chat := newChat(t, tenant, a.ID, b.ID)
	update := func(in model.UpdateKnowledgeBaseChatInput) *model.KnowledgeBaseChat {
		in.ChatID = chat.ID
		updated, err := tenant.UpdateKnowledgeBaseChat(ctx, in)
		require.NoError(t, err)
		read, err := tenant.KnowledgeBaseChat(ctx, chat.ID)
		require.NoError(t, err)
		same(t, updated, read)
		return updated
	}
	want := *chat
	for _, in := range []model.UpdateKnowledgeBaseChatInput{
		{},
		{LlmSettings: &model.LlmSettingsInput{}, PromptSettings: &model.PromptSettingsInput{}},
	} {
		same(t, &want, update(in))
	}
	got := update(model.UpdateKnowledgeBaseChatInput{
		Name: new("Renamed"), LlmSettings: &model.LlmSettingsInput{TopP: new(0.0)},
		PromptSettings: &model.PromptSettingsInput{ShowQuote: new(false), EmptyResponse: new("It's \"nothing\" \\u0000"),
			KeywordsSimilarityWeight: new(1.0)},
	})
	require.NotNil(t, got.UpdatedAt)
	want.Name, want.LlmSettings.TopP, want.UpdatedAt = "Renamed", 0, got.UpdatedAt
	want.PromptSettings.ShowQuote, want.PromptSettings.EmptyResponse, want.PromptSettings.KeywordsSimilarityWeight = false,
		`It's "nothing" \u0000`, 1
	same(t, &want, got)
	require.Equal(t, []string{a.ID, b.ID}, datasetsOf(t, tenant, chat.ID))
}

func TestDatasetsOfAChatAreReplaced(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	a, b, c := newDataset(t, tenant).ID, newDataset(t, tenant).ID, newDataset(t, tenant).ID
	chat := newChat(t, tenant, b, a, b)
	require.Equal(t, []string{b, a}, datasetsOf(t, tenant, chat.ID))
	update := func(ids ...string) error {
		_, err := tenant.UpdateKnowledgeBaseChat(ctx, model.UpdateKnowledgeBaseChatInput{ChatID: chat.ID, DatasetIds: ids})
		return err
	}
	require.NoError(t, update(c, a, c, b, a))
	require.Equal(t, []string{c, a, b}, datasetsOf(t, tenant, chat.ID))
	for _, unknown := range []string{"dataset_unknown", "", "it's"} {
		fails(t, update(b, unknown), model.NotFound)
		require.Equal(t, []string{c, a, b}, datasetsOf(t, tenant, chat.ID), "a failed update changes nothing")
	}
	fails(t, update(a+"\x00"), model.BadInput)
	_, err := tenant.CreateKnowledgeBaseChat(ctx, model.CreateKnowledgeBaseChatInput{Name: "Half",
		DatasetIds: []string{"unknown"}})
	fails(t, err, model.NotFound)
	page, err := tenant.KnowledgeBaseChats(ctx, model.PageArgs{First: 10}, nil)
	require.NoError(t, err)
	require.Equal(t, []string{chat.ID}, idsOf(page.Nodes))
	require.NoError(t, update())
	require.Equal(t, []string{c, a, b}, datasetsOf(t, tenant, chat.ID), "nil changes nothing")
	_, err = tenant.UpdateKnowledgeBaseChat(ctx, model.UpdateKnowledgeBaseChatInput{ChatID: chat.ID,
		DatasetIds: []string{}})
	require.NoError(t, err)
	require.Empty(t, datasetsOf(t, tenant, chat.ID), "an empty list disconnects all")
	faults(t, update(make([]string, 101)...), model.BadInput, "datasetIds", "100")
	require.Empty(t, together(6, func(i int) error { return update([]string{a, b, c}[i%3:]...) }))
	require.NotEmpty(t, datasetsOf(t, tenant, chat.ID))
}

func TestPromptOfAChatContainsTheKnowledge(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	dataset := newDataset(t, tenant).ID
	plain := &model.PromptSettingsInput{Prompt: new("Answer.")}
	_, err := tenant.CreateKnowledgeBaseChat(ctx, model.CreateKnowledgeBaseChatInput{Name: "Chat",
		DatasetIds: []string{dataset}, PromptSettings: plain})
	faults(t, err, model.BadInput, "promptSettings.prompt", "{knowledge}")
	chat, err := tenant.CreateKnowledgeBaseChat(ctx, model.CreateKnowledgeBaseChatInput{Name: "Chat",
		PromptSettings: plain})
	require.NoError(t, err)
	update := func(in model.UpdateKnowledgeBaseChatInput) error {
		in.ChatID = chat.ID
		_, err := tenant.UpdateKnowledgeBaseChat(ctx, in)
		return err
	}
	faults(t, update(model.UpdateKnowledgeBaseChatInput{DatasetIds: []string{dataset}}), model.Unprocessable,
		"promptSettings.prompt", "{knowledge}")
	require.NoError(t, update(model.UpdateKnowledgeBaseChatInput{
		DatasetIds: []string{dataset}, PromptSettings: &model.PromptSettingsInput{Prompt: new("{knowledge}")},
	}))
	faults(t, update(model.UpdateKnowledgeBaseChatInput{PromptSettings: plain}), model.Unprocessable,
		"promptSettings.prompt", "{knowledge}")
	require.NoError(t, update(model.UpdateKnowledgeBaseChatInput{PromptSettings: plain, DatasetIds: []string{}}))
	faults(t, update(model.UpdateKnowledgeBaseChatInput{PromptSettings: &model.PromptSettingsInput{
		RerankModel: new("ranker")}}),
		model.Unprocessable, "promptSettings.rerankModel", "configured")
	require.NoError(t, update(
		model.UpdateKnowledgeBaseChatInput{PromptSettings: &model.PromptSettingsInput{RerankModel: new("")}}))
}

func TestAgentHasOneKnowledgeBaseChat(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	agent, a, b := newAgent(t, tenant), newChat(t, tenant).ID, newChat(t, tenant).ID
	connect := func(chatID string) *model.Agent {
		connected, err := tenant.ConnectKnowledgeBaseChat(ctx, model.ConnectKnowledgeBaseChatInput{AgentID: agent.ID,
			ChatID: chatID})
		require.NoError(t, err)
		require.Equal(t, &chatID, connected.KnowledgeBaseChatID)
		read, err := tenant.Agent(ctx, agent.ID)
		require.NoError(t, err)
		same(t, connected, read)
		return connected
	}
	first := connect(a)
	require.True(t, first.UpdatedAt.After(agent.UpdatedAt))
	same(t, first, connect(a))
	connect(b)
	counts, err := dbtest.Counts(ctx, tenant, db.AgentsOfChats, nil, []string{b, a, "unknown"})
	require.NoError(t, err)
	require.Equal(t, []int32{1, 0, 0}, counts)
	for _, id := range []string{"", strings.Repeat("x", 65)} {
		_, err := tenant.ConnectKnowledgeBaseChat(ctx, model.ConnectKnowledgeBaseChatInput{AgentID: agent.ID, ChatID: id})
		faults(t, err, model.BadInput, "chatId", "")
	}
	disconnected, err := tenant.DisconnectKnowledgeBaseChat(ctx, agent.ID)
	require.NoError(t, err)
	require.Nil(t, disconnected.KnowledgeBaseChatID)
	again, err := tenant.DisconnectKnowledgeBaseChat(ctx, agent.ID)
	require.NoError(t, err)
	same(t, disconnected, again)
	_, err = tenant.DisconnectKnowledgeBaseChat(ctx, "agent_unknown")
	fails(t, err, model.NotFound)

	require.Empty(t, together(8, func(i int) error {
		_, err := tenant.ConnectKnowledgeBaseChat(ctx, model.ConnectKnowledgeBaseChatInput{AgentID: agent.ID,
			ChatID: []string{a, b}[i%2]})
		return err
	}))
	counts, err = dbtest.Counts(ctx, tenant, db.AgentsOfChats, nil, []string{a, b})
	require.NoError(t, err)
	require.EqualValues(t, 1, counts[0]+counts[1], "one chat at a time")
}

func TestDeletedKnowledgeBaseChatIsDisconnected(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	dataset := newDataset(t, tenant)
	chat := newChat(t, tenant, dataset.ID)
	agents := []*model.Agent{newAgent(t, tenant), newAgent(t, tenant), newAgent(t, tenant)}
	connect := func(ctx context.Context, agent *model.Agent) error {
		_, err := tenant.ConnectKnowledgeBaseChat(ctx, model.ConnectKnowledgeBaseChatInput{AgentID: agent.ID,
			ChatID: chat.ID})
		return err
	}
	require.NoError(t, connect(ctx, agents[0]))
	for _, err := range together(3, func(i int) error {
		if i == 2 {
			return tenant.DeleteKnowledgeBaseChat(ctx, chat.ID)
		}
		return connect(ctx, agents[i+1])
	}) {
		fails(t, err, model.NotFound) // it was created after the deletion
	}
	fails(t, tenant.DeleteKnowledgeBaseChat(ctx, chat.ID), model.NotFound)
	for _, agent := range agents {
		read, err := tenant.Agent(ctx, agent.ID)
		require.NoError(t, err)
		require.Nil(t, read.KnowledgeBaseChatID)
	}
	_, err := tenant.Dataset(ctx, dataset.ID)
	require.NoError(t, err, "its datasets stay")
}

func TestRerankModelsAreConfigured(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		configured []string
		says       string
	}{{nil, "must be empty: no rerank model is configured"}, {[]string{"good", "best"}, "must be empty or one of good, " +
		"best"}} {
		tenant, _ := newCompany(t, dbtest.Open(t, dbtest.URL(t), db.Options{RerankModels: c.configured}))
		_, err := tenant.CreateKnowledgeBaseChat(t.Context(), model.CreateKnowledgeBaseChatInput{
			Name: "A chat", PromptSettings: &model.PromptSettingsInput{RerankModel: new("other")},
		})
		faults(t, err, model.Unprocessable, "promptSettings.rerankModel", c.says)
		chat := newChat(t, tenant)
		_, err = tenant.UpdateKnowledgeBaseChat(t.Context(), model.UpdateKnowledgeBaseChatInput{
			ChatID: chat.ID, PromptSettings: &model.PromptSettingsInput{RerankModel: new("other")},
		})
		faults(t, err, model.Unprocessable, "promptSettings.rerankModel", c.says)
		for _, name := range append(c.configured, "") {
			_, err = tenant.UpdateKnowledgeBaseChat(t.Context(), model.UpdateKnowledgeBaseChatInput{
				ChatID: chat.ID, PromptSettings: &model.PromptSettingsInput{RerankModel: &name},
			})
			require.NoError(t, err)
		}
	}
}
