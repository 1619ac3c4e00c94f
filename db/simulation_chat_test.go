package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// lease is longer than any test holds a chat.
const lease = time.Minute

// saidFirst returns the agent's first message.
func saidFirst(text string) model.TestMessage {
	return model.TestMessage{Role: model.MessageRoleAssistant, Text: text}
}

func newSimulationChat(t *testing.T, tenant *db.Tenant, agentID string, welcome *string) *model.SimulationChat {
	t.Helper()
	chat := &model.SimulationChat{AgentID: agentID, DataBag: model.JSONObject(`{"name":"Ana"}`), Warnings: []string{"odd"}}
	var begin []model.TestMessage
	if welcome != nil {
		begin = append(begin, saidFirst(*welcome))
	}
	require.NoError(t, tenant.CreateSimulationChat(t.Context(), chat, begin...))
	return chat
}

// newSimulation returns a new company's tenant and one of its chats.
func newSimulation(t *testing.T, store *db.Store, welcome *string) (*db.Tenant, *model.SimulationChat) {
	t.Helper()
	tenant, _ := newCompany(t, store)
	return tenant, newSimulationChat(t, tenant, newAgent(t, tenant).ID, welcome)
}

func messages(text, answer string) (*model.SimulationChatMessage, *model.SimulationChatMessage) {
	at := time.Now().UTC().Truncate(time.Microsecond)
	return &model.SimulationChatMessage{Text: text, Timestamp: at}, &model.SimulationChatMessage{Text: answer,
		Timestamp: at}
}

// say completes a turn.
func say(t *testing.T, tenant *db.Tenant, chatID, text, answer string) *model.SimulationChat {
	t.Helper()
	turn, err := tenant.BeginChatTurn(t.Context(), chatID, lease)
	require.NoError(t, err)
	message, reply := messages(text, answer)
	chat, err := turn.Finish(t.Context(), message, reply, nil)
	require.NoError(t, err)
	kept, err := tenant.SimulationChat(t.Context(), chatID)
	require.NoError(t, err)
	require.Equal(t, kept, chat)
	return chat
}

func textsOf(messages []*model.SimulationChatMessage) []string {
	texts := make([]string, len(messages))
	for i, m := range messages {
		texts[i] = m.Text
	}
	return texts
}

func TestSimulationChatsAreStoredAndListed(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store := dbtest.New(t)
	welcome := "Hello Ana"
	tenant, first := newSimulation(t, store, &welcome)
	other := newAgent(t, tenant)
	second := newSimulationChat(t, tenant, other.ID, nil)
	stranger, foreign := newSimulation(t, store, &welcome)

	chat, err := tenant.SimulationChat(ctx, first.ID)
	require.NoError(t, err)
	require.Equal(t, model.SimulationChatStatusOpen, chat.Status())
	require.JSONEq(t, `{"name":"Ana"}`, string(chat.DataBag))
	require.Equal(t, []string{"odd"}, chat.Warnings)
	require.False(t, chat.ToolMocking.MockAllTools)
	require.Equal(t, int32(1), chat.LastSequence)

	_, err = stranger.SimulationChat(ctx, first.ID)
	fails(t, err, model.NotFound)

	page, err := tenant.SimulationChats(ctx, model.PageArgs{First: 10}, nil, nil)
	require.NoError(t, err)
	require.Len(t, page.Nodes, 2)
	require.Equal(t, second.ID, page.Nodes[0].ID, "newest first")
	page, err = tenant.SimulationChats(ctx, model.PageArgs{First: 10}, &other.ID, nil)
	require.NoError(t, err)
	require.Len(t, page.Nodes, 1)
	require.Equal(t, second.ID, page.Nodes[0].ID)

	children, err := dbtest.Pages[*model.SimulationChat](ctx, tenant, db.SimulationChatsOfAgents, nil,
		[]string{other.ID, first.AgentID, foreign.AgentID}, model.PageArgs{First: 1})
	require.NoError(t, err)
	require.Len(t, children, 2)
	for _, child := range children {
		require.Equal(t, child.AgentID, child.Parent())
	}

	say(t, tenant, first.ID, "One", "Two")
	say(t, tenant, second.ID, "Three", "Four")
	all, err := tenant.MessagesOfChats(ctx, []string{second.ID, first.ID, foreign.ID})
	require.NoError(t, err)
	byChat := map[string][]*model.SimulationChatMessage{}
	for _, m := range all {
		byChat[m.Parent()] = append(byChat[m.Parent()], m)
	}
	require.Len(t, byChat, 2)
	require.Equal(t, []string{"Hello Ana", "One", "Two"}, textsOf(byChat[first.ID]))
	require.Equal(t, []string{"Three", "Four"}, textsOf(byChat[second.ID]))

	after, err := tenant.MessagesAfter(ctx, first.ID, 1)
	require.NoError(t, err)
	require.Equal(t, []string{"One", "Two"}, textsOf(after))
	require.Equal(t, []int32{2, 3}, []int32{after[0].Sequence, after[1].Sequence})
	require.Equal(t, []model.MessageRole{model.MessageRoleUser, model.MessageRoleAssistant},
		[]model.MessageRole{after[0].Role, after[1].Role})
}

func TestSimulationChatNeedsAKnownAgent(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, _ := newSimulation(t, store, nil)
	_, foreign := newSimulation(t, store, nil)
	err := tenant.CreateSimulationChat(t.Context(), &model.SimulationChat{AgentID: foreign.AgentID, Warnings: []string{}},
		saidFirst("Hello"))
	fails(t, err, model.Conflict)
	page, err := tenant.SimulationChats(t.Context(), model.PageArgs{First: 10}, nil, nil)
	require.NoError(t, err)
	require.Len(t, page.Nodes, 1)
}

func TestEndedSimulationChatStaysEnded(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store := dbtest.New(t)
	tenant, chat := newSimulation(t, store, nil)
	stranger, _ := newSimulation(t, store, nil)
	_, err := stranger.EndSimulationChat(ctx, chat.ID)
	fails(t, err, model.NotFound)

	ended, err := tenant.EndSimulationChat(ctx, chat.ID)
	require.NoError(t, err)
	require.Equal(t, model.SimulationChatStatusEnded, ended.Status())
	require.NotNil(t, ended.EndedAt)
	require.Nil(t, ended.EndReason)

	again, err := tenant.EndSimulationChat(ctx, chat.ID)
	require.NoError(t, err)
	require.Equal(t, ended.EndedAt, again.EndedAt)

	_, err = tenant.BeginChatTurn(ctx, chat.ID, lease)
	fails(t, err, model.Conflict)
	require.ErrorContains(t, err, "has ended")
}

func TestDeletedAgentDeletesItsChats(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, chat := newSimulation(t, store, nil)
	say(t, tenant, chat.ID, "One", "Two")
	turn, err := tenant.BeginChatTurn(t.Context(), chat.ID, lease)
	require.NoError(t, err)
	require.NoError(t, tenant.DeleteAgent(t.Context(), chat.AgentID))
	message, reply := messages("Three", "Four")
	_, err = turn.Finish(t.Context(), message, reply, nil)
	fails(t, err, model.NotFound)
	require.NoError(t, turn.Release(context.Background(), nil))
}
