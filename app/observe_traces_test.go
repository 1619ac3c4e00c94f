package app_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket/wsjson"
	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/observe"
)

// collector is a stub of an OpenTelemetry collector.
type collector struct {
	mu                 sync.Mutex
	spans              []*tracepb.Span
	resourceAttributes []string
	raw                []byte
	// refuses is the number of further requests that are answered with 503.
	refuses int
	header  http.Header
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuses > 0 {
		c.refuses--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	c.header = r.Header
	reader := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		reader, _ = gzip.NewReader(r.Body)
	}
	body, err := io.ReadAll(reader)
	var sent tracepb.TracesData
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &sent) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.raw = append(c.raw, body...)
	for _, resource := range sent.ResourceSpans {
		for _, a := range resource.Resource.Attributes {
			c.resourceAttributes = append(c.resourceAttributes, a.Key+"="+a.Value.GetStringValue())
		}
		for _, scope := range resource.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
}

// await waits until the collector has a span with the given name whose parent span has the name in above. A request's
// span may end after its response was read.
func (c *collector) await(t *testing.T, name, above string) {
	t.Helper()
	require.Eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		parents := map[string]bool{}
		for _, span := range c.spans {
			if span.Name == above {
				parents[string(span.SpanId)] = true
			}
		}
		return slices.ContainsFunc(c.spans, func(span *tracepb.Span) bool {
			return span.Name == name &&
				parents[string(span.ParentSpanId)]
		})
	}, dbtest.WaitTimeout, 20*time.Millisecond, "%s below %s", name, above)
}

// awaitTurn waits until the collector has the whole turn. The request's span is the last one.
func (c *collector) awaitTurn(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		byID := map[string]*tracepb.Span{}
		for _, span := range c.spans {
			byID[string(span.SpanId)] = span
		}
		return slices.ContainsFunc(c.spans, func(span *tracepb.Span) bool {
			operation := byID[string(span.ParentSpanId)]
			return span.Name == "execute_tool book" && operation != nil && byID[string(operation.ParentSpanId)] != nil
		})
	}, dbtest.WaitTimeout, 20*time.Millisecond, "the turn")
}

// tracedTurn runs some queries and a turn, and returns all spans by name.
func tracedTurn(t *testing.T) (c *collector, w *watched, named map[string][]*tracepb.Span) {
	t.Helper()
	c = &collector{refuses: 1}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20kept")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	t.Setenv("OTEL_SERVICE_NAME", "night-shift")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
	w = observed(t, observe.Options{})
	w.load(t)
	c.await(t, "query Agents", "POST /graphql")
	c.awaitTurn(t)
	require.NoError(t, w.observer.Close(t.Context()))
	named = map[string][]*tracepb.Span{}
	for _, span := range c.spans {
		named[span.Name] = append(named[span.Name], span)
	}
	return c, w, named
}

func TestSpansConnectRequestsToStatementsAndCalls(t *testing.T) {
	c, w, named := tracedTurn(t)
	require.Equal(t, "Bearer kept", c.header.Get("Authorization"))
	require.Contains(t, c.resourceAttributes, "service.name=night-shift")
	require.Contains(t, c.resourceAttributes, "service.version=v0.0.0-test")
	byID := map[string]*tracepb.Span{}
	for _, span := range c.spans {
		byID[string(span.SpanId)] = span
	}
	above := func(span *tracepb.Span) []string {
		var names []string
		for span = byID[string(span.ParentSpanId)]; span != nil; span = byID[string(span.ParentSpanId)] {
			names = append(names, span.Name)
		}
		return names
	}
	require.Len(t, named["query Agents"], 1)
	require.Equal(t, []string{"POST /graphql"}, above(named["query Agents"][0]))
	require.Len(t, named["chat stub"], 2)
	turn := []string{"mutation anonymous", "POST /graphql"}
	require.Equal(t, turn, above(named["chat stub"][0]))
	require.Len(t, named["execute_tool book"], 1)
	require.Equal(t, turn, above(named["execute_tool book"][0]))
	require.Len(t, named["retrieval"], 1)
	require.Equal(t, turn, above(named["retrieval"][0]))
	statements := 0
	for _, span := range c.spans {
		if above := above(span); len(above) == 2 && above[0] == "query Agents" {
			statements++
		}
	}
	require.Positive(t, statements, "the query is the parent of its statements")

	for path, span := range map[string]*tracepb.Span{"/v1/chat/completions": named["chat stub"][0],
		"/book": named["execute_tool book"][0]} {
		require.NotEmpty(t, w.stubs.traceParents(path))
		require.Equal(t, fmt.Sprintf("00-%x-%x-01", span.TraceId, span.SpanId), w.stubs.traceParents(path)[0], path)
	}
	require.NotContains(t, string(c.raw), "kumquat", "spans contain nothing of the conversation")
}

func TestSpansContainConversationsOnlyOnRequest(t *testing.T) {
	t.Setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
	c, _, named := tracedTurn(t)
	require.Len(t, named["chat stub"], 2)
	require.Contains(t, string(c.raw), said)
	require.Contains(t, string(c.raw), "You are booked.")
}

func TestTraceContinuesThroughTheGateway(t *testing.T) {
	c := &collector{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	w := observed(t, observe.Options{})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/graphql",
		strings.NewReader(`{"query":"query Kept { agents { nodes { id } } }"}`))
	require.NoError(t, err)
	request.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {w.key}, "Traceparent": {parent}}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, "0af7651916cd43dd8448eb211c80319c", response.Header.Get("X-Trace-Id"))
	socket := w.socket(t, http.Header{"Traceparent": {parent}}, `query OnSocket { agents { nodes { id } } }`, nil)
	for last := (frame{}); last.Type != "complete"; {
		require.NoError(t, wsjson.Read(t.Context(), socket, &last))
	}
	c.await(t, "query Kept", "POST /graphql")
	c.await(t, "query OnSocket", "GET /graphql")
	require.NoError(t, w.observer.Close(t.Context()))
	parents := map[string]string{}
	for _, span := range c.spans {
		if fmt.Sprintf("%x", span.TraceId) == "0af7651916cd43dd8448eb211c80319c" {
			for _, other := range c.spans {
				if string(other.SpanId) == string(span.ParentSpanId) {
					parents[span.Name] = other.Name
				}
			}
		}
	}
	require.Equal(t, "POST /graphql", parents["query Kept"])
	require.Equal(t, "GET /graphql", parents["query OnSocket"], "the operation is below the request that opened the "+
		"socket")
}
