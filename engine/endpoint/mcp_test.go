package endpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

type anything = map[string]any

// offering returns an MCP server with some tools, and its address. It answers with JSON or with events.
func offering(t *testing.T, o *mcp.StreamableHTTPOptions) (*mcp.Server, string) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	add := func(name string, answer func(context.Context, anything) *mcp.CallToolResult) {
		mcp.AddTool(server, &mcp.Tool{Name: name, Description: "Does " + name, InputSchema: anything{"type": "object"}},
			func(ctx context.Context, _ *mcp.CallToolRequest, in anything) (*mcp.CallToolResult, any, error) {
				return answer(ctx, in), nil, nil
			})
	}
	text := func(texts ...string) *mcp.CallToolResult {
		result := &mcp.CallToolResult{}
		for _, text := range texts {
			result.Content = append(result.Content, &mcp.TextContent{Text: text})
		}
		return result
	}
	add("echo", func(_ context.Context, in anything) *mcp.CallToolResult { return text("said", in["text"].(string)) })
	add("huge", func(context.Context, anything) *mcp.CallToolResult { return text(strings.Repeat("x", 5_000)) })
	add("flood", func(context.Context, anything) *mcp.CallToolResult { return text(strings.Repeat("x", 2<<20)) })
	add("picture", func(context.Context, anything) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}}}
	})
	add("object", func(context.Context, anything) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: anything{"stock": 3}}
	})
	add("blob", func(context.Context, anything) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
			URI: "file:///x", Blob: []byte("x")}}}}
	})
	add("broken", func(context.Context, anything) *mcp.CallToolResult {
		result := text("no such order, Token-1234")
		result.IsError = true
		return result
	})
	add("slow", func(ctx context.Context, _ anything) *mcp.CallToolResult {
		select {
		case <-ctx.Done():
		case <-t.Context().Done():
		}
		return text("late")
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, o)
	t.Cleanup(func() { closeSessions(server) })
	return server, serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer token-1234" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":"who are you"}`))
			return
		}
		handler.ServeHTTP(w, r)
	})
}

func closeSessions(server *mcp.Server) {
	for session := range server.Sessions() {
		_ = session.Close()
	}
}

var bearer = map[string]string{"Authorization": "Bearer token-1234"}

func mcpAt(address string) model.ToolEndpoint {
	return model.ToolEndpoint{Method: model.HTTPMethodPost, URL: address, TimeoutSeconds: 5}
}

func TestMcpServersAreCalled(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*mcp.StreamableHTTPOptions{
		"events": nil, "JSON": {JSONResponse: true}, "no sessions": {Stateless: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := local(t)
			server, address := offering(t, o)
			offers, err := c.OffersOf(t.Context(), mcpAt(address), bearer)
			require.NoError(t, err)
			require.Len(t, offers, 8)
			require.Equal(t, "blob", offers[0].Name)
			require.Equal(t, "Does blob", offers[0].Description)
			require.JSONEq(t, `{"type":"object"}`, string(offers[0].Parameters))

			call := func(name, arguments string) (string, []model.McpOffer, error) {
				return c.CallMcp(t.Context(), mcpAt(address), bearer, name, model.JSONObject(arguments), false)
			}
			for name, want := range map[string]string{
				"echo": "said\nhello", "object": `{"stock":3}`, "picture": "[content that is not text]",
				"blob": "[content that is not text]",
			} {
				text, offers, err := call(name, `{"text":"hello"}`)
				require.NoError(t, err, name)
				require.Equal(t, want, text, name)
				require.Nil(t, offers)
			}
			for name, want := range map[string]string{
				"huge":   "the tool answered with more than 4096 bytes",
				"flood":  "the MCP server answered with more than 1048576 bytes",
				"broken": "the tool failed: no such order, [hidden]",
			} {
				_, _, err := call(name, `{}`)
				require.EqualError(t, err, want, name)
				require.ErrorAs(t, err, new(*Error), name)
			}
			server.RemoveTools("echo")
			_, offers, err = call("echo", `{"text":"hello"}`)
			require.ErrorContains(t, err, "the MCP server refused: ")
			require.Len(t, offers, 7, "a failed call returns the tools that the server has now")
		})
	}
}

func TestMcpServersFail(t *testing.T) {
	t.Parallel()
	c := local(t)
	_, address := offering(t, nil)
	_, err := c.OffersOf(t.Context(), mcpAt(address), nil)
	require.EqualError(t, err, `the MCP server answered 401 Unauthorized: {"error":"who are you"}`)

	hasty := mcpAt(address)
	hasty.TimeoutSeconds = 0.3
	_, _, err = c.CallMcp(t.Context(), hasty, bearer, "slow", nil, false)
	require.EqualError(t, err, "the MCP server did not answer in time")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	_, _, err = c.CallMcp(ctx, mcpAt(address), bearer, "slow", nil, false)
	require.EqualError(t, err, "the call was cancelled")
	require.ErrorIs(t, err, context.Canceled)

	for name, handler := range map[string]http.HandlerFunc{
		`the MCP server answered with the Content-Type "text/html; charset=utf-8", which must be application/json or ` +
			"text/event-stream: check the address": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html>"))
		},
		`the MCP server answered with the Content-Type "", which must be application/json or text/event-stream: check the ` +
			"address": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = w.Write([]byte("{}"))
		},
		"the MCP server did not finish its answer, or its answer is not the Model Context Protocol: check the address": func(
			w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte("<html>"))
		},
		`the MCP server speaks a version of the protocol that agentgraph does not know: "1.0"`: func(w http.ResponseWriter,
			r *http.Request) {
			var asked struct{ ID json.RawMessage }
			_ = json.NewDecoder(r.Body).Decode(&asked)
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"protocolVersion":"1.0",` +
				`"capabilities":{},"serverInfo":{"name":"odd","version":"1"}}}`))
		},
		"the MCP server did not finish its answer, or did not answer in HTTP": func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		},
		"the MCP server answered 503 Service Unavailable: later": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte("later"))
		},
	} {
		_, err := c.OffersOf(t.Context(), mcpAt(serve(t, handler)), nil)
		require.EqualError(t, err, name)
	}
	for refused, at := range map[string]string{
		"169.254.169.254": "http://169.254.169.254/mcp", "private": "http://10.1.2.3/mcp", "local": address,
	} {
		_, err := caller(t).OffersOf(t.Context(), mcpAt(at), nil)
		require.EqualError(t, err, "the address of the MCP server is in a network that may not be reached", refused)
	}
}

func TestMcpServersRedirectWithinTheirOrigin(t *testing.T) {
	t.Parallel()
	c := local(t)

	inner := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another origin was called with %v", r.Header)
	}))
	t.Cleanup(inner.Close)
	for target, want := range map[string]string{
		inner.URL:             "the MCP server redirects to another origin",
		"http://10.0.0.1/mcp": "the MCP server redirects to another origin",
	} {
		at := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, target, http.StatusTemporaryRedirect)
		})
		_, err := c.OffersOf(t.Context(), mcpAt(at), bearer)
		require.EqualError(t, err, want)
		failed, _ := errors.AsType[*Error](err)
		require.Equal(t, Refused, failed.Cause)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	t.Cleanup(func() { closeSessions(server) })
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			http.Redirect(w, r, "/mcp/", http.StatusTemporaryRedirect)
			return
		}
		handler.ServeHTTP(w, r)
	})
	offers, err := c.OffersOf(t.Context(), mcpAt(at+"/mcp"), bearer)
	require.NoError(t, err)
	require.Empty(t, offers)
}

func TestMcpOffersAreBounded(t *testing.T) {
	t.Parallel()
	c := local(t)
	server, address := offering(t, nil)
	long := strings.Repeat("d", 3_000)
	server.AddTool(&mcp.Tool{Name: "long", Description: long, InputSchema: anything{"type": "object",
		"properties": anything{"a": anything{"type": "string", "description": strings.Repeat("x", 21_000)}}}}, nil)
	offers, err := c.OffersOf(t.Context(), mcpAt(address), bearer)
	require.NoError(t, err)
	require.Len(t, offers, 9)
	for _, offer := range offers {
		if offer.Name == "long" {
			require.Len(t, offer.Description, 2_000)
			require.Equal(t, "its parameters must have at most 20,000 characters", *offer.Fault)
		}
	}
	add := func(from, to int) {
		for i := from; i < to; i++ {
			server.AddTool(&mcp.Tool{Name: fmt.Sprint("more_", i), InputSchema: anything{"type": "object"}}, nil)
		}
	}
	add(0, 991)
	offers, err = c.OffersOf(t.Context(), mcpAt(address), bearer)
	require.NoError(t, err)
	require.Len(t, offers, 1_000)
	add(991, 992)
	_, err = c.OffersOf(t.Context(), mcpAt(address), bearer)
	require.EqualError(t, err, "the MCP server offers more than 1000 tools")
}

// listing serves tools/list with this result, as JSON or as events. Events of a call begin with a notification that the
// list of tools changed.
func listing(t *testing.T, isEvents bool, result func(cursor string) string) string {
	t.Helper()
	return scripted(t, isEvents, `{"content":[{"type":"text","text":"done"}]}`, result)
}

// scripted does the same as listing, and answers tools/call with the result called.
func scripted(t *testing.T, isEvents bool, called string, result func(cursor string) string) string {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			ID     json.RawMessage
			Method string
			Params struct{ Cursor string }
		}
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&asked))
		answer := `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}`
		switch asked.Method {
		case "initialize":
		case "tools/list":
			answer = result(asked.Params.Cursor)
		case "tools/call":
			answer = called
		case "server/discover":
			w.WriteHeader(http.StatusBadRequest)
			return
		default:
			w.WriteHeader(http.StatusAccepted)
			return
		}
		message := `{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":` + answer + `}`
		w.Header().Set("Content-Type", "application/json")
		if isEvents {
			w.Header().Set("Content-Type", "text/event-stream")
			lines := strings.ReplaceAll(message, "[", "[\ndata: ") // servers may send a message in several lines
			message = "event: message\ndata: " + lines + "\n\n"
			if asked.Method == "tools/call" {
				message = `data: {"jsonrpc":"2.0","method":"notifications\/tools\/list_changed"}` + "\n\n" + message
			}
		}
		_, _ = w.Write([]byte(message))
	})
}

func TestMcpServersSayThatTheirListChanged(t *testing.T) {
	t.Parallel()
	for _, isEvents := range []bool{false, true} {
		address := listing(t, isEvents, func(string) string {
			return `{"tools":[{"name":"new","inputSchema":{"type":"object"}}]}`
		})
		text, offers, err := local(t).CallMcp(t.Context(), mcpAt(address), nil, "echo", model.JSONObject(`{}`), false)
		require.NoError(t, err)
		require.Equal(t, "done", text)
		if !isEvents {
			require.Nil(t, offers, "without the notification, the list is not read again")
			continue
		}
		require.Len(t, offers, 1)
		require.Equal(t, "new", offers[0].Name)
	}
}

func TestMcpServersMustListTheirTools(t *testing.T) {
	t.Parallel()
	for _, isEvents := range []bool{false, true} {
		for result, isRefused := range map[string]bool{
			`null`: true, `{}`: true, `{"nextCursor":"next"}`: true, `{"tools":[]}`: false, `{"tools":null}`: false,
		} {
			offers, err := local(t).OffersOf(t.Context(),
				mcpAt(listing(t, isEvents, func(string) string { return result })), nil)
			if isRefused {
				require.EqualError(t, err, "the MCP server answered without a list of tools", result)
				continue
			}
			require.NoError(t, err, result)
			require.Empty(t, offers)
		}
	}
}

func TestOddToolsLeaveTheOthersUsable(t *testing.T) {
	t.Parallel()
	tools := []string{`{"name":"good","description":"Works","inputSchema":{"type":"object"},"annotations":"odd"}`,
		`{"name":"` + strings.Repeat("x", 201) + `","inputSchema":{"type":"object"}}`,
		`{"name":"","inputSchema":{"type":"object"}}`, `"text"`, `{"name":"twice","inputSchema":{"type":"object"}}`,
		`{"name":"twice","description":"Again","inputSchema":{"type":"object"}}`,
		`{"name":"bell\u0007","inputSchema":{"type":"object"}}`,
		`{"name":"number","description":5,"inputSchema":{"type":"object"}}`, `{"name":"bare"}`}
	for _, isEvents := range []bool{false, true} {
		address := listing(t, isEvents, func(cursor string) string {
			if cursor == "" {
				return `{"tools":[` + strings.Join(tools[:5], ",") + `],"nextCursor":"next"}`
			}
			return `{"tools":[` + strings.Join(tools[5:], ",") + `]}`
		})
		offers, err := local(t).OffersOf(t.Context(), mcpAt(address), nil)
		require.NoError(t, err)
		faults := map[string]string{}
		for _, offer := range offers {
			if offer.Fault == nil {
				require.Equal(t, "good", offer.Name)
				require.JSONEq(t, `{"type":"object"}`, string(offer.Parameters))
				continue
			}
			require.Empty(t, offer.Parameters)
			faults[offer.Name] = *offer.Fault
		}
		require.Len(t, offers, 8)
		require.Equal(t, map[string]string{
			strings.Repeat("x", 199) + "…": "its name has more than 200 characters",
			"(tool 3)":                     "it has no name", "(tool 4)": "it has no name",
			"twice":      "the server offers several tools with this name",
			"bell\uFFFD": "its name has control characters", "number": "its description is not a text",
			"bare": `its parameters must be a JSON Schema with "type": "object"`,
		}, faults)
	}
	address := listing(t, false, func(string) string { return `{"tools":[],"nextCursor":"again"}` })
	_, err := local(t).OffersOf(t.Context(), mcpAt(address), nil)
	require.EqualError(t, err, "the MCP server's list of tools does not end: a nextCursor occurs twice")
}

func TestJSONOfMcpServersKeepsItsSpelling(t *testing.T) {
	t.Parallel()
	schema := `{"type":"object","properties":{"zeta":{"type":"number","maximum":12345678901234567890},` +
		`"alpha":{"type":"number","default":1.10}}}`
	for _, isEvents := range []bool{false, true} {
		address := scripted(t, isEvents, `{"content":[],"structuredContent":{"zeta":12345678901234567890, "alpha":1.10}}`,
			func(string) string { return `{"tools":[{"name":"order","inputSchema":` + schema + `}]}` })
		text, offers, err := local(t).CallMcp(t.Context(), mcpAt(address), nil, "order", model.JSONObject(`{}`), true)
		require.NoError(t, err)
		require.Equal(t, `{"zeta":12345678901234567890,"alpha":1.10}`, text)
		require.Equal(t, schema, string(offers[0].Parameters))
	}
}

func TestOffersHideHeaders(t *testing.T) {
	t.Parallel()
	address := listing(t, false, func(string) string {
		return `{"tools":[{"name":"order","description":"Send token-1234","inputSchema":{"type":"object","properties":` +
			`{"type":{"type":"string","default":"token-1234","description":"As Bearer token-1234, object"}}}}]}`
	})
	headers := map[string]string{"Authorization": "Bearer token-1234", "X-Kind": "object"}
	offers, err := local(t).OffersOf(t.Context(), mcpAt(address), headers)
	require.NoError(t, err)
	require.Nil(t, offers[0].Fault)
	require.Equal(t, "Send [hidden]", offers[0].Description)
	require.Equal(t, `{"type":"object","properties":{"type":{"type":"string","default":"[hidden]",`+
		`"description":"As [hidden], [hidden]"}}}`, string(offers[0].Parameters))
}

// Hiding a value of a header must not change which arguments a schema accepts.
func TestHiddenHeadersKeepSchemas(t *testing.T) {
	t.Parallel()
	schema := `{"type":"object","properties":{"region":{"enum":["europe","asia"]},"kind":{"const":"europe"},` +
		`"europe":{"type":"string"},"place":{"enum":[{"name":"europe"}]},"default":{"pattern":"europe"}},` +
		`"dependentRequired":{"kind":["europe"]}}`
	address := listing(t, false, func(string) string {
		return `{"tools":[{"name":"order","inputSchema":` + schema + `}]}`
	})
	offers, err := local(t).OffersOf(t.Context(), mcpAt(address), map[string]string{"X-Region": "europe"})
	require.NoError(t, err)
	require.Nil(t, offers[0].Fault)
	require.Equal(t, schema, string(offers[0].Parameters))
}

// Defaults and examples are data: a secret is hidden in them, also under a name that is a keyword of schemas.
func TestHeadersAreHiddenInSamples(t *testing.T) {
	t.Parallel()
	address := listing(t, false, func(string) string {
		return `{"tools":[{"name":"order","inputSchema":{"type":"object","properties":{"a":{"default":{"type":"token-1"},` +
			`"examples":["token-1",{"enum":["token-1"],"b":{"pattern":"token-1"}}]}}}}]}`
	})
	offers, err := local(t).OffersOf(t.Context(), mcpAt(address), map[string]string{"X-Key": "token-1"})
	require.NoError(t, err)
	require.Nil(t, offers[0].Fault)
	require.Equal(t, `{"type":"object","properties":{"a":{"default":{"type":"[hidden]"},`+
		`"examples":["[hidden]",{"enum":["[hidden]"],"b":{"pattern":"[hidden]"}}]}}}`, string(offers[0].Parameters))
}

// Some servers never answer methods that they do not know.
func TestMcpServersMayIgnoreDiscover(t *testing.T) {
	t.Parallel()
	address := listing(t, false, func(string) string {
		return `{"tools":[{"name":"order","inputSchema":{"type":"object"}}]}`
	})
	var discovers atomic.Int32
	silent := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		switch {
		case bytes.Contains(body, []byte("server/discover")):
			discovers.Add(1)
			<-r.Context().Done()
			return
		case bytes.Contains(body, []byte("notifications/cancelled")):
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		res, err := http.Post(address, "application/json", bytes.NewReader(body)) //nolint:noctx // of the test
		if assert.NoError(t, err) {
			w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
			w.WriteHeader(res.StatusCode)
			_, _ = io.Copy(w, res.Body)
			_ = res.Body.Close()
		}
	})
	c, endpoint := local(t), mcpAt(silent)
	endpoint.TimeoutSeconds = 1
	for range 3 {
		offers, err := c.OffersOf(t.Context(), endpoint, nil)
		require.NoError(t, err)
		require.Len(t, offers, 1)
	}
	require.EqualValues(t, 1, discovers.Load(), "later sessions do not ask again")
}

// A server that did not answer server/discover can be replaced by one that knows only newer versions.
func TestSilentMcpServersMayBeReplaced(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "new", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "order", InputSchema: anything{"type": "object"}}, nil)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true})
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		if bytes.Contains(body, []byte(`"initialize"`)) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(w, r)
	})
	c := local(t)
	c.silent.Put(address, time.Now())
	offers, err := c.OffersOf(t.Context(), mcpAt(address), nil)
	require.NoError(t, err)
	require.Len(t, offers, 1)
}

// A server that is starting can miss the first server/discover, and know only newer versions.
func TestMcpServersMayStartSlowly(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "new", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "order", InputSchema: anything{"type": "object"}}, nil)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true})
	var discovers atomic.Int32
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		switch {
		case bytes.Contains(body, []byte(`"initialize"`)):
			w.WriteHeader(http.StatusBadRequest)
			return
		case bytes.Contains(body, []byte("server/discover")) && discovers.Add(1) == 1:
			<-r.Context().Done()
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(w, r)
	})
	endpoint := mcpAt(address)
	endpoint.TimeoutSeconds = 6
	offers, err := local(t).OffersOf(t.Context(), endpoint, nil)
	require.NoError(t, err)
	require.Len(t, offers, 1)
}
