package db_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// newToken creates a token with a new key of the tenant.
func newToken(t *testing.T, tenant *db.Tenant) (by *db.Tenant, key *model.APIKey, token *model.AccessToken,
	text string) {
	t.Helper()
	key, _, err := tenant.CreateAPIKey(t.Context(),
		model.CreateAPIKeyInput{Name: "Key", Scopes: []model.APIKeyScope{model.APIKeyScopeSimulate}})
	require.NoError(t, err)
	by = tenant.WithAPIKey(key.ID)
	token, text, err = by.CreateAccessToken(t.Context(), readToken)
	require.NoError(t, err)
	return by, key, token, text
}

var readToken = model.CreateAccessTokenInput{Scopes: []model.APIKeyScope{model.APIKeyScopeRead}, TTLSeconds: 60}

func TestOnlyTheHashOfATokenIsStored(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, company := newCompany(t, store)
	_, key, token, text := newToken(t, tenant)
	for _, rows := range rowsOf(t, conn) {
		for _, row := range rows {
			require.NotContains(t, row, text[len("agt_"):])
			require.NotContains(t, row, text[len(text)-40:])
		}
	}
	owner, hash, ok := model.ParseAccessToken(text)
	require.True(t, ok)
	require.Equal(t, company, owner)
	found, err := tenant.AccessToken(t.Context(), hash)
	require.NoError(t, err)
	same(t, token, found)
	require.Equal(t, key.ID, found.APIKey.ID)
	require.True(t, found.Usable(time.Now()))

	other, _ := newCompany(t, store)
	_, err = other.AccessToken(t.Context(), hash)
	fails(t, err, model.NotFound)
}

func TestTokenEndsWithItsKey(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	by, key, token, _ := newToken(t, tenant)
	_, _, other, _ := newToken(t, tenant)
	_, err := tenant.RevokeAPIKey(t.Context(), key.ID)
	require.NoError(t, err)
	found, err := tenant.AccessToken(t.Context(), token.Hash)
	require.NoError(t, err)
	require.False(t, found.Usable(time.Now()))
	found, err = tenant.AccessToken(t.Context(), other.Hash)
	require.NoError(t, err)
	require.True(t, found.Usable(time.Now()))

	// The request was admitted just before the key was revoked, so its token is useless.
	late, _, err := by.CreateAccessToken(t.Context(), readToken)
	require.NoError(t, err)
	require.False(t, late.Usable(time.Now()))
}

func TestTokensNeedAKnownKey(t *testing.T) {
	t.Parallel()
	store, _ := fresh(t)
	tenant, _ := newCompany(t, store)
	other, _ := newCompany(t, store)
	_, key, _, _ := newToken(t, other)
	_, _, err := tenant.WithAPIKey(key.ID).CreateAccessToken(t.Context(), readToken)
	fails(t, err, model.NotFound)
	_, _, err = tenant.CreateAccessToken(t.Context(), readToken)
	require.ErrorContains(t, err, "only with an API key")
}

func TestExpiredTokensAreRemoved(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, conn := fresh(t)
	tenant, company := newCompany(t, store)
	neighbor, _ := newCompany(t, store)
	by, _, kept, _ := newToken(t, tenant)
	_, _, foreign, _ := newToken(t, neighbor)
	_, err := conn.Exec(ctx, `INSERT INTO access_tokens (company_id, hash, api_key_id, scopes, created_at, expires_at)
		SELECT company_id, sha256(convert_to(n::text, 'UTF8')), api_key_id, scopes, created_at - interval '2 days',
			created_at - interval '1 day'
		FROM access_tokens CROSS JOIN generate_series(1, 150) AS n WHERE company_id = $1`, company)
	require.NoError(t, err)
	left := func() (n int) {
		require.NoError(t, conn.QueryRow(ctx, "SELECT count(*) FROM access_tokens WHERE company_id = $1", company).Scan(&n))
		return n
	}
	require.Equal(t, 151, left())
	require.Empty(t, together(4, func(int) error {
		_, _, err := by.CreateAccessToken(ctx, readToken)
		return err
	}))
	_, _, err = by.CreateAccessToken(ctx, readToken)
	require.NoError(t, err)
	require.Equal(t, 6, left(), "only the valid tokens remain")
	for tenant, token := range map[*db.Tenant]*model.AccessToken{tenant: kept, neighbor: foreign} {
		_, err := tenant.AccessToken(ctx, token.Hash)
		require.NoError(t, err)
	}
}
