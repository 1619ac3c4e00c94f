package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// whole is a response that was read to the last byte.
type whole struct {
	status int
	header http.Header
	text   string
}

func (w whole) isReplayed() bool { return w.header.Get("Idempotent-Replayed") == "true" }

// post sends JSON. Each header is a text such as "Name: value".
func (g *gatewayUnderTest) post(t testing.TB, path, key, body string, headers ...string) whole {
	t.Helper()
	a, err := g.tryPost(t.Context(), path, key, body, headers...)
	require.NoError(t, err)
	return a
}

func (g *gatewayUnderTest) tryPost(ctx context.Context, path, key, body string, headers ...string) (whole, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+path, strings.NewReader(body))
	if err != nil {
		return whole{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Api-Key", key)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return whole{}, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return whole{response.StatusCode, response.Header, string(text)}, err
}

// graphqlBody returns the body of a GraphQL request.
func graphqlBody(t testing.TB, query string, variables map[string]any) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	require.NoError(t, err)
	return string(body)
}

// requireReplay requires the second answer to be a replay of the first.
func requireReplay(t testing.TB, first, second whole) {
	t.Helper()
	require.False(t, first.isReplayed(), first.text)
	require.True(t, second.isReplayed(), second.text)
	require.Equal(t, first.status, second.status)
	require.Equal(t, first.text, second.text)
	require.NotEqual(t, first.header.Get("X-Trace-Id"), second.header.Get("X-Trace-Id"))
	for _, name := range []string{"Content-Type", "Content-Length", "Location", "Cache-Control", "X-Api-Version"} {
		require.Equal(t, first.header.Get(name), second.header.Get(name), name)
	}
}

const onceOnly = "Idempotency-Key: 1f0c"

// countDatasets returns how many datasets a company has.
func countDatasets(t testing.TB, g *gatewayUnderTest, key string) int {
	t.Helper()
	var read struct{ Datasets struct{ TotalCount int } }
	g.must(t, key, `{ datasets { totalCount } }`, nil, &read)
	return read.Datasets.TotalCount
}

func TestRepeatedPostRunsOnce(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	replica := &gatewayUnderTest{url: serveStore(t, dbtest.Reopen(t, g.store)), store: g.store}
	tenant, key := g.company(t, "One")
	_, otherKey := g.company(t, "Other")
	const body = `{"name":"Häuser","description":"\u003c'?\\"}`
	first := g.post(t, "/Dataset", key, body, onceOnly)
	require.Equal(t, http.StatusOK, first.status, first.text)
	require.NotEmpty(t, first.header.Get("Location"))
	requireReplay(t, first, g.post(t, "/Dataset", key, body, onceOnly))
	requireReplay(t, first, replica.post(t, "/Dataset", key, body, onceOnly))
	_, again := g.keyOf(t, idOf(t, tenant), model.APIKeyScopeAdmin)
	requireReplay(t, first, g.post(t, "/Dataset", again, body, onceOnly))
	for _, spelling := range []string{"/dataset", "/Dataset/", "/v1/Dataset", "//Dataset", "/%44ataset"} {
		requireReplay(t, first, g.post(t, spelling, key, body, onceOnly))
	}
	require.Equal(t, 1, countDatasets(t, g, key))

	another := g.post(t, "/Dataset", otherKey, body, onceOnly)
	require.False(t, another.isReplayed())
	require.NotEqual(t, first.text, another.text)

	_, lesser := g.keyOf(t, idOf(t, tenant), model.APIKeyScopeRead)
	for name, refused := range map[string]whole{
		"body":         g.post(t, "/Dataset", key, body+" ", onceOnly),
		"content type": g.post(t, "/Dataset", key, body, onceOnly, "Content-Type: text/json"),
		"scopes":       g.post(t, "/Dataset", lesser, body, onceOnly),
	} {
		require.Equal(t, http.StatusUnprocessableEntity, refused.status, name)
		require.Equal(t, "application/problem+json", refused.header.Get("Content-Type"))
		require.Contains(t, refused.text, `"code":"UNPROCESSABLE"`)
		require.Contains(t, refused.text, "Idempotency-Key")
		require.NotContains(t, refused.text, "user")
	}
	require.Equal(t, 1, countDatasets(t, g, key))
	require.False(t, g.post(t, "/Dataset", key, body).isReplayed(), "without the header no response is saved")
	require.False(t, g.post(t, "/Dataset", key, body, "Idempotency-Key: another").isReplayed())
	require.Equal(t, 3, countDatasets(t, g, key))

	var dataset struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(first.text), &dataset))
	document := g.post(t, "/Dataset/"+dataset.ID+"/document", key, body, onceOnly)
	require.Equal(t, http.StatusBadRequest, document.status, "another path is another request")
	requireReplay(t, document, g.post(t, "/v1/dataset/"+dataset.ID+"/DOCUMENT/", key, body, onceOnly))
	other := g.post(t, "/Dataset/"+strings.ToUpper(dataset.ID)+"/document", key, body, onceOnly)
	require.False(t, other.isReplayed(), "ids do not ignore case")

	bad := g.post(t, "/Dataset", key, body, "Idempotency-Key: "+strings.Repeat("k", 256))
	require.Equal(t, http.StatusBadRequest, bad.status)
	require.Contains(t, bad.text, "Idempotency-Key must be given once, with 1 to 255 printable ASCII characters")
}

// idOf returns the id of the tenant's company.
func idOf(t testing.TB, tenant *db.Tenant) string {
	t.Helper()
	company, err := tenant.Company(t.Context())
	require.NoError(t, err)
	return company.ID
}

func TestRepeatedMutationRunsOnce(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Mutations")
	create := graphqlBody(t,
		`mutation ($in: CreateDatasetInput!) { __typename createDataset(input: $in) { dataset { id createdAt } } }`,
		map[string]any{"in": map[string]any{"name": "D"}})
	first := g.post(t, "/graphql", key, create, onceOnly, "Accept: application/graphql-response+json")
	require.Equal(t, http.StatusOK, first.status, first.text)
	requireReplay(t, first, g.post(t, "/graphql", key, create, onceOnly, "Accept: application/graphql-response+json"))
	require.Equal(t, 1, countDatasets(t, g, key))
	other := g.post(t, "/graphql", key, create+"\n", onceOnly)
	require.Equal(t, http.StatusUnprocessableEntity, other.status)
	require.Contains(t, other.text, `"code":"UNPROCESSABLE"`)

	query := graphqlBody(t, `{ datasets { totalCount } }`, nil)
	for range 2 {
		require.False(t, g.post(t, "/graphql", key, query, onceOnly).isReplayed(), "responses of queries are not saved")
	}
	// One of the two mutations succeeded, so neither is carried out again.
	two := graphqlBody(t, `mutation { a: createDataset(input: {name: "A"}) { dataset { id } } b: deleteDataset(input:
		{datasetId: "none"}) { __typename } }`, nil)
	first = g.post(t, "/graphql", key, two, "Idempotency-Key: two")
	require.Contains(t, first.text, "NOT_FOUND")
	requireReplay(t, first, g.post(t, "/graphql", key, two, "Idempotency-Key: two"))
	require.Equal(t, 2, countDatasets(t, g, key))
}

func TestOnlyLastingFailuresAreReplayed(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Failures")
	_, reader := g.keyOf(t, idOf(t, tenant), model.APIKeyScopeRead)
	agent, _ := frontDesk(t, tenant)
	folder := fmt.Sprintf(`{"agentId":%q,"name":"F","color":"#112233"}`, agent)
	require.Equal(t, http.StatusOK, g.post(t, "/AgentTestFolder", key, folder).status)
	for _, c := range []struct {
		key, path, body string
		status          int
		kept            bool
	}{
		{key, "/Dataset", `{"name":""}`, 400, true},
		{key, "/Dataset/none/document", `{"name":"x","text":"x"}`, 404, true},
		{key, "/AgentTestFolder", folder, 422, true},
		{reader, "/Dataset", `{"name":"x"}`, 403, false},
		{"ag_wrong", "/Dataset", `{"name":"x"}`, 401, false},
		{key, "/Dataset", `{"name":`, 400, false},
		{key, "/Nothing", `{}`, 404, false},
	} {
		header := fmt.Sprintf("Idempotency-Key: %s %s %s %d", c.key, c.path, c.body, c.status)
		first, again := g.post(t, c.path, c.key, c.body, header), g.post(t, c.path, c.key, c.body, header)
		require.Equal(t, c.status, first.status, first.text)
		require.Equal(t, c.status, again.status, again.text)
		require.Equal(t, c.kept, again.isReplayed(), "%d at %s", c.status, c.path)
	}
}

func TestIdempotentPostTakesFixedStatements(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Statements")
	g.must(t, key, `{ company { id } }`, nil, nil) // a key's first use takes another statement
	cost := func(body string, headers ...string) int64 {
		before := g.statements.Load()
		require.Equal(t, http.StatusOK, g.post(t, "/graphql", key, body, headers...).status)
		return g.statements.Load() - before
	}
	create := graphqlBody(t, `mutation { createDataset(input: {name: "D"}) { dataset { id } } }`, nil)
	plain := cost(create)
	require.Equal(t, plain+5, cost(create, onceOnly), "the claim, a transaction, what notes that it was carried out, "+
		"and the response")
	require.EqualValues(t, 2, cost(create, onceOnly), "the response")
	query := graphqlBody(t, `{ datasets { totalCount } }`, nil)
	require.Equal(t, cost(query), cost(query, onceOnly))
}

func TestConcurrentRepeatsRunOnce(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	replica := &gatewayUnderTest{url: serveStore(t, dbtest.Reopen(t, g.store))}
	_, key := g.company(t, "At once")
	for round := range 5 {
		header := fmt.Sprint("Idempotency-Key: ", round)
		answers, errs := make([]whole, 16), make([]error, 16)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				answers[i], errs[i] = []*gatewayUnderTest{g, replica}[i%2].tryPost(t.Context(), "/Dataset", key, `{"name":"D"}`,
					header)
			})
		}
		all.Wait()
		first := 0
		for i, a := range answers {
			require.NoError(t, errs[i])
			if a.status == http.StatusConflict {
				require.Equal(t, "1", a.header.Get("Retry-After"))
				require.Contains(t, a.text, "Idempotency-Key")
				continue
			}
			require.Equal(t, http.StatusOK, a.status, a.text)
			if !a.isReplayed() {
				first++
			}
		}
		require.Equal(t, 1, first)
		require.Equal(t, round+1, countDatasets(t, g, key))
	}
}

// A secret is shown once and never stored.
func TestResponsesWithSecretsAreNotSaved(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, dbtest.Options())
	g := &gatewayUnderTest{url: serveStore(t, store), store: store}
	tenant, key := g.company(t, "Secrets")
	create := graphqlBody(t,
		`mutation { ...m } fragment m on Mutation { x: createApiKey(input: {name: "k", scopes: [read]}) { secret } }`, nil)
	first := g.post(t, "/graphql", key, create, onceOnly)
	var made struct {
		Data struct{ X struct{ Secret string } }
	}
	require.NoError(t, json.Unmarshal([]byte(first.text), &made), first.text)
	require.True(t, strings.HasPrefix(made.Data.X.Secret, "ag_"))
	again := g.post(t, "/graphql", key, create, onceOnly)
	require.Equal(t, http.StatusUnprocessableEntity, again.status)
	require.Contains(t, again.text, "was executed")
	keys, err := tenant.APIKeys(t.Context())
	require.NoError(t, err)
	require.Len(t, keys, 2)
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	var body []byte
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT body FROM idempotent_requests").Scan(&body))
	require.Nil(t, body)
}

func TestRepeatedUploadRunsOnce(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Uploads")
	dataset := newDatasetOf(t, tenant)
	content := string(bytes.Repeat([]byte("0123456789abcde\n"), 3<<16)) // too large to be held in memory
	operations := fmt.Sprintf(uploadPart, dataset.ID)
	for path, parts := range map[string]func(content string) []part{
		"/Dataset/" + dataset.ID +
			"/document": func(content string) []part { return []part{{"file", "a.txt", "text/plain", content}} },
		"/graphql": func(content string) []part {
			return []part{{name: "operations", content: operations}, {name: "map", content: `{"0":["variables.f"]}`},
				{"0", "a.txt", "text/plain", content}}
		},
	} {
		send := func(content string) whole {
			status, header, text := g.sendForm(t, path, key, []string{onceOnly, preflight}, parts(content)...)
			return whole{status, header, text}
		}
		first := send(content)
		require.Equal(t, http.StatusOK, first.status, first.text)
		requireReplay(t, first, send(content)) // with another boundary
		other := send(content[1:])
		require.Equal(t, http.StatusUnprocessableEntity, other.status, other.text)
		require.Contains(t, other.text, "Idempotency-Key")
	}
	var read struct{ Dataset struct{ DocumentCount int } }
	g.must(t, key, `query ($id: ID!) { dataset(id: $id) { documentCount } }`, map[string]any{"id": dataset.ID}, &read)
	require.Equal(t, 2, read.Dataset.DocumentCount)
}
