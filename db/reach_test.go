package db_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// A tenant with a reach sees only the chats of the reach's holder with the reach's agents. Other chats do not exist for
// it, as if they belonged to another company.
func TestOnlyChatsWithinReachAreVisible(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent, other := newAgent(t, tenant), newAgent(t, tenant)
	ada := &model.Reach{Holder: bytes.Repeat([]byte{1}, 32), AgentIDs: []string{agent.ID}}
	bob := &model.Reach{Holder: bytes.Repeat([]byte{2}, 32)}
	own := newSimulationChat(t, tenant.WithReach(ada), agent.ID, nil)
	require.Equal(t, ada.Holder, own.Holder)
	ofBob := newSimulationChat(t, tenant.WithReach(bob), agent.ID, nil)
	ofNobody := newSimulationChat(t, tenant, agent.ID, nil)
	require.Nil(t, ofNobody.Holder)
	// This chat belongs to the holder, but its agent is out of reach.
	elsewhere := newSimulationChat(t, tenant.WithReach(&model.Reach{Holder: ada.Holder}), other.ID, nil)

	within := tenant.WithReach(ada)
	uses := map[string]func(ctx context.Context, t *db.Tenant, id string) error{
		"read": func(ctx context.Context, t *db.Tenant, id string) error {
			_, err := t.SimulationChat(ctx, id)
			return err
		},
		"follow its messages": func(ctx context.Context, t *db.Tenant, id string) error {
			_, err := t.FollowMessages(ctx, id, 0)
			return err
		},
		"follow its events": func(ctx context.Context, t *db.Tenant, id string) error {
			_, err := t.FollowEvents(ctx, id)
			return err
		},
		"answer": func(ctx context.Context, t *db.Tenant, id string) error {
			turn, err := t.BeginChatTurn(ctx, id, lease)
			if err != nil {
				return err
			}
			return turn.Release(ctx, nil)
		},
		"end": func(ctx context.Context, t *db.Tenant, id string) error {
			_, err := t.EndSimulationChat(ctx, id)
			return err
		},
	}
	for _, name := range []string{"read", "follow its messages", "follow its events", "answer", "end"} {
		use := uses[name]
		for _, id := range []string{ofBob.ID, ofNobody.ID, elsewhere.ID} {
			err := use(t.Context(), within, id)
			require.Equal(t, `simulation chat "`+id+`" does not exist`, fails(t, err, model.NotFound), name)
		}
		require.NoError(t, use(t.Context(), within, own.ID), name)
		require.NoError(t, use(t.Context(), tenant, own.ID), "a tenant without a reach can use all chats: %s", name)
	}
	for _, id := range []string{ofBob.ID, ofNobody.ID, elsewhere.ID} {
		chat, err := tenant.SimulationChat(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, model.SimulationChatStatusOpen, chat.State, "the chat is unchanged")
	}
	require.Error(t, within.Tx(t.Context(), func(ctx context.Context, t *db.Tenant) error {
		_, err := t.SimulationChat(ctx, ofBob.ID)
		return err
	}), "in a transaction too")
}

func TestTokenStoresItsRestrictions(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, _ := newCompany(t, store)
	neighbor, _ := newCompany(t, store)
	agent := newAgent(t, tenant)
	key, _, err := tenant.CreateAPIKey(t.Context(),
		model.CreateAPIKeyInput{Name: "Pages", Scopes: []model.APIKeyScope{model.APIKeyScopeChat}})
	require.NoError(t, err)
	by := tenant.WithAPIKey(key.ID)
	in := model.CreateAccessTokenInput{
		Scopes: key.Scopes, TTLSeconds: 60, Origins: []string{"https://a.example", "https://b.example"},
		AgentIds: []string{agent.ID}, Visitor: new("ada"),
	}
	token, _, err := by.CreateAccessToken(t.Context(), in)
	require.NoError(t, err)
	found, err := tenant.AccessToken(t.Context(), token.Hash)
	require.NoError(t, err)
	same(t, token, found)
	require.Equal(t, in.Origins, found.Principal().Origins)
	require.Equal(t, in.AgentIds, found.Principal().Reach.AgentIDs)

	plain, _, err := by.CreateAccessToken(t.Context(), model.CreateAccessTokenInput{Scopes: key.Scopes, TTLSeconds: 60})
	require.NoError(t, err)
	found, err = tenant.AccessToken(t.Context(), plain.Hash)
	require.NoError(t, err)
	same(t, plain, found)
	require.Nil(t, found.Origins)

	for _, id := range []string{"agent_unknown", newAgent(t, neighbor).ID} {
		in.AgentIds = []string{agent.ID, id}
		_, _, err = by.CreateAccessToken(t.Context(), in)
		require.Contains(t, fails(t, err, model.NotFound), id)
	}
}
