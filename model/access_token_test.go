package model

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func tokenOf(scopes ...APIKeyScope) (*AccessToken, string, error) {
	key := &APIKey{Owned: Owned{CompanyID: "company_01"}, ID: "key_01", Scopes: []APIKeyScope{APIKeyScopeSimulate}}
	return NewAccessToken(Signer{}, key, CreateAccessTokenInput{Scopes: scopes, TTLSeconds: 60}, now)
}

func TestAccessTokenIsParsed(t *testing.T) {
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
	require.False(t, ok, "a token is not a key")
	_, secret := newKey(t, NewID("company"))
	_, _, ok = ParseAccessToken(secret)
	require.False(t, ok, "a key is not a token")
	require.False(t, IsAccessToken(secret))
}

func TestAccessTokensAreBounded(t *testing.T) {
	t.Parallel()
	read := []APIKeyScope{APIKeyScopeRead}
	create := func(in CreateAccessTokenInput) error {
		_, _, err := NewAccessToken(Signer{}, &APIKey{Scopes: read}, in, now)
		return err
	}
	faults(t, create(CreateAccessTokenInput{TTLSeconds: 900}), "scopes", "at least one")
	faults(t, create(CreateAccessTokenInput{Scopes: []APIKeyScope{"root"}, TTLSeconds: 900}), "scopes.0",
		"read, browse, prompts, contacts, consumption, write, simulate, mutate, chat, admin")
	for _, seconds := range []int32{-1, 0, 59, 86_401} {
		faults(t, create(CreateAccessTokenInput{Scopes: read, TTLSeconds: seconds}), "ttlSeconds", "from 60 to 86400")
	}
	for _, seconds := range []int32{60, 86_400} {
		require.NoError(t, create(CreateAccessTokenInput{Scopes: read, TTLSeconds: seconds}))
	}
}

func TestTokenRestrictionsAreBounded(t *testing.T) {
	t.Parallel()
	key := &APIKey{Owned: Owned{CompanyID: "company_01"}, ID: "key_01", Scopes: []APIKeyScope{APIKeyScopeSimulate}}
	create := func(change func(*CreateAccessTokenInput), scopes ...APIKeyScope) (*AccessToken, error) {
		in := CreateAccessTokenInput{Scopes: scopes, TTLSeconds: 60}
		change(&in)
		token, _, err := NewAccessToken(Signer{}, key, in, now)
		return token, err
	}
	origins := func(origins ...string) func(*CreateAccessTokenInput) {
		return func(in *CreateAccessTokenInput) { in.Origins = origins }
	}
	for _, good := range []string{
		"https://www.example.com", "https://example.com:8443", "http://localhost", "http://localhost:3000",
		"http://app.localhost:1",
		"http://127.0.0.1:8080", "http://[::1]:8080", "https://[2001:db8::1]", "https://xn--bcher-kva.example",
	} {
		token, err := create(origins(good, good), APIKeyScopeRead)
		require.NoError(t, err, good)
		require.Equal(t, []string{good}, token.Origins)
		require.Equal(t, token.Origins, token.Principal().Origins)
	}
	for _, bad := range []string{
		"", "*", "null", "example.com", "https://", "https://example.com/", "https://example.com:443", "http://localhost:80",
		"https://example.com:",
		"https://*.example.com", "https://Example.com", "HTTPS://example.com", "http://example.com",
		"https://user@example.com",
		"https://example.com?x", "https://example.com#x", "wss://example.com", "https://bücher.example", "https://a b",
		"https://example.com\x00",
		"https://" + strings.Repeat("a", 300),
	} {
		_, err := create(origins("https://example.com", bad), APIKeyScopeRead)
		faults(t, err, "origins.1", "https://www.example.com; only localhost and loopback addresses may use http")
	}
	_, err := create(func(in *CreateAccessTokenInput) { in.Origins = []string{} }, APIKeyScopeRead)
	faults(t, err, "origins", "at least one")
	_, err = create(origins(make([]string, 21)...), APIKeyScopeRead)
	faults(t, err, "origins", "at most 20")

	agents := func(ids ...string) func(*CreateAccessTokenInput) {
		return func(in *CreateAccessTokenInput) { in.AgentIds = ids }
	}
	token, err := create(agents("a", "b", "a"), APIKeyScopeChat)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, token.Principal().Reach.AgentIDs)
	_, err = create(func(in *CreateAccessTokenInput) { in.AgentIds = []string{} }, APIKeyScopeChat)
	faults(t, err, "agentIds", "at least one")
	_, err = create(agents(make([]string, 101)...), APIKeyScopeChat)
	faults(t, err, "agentIds", "at most 100")
	_, err = create(agents("a", ""), APIKeyScopeChat)
	faults(t, err, "agentIds.1", "must not be empty")
	_, err = create(agents("a"), APIKeyScopeSimulate)
	faults(t, err, "agentIds", "only with the scope chat")

	visitor := func(name string) func(*CreateAccessTokenInput) {
		return func(in *CreateAccessTokenInput) { in.Visitor = &name }
	}
	_, err = create(visitor(""), APIKeyScopeChat)
	faults(t, err, "visitor", "must not be empty")
	_, err = create(visitor(strings.Repeat("v", 201)), APIKeyScopeChat)
	faults(t, err, "visitor", "200")
	_, err = create(visitor("v"), APIKeyScopeRead)
	faults(t, err, "visitor", "only with the scope chat")
}

func TestTokensOfPagesSubscribeOnlyToChats(t *testing.T) {
	t.Parallel()
	key := &APIKey{Scopes: []APIKeyScope{APIKeyScopeChat, APIKeyScopeContacts}}
	for _, field := range AllSubscriptionField {
		create := func(scope APIKeyScope) error {
			_, _, err := NewAccessToken(Signer{}, key, CreateAccessTokenInput{Scopes: []APIKeyScope{scope}, TTLSeconds: 60,
				Subscription: &field}, now)
			return err
		}
		require.NoError(t, create(APIKeyScopeContacts))
		if strings.HasPrefix(field.String(), "simulationChat") {
			require.NoError(t, create(APIKeyScopeChat))
			continue
		}
		faults(t, create(APIKeyScopeChat), "subscription", "must be simulationChatEvents or simulationChatMessages")
	}
}

// The holder of chats is the visitor, if the input names one, or else the token itself.
func TestTokensOfAVisitorShareChats(t *testing.T) {
	t.Parallel()
	key := &APIKey{Owned: Owned{CompanyID: "company_01"}, ID: "key_01", Scopes: []APIKeyScope{APIKeyScopeChat},
		Hash: HashOfSecret("key")}
	holder := func(visitor *string) string {
		token, _, err := NewAccessToken(Signer{}, key, CreateAccessTokenInput{Scopes: key.Scopes, TTLSeconds: 60,
			Visitor: visitor}, now)
		require.NoError(t, err)
		require.Len(t, token.Principal().Reach.Holder, 32)
		return string(token.Principal().Reach.Holder)
	}
	require.Equal(t, holder(new("ada")), holder(new("ada")))
	require.NotEqual(t, holder(new("ada")), holder(new("bob")))
	require.NotEqual(t, holder(nil), holder(nil))
	require.Equal(t, key.Hash, key.Principal().Reach.Holder)
	token, _, err := tokenOf(APIKeyScopeSimulate)
	require.NoError(t, err)
	require.Nil(t, token.Principal().Reach)
	require.Nil(t, token.Holder)

	var reach *Reach
	require.True(t, reach.HasAgent("a"))
	require.True(t, (&Reach{}).HasAgent("a"))
	require.False(t, (&Reach{AgentIDs: []string{"b"}}).HasAgent("a"))
}

// A token can never do more than its key.
func TestTokenScopesNeverExceedItsKey(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		some := rapid.SliceOfNDistinct(rapid.SampledFrom(AllAPIKeyScope), 1, 4, rapid.ID)
		key, asked := &APIKey{Scopes: some.Draw(r, "key")}, some.Draw(r, "asked")
		token, _, err := NewAccessToken(Signer{}, key, CreateAccessTokenInput{Scopes: asked, TTLSeconds: 60}, now)
		for _, scope := range AllAPIKeyScope {
			mayKey, mayToken := Principal{Scopes: key.Scopes}.Can(scope), err == nil &&
				Principal{Scopes: token.Scopes}.Can(scope)
			require.False(r, mayToken && !mayKey)
		}
		if slices.Contains(asked, APIKeyScopeChat) && len(asked) > 1 {
			require.ErrorContains(r, err, "must not combine chat with other scopes")
		} else if err != nil {
			require.ErrorContains(r, err, "does not have the scope")
			require.Equal(r, Forbidden, err.(*Error).Code) //nolint:errorlint // It is not wrapped.
		}
	})
}

func TestAccessTokenExpires(t *testing.T) {
	t.Parallel()
	in := CreateAccessTokenInput{Scopes: []APIKeyScope{APIKeyScopeRead}, TTLSeconds: 900}
	key := &APIKey{Scopes: in.Scopes}
	token, _, err := NewAccessToken(Signer{}, key, in, now)
	require.NoError(t, err)
	require.Equal(t, now.Add(15*time.Minute), token.ExpiresAt)
	require.True(t, token.Usable(token.ExpiresAt.Add(-1)))
	require.False(t, token.Usable(token.ExpiresAt), "a token expires exactly at its time of expiry")
	key.RevokedAt = &now
	require.False(t, token.Usable(now), "it ends with its key")

	soon := now.Add(5 * time.Minute)
	token, _, err = NewAccessToken(Signer{}, &APIKey{Scopes: in.Scopes, ExpiresAt: &soon}, in, now)
	require.NoError(t, err)
	require.Equal(t, soon, token.ExpiresAt, "no token outlives its key")
}

func TestParseAccessTokenNeverPanics(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		body := rapid.OneOf(rapid.String(), rapid.StringMatching(`agt_[a-z0-9_]{0,60}`),
			rapid.StringMatching(`(agt?_)?_{0,3}[0-9a-z]{0,40}`)).Draw(r, "body")
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
