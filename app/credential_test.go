package app_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/gateway/auth"
	"github.com/agentgraph/agentgraph/model"
)

// keyReads counts reads of keys.
type keyReads struct{ atomic.Int64 }

func (k *keyReads) TraceQueryStart(ctx context.Context, _ *pgx.Conn, query pgx.TraceQueryStartData) context.Context {
	if strings.Contains(query.SQL, `FROM "api_keys"`) {
		k.Add(1)
	}
	return ctx
}

func (*keyReads) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func TestCredentialsAreCachedBriefly(t *testing.T) {
	t.Parallel()
	reads := &keyReads{}
	options := dbtest.Options()
	options.Tracer = reads
	store := dbtest.Open(t, dbtest.URL(t), options)
	g := &gatewayUnderTest{url: serveStore(t, store), store: store}
	tenant, key := g.company(t, "Remembered")
	start, before := time.Now(), reads.Load()
	const requests = 100
	for range requests {
		g.must(t, key, "{ __typename }", nil, nil)
	}
	// The key is read again when the replica starts to receive signals. Until then it is also read every 1.5 s, which
	// matters on a slow machine.
	require.LessOrEqual(t, reads.Load()-before, 2+int64(time.Since(start)/time.Second))

	status := func() int {
		response := g.do(t, http.MethodPost, "/graphql", key, `{"query":"{ __typename }"}`)
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	keys, err := tenant.APIKeys(t.Context())
	require.NoError(t, err)
	_, err = tenant.RevokeAPIKey(t.Context(), keys[0].ID)
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, status(), "immediately, on the replica that revoked it")
}

func TestCredentialLookupHasATimeLimit(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, dbtest.Options())
	g := &gatewayUnderTest{store: store}
	_, key := g.company(t, "Stuck")
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "LOCK TABLE api_keys")
	require.NoError(t, err)

	keys := auth.NewKeys(store, 50*time.Millisecond)
	patient, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err = keys.Authenticate(patient, key)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, patient.Err(), "the lookup has its own time limit")

	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, conn.Close(t.Context()))
	_, err = auth.NewKeys(store, time.Minute).Authenticate(patient, key)
	require.NoError(t, err)
}

func TestKeyRevokedOnAnotherReplicaIsRefused(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	for _, signals := range []bool{true, false} {
		store := dbtest.Open(t, address, dbtest.Options())
		g := &gatewayUnderTest{url: serveStore(t, store), store: store}
		tenant, key := g.company(t, "Replicas")
		g.must(t, key, "{ __typename }", nil, nil)
		keys, err := tenant.APIKeys(t.Context())
		require.NoError(t, err)
		if signals {
			other := dbtest.Open(t, address, dbtest.Options())
			_, err = other.Tenant(keys[0].CompanyID).RevokeAPIKey(t.Context(), keys[0].ID)
		} else {
			// SQL revokes the key without a signal.
			conn, connectErr := pgx.Connect(t.Context(), address)
			require.NoError(t, connectErr)
			_, err = conn.Exec(t.Context(), "UPDATE api_keys SET revoked_at = now() WHERE id = $1", keys[0].ID)
			require.NoError(t, conn.Close(t.Context()))
		}
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			response := g.do(t, http.MethodPost, "/graphql", key, `{"query":"{ __typename }"}`)
			return response.Body.Close() == nil && response.StatusCode == http.StatusUnauthorized
		}, 10*time.Second, 5*time.Millisecond)
	}
}

// Open subscriptions end when their key is revoked on any replica, with or without a signal.
func TestRevokedKeyEndsOpenOperations(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store, other := dbtest.Open(t, address, dbtest.Options()), dbtest.Open(t, address, dbtest.Options())
	g := &gatewayUnderTest{url: serveStore(t, store), store: store}
	for _, signals := range []bool{true, false} {
		tenant, key := g.company(t, "Open")
		campaign, _ := runningCampaign(t, tenant, 1)
		open := g.follow(t, key,
			`subscription ($id: ID!) { campaignItemUpdated(campaignId: $id, afterVersion: 1000) { id } }`,
			map[string]any{"id": campaign.ID})
		keys, err := tenant.APIKeys(t.Context())
		require.NoError(t, err)
		if signals {
			_, err = other.Tenant(keys[0].CompanyID).RevokeAPIKey(t.Context(), keys[0].ID)
			require.NoError(t, err)
		} else {
			conn, err := pgx.Connect(t.Context(), address)
			require.NoError(t, err)
			_, err = conn.Exec(t.Context(), "UPDATE api_keys SET revoked_at = now() WHERE id = $1", keys[0].ID)
			require.NoError(t, err)
			require.NoError(t, conn.Close(t.Context()))
		}
		for {
			if _, _, err := open.socket.Read(t.Context()); err != nil {
				require.EqualValues(t, 4403, websocket.CloseStatus(err))
				break
			}
		}
	}
}

// Signing out revokes the token on all replicas immediately and ends its open operations. The key's other tokens keep
// working.
func TestTokenRevokesItself(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, dbtest.Options())
	g := &gatewayUnderTest{url: serveStore(t, store), store: store}
	replica := &gatewayUnderTest{url: serveStore(t, dbtest.Open(t, address, dbtest.Options())), store: store}
	tenant, key := g.company(t, "Signed out")
	campaign, _ := runningCampaign(t, tenant, 1)
	token := func() string {
		var made struct{ CreateAccessToken struct{ Token string } }
		g.must(t, key, `mutation { createAccessToken(input: { scopes: [read] }) { token } }`, nil, &made)
		return made.CreateAccessToken.Token
	}
	mine, other := token(), token()
	var seen struct {
		Viewer struct {
			KeyName       string
			Scopes        []string
			ExpiresAt     *time.Time
			IsAccessToken bool
		}
	}
	const viewer = `{ viewer { keyName scopes expiresAt isAccessToken } }`
	replica.must(t, mine, viewer, nil, &seen)
	require.Equal(t, "test", seen.Viewer.KeyName)
	require.Equal(t, []string{"read"}, seen.Viewer.Scopes)
	require.True(t, seen.Viewer.IsAccessToken)
	require.WithinDuration(t, time.Now().Add(15*time.Minute), *seen.Viewer.ExpiresAt, time.Minute)
	g.must(t, key, viewer, nil, &seen)
	require.False(t, seen.Viewer.IsAccessToken)
	require.Nil(t, seen.Viewer.ExpiresAt)

	const follow = `subscription ($id: ID!) { campaignItemUpdated(campaignId: $id, afterVersion: 1000) { id } }`
	open := replica.follow(t, mine, follow, map[string]any{"id": campaign.ID})
	stillOpen := replica.follow(t, other, follow, map[string]any{"id": campaign.ID})

	const revoke = `mutation ($token: String) { revokeAccessToken(input: { token: $token }) { isRevoked } }`
	require.Equal(t, []string{"FORBIDDEN"}, g.query(t, mine, revoke, map[string]any{"token": other}).codes())
	require.Equal(t, []string{"BAD_INPUT"}, g.query(t, key, revoke, nil).codes())
	require.Equal(t, []string{"BAD_INPUT"}, g.query(t, key, revoke, map[string]any{"token": key}).codes())
	_, foreign := g.company(t, "Others")
	_, second := g.keyOf(t, campaign.CompanyID, model.APIKeyScopeRead)
	for _, caller := range []string{foreign, second} {
		require.JSONEq(t, `{"revokeAccessToken":{"isRevoked":false}}`,
			string(g.query(t, caller, revoke, map[string]any{"token": mine}).Data))
	}
	require.JSONEq(t, `{"revokeAccessToken":{"isRevoked":true}}`, string(g.query(t, mine, revoke, nil).Data))
	require.Equal(t, []string{"UNAUTHENTICATED"}, g.query(t, mine, viewer, nil).codes())
	for {
		if _, _, err := open.socket.Read(t.Context()); err != nil {
			require.EqualValues(t, 4403, websocket.CloseStatus(err))
			break
		}
	}
	require.Eventually(t, func() bool { return len(replica.query(t, mine, viewer, nil).Errors) > 0 }, 10*time.Second,
		5*time.Millisecond)
	require.JSONEq(t, `{"revokeAccessToken":{"isRevoked":false}}`,
		string(g.query(t, key, revoke, map[string]any{"token": mine}).Data), "once")
	g.must(t, other, viewer, nil, nil)
	require.NoError(t, stillOpen.socket.Ping(stillOpen.socket.CloseRead(t.Context())))
	require.JSONEq(t, `{"revokeAccessToken":{"isRevoked":true}}`,
		string(g.query(t, key, revoke, map[string]any{"token": other}).Data))
}
