package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/gateway/stored"
	"github.com/agentgraph/agentgraph/model"
)

func TestErrorsAreProblemDetails(t *testing.T) {
	t.Parallel()
	b, server := newServer(t)
	b.fails(model.NotFound, `agent "<a>" does not exist`, nil)
	w := call(server, "GET", "/agent/%3Ca%3E/?", "")
	require.Equal(t, 404, w.Code)
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
	require.Equal(t, `{"type":"https://tools.ietf.org/html/rfc7231#section-6.5.4","title":"Not Found","status":404,`+
		`"detail":"agent \"<a>\" does not exist","instance":"/agent/%3Ca%3E/","code":"NOT_FOUND","traceId":"trace-1"}`+"\n",
		w.Body.String())
}

func TestCodesBecomeStatuses(t *testing.T) {
	t.Parallel()
	for code, status := range map[model.Code]int{
		model.NotFound: 404, model.Conflict: 409, model.Unprocessable: 422, model.UpstreamFailed: 502, model.Internal: 500,
		"NEW": 500,
	} {
		b, server := newServer(t)
		b.fails(code, "it went wrong", nil)
		w := call(server, "POST", "/SimulationChat/send-message", `{"simulationChatId":"s","message":"m"}`)
		require.Equal(t, status, w.Code, code)
		require.Equal(t, "it went wrong", problemOf(t, w).Detail)
	}
}

// TestNestedErrorFailsTheRequest requires that an error of a nested field fails the request, because v1 has no partial
// responses.
func TestNestedErrorFailsTheRequest(t *testing.T) {
	t.Parallel()
	b, server := newServer(t)
	b.respond = func() *graphql.Response {
		return &graphql.Response{
			Data: json.RawMessage(`{"agent":{"agentId":"a","chatId":"c","chatName":null}}`),
			Errors: gqlerror.List{
				{Message: "gone", Extensions: map[string]any{"code": "NOT_FOUND"}},
				{Message: "internal error", Extensions: map[string]any{"code": "INTERNAL"}},
			},
		}
	}
	w := call(server, "GET", "/Agent/a/chat", "")
	require.Equal(t, 500, w.Code, "the most severe error counts")
	require.Equal(t, "internal error", problemOf(t, w).Detail)
}

func TestErrorWithoutACodeIsMasked(t *testing.T) {
	t.Parallel()
	b, server := newServer(t)
	b.respond = func() *graphql.Response {
		return &graphql.Response{Data: json.RawMessage("null"), Errors: gqlerror.List{{Message: "pq: secret"}}}
	}
	w := call(server, "GET", "/Agent/a", "")
	require.Equal(t, 500, w.Code)
	require.Equal(t, "internal error", problemOf(t, w).Detail)
}

func TestMissingResultIsNotFound(t *testing.T) {
	t.Parallel()
	for path, data := range map[string]string{
		"/Agent/a":          `{"agent":null}`,
		"/SimulationChat/s": `null`,
	} {
		b, server := newServer(t)
		b.gives(data)
		w := call(server, "GET", path, "")
		require.Equal(t, 404, w.Code)
		require.Equal(t, model.NotFound, problemOf(t, w).Code)
	}
}

func TestRefusedOperationIsAProblem(t *testing.T) {
	t.Parallel()
	b := &backend{schema: theSchema(t)}
	transport, err := New(b.schema, Options{Status: statusOf, TraceID: func(context.Context) string { return "trace-1" }})
	require.NoError(t, err)
	server := handler.New(b)
	server.AddTransport(transport)
	server.Use(refuseAll{})
	w := call(server, "GET", "/Agent/a", "")
	require.Equal(t, 503, w.Code)
	require.Equal(t, "not now", problemOf(t, w).Detail)
	require.Equal(t, "5", w.Header().Get("Retry-After"))
	require.Zero(t, b.calls)
}

type refuseAll struct{}

func (refuseAll) ExtensionName() string                   { return "RefuseAll" }
func (refuseAll) Validate(graphql.ExecutableSchema) error { return nil }
func (refuseAll) MutateOperationParameters(context.Context, *graphql.RawParams) *gqlerror.Error {
	return &gqlerror.Error{Message: "not now", Extensions: map[string]any{"code": "UNAVAILABLE"}}
}

func TestCancelledRequestIsUnavailable(t *testing.T) {
	t.Parallel()
	_, server := newServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	server.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/Agent/a", nil))
	require.Equal(t, 503, w.Code)
	problemOf(t, w)
}

func TestRefusalIsAProblem(t *testing.T) {
	t.Parallel()
	transport, err := New(theSchema(t),
		Options{Status: statusOf, TraceID: func(context.Context) string { return "trace-1" }})
	require.NoError(t, err)
	w := httptest.NewRecorder()
	transport.Refuse(w, httptest.NewRequestWithContext(t.Context(), "GET", "/Agent/a", nil),
		&gqlerror.Error{Message: "the request has no credential", Extensions: map[string]any{"code": "UNAUTHENTICATED"}})
	p := problemOf(t, w)
	require.Equal(t, 401, p.Status)
	require.Equal(t, "https://tools.ietf.org/html/rfc7235#section-3.1", p.Type)
	require.Equal(t, "ApiKey", w.Header().Get("WWW-Authenticate"))
}

func TestAcceptMustAllowJSON(t *testing.T) {
	t.Parallel()
	b, server := newServer(t)
	for accept, status := range map[string]int{
		"application/json":                          200,
		"APPLICATION/JSON;q=0.1":                    200,
		"text/json":                                 200,
		"application/problem+json":                  200,
		"application/*":                             200,
		"text/html, */*;q=0.1":                      200,
		"text/html,application/xml,*/*":             200,
		"application/json;q=0, text/json":           200,
		"text/html":                                 200,
		"application/json;q=0":                      406,
		"application/json;q=0.0, */*":               406,
		"text/json;q=0, application/json;q=0":       406,
		"*/*;q=0":                                   200,
		"application/xml, image/*":                  200,
		"application/graphql-response+json":         200,
		"application/*;q=0, */*":                    200,
		"application/json;q=0.5, application/*;q=0": 200,
		";;": 200,
	} {
		w := call(server, "GET", "/Agent/a", "", "Accept: "+accept)
		require.Equal(t, status, w.Code, accept)
		if status == 406 {
			problemOf(t, w)
		}
	}
	calls := b.calls
	require.Equal(t, 406, call(server, "DELETE", "/Agent/a/chat", "", "Accept: application/json;q=0").Code)
	require.Equal(t, calls, b.calls)
}

// In v1 a missing campaign is a failed lookup with status 400. A missing item of a campaign has status 404.
func TestMissingCampaignIsABadRequest(t *testing.T) {
	t.Parallel()
	campaign := func(argument string) func(*backend) {
		return func(b *backend) {
			b.fails(model.NotFound, `campaign "campaign_1" does not exist`,
				model.Fields{argument: {"must be the id of a campaign"}})
		}
	}
	item := func(b *backend) { b.fails(model.NotFound, `campaign item "item_1" does not exist`, nil) }
	for _, test := range []struct {
		method, path, body string
		fails              func(*backend)
		status             int
	}{
		{"GET", "/CampaignItem/campaign_1", "", campaign("campaignId"), 400},
		{"POST", "/CampaignItem/campaign_1", `{"items":[{}]}`, campaign("campaignId"), 400},
		{"GET", "/CampaignItem/campaign_1/item_1", "", campaign("campaignId"), 400},
		{"DELETE", "/CampaignItem/campaign_1/item_1", "", campaign("campaignId"), 400},
		{"POST", "/CampaignItem/campaign_1/item_1/reset", "", campaign("campaignId"), 400},
		{"GET", "/CampaignField?campaignId=campaign_1", "", campaign("id"), 400},
		{"POST", "/CampaignField", `{"campaignId":"campaign_1","name":"a"}`, campaign("campaignId"), 400},
		{"GET", "/CampaignItem/campaign_1/item_1", "", item, 404},
		{"DELETE", "/CampaignItem/campaign_1/item_1", "", item, 404},
		{"POST", "/CampaignItem/campaign_1/item_1/reset", "", item, 404},
	} {
		b, server := newServer(t)
		test.fails(b)
		w := call(server, test.method, test.path, test.body)
		require.Equal(t, test.status, w.Code, "%s %s", test.method, test.path)
		p := problemOf(t, w)
		if test.status == 400 {
			require.Equal(t, model.BadInput, p.Code)
			require.Equal(t, `campaign "campaign_1" does not exist`, p.Detail)
			require.Equal(t, model.Fields{"campaignId": {"must be the id of a campaign"}}, p.Errors)
			require.Equal(t, "https://tools.ietf.org/html/rfc7231#section-6.5.1", p.Type)
		} else {
			require.Equal(t, model.NotFound, p.Code)
			require.Equal(t, `campaign item "item_1" does not exist`, p.Detail)
		}
	}
}

func TestInvalidQueriesAreRefused(t *testing.T) {
	t.Parallel()
	for path, field := range map[string]string{
		"/CampaignItem/campaign_1?runningStatus=Done":              "runningStatus",
		"/CampaignItem/campaign_1?isArchived=maybe":                "isArchived",
		"/CampaignItem/campaign_1?isArchived=true&isArchived=true": "isArchived",
		"/CampaignItem/campaign_1?pageSize=0":                      "pageSize",
		"/CampaignField":                                           "campaignId",
		"/CampaignField?campaignId=":                               "campaignId",
		"/AgentTest?folderId=&agentId=agent_1":                     "folderId",
		"/AgentTest?agentId":                                       "agentId",
		"/AgentTest?KIND=":                                         "kind",
		"/AgentTest?atRoot=":                                       "atRoot",
		"/AgentTestRun?testId=":                                    "testId",
		"/AgentTestRun?executionId=":                               "executionId",
		"/AgentTestRun?status=":                                    "status",
		"/CampaignItem/campaign_1?runningStatus=":                  "runningStatus",
		"/CampaignItem/campaign_1?isArchived=":                     "isArchived",
	} {
		b, server := newServer(t)
		w := call(server, "GET", path, "")
		require.Equal(t, 400, w.Code, path)
		require.Contains(t, problemOf(t, w).Errors, field, path)
		require.Zero(t, b.calls)
	}
}

func TestUnknownParametersAreRefused(t *testing.T) {
	t.Parallel()
	const pages = "is not a known parameter; the parameters are pageNumber, pageSize"
	for request, want := range map[string]model.Fields{
		"GET /Dataset?page=2":                      {"page": {pages}},
		"GET /Dataset?pageNumber=1&page=2&limit=3": {"page": {pages}, "limit": {pages}},
		"HEAD /Dataset?page=2":                     {"page": {pages}},
		"GET /Dataset?=2":                          {"": {pages}},
		"GET /Agent/a?agentId=a":                   {"agentId": {"is not a known parameter; this operation has no parameters"}},
		"GET /Agent/a?x=%zz":                       {"query": {"is not a well-formed query string"}},
		"POST /Dataset?name=n":                     {"name": {"is not a known parameter; this operation has no parameters"}},
		"DELETE /Dataset/d?force=true":             {"force": {"is not a known parameter; this operation has no parameters"}},
		"POST /SimulationChat/start?agentId=a":     {"agentId": {"is not a known parameter; this operation has no parameters"}},
		"GET /Dataset?" + strings.Repeat("é", 100): {strings.Repeat("é", 64) + "…": {pages}},
	} {
		b, server := newServer(t)
		method, path, _ := strings.Cut(request, " ")
		body := ""
		if method == "POST" {
			body = `{"name":"n","agentId":"a"}`
		}
		w := call(server, method, path, body)
		require.Equal(t, 400, w.Code, request)
		p := problemOf(t, w)
		require.Equal(t, model.BadInput, p.Code)
		require.Equal(t, want, p.Errors, request)
		require.Zero(t, b.calls)
	}
}

func TestManyUnknownParametersAreNotAllNamed(t *testing.T) {
	t.Parallel()
	_, server := newServer(t)
	for _, start := range []string{"p", strings.Repeat("p", 64)} { // faults show only the first 64 characters of a name
		var query strings.Builder
		for i := range 1_000 {
			fmt.Fprintf(&query, "&%s%d=1", start, i)
		}
		w := call(server, "GET", "/Dataset?"+query.String(), "")
		require.Equal(t, 400, w.Code)
		count := 0
		for _, texts := range problemOf(t, w).Errors {
			count += len(texts)
		}
		require.Equal(t, stored.MaxFaults, count)
	}
}
