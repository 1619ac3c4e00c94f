package model

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func tokenOf(scopes ...APIKeyScope) (*AccessToken, string, error) {
	key := &APIKey{Owned: Owned{CompanyID: "company_01"}, ID: "key_01", Scopes: []APIKeyScope{APIKeyScopeSimulate}}
	return NewAccessToken(key, CreateAccessTokenInput{Scopes: scopes, TTLSeconds: 60}, now)
}

func TestAccessToken(t *testing.T) {
	t.Parallel()
	token, text, err := tokenOf(APIKeyScopeRead, APIKeyScopeSimulate, APIKeyScopeRead)
	require.NoError(t, err)
	require.Regexp(t, `^agt_01_[0-9a-z]{40}$`, text)
	require.True(t, IsAccessToken(text))
	company, hash, ok := ParseAccessToken(text)
	require.True(t, ok)
	require.Equal(t, "company_01", company)
	require.Equal(t, token.Hash, hash)
	require.Equal(t, "key_01", token.APIKeyID)
	require.Equal(t, []APIKeyScope{APIKeyScopeRead, APIKeyScopeSimulate}, token.Scopes)
	_, other, err := tokenOf(APIKeyScopeRead)
	require.NoError(t, err)
	require.NotEqual(t, text, other)

	_, _, ok = ParseAPIKey(text)
	require.False(t, ok, "a token is no key")
	_, secret := newKey(t, NewID("company"))
	_, _, ok = ParseAccessToken(secret)
	require.False(t, ok, "a key is no token")
	require.False(t, IsAccessToken(secret))
}

func TestAccessTokenBounds(t *testing.T) {
	t.Parallel()
	read := []APIKeyScope{APIKeyScopeRead}
	create := func(in CreateAccessTokenInput) error {
		_, _, err := NewAccessToken(&APIKey{Scopes: read}, in, now)
		return err
	}
	faults(t, create(CreateAccessTokenInput{TTLSeconds: 900}), "scopes", "at least one")
	faults(t, create(CreateAccessTokenInput{Scopes: []APIKeyScope{"root"}, TTLSeconds: 900}), "scopes.0", "read, write, simulate, admin")
	for _, seconds := range []int32{-1, 0, 59, 86_401} {
		faults(t, create(CreateAccessTokenInput{Scopes: read, TTLSeconds: seconds}), "ttlSeconds", "from 60 to 86400")
	}
	for _, seconds := range []int32{60, 86_400} {
		require.NoError(t, create(CreateAccessTokenInput{Scopes: read, TTLSeconds: seconds}))
	}
}

// A token can never do more than its key.
func TestAccessTokenScopes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		some := rapid.SliceOfNDistinct(rapid.SampledFrom(AllAPIKeyScope), 1, 4, rapid.ID)
		key, asked := &APIKey{Scopes: some.Draw(r, "key")}, some.Draw(r, "asked")
		token, _, err := NewAccessToken(key, CreateAccessTokenInput{Scopes: asked, TTLSeconds: 60}, now)
		for _, scope := range AllAPIKeyScope {
			mayKey, mayToken := Principal{Scopes: key.Scopes}.Can(scope), err == nil && Principal{Scopes: token.Scopes}.Can(scope)
			require.False(r, mayToken && !mayKey)
		}
		if err != nil {
			require.ErrorContains(r, err, "does not have the scope")
			require.Equal(r, Forbidden, err.(*Error).Code) //nolint:errorlint // It is not wrapped.
		}
	})
}

func TestAccessTokenExpires(t *testing.T) {
	t.Parallel()
	in := CreateAccessTokenInput{Scopes: []APIKeyScope{APIKeyScopeRead}, TTLSeconds: 900}
	key := &APIKey{Scopes: in.Scopes}
	token, _, err := NewAccessToken(key, in, now)
	require.NoError(t, err)
	require.Equal(t, now.Add(15*time.Minute), token.ExpiresAt)
	require.True(t, token.Usable(token.ExpiresAt.Add(-1)))
	require.False(t, token.Usable(token.ExpiresAt), "the end is no part of it")
	key.RevokedAt = &now
	require.False(t, token.Usable(now), "it ends with its key")

	soon := now.Add(5 * time.Minute)
	token, _, err = NewAccessToken(&APIKey{Scopes: in.Scopes, ExpiresAt: &soon}, in, now)
	require.NoError(t, err)
	require.Equal(t, soon, token.ExpiresAt, "no token outlives its key")
}

func TestParseAccessTokenNeverPanics(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		body := rapid.OneOf(rapid.String(), rapid.StringMatching(`agt_[a-z0-9_]{0,60}`), rapid.StringMatching(`(agt?_)?_{0,3}[0-9a-z]{0,40}`)).Draw(r, "body")
		for _, text := range []string{body, body + checksum(body)} {
			company, hash, ok := ParseAccessToken(text)
			require.Equal(r, ok, company != "")
			require.Equal(r, ok, hash != nil)
			if ok {
				require.True(r, strings.HasPrefix(text, "agt_"))
			}
		}
	})
}
