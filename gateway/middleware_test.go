package gateway_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/model"
)

func TestEveryRouteRequiresAKey(t *testing.T) {
	t.Parallel()
	f := start(t)
	for _, header := range []string{"X-Api-Key:", "X-Api-Key: ag_wrong"} {
		for _, c := range []call{
			{method: "POST", path: "/graphql", body: body(t, "{ company }")},
			{method: "GET", path: "/graphql?query=%7Bcompany%7D"},
			{method: "POST", path: "/graphql", body: body(t, "subscription { tick }"),
				headers: []string{"Accept: " + eventType}},
			{method: "GET", path: "/Agent/a1"},
		} {
			c.headers = append(c.headers, header)
			a := f.do(t, c)
			require.Equal(t, http.StatusUnauthorized, a.status)
			require.Equal(t, "ApiKey", a.header.Get("Www-Authenticate"))
			_, code := a.fault(t)
			require.Equal(t, "UNAUTHENTICATED", code)
		}
	}
	require.JSONEq(t, `{"data":{"company":"c1"}}`, f.post(t, "{ company }").text)

	f.broken.Store(true)
	a := f.post(t, "{ company }")
	require.Equal(t, http.StatusInternalServerError, a.status)
	require.NotContains(t, a.text, "secret")
}

func TestEveryResponseHasStandardHeaders(t *testing.T) {
	t.Parallel()
	f := start(t)
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	for _, c := range []call{
		{method: "POST", path: "/graphql", body: body(t, "{ hello }")},
		{method: "POST", path: "/graphql", body: "{"},
		{method: "GET", path: "/nowhere"},
		{method: "GET", path: "/healthz"},
		{method: "GET", path: "/graphql", headers: []string{"X-Api-Key:"}},
	} {
		c.headers = append(c.headers, "Traceparent: 00-"+trace+"-00f067aa0ba902b7-01")
		a := f.do(t, c)
		require.Equal(t, trace, a.header.Get("X-Trace-Id"))
		require.Equal(t, "v1", a.header.Get("X-Api-Version"))
		require.Equal(t, "nosniff", a.header.Get("X-Content-Type-Options"))
		require.Equal(t, []string{"no-store"}, a.header.Values("Cache-Control"))
		require.Len(t, a.header.Values("Vary"), 1, "nginx reads the last line")
		require.Contains(t, a.header.Get("Vary"), "X-Api-Key, Authorization")
	}
	for _, bad := range []string{"x", "00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01", "00-" +
		strings.ToUpper(trace) + "-00f067aa0ba902b7-01"} {
		a := f.do(t, call{method: "GET", path: "/healthz", headers: []string{"Traceparent: " + bad}})
		require.Regexp(t, "^[0-9a-f]{32}$", a.header.Get("X-Trace-Id"))
		require.NotContains(t, bad, a.header.Get("X-Trace-Id"))
	}
}

func TestUnknownVersionIsRefused(t *testing.T) {
	t.Parallel()
	f := start(t)
	require.Equal(t, http.StatusBadRequest,
		f.do(t, call{method: "GET", path: "/graphql?query=%7Bhello%7D", headers: []string{"X-Api-Version: v2"}}).status)
	require.Equal(t, http.StatusOK,
		f.do(t, call{method: "GET", path: "/graphql?query=%7Bhello%7D", headers: []string{"X-Api-Version: V1"}}).status)
}

func TestAccessLogDescribesTheRequest(t *testing.T) {
	t.Parallel()
	f := start(t)
	a := f.do(t, call{method: "GET", path: "/graphql?query=query+Greeting%7Bhello%7D"})
	trace := a.header.Get("X-Trace-Id")
	require.Eventually(t, func() bool { return strings.Contains(f.log.String(), `"msg":"request"`) }, patience,
		time.Millisecond)
	log := f.log.String()
	for _, part := range []string{`"method":"GET"`, `"path":"/graphql"`, `"status":200`, `"operation":"Greeting"`,
		`"company":"c1"`, `"traceId":"` + trace + `"`, `"duration":`} {
		require.Contains(t, log, part)
	}
	require.NotContains(t, log, goodKey)
}

func TestHealthAndReadinessAreReported(t *testing.T) {
	t.Parallel()
	f := start(t)
	open := []string{"X-Api-Key:"}
	require.Equal(t, http.StatusOK, f.do(t, call{method: "GET", path: "/healthz", headers: open}).status)
	require.Equal(t, http.StatusOK, f.do(t, call{method: "GET", path: "/readyz", headers: open}).status)
	require.Equal(t, http.StatusMethodNotAllowed, f.do(t, call{method: "POST", path: "/healthz", headers: open}).status)

	f.unready.Store(true)
	var a answer
	require.Eventually(t, func() bool {
		a = f.do(t, call{method: "GET", path: "/readyz", headers: open})
		return a.status == http.StatusServiceUnavailable
	}, patience, time.Millisecond, "a recent result is reused")
	require.JSONEq(t, `{"status":"not ready","reasons":["a service that the server needs does not answer; try again later"]}`, a.text)

	f.unready.Store(false)
	require.NoError(t, f.Drain(t.Context()))
	require.Equal(t, http.StatusServiceUnavailable, f.do(t, call{method: "GET", path: "/readyz", headers: open}).status)
	require.Equal(t, http.StatusOK, f.do(t, call{method: "GET", path: "/healthz", headers: open}).status)
}

func TestRetiredGatewayKeepsServing(t *testing.T) {
	t.Parallel()
	f := start(t)
	stream, _ := f.stream(t, call{method: "POST", path: "/graphql", body: body(t, "subscription { tick }")})
	require.Equal(t, event{}, <-stream)
	f.Retire()
	a := f.do(t, call{method: "GET", path: "/readyz", headers: []string{"X-Api-Key:"}})
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	require.JSONEq(t, `{"status":"draining","reasons":["the server is shutting down"]}`, a.text)
	require.Equal(t, http.StatusOK, f.post(t, "{ hello }").status, "load balancers need time to react")
	require.Equal(t, "next", (<-stream).name, "subscriptions continue")
	require.NoError(t, f.Drain(t.Context()))
	require.Equal(t, http.StatusServiceUnavailable, f.post(t, "{ hello }").status)
}

func TestDrainEndsStreams(t *testing.T) {
	t.Parallel()
	f := start(t)
	stream, _ := f.stream(t, call{method: "POST", path: "/graphql", body: body(t, "subscription { tick }")})
	require.Equal(t, event{}, <-stream)
	require.Equal(t, "next", (<-stream).name)
	require.NoError(t, f.Drain(t.Context()))
	for range stream { // The stream ends without complete, so that the client reconnects elsewhere.
	}
	f.settles(t)
	a := f.post(t, "{ hello }")
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	require.NotEmpty(t, a.header.Get("Retry-After"))
	_, code := a.fault(t)
	require.Equal(t, "UNAVAILABLE", code)
}

func TestDrainStopsAtItsDeadline(t *testing.T) {
	t.Parallel()
	started, release := make(chan struct{}), make(chan struct{})
	f := start(t, func(o *gateway.Options) {
		o.Transports = []graphql.Transport{other{do: func(http.ResponseWriter, *http.Request) { close(started); <-release }}}
	})
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		f.do(t, call{method: "GET", path: "/other"})
	}()
	<-started
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorContains(t, f.Drain(ended), "1 requests")
	close(release)
	<-answered
	require.NoError(t, f.Drain(t.Context()))
}

// other is a transport for other paths that writes its own refusals.
type other struct {
	do func(http.ResponseWriter, *http.Request)
}

func (other) Supports(*http.Request) bool { return true }

func (o other) Do(w http.ResponseWriter, r *http.Request, _ graphql.GraphExecutor) { o.do(w, r) }

func (other) Refuse(w http.ResponseWriter, _ *http.Request, err *gqlerror.Error) {
	code, _ := err.Extensions["code"].(string)
	w.WriteHeader(gateway.StatusOf(code))
	_, _ = w.Write([]byte("refused: " + err.Message))
}

func TestOtherTransportsShareTheMiddleware(t *testing.T) {
	t.Parallel()
	f := start(t, func(o *gateway.Options) {
		o.Transports = []graphql.Transport{other{do: func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/panic" {
				panic("secret of the panic")
			}
			principal, _ := model.PrincipalOf(r.Context())
			_, limited := r.Context().Deadline()
			if limited {
				_, _ = w.Write([]byte(principal.CompanyID + " " + gateway.TraceID(r.Context())))
			}
		}}}
	})
	a := f.do(t, call{method: "GET", path: "/Agent/a1"})
	require.Equal(t, "c1 "+a.header.Get("X-Trace-Id"), a.text)

	a = f.do(t, call{method: "GET", path: "/Agent/a1", headers: []string{"X-Api-Key:"}})
	require.Equal(t, http.StatusUnauthorized, a.status)
	require.Equal(t, "ApiKey", a.header.Get("Www-Authenticate"))
	require.True(t, strings.HasPrefix(a.text, "refused: "), a.text)

	a = f.do(t, call{method: "GET", path: "/panic"})
	require.Equal(t, http.StatusInternalServerError, a.status)
	require.Equal(t, "refused: internal error", a.text)
	require.Contains(t, f.log.String(), "secret of the panic")
	require.JSONEq(t, `{"data":{"hello":"hello"}}`, f.post(t, "{ hello }").text)
}

func TestUnknownPathIsNotFound(t *testing.T) {
	t.Parallel()
	a := start(t).do(t, call{method: "GET", path: "/nowhere"})
	require.Equal(t, http.StatusNotFound, a.status)
	_, code := a.fault(t)
	require.Equal(t, "NOT_FOUND", code)
}
