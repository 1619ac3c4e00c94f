package db_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// fixture is a company with one row of every type. Every text in it contains the mark.
type fixture struct {
	tenant *db.Tenant
	mark   string
	// tokenHash is the hash of an access token.
	tokenHash []byte
	// ids has the rows' ids, by the names of the input fields for them.
	ids map[string]string
}

func newFixture(t *testing.T, store *db.Store, mark string) fixture {
	t.Helper()
	ctx := t.Context()
	company, err := store.CreateCompany(ctx, mark)
	require.NoError(t, err)
	tenant := store.Tenant(company.ID)
	key, _, err := tenant.CreateAPIKey(ctx,
		model.CreateAPIKeyInput{Name: mark, Scopes: []model.APIKeyScope{model.APIKeyScopeAdmin}})
	require.NoError(t, err)
	_, err = tenant.ImportAPIKey(ctx, model.ImportAPIKeyInput{Name: mark, Scopes: key.Scopes,
		Secret: "legacy-0123456789-" + company.ID})
	require.NoError(t, err)
	tenant = tenant.WithAPIKey(key.ID)
	token, _, err := tenant.CreateAccessToken(ctx, readToken)
	require.NoError(t, err)
	in := agentInput()
	in.Name, in.Prompt, in.Direction = mark, mark, model.DirectionOutbound
	in.ClassificationTags = []*model.ClassificationTag{{Name: "New"}}
	agent, err := tenant.CreateAgent(ctx, in)
	require.NoError(t, err)
	tool, err := tenant.CreateTool(ctx, model.CreateToolInput{Name: mark, TechnicalName: strings.ToLower(mark) + "_tool"})
	require.NoError(t, err)
	_, err = tenant.ConnectTool(ctx, model.ConnectToolInput{AgentID: agent.ID, ToolID: tool.ID})
	require.NoError(t, err)
	edge, _, err := tenant.AddSubAgent(ctx, model.AddSubAgentInput{
		AgentID: agent.ID, DelegateAgentID: agent.ID, Name: mark, TechnicalName: strings.ToLower(mark) + "_agent",
	})
	require.NoError(t, err)
	dataset, err := tenant.CreateDataset(ctx, model.CreateDatasetInput{Name: mark})
	require.NoError(t, err)
	chat, err := tenant.CreateKnowledgeBaseChat(ctx, model.CreateKnowledgeBaseChatInput{Name: mark,
		DatasetIds: []string{dataset.ID}})
	require.NoError(t, err)
	_, err = tenant.ConnectKnowledgeBaseChat(ctx, model.ConnectKnowledgeBaseChatInput{AgentID: agent.ID, ChatID: chat.ID})
	require.NoError(t, err)
	documents := []*model.Document{}
	for range 2 {
		added := addDocument(t, tenant, dataset.ID, mark)
		claimed, err := tenant.ClaimDocument(ctx, added.IndexingID, 1)
		require.NoError(t, err)
		documents = append(documents, claimed)
	}
	// One document is indexed, the other is still being indexed.
	chunk := &model.Chunk{Content: mark, Words: wordsOf(mark), Embedding: []float32{1, 0}}
	require.NoError(t, tenant.FinishDocument(ctx, documents[0], []*model.Chunk{chunk}))
	_, err = tenant.AddLabelledQuestions(ctx, model.AddLabelledQuestionsInput{DatasetID: dataset.ID,
		Questions: []*model.LabelledQuestionInput{
			{Question: mark, DocumentID: &documents[0].ID, Passage: &mark},
		}})
	require.NoError(t, err)
	simulation := &model.SimulationChat{AgentID: agent.ID, Warnings: []string{mark}}
	require.NoError(t, tenant.CreateSimulationChat(ctx, simulation, saidFirst(mark)))
	turn, err := tenant.BeginChatTurn(ctx, simulation.ID, time.Minute)
	require.NoError(t, err)
	callID := model.NewID("call")
	require.NoError(t, turn.Release(ctx, []*model.ToolCall{{
		ID: callID, Approval: new(model.ToolCallApprovalPending), WaitsUntil: new(time.Now().Add(time.Hour)),
		Kind: model.ToolCallKindTool, TechnicalName: "find", Result: &mark, StartedAt: time.Now(),
	}}))
	folder, err := tenant.CreateAgentTestFolder(ctx, model.CreateAgentTestFolderInput{AgentID: agent.ID, Name: mark,
		Color: "#6B7280"})
	require.NoError(t, err)
	test := newSimulationTest(t, tenant, agent.ID, func(in *model.CreateSimulationTestInput) {
		in.Name, in.FolderID = mark,
			&folder.ID
	})
	tagged := newClassificationTest(t, tenant, agent.ID, mark+" tags")
	// The first execution is judged again and retried. No run is in progress.
	execution := start(t, tenant, test.ID, tagged.ID)
	held := runsOf(t, tenant, execution.ID)
	hold(t, tenant, held[0].ID, false)
	require.NoError(t, finish(t, tenant, held[1].ID, model.AgentTestRunStatusFailed))
	_, err = tenant.LabelCriterionResult(ctx, model.LabelCriterionResultInput{RunID: held[0].ID, Criterion: "Is polite",
		IsRight: new(true), Person: &mark, Note: &mark, IsSampled: true})
	require.NoError(t, err)
	rejudged, err := tenant.RejudgeAgentTestExecution(ctx, rejudge(execution))
	require.NoError(t, err)
	require.NoError(t, finish(t, tenant, runsOf(t, tenant, rejudged.ID)[0].ID, model.AgentTestRunStatusFailed))
	retry, err := tenant.RetryAgentTestExecution(ctx, model.RetryAgentTestExecutionInput{ExecutionID: execution.ID,
		Only: model.AgentTestRetryAll})
	require.NoError(t, err)
	run := runsOf(t, tenant, retry.ID)[0]
	search := blameSearchOf(test.ID, mark)
	require.NoError(t, tenant.StartBlameSearch(ctx, search))
	_, err = tenant.CancelBlameSearch(ctx, search.ID)
	require.NoError(t, err)
	used := entry("the same key", "2026-03-01T09:30:00Z", 1)
	used.AgentID, used.CampaignID = agent.ID, &mark
	record(t, tenant, used)
	require.NoError(t, tenant.SetPlan(ctx, model.SetPlanInput{Name: mark}))
	campaign := newCampaign(t, tenant, func(in *model.CreateCampaignInput) { in.AgentID, in.Name = agent.ID, mark })
	_, _, err = tenant.AddCampaignField(ctx, model.AddCampaignFieldInput{CampaignID: campaign.ID, Name: mark})
	require.NoError(t, err)
	items := add(t, tenant, campaign.ID, 2)
	_, err = tenant.AdvanceCampaignItem(ctx, model.AdvanceCampaignItemInput{
		CampaignID: campaign.ID, ItemID: report(t, tenant, items[1], model.CampaignItemStatusCalling).ID,
		To: model.CampaignItemStatusError, Reason: &mark,
	})
	require.NoError(t, err)
	hook, _, err := tenant.CreateWebhook(ctx, model.CreateWebhookInput{URL: "https://example.com/" + mark,
		Description: mark, Events: model.AllWebhookEvent})
	require.NoError(t, err)
	message, err := tenant.SendTestWebhook(ctx, hook.ID)
	require.NoError(t, err)
	server, err := tenant.CreateMcpServer(ctx, model.CreateMcpServerInput{Name: mark, Endpoint: &model.ToolEndpointInput{
		Method: model.HTTPMethodPost, URL: "https://example.com/" + mark, TimeoutSeconds: 10}})
	require.NoError(t, err)
	_, _, err = tenant.RefreshMcpServer(ctx, server.ID,
		[]model.McpOffer{model.NewMcpOffer(mark, mark, []byte(`{"type":"object"}`))}, nil)
	require.NoError(t, err)
	schedule, err := tenant.CreateAgentTestSchedule(ctx, model.CreateAgentTestScheduleInput{
		Name: mark, FolderID: &folder.ID, Repeats: 1, Concurrency: 1, Votes: 1, Cron: new("0 3 1 1 *"), TimeZone: "UTC",
		IsEnabled: true, BaselineID: &execution.ID,
	})
	require.NoError(t, err)
	versions, err := tenant.FindPages(ctx, db.PromptVersionsOfAgents, nil, []string{agent.ID}, model.PageArgs{First: 1})
	require.NoError(t, err)
	return fixture{tenant: tenant, mark: mark, tokenHash: token.Hash, ids: map[string]string{
		"McpServerID": server.ID, "ToolCallID": callID,
		"CampaignID": campaign.ID, "ItemID": items[0].ID, "ItemIds": items[0].ID,
		"FolderID": folder.ID, "TestID": test.ID, "ClassificationTestID": tagged.ID, "TestIds": test.ID,
		"ExecutionID":         retry.ID,
		"FinishedExecutionID": execution.ID, "RunID": run.ID, "FinishedRunID": held[0].ID,
		"DatasetID": dataset.ID, "DocumentID": documents[0].ID, "ChunkID": chunk.ID, "IndexingID": documents[1].IndexingID,
		"IndexedID": documents[1].ID,
		"AgentID":   agent.ID, "DelegateAgentID": agent.ID, "ToolID": tool.ID, "SubAgentID": edge.ID,
		"DatasetIds": dataset.ID,
		"ChatID":     chat.ID, "SimulationChatID": simulation.ID, "APIKeyID": key.ID,
		"SearchID": search.ID, "PromptVersionID": versions[0].(*model.PromptVersion).ID,
		"WebhookID": hook.ID, "ScheduleID": schedule.ID, "BaselineID": execution.ID, "DeliveryID": message.ID,
	}}
}

// blameSearchOf returns a search, not stored yet, for the cause of a test's failure: the prompt lost a text.
func blameSearchOf(testID, lost string) *model.BlameSearch {
	change := &model.PromptChange{Number: 1, Was: lost, Needed: []string{lost},
		BeforePieces: []model.PromptPiece{{Text: lost}}, AfterPieces: []model.PromptPiece{}, IsSuspect: true}
	return &model.BlameSearch{
		ID: model.NewID("blame"), TestID: testID, GoodVersion: 1, BadVersion: 1, Repeats: 5,
		Changes: []*model.PromptChange{change}, Status: model.BlameStatusRunning, CauseNumbers: []int32{}, Version: 1,
		CreatedAt: time.Now(),
	}
}
