package app_test

import (
	"context"
	"fmt"
	"hash/crc32"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// lookUps counts how often credentials are looked up.
type lookUps struct{ atomic.Int64 }

func (l *lookUps) TraceQueryStart(ctx context.Context, _ *pgx.Conn, query pgx.TraceQueryStartData) context.Context {
	if strings.Contains(query.SQL, `FROM "api_keys"`) && strings.Contains(query.SQL, "prefix =") ||
		strings.Contains(query.SQL, `FROM "access_tokens"`) {
		l.Add(1)
	}
	return ctx
}

func (*lookUps) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// invented returns a credential in our format that does not exist. Anyone who knows the format can make one.
func invented(kind, companyID string, i int, signature string) string {
	text := fmt.Sprintf("%s_%s_%032d%s", kind, strings.TrimPrefix(companyID, "company_"), i, signature)
	return text + fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(text)))
}

// TestUnknownCredentialsCostFewStatements sends thousands of credentials that do not exist. Credentials in our format
// are looked up a bounded number of times. At the same time, clients with a signed credential, or with an older
// credential that was used before, are admitted.
func TestUnknownCredentialsCostFewStatements(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	// unsigned and late are created without a secret key, foreign with a key other than the program's.
	before := dbtest.Open(t, address, db.Options{})
	company, err := before.CreateCompany(t.Context(), "Strangers")
	require.NoError(t, err)
	keyOf := func(store *db.Store) string {
		_, secret, err := store.Tenant(company.ID).
			CreateAPIKey(t.Context(), model.CreateAPIKeyInput{Name: "key", Scopes: []model.APIKeyScope{model.APIKeyScopeAdmin}})
		require.NoError(t, err)
		return secret
	}
	unsigned, late, foreign := keyOf(before), keyOf(before),
		keyOf(dbtest.Open(t, address, db.Options{SecretKey: make([]byte, 32)}))
	require.Len(t, foreign, len(unsigned)+16)

	counted := &lookUps{}
	options := dbtest.Options()
	options.Tracer = counted
	store := dbtest.Open(t, address, options)
	g := &gatewayUnderTest{url: serveStore(t, store), store: store}
	signed, fresh := keyOf(store), keyOf(store)
	status := func(credential string) int {
		response := g.do(t, http.MethodPost, "/graphql", credential, `{"query":"{ __typename }"}`)
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	token, _ := g.token(t, signed, "read")
	for _, good := range []string{unsigned, foreign, signed, token} {
		require.Equal(t, http.StatusOK, status(good))
	}

	begin := counted.Load()
	for i := range 100 {
		require.Equal(t, http.StatusUnauthorized, status(invented("ag", company.ID, i, "")[1:]), "of another form")
		require.Equal(t, http.StatusUnauthorized, status("agt_"+invented("ag", company.ID, i, "")), "of another form")
	}
	require.Equal(t, begin, counted.Load(), "a mistyped credential is not looked up")

	refused := map[int]int{}
	for i := range 3_000 {
		kinds := []string{"ag", "agt"}
		signatures := []string{"", "0123456789abcdef"}
		refused[status(invented(kinds[i%2], company.ID, i, signatures[i/2%2]))]++
	}
	require.Len(t, refused, 2)
	require.GreaterOrEqual(t, refused[http.StatusUnauthorized], 600)
	require.Positive(t, refused[http.StatusTooManyRequests])
	require.EqualValues(t, refused[http.StatusUnauthorized], counted.Load()-begin)

	require.Equal(t, http.StatusOK, status(fresh), "signed and never used before")
	for _, known := range []string{unsigned, foreign, signed, token} {
		require.Equal(t, http.StatusOK, status(known))
	}
	require.Contains(t, []int{http.StatusOK, http.StatusTooManyRequests}, status(late),
		"not signed, and never used before")
}

// Without a secret key, credentials have no signature, and every credential is looked up.
func TestCredentialsWorkWithoutASecretKey(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	with := dbtest.Open(t, address, dbtest.Options())
	store := dbtest.Open(t, address, db.Options{})
	g := &gatewayUnderTest{url: serveStore(t, store), store: store}
	tenant, unsigned := g.company(t, "No secret")
	_, signed, err := with.Tenant(companyIDOf(t, tenant)).
		CreateAPIKey(t.Context(), model.CreateAPIKeyInput{Name: "key", Scopes: []model.APIKeyScope{model.APIKeyScopeRead}})
	require.NoError(t, err)
	for _, key := range []string{unsigned, signed} {
		g.must(t, key, "{ __typename }", nil, nil)
	}
	require.Len(t, unsigned, len(signed)-16)
	token, _ := g.token(t, unsigned, "read")
	g.must(t, token, "{ __typename }", nil, nil)
	for i := range 700 {
		response := g.do(t, http.MethodPost, "/graphql", invented("ag", companyIDOf(t, tenant), i, ""),
			`{"query":"{ __typename }"}`)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusUnauthorized, response.StatusCode)
	}
}
