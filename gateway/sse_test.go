package gateway_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway"
)

// event is one server-sent event. A comment has no name.
type event struct{ name, data string }

// stream opens a stream and reads its events. The channel is closed when the stream ends. leave disconnects the client.
func (f *front) stream(t *testing.T, c call) (stream <-chan event, leave func()) {
	t.Helper()
	c.headers = append(c.headers, "Accept: "+eventType)
	response := f.open(t, c) //nolint:bodyclose // leave closes it.
	leave = func() { _ = response.Body.Close() }
	t.Cleanup(leave)
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, eventType+"; charset=utf-8", response.Header.Get("Content-Type"))
	out := make(chan event, 1000)
	go func() {
		defer close(out)
		defer leave()
		var e event
		named, hasData := false, false
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			field, value, _ := strings.Cut(lines.Text(), ":")
			switch {
			case lines.Text() == "":
				// Like a browser, the test drops an event without a data line.
				if named && hasData {
					out <- e
				}
				e, named, hasData = event{}, false, false
			case field == "event":
				e.name, named = strings.TrimSpace(value), true
			case field == "data":
				e.data += strings.TrimSpace(value)
				hasData = true
			case field == "":
				out <- event{}
			}
		}
	}()
	return out, leave
}

func (f *front) events(t *testing.T, query string) []event {
	t.Helper()
	stream, _ := f.stream(t, call{method: "POST", path: "/graphql", body: body(t, query)})
	var all []event
	for e := range stream {
		if e.name != "" {
			all = append(all, e)
		}
	}
	return all
}

func TestOperationsStreamEvents(t *testing.T) {
	t.Parallel()
	f := start(t)
	require.Equal(t, []event{
		{"next", `{"data":{"count":1}}`}, {"next", `{"data":{"count":2}}`}, {"complete", ""},
	}, f.events(t, "subscription { count(to: 2) }"))
	require.Equal(t, []event{{"next", `{"data":{"hello":"hello"}}`}, {"complete", ""}}, f.events(t, "{ hello }"))
	require.Equal(t, []event{{"next", `{"data":{"increment":1}}`}, {"complete", ""}},
		f.events(t, "mutation { increment }"))

	for _, query := range []string{"{", "{ nothing }", "subscription { refused }"} {
		events := f.events(t, query)
		require.Len(t, events, 2)
		require.Contains(t, events[0].data, `"errors":[`)
		require.NotContains(t, events[0].data, `"data"`)
		require.Equal(t, event{"complete", ""}, events[1])
	}
}

// A stream that ends without complete is opened again, by EventSource and by graphql-sse.
func TestUnavailableStreamEndsWithoutComplete(t *testing.T) {
	t.Parallel()
	f := start(t)
	events := f.events(t, "subscription { refused(isUnavailable: true) }")
	require.Len(t, events, 1)
	require.Contains(t, events[0].data, `"code":"UNAVAILABLE"`)
}

// As in other responses, the path of an event's error begins with the root field. A null for a field that must not be
// null makes the nearest nullable parent null.
func TestErrorsOfEventsHaveTheirPath(t *testing.T) {
	t.Parallel()
	f := start(t)
	for query, path := range map[string]string{
		"subscription { tree { broken } }":                                        `["tree","broken"]`,
		"subscription { u: tree { child { b: broken } } }":                        `["u","child","b"]`,
		"subscription { ...s } fragment s on Subscription { u: tree { broken } }": `["u","broken"]`,
	} {
		events := f.events(t, query)
		require.Len(t, events, 2)
		require.Contains(t, events[0].data, `"path":`+path)
		require.Contains(t, events[0].data, `"data":null`)
		c := f.ready(t)
		c.subscribe("1", query)
		got, err := json.Marshal(c.receive()["payload"])
		require.NoError(t, err)
		require.Contains(t, string(got), `"path":`+path)
		require.Contains(t, string(got), `"data":null`)
	}
}

func TestEventsStreamOverGET(t *testing.T) {
	t.Parallel()
	f := start(t)
	stream, _ := f.stream(t,
		call{method: "GET", path: "/graphql?" + url.Values{"query": {"subscription { count(to: 1) }"}}.Encode()})
	var names []string
	for e := range stream {
		names = append(names, e.name)
	}
	require.Equal(t, []string{"", "next", "complete"}, names)
}

// A client that accepts everything receives subscriptions as streams and queries as JSON.
func TestOnlySubscriptionsStreamByDefault(t *testing.T) {
	t.Parallel()
	f := start(t)
	everything := []string{"Accept: " + graphqlType + ", " + jsonType + ", " + eventType}
	a := f.do(t, call{method: "POST", path: "/graphql", body: body(t, "{ hello }"), headers: everything})
	require.Equal(t, graphqlType+"; charset=utf-8", a.header.Get("Content-Type"))
	a = f.do(t, call{method: "POST", path: "/graphql", body: body(t, "subscription { count(to: 1) }"),
		headers: everything})
	require.Equal(t, eventType+"; charset=utf-8", a.header.Get("Content-Type"))
}

func TestEventStreamEndsWithItsClient(t *testing.T) {
	t.Parallel()
	f := start(t)
	stream, leave := f.stream(t, call{method: "POST", path: "/graphql", body: body(t, "subscription { tick }")})
	for range 3 {
		<-stream
	}
	require.EqualValues(t, 1, f.root.Live.Load())
	leave()
	for range stream {
	}
	f.settles(t)
}

func TestEventStreamEndsWithItsKey(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.PingInterval = 5 * time.Millisecond }))
	stream, _ := f.stream(t, call{method: "POST", path: "/graphql", body: body(t, "subscription { tick(milliseconds: "+
		"60000) }")})
	for range 3 {
		require.Equal(t, event{}, <-stream)
	}
	f.revoked.Store(true)
	var named []event
	for e := range stream {
		if e.name != "" {
			named = append(named, e)
		}
	}
	require.Len(t, named, 2)
	require.Contains(t, named[0].data, "UNAUTHENTICATED")
	f.settles(t)
}

// A client that does not read is disconnected, and its operation ends.
func TestSlowEventReaderIsDropped(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.WriteTimeout = 50 * time.Millisecond }))
	response := f.open(t, call{method: "POST", path: "/graphql",
		body: body(t, "subscription Flood { flood(bytes: 1000000) }"), headers: []string{"Accept: " + eventType}})
	defer func() { require.NoError(t, response.Body.Close()) }()
	require.Eventually(t, func() bool { return f.root.Started.Load() == 1 }, patience, time.Millisecond)
	f.settles(t)
	f.names(t, `"operation":"Flood"`)
}

// A reconnecting EventSource sends the id of its last event.
func TestEventsResumeAfterTheLastID(t *testing.T) {
	t.Parallel()
	f := start(t)
	read := func(query string, headers ...string) string {
		return f.do(t, call{method: "GET", path: "/graphql?query=" + url.QueryEscape(query),
			headers: append(headers, "Accept: "+eventType)}).text
	}
	query := "subscription { all: counted(to: 3) { ... on Counted { ...f } } } fragment f on Counted { n: number }"
	require.Equal(t, `:

event: next
id: 1
data: {"data":{"all":{"n":1}}}

event: next
id: 2
data: {"data":{"all":{"n":2}}}

event: next
id: 3
data: {"data":{"all":{"n":3}}}

event: complete
data:

`, read(query))
	rest := read(query, "Last-Event-ID: 2")
	require.NotContains(t, rest, "id: 2")
	require.Contains(t, rest, "id: 3")
	require.Contains(t, read("subscription { counted(to: 3, afterNumber: 1) { number } }", "Last-Event-ID: 2"),
		`:{"number":3}`, "even if the URL says another number")
	require.NotContains(t, read("subscription { counted(to: 3, afterNumber: 1) { number } }", "Last-Event-ID: 2"),
		`:{"number":2}`)
	for _, id := range []string{"abc", "3.5", "9999999999999", "-1", "+1", "01"} {
		answer := read(query, "Last-Event-ID: "+id)
		require.Contains(t, answer, `"code":"BAD_INPUT"`, id)
		require.Contains(t, answer, `"fields":{"Last-Event-ID":["is not the id of an event of this subscription"]}`, id)
		require.NotContains(t, answer, "id: 1")
	}
	require.Contains(t, read(query, "Last-Event-ID: "), "id: 1", "the client has no last event")
	require.NotContains(t, read(query, "Last-Event-ID: 2147483647"), "id:")
	require.Contains(t, read("subscription { count(to: 3) }", "Last-Event-ID: abc"), "data", "its events have no ids")
	require.NotContains(t, read("subscription { counted(to: 3) { __typename } }"), "id:", "the number is not selected")
	require.NotContains(t, read("subscription { count(to: 3) }", "Last-Event-ID: 2"), "id:")
}

// These are the bytes of Apollo's protocol for subscriptions over HTTP.
func TestSubscriptionsStreamMultipart(t *testing.T) {
	t.Parallel()
	f := start(t)
	accept := `Accept: multipart/mixed;boundary="graphql";subscriptionSpec="1.0",application/graphql-response+json,application/json;q=0.9`
	send := func(query, accept string) answer {
		return f.do(t, call{method: "POST", path: "/graphql", body: body(t, query), headers: []string{accept}})
	}
	a := send("subscription { count(to: 2) }", accept)
	require.Equal(t, http.StatusOK, a.status)
	require.Equal(t, `multipart/mixed;boundary="graphql";subscriptionSpec="1.0"`, a.header.Get("Content-Type"))
	part := "\r\nContent-Type: application/json\r\n\r\n"
	require.Equal(t, "\r\n--graphql"+part+`{"payload":{"data":{"count":1}}}`+"\r\n--graphql"+part+
		`{"payload":{"data":{"count":2}}}`+"\r\n--graphql--\r\n", a.text)
	require.Contains(t, send("subscription { refused }", accept).text, `{"payload":{"errors":[{"message":`)

	require.Equal(t, graphqlType+"; charset=utf-8", send("{ hello }", accept).header.Get("Content-Type"))
	require.Equal(t, jsonType+"; charset=utf-8", send("{ hello }", `Accept: multipart/mixed;subscriptionSpec="1.0"`).
		header.Get("Content-Type"))
	require.Equal(t, http.StatusNotAcceptable, send("subscription { count(to: 2) }", "Accept: multipart/mixed, "+
		"application/json").status)
	require.Equal(t, eventType+"; charset=utf-8", send("subscription { count(to: 2) }", accept+", "+eventType).
		header.Get("Content-Type"))
}

func TestMultipartStreamSendsHeartbeats(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.PingInterval = time.Millisecond }))
	response := f.open(t, call{method: "POST", path: "/graphql",
		body:    body(t, "subscription { tick(milliseconds: 100000) }"),
		headers: []string{`Accept: multipart/mixed;subscriptionSpec="1.0"`}})
	defer func() { require.NoError(t, response.Body.Close()) }()
	want := "\r\n--graphql\r\nContent-Type: application/json\r\n\r\n{}\r\n--graphql"
	begin := make([]byte, len(want))
	_, err := io.ReadFull(response.Body, begin)
	require.NoError(t, err)
	require.Equal(t, want, string(begin))
}
