package app_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// importedLookUps counts lookups of imported keys by their hash.
type importedLookUps struct{ atomic.Int64 }

func (l *importedLookUps) TraceQueryStart(ctx context.Context, _ *pgx.Conn,
	query pgx.TraceQueryStartData) context.Context {
	if strings.Contains(query.SQL, "imported_key_hashes") && strings.Contains(query.SQL, "hash =") {
		l.Add(1)
	}
	return ctx
}

func (*importedLookUps) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// Clients of another server keep using their existing key over GraphQL, REST and sockets, until it is revoked.
func TestImportedKeysWorkUntilRevoked(t *testing.T) {
	t.Parallel()
	counted := &importedLookUps{}
	options := dbtest.Options()
	options.Tracer = counted
	store := dbtest.Open(t, dbtest.URL(t), options)
	g := &gatewayUnderTest{url: serveStore(t, store), store: store}
	tenant, own := g.company(t, "Moved")
	_, other := g.company(t, "Another")
	status := func(credential string) int {
		response := g.do(t, http.MethodPost, "/graphql", credential, `{"query":"{ __typename }"}`)
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	foreign := func(i int) string { return fmt.Sprintf("sk-live-9f8e7d6c5b4a%08d", i) }
	for i := range 700 {
		require.Equal(t, http.StatusUnauthorized, status(foreign(i)))
	}
	require.Zero(t, counted.Load(), "without imported keys, nothing is looked up or delayed")

	legacy := foreign(123)
	key, err := tenant.ImportAPIKey(t.Context(),
		model.ImportAPIKeyInput{Name: "v1", Scopes: []model.APIKeyScope{model.APIKeyScopeAdmin}, Secret: legacy})
	require.NoError(t, err)
	require.Equal(t, "sk-l", key.Prefix)
	require.Eventually(t, func() bool { return status(legacy) == http.StatusOK }, dbtest.WaitTimeout, 20*time.Millisecond)
	response := g.do(t, http.MethodGet, "/Agent/none", legacy, "")
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusNotFound, response.StatusCode, "the key was admitted")
	var viewer struct{ Viewer struct{ KeyID string } }
	g.must(t, legacy, "{ viewer { keyId } }", nil, &viewer)
	require.Equal(t, key.ID, viewer.Viewer.KeyID)
	var company struct{ Company struct{ ID string } }
	g.must(t, legacy, "{ company { id } }", nil, &company)
	require.Equal(t, tenant.CompanyID(), company.Company.ID)
	token, _ := g.token(t, legacy, "read")
	g.must(t, token, "{ __typename }", nil, nil)

	_, err = tenant.RevokeAPIKey(t.Context(), key.ID)
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, status(legacy))
	require.Equal(t, http.StatusUnauthorized, status(token))

	begin := counted.Load()
	refused := map[int]int{}
	for i := range 2_000 {
		refused[status(foreign(1_000+i))]++
	}
	require.Len(t, refused, 2)
	require.GreaterOrEqual(t, refused[http.StatusUnauthorized], 600)
	require.Positive(t, refused[http.StatusTooManyRequests])
	require.LessOrEqual(t, counted.Load()-begin, int64(refused[http.StatusUnauthorized]),
		"delayed credentials are not looked up")
	require.Equal(t, http.StatusOK, status(own), "signed")
	require.Equal(t, http.StatusOK, status(other))
}
