package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/model"
)

// withRateLimit sets a rate limit. The bucket refills so slowly that nothing is added while a test runs.
func withRateLimit(perMinute int) func(*gateway.Options) {
	return settings(func(s *gateway.Settings) { s.RateLimit = perMinute })
}

func TestRequestsBeyondTheLimitAreRefused(t *testing.T) {
	t.Parallel()
	f := start(t, withRateLimit(2), func(o *gateway.Options) {
		o.Transports = []graphql.Transport{
			other{do: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }}}
	})
	for _, left := range []string{"1", "0"} {
		a := f.post(t, "{ hello }")
		require.Equal(t, http.StatusOK, a.status)
		require.Equal(t, "2", a.header.Get("RateLimit-Limit"))
		require.Equal(t, left, a.header.Get("RateLimit-Remaining"))
		seconds(t, a.header, "RateLimit-Reset")
		require.Empty(t, a.header.Values("Retry-After"))
	}
	for _, accept := range []string{graphqlType, jsonType, eventType} {
		a := f.do(t, call{method: "POST", path: "/graphql", body: body(t, "{ hello }"),
			headers: []string{"Accept: " + accept}})
		require.Equal(t, http.StatusTooManyRequests, a.status)
		require.Equal(t, "0", a.header.Get("RateLimit-Remaining"))
		seconds(t, a.header, "Retry-After")
		err, code := a.fault(t)
		require.Equal(t, "RATE_LIMITED", code)
		require.Contains(t, err["message"], "2 requests per minute")
		require.NotContains(t, a.json, "data")
	}
	a := f.do(t, call{method: "GET", path: "/Agent/a1"})
	require.Equal(t, http.StatusTooManyRequests, a.status)
	require.Contains(t, a.text, "refused: ", "in the format of its transport")
	seconds(t, a.header, "Retry-After")

	open := []string{"X-Api-Key:"}
	require.Equal(t, http.StatusOK, f.do(t, call{method: "GET", path: "/healthz", headers: open}).status)
	require.Equal(t, http.StatusOK, f.do(t, call{method: "GET", path: "/readyz", headers: open}).status)
	unknown := f.do(t, call{method: "GET", path: "/Agent/a1", headers: []string{"X-Api-Key: ag_wrong"}})
	require.Equal(t, http.StatusUnauthorized, unknown.status, "an unknown key has no limit to count against")
	require.Empty(t, unknown.header.Values("RateLimit-Limit"))
}

func TestOperationsOnSocketsCount(t *testing.T) {
	t.Parallel()
	f := start(t, withRateLimit(3))
	s := f.ready(t)
	for i := range 3 {
		s.subscribe(fmt.Sprint(i), "{ hello }")
		require.Equal(t, "next", s.receive()["type"])
		require.Equal(t, "complete", s.receive()["type"])
	}
	s.subscribe("4", "{ hello }")
	m := s.receive()
	require.Equal(t, "error", m["type"])
	require.Equal(t, "4", m["id"])
	errs := m["payload"].([]any)
	require.Len(t, errs, 1)
	require.Equal(t, "RATE_LIMITED", errs[0].(map[string]any)["extensions"].(map[string]any)["code"])
	s.send(`{"type":"ping"}`)
	s.expect(`{"type":"pong"}`)
	require.Equal(t, http.StatusTooManyRequests, f.post(t, "{ hello }").status, "one limit for all transports")
}

func TestRateLimitIsOffByDefault(t *testing.T) {
	t.Parallel()
	f := start(t)
	a := f.post(t, "{ hello }")
	require.Equal(t, http.StatusOK, a.status)
	require.Empty(t, a.header.Values("RateLimit-Limit"))
}

func seconds(t *testing.T, h http.Header, name string) {
	t.Helper()
	n, err := strconv.Atoi(h.Get(name))
	require.NoError(t, err, name)
	require.Positive(t, n)
	require.LessOrEqual(t, n, 60)
}

func TestCompanyKeysShareALimit(t *testing.T) {
	t.Parallel()
	f := start(t, func(o *gateway.Options) {
		o.Settings.RateLimit, o.Settings.CompanyRateLimit = 2, 3
		o.Authenticate = func(_ context.Context, key string) (model.Principal, error) {
			return model.Principal{CompanyID: key[:1], KeyID: key}, nil
		}
	})
	ask := func(key string) answer {
		return f.do(t, call{method: "POST", path: "/graphql", body: body(t, "{ hello }"),
			headers: []string{"X-Api-Key: " + key}})
	}
	for range 5 {
		ask("a1") // two requests pass; the refused ones do not count toward the company's limit
	}
	require.Equal(t, http.StatusOK, ask("a2").status)
	refused := ask("a3")
	require.Equal(t, http.StatusTooManyRequests, refused.status)
	err, code := refused.fault(t)
	require.Equal(t, "RATE_LIMITED", code)
	require.Contains(t, err["message"], "the company reached its limit of 3 requests per minute")
	seconds(t, refused.header, "Retry-After")
	require.Equal(t, "2", ask("b1").header.Get("RateLimit-Limit"), "the header has the key's limit")
}
