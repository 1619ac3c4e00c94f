package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway"
)

func TestErrorsReachTheClientWithCodes(t *testing.T) {
	t.Parallel()
	f := start(t)
	err, code := f.post(t, "{ fail(how: MODEL) }").fault(t)
	require.Equal(t, "NOT_FOUND", code)
	require.Equal(t, `agent "a1" does not exist`, err["message"])
	require.Equal(t, []any{"fail"}, err["path"])

	err, code = f.post(t, "{ fail(how: FIELDS) }").fault(t)
	require.Equal(t, "BAD_INPUT", code)
	require.Equal(t, map[string]any{"llmSettings.topP": []any{"must be at most 1"}},
		err["extensions"].(map[string]any)["fields"])

	_, code = f.post(t, "{ fail(how: DEADLINE) }").fault(t)
	require.Equal(t, "UNAVAILABLE", code)
}

func TestStatusOfUnavailableResponses(t *testing.T) {
	t.Parallel()
	f := start(t)
	for query, status := range map[string]int{
		"{ fail(how: DEADLINE) }":                         http.StatusServiceUnavailable,
		"{ a: fail(how: DEADLINE) fail(how: DEADLINE) }":  http.StatusServiceUnavailable,
		"{ fail(how: DEADLINE) hello }":                   http.StatusOK,
		"{ fail(how: DEADLINE) other: fail(how: MODEL) }": http.StatusOK,
		"{ fail(how: MODEL) }":                            http.StatusOK,
	} {
		a := f.post(t, query)
		require.Equal(t, status, a.status, query)
		require.Equal(t, status == http.StatusServiceUnavailable, a.header.Get("Retry-After") != "", query)
		require.Contains(t, a.json, "data", query)
	}
}

func TestErrorsDoNotDiscardData(t *testing.T) {
	t.Parallel()
	a := start(t).post(t, "{ hello fail(how: MODEL) other: fail(how: FIELDS) }")
	require.Equal(t, http.StatusOK, a.status)
	require.Equal(t, map[string]any{"hello": "hello", "fail": nil, "other": nil}, a.json["data"])
	require.Len(t, a.json["errors"], 2)
}

func TestNullCanPropagateToTheRoot(t *testing.T) {
	t.Parallel()
	a := start(t).post(t, "{ tree { child { broken } } }")
	require.Equal(t, http.StatusOK, a.status)
	require.Contains(t, a.json, "data")
	require.Nil(t, a.json["data"])
	err, _ := a.fault(t)
	require.Equal(t, []any{"tree", "child", "broken"}, err["path"])
}

func TestOtherErrorsAreMasked(t *testing.T) {
	t.Parallel()
	f := start(t)
	for _, how := range []string{"PLAIN", "PANIC"} {
		a := f.post(t, "{ fail(how: "+how+") hello }")
		require.Equal(t, http.StatusOK, a.status)
		require.NotContains(t, a.text, "secret")
		err, code := a.fault(t)
		require.Equal(t, "INTERNAL", code)
		require.Equal(t, "internal error", err["message"])
		trace := err["extensions"].(map[string]any)["traceId"].(string)
		require.Equal(t, a.header.Get("X-Trace-Id"), trace)
		require.Contains(t, f.log.String(), trace)
	}
	require.Contains(t, f.log.String(), "secret of the database")
	require.Contains(t, f.log.String(), "secret of the panic")
	require.Equal(t, 1, strings.Count(f.log.String(), `"stack"`))
}

func TestSharedErrorIsNotModified(t *testing.T) {
	t.Parallel()
	f := start(t)
	a := f.post(t, "{ a: fail(how: SHARED) b: fail(how: SHARED) }")
	errs := a.json["errors"].([]any)
	require.Len(t, errs, 2)
	require.NotEqual(t, errs[0].(map[string]any)["path"], errs[1].(map[string]any)["path"])
}

func TestCodesMapToStatuses(t *testing.T) {
	t.Parallel()
	for code, status := range map[string]int{
		"UNAUTHENTICATED": 401, "FORBIDDEN": 403, "NOT_FOUND": 404, "BAD_INPUT": 400, "UNPROCESSABLE": 422, "CONFLICT": 409,
		"LIMIT_EXCEEDED": 400, "RATE_LIMITED": 429, "UPSTREAM_FAILED": 502, "UNAVAILABLE": 503, "INTERNAL": 500,
		"GRAPHQL_PARSE_FAILED": 400, "GRAPHQL_VALIDATION_FAILED": 400, "unknown": 500, "": 500,
	} {
		require.Equal(t, status, gateway.StatusOf(code), code)
	}
}
