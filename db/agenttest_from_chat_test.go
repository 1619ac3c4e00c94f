package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// called completes a turn in which the agent called the tool.
func called(t *testing.T, tenant *db.Tenant, chatID string, tool *model.Tool, arguments, result string) {
	t.Helper()
	turn, err := tenant.BeginChatTurn(t.Context(), chatID, lease)
	require.NoError(t, err)
	message, reply := messages("Please.", "Done.")
	_, err = turn.Finish(t.Context(), message, reply, []*model.ToolCall{{
		ID: model.NewID("call"), Kind: model.ToolCallKindTool, TargetID: &tool.ID, TechnicalName: tool.TechnicalName,
		Arguments: model.JSONObject(arguments), Result: &result, StartedAt: message.Timestamp,
	}})
	require.NoError(t, err)
}

func TestTestIsCreatedFromAChat(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	welcome := "It's me."
	tenant, chat := newSimulation(t, store, &welcome)
	book, look := newTool(t, tenant, "book"), newTool(t, tenant, "look")
	for _, tool := range []*model.Tool{book, look} {
		_, err := tenant.ConnectTool(t.Context(), model.ConnectToolInput{AgentID: chat.AgentID, ToolID: tool.ID})
		require.NoError(t, err)
	}
	called(t, tenant, chat.ID, book, `{"day":"Monday"}`, `{"free":false}`)
	called(t, tenant, chat.ID, book, `{"day":"Tuesday"}`, `{"free":true,"note":"{day} it is"}`)
	called(t, tenant, chat.ID, look, `{}`, "nothing")
	_, err := tenant.DisconnectTool(t.Context(), model.DisconnectToolInput{AgentID: chat.AgentID, ToolID: look.ID})
	require.NoError(t, err)
	folder := newFolder(t, tenant, chat.AgentID, "From chats")

	in := model.CreateTestFromSimulationChatInput{
		SimulationChatID: chat.ID, UpToSequence: new(int32(3)), Scenario: "You want Tuesday.",
		Criteria: []string{"calls book"}, MaxTurns: 4, FolderID: &folder.ID,
	}
	test, warnings, err := tenant.CreateTestFromSimulationChat(t.Context(), in)
	require.NoError(t, err)
	require.Equal(t, []string{
		`the variable "name" is not a field of the agent. It is kept, but check its name`,
		"the tool look is no longer connected to the agent, so its record is left out",
	}, warnings)
	stored := batchless(testByID(t, tenant, test.ID).Row())
	test.CompanyID = stored.CompanyID
	same(t, batchless(test.Row()), stored)
	require.Equal(t, &folder.ID, stored.FolderID)
	require.Len(t, stored.ConversationMessages, 3)
	require.Equal(t, welcome, stored.ConversationMessages[0].Text)
	require.Equal(t, chat.CreatedAt, stored.ConversationMessages[0].Timestamp.UTC())
	require.JSONEq(t, `{"name":"Ana"}`, string(stored.Variables))
	require.Len(t, stored.ToolMocking.MockedTools, 1)
	mock := stored.ToolMocking.MockedTools[0]
	require.Equal(t, book.ID, mock.ToolID)
	require.Equal(t, `{"free":true,"note":"{day|literal} it is"}`, *mock.ResultTemplate)
	require.Equal(t, "Monday", *mock.Rules[0].When[0].Equals)
	require.Equal(t, `{"free":false}`, *mock.Rules[0].ResultTemplate)

	// The test can be run.
	require.Equal(t, "You want Tuesday.", runsOf(t, tenant, start(t, tenant, test.ID).ID)[0].Snapshot.Test.Scenario)

	whole := in
	whole.UpToSequence = nil
	all, _, err := tenant.CreateTestFromSimulationChat(t.Context(), whole)
	require.NoError(t, err)
	require.Len(t, all.ConversationMessages, 7)

	beyond, elsewhere, unknown := in, in, in
	beyond.UpToSequence, elsewhere.FolderID, unknown.SimulationChatID = new(int32(8)), new("folder_none"), "chat_none"
	_, _, err = tenant.CreateTestFromSimulationChat(t.Context(), beyond)
	faults(t, err, model.Unprocessable, "upToSequence", "at most 7")
	_, _, err = tenant.CreateTestFromSimulationChat(t.Context(), elsewhere)
	require.Error(t, err)
	_, _, err = tenant.CreateTestFromSimulationChat(t.Context(), unknown)
	require.Contains(t, fails(t, err, model.NotFound), "chat_none")
	stranger, _ := newCompany(t, store)
	_, _, err = stranger.CreateTestFromSimulationChat(t.Context(), in)
	require.Contains(t, fails(t, err, model.NotFound), chat.ID)
	page, err := tenant.AgentTests(t.Context(), model.PageArgs{First: 10}, nil, model.AgentTestFilter{})
	require.NoError(t, err)
	require.Len(t, page.Nodes, 2, "refused requests create nothing")
}
