package gateway_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/gateway/testdata/probe"
)

func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// persisted is the body of a request that names its query by a hash. Without a query it sends the hash alone.
func persisted(query, hash string) string {
	text := `{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"` + hash + `"}}`
	if query != "" {
		text += `,"query":"` + query + `"`
	}
	return text + "}"
}

func TestPersistedQueriesAreRegistered(t *testing.T) {
	t.Parallel()
	f := start(t)
	send := func(text string) answer { return f.do(t, call{method: "POST", path: "/graphql", body: text}) }
	query := "query Learned { hello }"

	a := send(persisted("", sha(query)))
	require.Equal(t, http.StatusOK, a.status)
	fault, code := a.fault(t)
	require.Equal(t, "PersistedQueryNotFound", fault["message"])
	require.Equal(t, "PERSISTED_QUERY_NOT_FOUND", code)

	require.Contains(t, send(persisted(query, sha(query))).text, `{"data":{"hello":`)
	require.Contains(t, send(persisted("", sha(query))).text, `{"data":{"hello":`)
	require.Contains(t, send(`{"documentId":"sha256:`+sha(query)+`"}`).text, `{"data":{"hello":`)

	extensions := url.QueryEscape(`{"persistedQuery":{"version":1,"sha256Hash":"` + sha(query) + `"}}`)
	require.Contains(t, f.do(t, call{method: "GET", path: "/graphql?extensions=" + extensions}).text, `{"data":{"hello":`)
	require.Contains(t, f.do(t, call{method: "GET", path: "/graphql?documentId=" + url.QueryEscape("sha256:"+sha(query))}).
		text, `{"data":{"hello":`)
	events := f.do(t, call{method: "GET", path: "/graphql?extensions=" + extensions,
		headers: []string{"Accept: " + eventType}})
	require.Contains(t, events.text, `data: {"data":{"hello":`)
}

// Before a document is stored, its hash is compared with the text and the document is validated.
func TestPersistedQueriesCannotBeForged(t *testing.T) {
	t.Parallel()
	f := start(t)
	send := func(text string) answer { return f.do(t, call{method: "POST", path: "/graphql", body: text}) }
	query := "query Wanted { hello }"
	a := send(persisted("{ live }", sha(query)))
	_, code := a.fault(t)
	require.Equal(t, "BAD_INPUT", code)
	require.Equal(t, http.StatusBadRequest, a.status)
	_, code = send(persisted("", sha(query))).fault(t)
	require.Equal(t, "PERSISTED_QUERY_NOT_FOUND", code)

	invalid := "{ nothing }"
	_, code = send(persisted(invalid, sha(invalid))).fault(t)
	require.Equal(t, "GRAPHQL_VALIDATION_FAILED", code)
	_, code = send(persisted("", sha(invalid))).fault(t)
	require.Equal(t, "PERSISTED_QUERY_NOT_FOUND", code)

	for _, extension := range []string{`{"version":2,"sha256Hash":"x"}`, `{"version":1}`, `"x"`,
		`{"version":1,"sha256Hash":7}`} {
		_, code = send(`{"query":"{ hello }","extensions":{"persistedQuery":` + extension + `}}`).fault(t)
		require.Equal(t, "BAD_INPUT", code, extension)
	}
}

func TestPersistedMutationsAreNotForGET(t *testing.T) {
	t.Parallel()
	f := start(t)
	query := "mutation { increment }"
	require.Equal(t, http.StatusOK, f.do(t, call{method: "POST", path: "/graphql", body: persisted(query, sha(query))}).
		status)
	require.Equal(t, http.StatusMethodNotAllowed,
		f.do(t, call{method: "GET", path: "/graphql?documentId=sha256:" + sha(query)}).status)
}

// The least recently used documents are evicted.
func TestPersistedQueriesAreBounded(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.PersistedBytes = 10_000 }))
	send := func(text string) answer { return f.do(t, call{method: "POST", path: "/graphql", body: text}) }
	long := func(i int) string { return fmt.Sprintf("query Q%d { hello%s }", i, strings.Repeat(" ", 2_000)) }
	for i := range 5 {
		query := long(i)
		require.Equal(t, http.StatusOK, send(persisted(query, sha(query))).status)
	}
	require.Contains(t, send(persisted("", sha(long(0)))).text, "PersistedQueryNotFound")
	require.Contains(t, send(persisted("", sha(long(4)))).text, `"data"`)

	// A document that is larger than the cache is answered but not stored.
	huge := "{ hello" + strings.Repeat(" ", 10_000) + "}"
	require.Contains(t, send(persisted(huge, sha(huge))).text, `"data"`)
	require.Contains(t, send(persisted("", sha(huge))).text, "PersistedQueryNotFound")
}

func TestPersistedQueriesCanBeDisabled(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.PersistedBytes = 0 }))
	query := "{ hello }"
	a := f.do(t, call{method: "POST", path: "/graphql", body: persisted("", sha(query))})
	fault, code := a.fault(t)
	require.Equal(t, "PersistedQueryNotSupported", fault["message"])
	require.Equal(t, "PERSISTED_QUERY_NOT_SUPPORTED", code)
	require.Contains(t, f.do(t, call{method: "POST", path: "/graphql", body: persisted(query, sha(query))}).text, `"data"`)
}

func TestDocumentIDsNeedTrustedDocuments(t *testing.T) {
	t.Parallel()
	f := start(t)
	for _, id := range []string{"agents", sha("{ hello }")} {
		a := f.do(t, call{method: "POST", path: "/graphql", body: `{"documentId":"` + id + `","variables":{}}`})
		fault, code := a.fault(t)
		require.Equal(t, "this server has no trusted documents: send the text of the query", fault["message"])
		require.Equal(t, "PERSISTED_QUERY_NOT_SUPPORTED", code)
	}
}

func TestPersistedQueriesWorkOnSockets(t *testing.T) {
	t.Parallel()
	c := start(t).ready(t)
	query := "subscription { count(to: 1) }"
	c.send(`{"id":"1","type":"subscribe","payload":` + persisted("", sha(query)) + `}`)
	answer := c.receive()
	require.Equal(t, "error", answer["type"])
	require.Contains(t, fmt.Sprint(answer["payload"]), "PersistedQueryNotFound")
	for _, text := range []string{query, ""} {
		c.send(`{"id":"1","type":"subscribe","payload":` + persisted(text, sha(query)) + `}`)
		require.Equal(t, "next", c.receive()["type"])
		require.Equal(t, "complete", c.receive()["type"])
	}
}

func TestOnlyTrustedDocumentsRun(t *testing.T) {
	t.Parallel()
	hello, live := "query Hello { hello }", "query Live { live }"
	relay, err := json.Marshal(map[string]string{sha(live): live, "counting": "subscription { count(to: 1) }"})
	require.NoError(t, err)
	apollo := `{"format":"apollo-persisted-query-manifest","version":1,"operations":[{"id":"a1","name":"T","type":"query","body":"query T { tree { name } }"}]}`
	files := fstest.MapFS{
		"hello.graphql": {Data: []byte(hello)}, "generated/relay.json": {Data: relay}, "apollo.json": {Data: []byte(apollo)},
		"README.md": {Data: []byte("#")},
	}
	f := start(t, func(o *gateway.Options) {
		o.Settings.Trusted, err = gateway.LoadTrustedDocuments(files, o.Schema.Schema(), o.Settings)
		require.NoError(t, err)
	})
	send := func(text string) answer { return f.do(t, call{method: "POST", path: "/graphql", body: text}) }
	for _, good := range []string{
		`{"documentId":"hello"}`, `{"documentId":"sha256:` + sha(hello) + `"}`, persisted("", sha(hello)),
		persisted(hello, sha(hello)), body(t, hello),
		`{"documentId":"hello","query":"` + hello + `"}`, `{"documentId":"` + sha(live) + `"}`, persisted("", sha(live)),
		`{"documentId":"a1"}`,
	} {
		require.Contains(t, send(good).text, `{"data":{`, good)
	}
	for bad, want := range map[string]string{
		body(t, "{ hello }"):                        "FORBIDDEN",
		persisted("{ hello }", sha("{ hello }")):    "FORBIDDEN",
		body(t, "{ __schema { types { name } } }"):  "FORBIDDEN",
		`{"documentId":"hello","query":"{ live }"}`: "BAD_INPUT",
		`{"documentId":"other"}`:                    "PERSISTED_QUERY_NOT_FOUND",
		persisted("", sha("{ hello }")):             "PERSISTED_QUERY_NOT_FOUND",
	} {
		_, code := send(bad).fault(t)
		require.Equal(t, want, code, bad)
	}
	c := f.ready(t)
	c.send(`{"id":"1","type":"subscribe","payload":{"documentId":"counting"}}`)
	require.Equal(t, "next", c.receive()["type"])
	require.Equal(t, "complete", c.receive()["type"])
	c.subscribe("2", "subscription { count(to: 1) }")
	require.Equal(t, "next", c.receive()["type"])
	require.Equal(t, "complete", c.receive()["type"])
	c.subscribe("3", "subscription { count(to: 2) }")
	require.Equal(t, "error", c.receive()["type"])
}

func TestInvalidTrustedDocumentsAreRefused(t *testing.T) {
	t.Parallel()
	schema := probe.NewExecutableSchema(probe.Config{Resolvers: &probe.Root{}}).Schema()
	for want, file := range map[string]string{
		"a.graphql, document a: line 2, column 2: Cannot query field":                   "{\n nothing\n}",
		"a.graphql, document a: line 2, column 2: Unexpected":                           "{ hello }\n }",
		"a.graphql, document a: the query is nested deeper than the limit of 25 levels": deep(26),
		"b.json: it must be a JSON object":                                              `["{ hello }"]`,
		"b.json, document " + strings.Repeat("0", 64) + ": the id is a SHA-256, but it does not match": `{"` +
			strings.Repeat("0", 64) + `":"{ hello }"}`,
		"b.json, document : the id is empty":                    `{"":"{ hello }"}`,
		"load the trusted documents: the directory has no file": "",
	} {
		name := want[:strings.IndexAny(want, ",: ")]
		files := fstest.MapFS{name: {Data: []byte(file)}}
		_, err := gateway.LoadTrustedDocuments(files, schema, gateway.DefaultSettings())
		require.ErrorContains(t, err, want)
	}
	twice := t.TempDir()
	for name, text := range map[string]string{"a.graphql": "{ hello }", "a.gql": "{ live }"} {
		require.NoError(t, os.WriteFile(filepath.Join(twice, name), []byte(text), 0o600))
	}
	_, err := gateway.LoadTrustedDocuments(os.DirFS(twice), schema, gateway.DefaultSettings())
	require.ErrorContains(t, err, "another document has the same id")
}

func TestBatchAnswersEachOperation(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.Batch = 3; s.RateLimit = 100; s.QueryCost = 100 }))
	send := func(text string, headers ...string) answer {
		return f.do(t, call{method: "POST", path: "/graphql", body: text, headers: headers})
	}
	one := `{"query":"{ hello }"}`
	a := send(" [" + one + `,{"query":"{ nothing }"},{"query":"subscription { count(to: 1) }"}]`)
	require.Equal(t, http.StatusOK, a.status)
	var answers []struct {
		Data   map[string]any
		Errors []struct{ Extensions struct{ Code string } }
	}
	require.NoError(t, json.Unmarshal([]byte(a.text), &answers))
	require.Len(t, answers, 3)
	require.NotEmpty(t, answers[0].Data["hello"])
	require.Equal(t, "GRAPHQL_VALIDATION_FAILED", answers[1].Errors[0].Extensions.Code)
	require.Equal(t, "BAD_INPUT", answers[2].Errors[0].Extensions.Code)

	_, code := send("[" + one + "," + one + "," + one + "," + one + "]").fault(t)
	require.Equal(t, "LIMIT_EXCEEDED", code)
	for bad, want := range map[string]string{"[]": "the list of requests is empty", "[" + one +
		",{}]": "request 2 of the list: query is missing", "[": "not valid JSON"} {
		a := send(bad)
		require.Equal(t, http.StatusBadRequest, a.status, bad)
		fault, _ := a.fault(t)
		require.Contains(t, fault["message"], want)
	}
	require.Equal(t, http.StatusBadRequest, send("["+one+"]", "Idempotency-Key: k").status)
}

// The refusal of a batch names the setting that enables batches.
func TestBatchIsRefusedByItsSetting(t *testing.T) {
	t.Parallel()
	a := start(t).do(t, call{method: "POST", path: "/graphql", body: `[{"query":"{ hello }"}]`})
	require.Equal(t, http.StatusBadRequest, a.status)
	fault, _ := a.fault(t)
	require.Contains(t, fault["message"], "AGENTGRAPH_MAX_BATCH")
}

// Each operation of a batch counts.
func TestBatchCountsEachOperation(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.Batch = 3; s.RateLimit = 2 }))
	one := `{"query":"{ hello }"}`
	a := f.do(t, call{method: "POST", path: "/graphql", body: "[" + one + "," + one + "," + one + "]"})
	require.Equal(t, 2, strings.Count(a.text, `"data":{"hello"`), a.text)
	require.Equal(t, 1, strings.Count(a.text, "RATE_LIMITED"), a.text)
}

// A list of requests has the size limit of one response.
func TestBatchIsBoundedAsOneResponse(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.Batch = 100; s.ResponseBytes = 1_000 }))
	one := `{"query":"{ hello }"}`
	a := f.do(t, call{method: "POST", path: "/graphql", body: "[" + strings.Repeat(one+",", 99) + one + "]"})
	answered := strings.Count(a.text, `"data":{"hello"`)
	require.Greater(t, answered, 10, a.text)
	require.Equal(t, 100-answered, strings.Count(a.text, "the earlier responses of this batch exceed"), a.text)
	require.Less(t, answered, 1_000/len(`{"data":{"hello":""}}`)+2)
}
