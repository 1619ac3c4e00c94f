package db_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestOnlyTheHashOfASecretIsStored(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, conn := fresh(t)
	tenant, company := newCompany(t, store)
	expires := time.Now().Add(time.Hour)
	key, secret, err := tenant.CreateAPIKey(ctx, model.CreateAPIKeyInput{
		Name: "Key", Scopes: []model.APIKeyScope{model.APIKeyScopeWrite, model.APIKeyScopeRead, model.APIKeyScopeWrite},
		ExpiresAt: &expires,
	})
	require.NoError(t, err)
	require.Equal(t, []model.APIKeyScope{model.APIKeyScopeWrite, model.APIKeyScopeRead}, key.Scopes)
	keys, err := tenant.APIKeys(ctx)
	require.NoError(t, err)
	same(t, []*model.APIKey{key}, keys)
	for _, rows := range rowsOf(t, conn) {
		for _, row := range rows {
			require.NotContains(t, row, secret)
			require.NotContains(t, row, secret[len(key.Prefix):], "not even the secret part alone")
		}
	}
	owner, prefix, ok := model.ParseAPIKey(secret)
	require.True(t, ok)
	require.Equal(t, company, owner)
	require.Equal(t, key.Prefix, prefix)
	found, err := tenant.APIKeysByPrefix(ctx, prefix)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.True(t, found[0].Matches(secret))
	require.False(t, found[0].Matches(secret+"x"))
	require.True(t, found[0].Usable(time.Now()))
	require.False(t, found[0].Usable(*found[0].ExpiresAt), "a key expires exactly at its time of expiry")
}

func TestRevokingAKeyTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	var ids []string
	for range 2 {
		key, _, err := tenant.CreateAPIKey(ctx,
			model.CreateAPIKeyInput{Name: "Key", Scopes: []model.APIKeyScope{model.APIKeyScopeRead}})
		require.NoError(t, err)
		ids = append(ids, key.ID)
	}
	revoked, err := tenant.RevokeAPIKey(ctx, ids[0])
	require.NoError(t, err)
	require.NotNil(t, revoked.RevokedAt)
	require.False(t, revoked.Usable(time.Now()))
	again, err := tenant.RevokeAPIKey(ctx, ids[0])
	require.NoError(t, err)
	same(t, revoked, again)
	_, err = tenant.RevokeAPIKey(ctx, "key_unknown")
	fails(t, err, model.NotFound)
	at := time.Now().UTC().Truncate(time.Microsecond)
	require.NoError(t, tenant.TouchAPIKey(ctx, ids[1], at))
	keys, err := tenant.APIKeys(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{ids[1], ids[0]}, []string{keys[0].ID, keys[1].ID}, "newest first, revoked ones included")
	require.True(t, keys[0].LastUsedAt.Equal(at))
	require.Nil(t, keys[0].RevokedAt)
	require.Nil(t, keys[1].LastUsedAt)
}

func TestKeysOfACompanyAreBounded(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	create := func() error {
		_, _, err := tenant.CreateAPIKey(t.Context(),
			model.CreateAPIKeyInput{Name: "A key", Scopes: []model.APIKeyScope{model.APIKeyScopeRead}})
		return err
	}
	for range model.MaxAPIKeys - 5 {
		require.NoError(t, create())
	}
	var refused atomic.Int32
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			if create() != nil {
				refused.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 7, refused.Load())
	fails(t, create(), model.Unprocessable)
	keys, err := tenant.APIKeys(t.Context())
	require.NoError(t, err)
	_, err = tenant.RevokeAPIKey(t.Context(), keys[0].ID)
	require.NoError(t, err)
	require.NoError(t, create(), "revoked keys do not count")
}
