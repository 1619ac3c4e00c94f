package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
)

// scenarios are the scenarios of the conformance suite that call the suite's own tools, resources and prompts. lab/e2e
// runs the others on the whole program.
var scenarios = []string{"tools-call-simple-text", "tools-call-image", "tools-call-audio",
	"tools-call-embedded-resource", "tools-call-mixed-content", "tools-call-error", "tools-call-with-progress", "resources-read-text",
	"resources-read-binary", "resources-templates-read", "prompts-get-simple", "prompts-get-with-args",
	"prompts-get-embedded-resource", "prompts-get-with-image", "json-schema-2020-12"}

// TestConformance takes a minute, so only lab/e2e runs it.
func TestConformance(t *testing.T) {
	t.Parallel()
	if os.Getenv("AGENTGRAPH_CONFORMANCE") == "" {
		t.Skip("make e2e runs this test")
	}
	_, err := os.Stat("../../lab/e2e/node_modules")
	require.NoError(t, err, "run `make e2e-deps` once")
	url := serveSuite(t)
	for version, more := range map[string][]string{"2025-11-25": nil, "2026-07-28": {"server-stateless"}} {
		arguments := slices.Concat([]string{"../../lab/e2e/conformance.mjs", url, version}, scenarios, more)
		output, err := exec.CommandContext(t.Context(), "node", arguments...).CombinedOutput()
		require.NoError(t, err, string(output))
	}
}

// serveSuite serves a Transport behind a gateway, with the suite's tools, resources and prompts in addition. The suite
// sends no key.
func serveSuite(t *testing.T) string {
	t.Helper()
	schema := graph.NewExecutableSchema(graph.Config{})
	closing := make(chan struct{})
	settings, log := gateway.DefaultSettings(), slog.New(slog.DiscardHandler)
	transport, err := New(schema.Schema(), Options{Version: "1", Status: gateway.StatusOf, Log: log,
		Explain: gateway.ExplainVariables, Unrecorded: gateway.WithoutRecord,
		Closing: func() <-chan struct{} { return closing }, MaxBody: settings.BodyBytes,
		WriteTimeout: settings.WriteTimeout})
	require.NoError(t, err)
	addSuite(transport.server)
	return serveBehind(t, gateway.Options{Schema: schema, Settings: settings, Log: log}, transport)
}

var pixel = []byte("\x89PNG\r\n\x1a\n")

func text(content string) []sdk.Content { return []sdk.Content{&sdk.TextContent{Text: content}} }

func embedded(uri, mime, content string) sdk.Content {
	return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: uri, MIMEType: mime, Text: content}}
}

func addSuite(s *sdk.Server) {
	image := &sdk.ImageContent{Data: pixel, MIMEType: "image/png"}
	answers := map[string]*sdk.CallToolResult{
		"test_simple_text":   {Content: text("This is a simple text response for testing.")},
		"test_image_content": {Content: []sdk.Content{image}},
		"test_audio_content": {Content: []sdk.Content{&sdk.AudioContent{Data: pixel, MIMEType: "audio/wav"}}},
		"test_embedded_resource": {Content: []sdk.Content{embedded("test://embedded-resource", "text/plain",
			"This is an embedded resource content.")}},
		"test_multiple_content_types": {Content: []sdk.Content{text("Multiple content types test:")[0], image,
			embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)}},
		"test_error_handling": {IsError: true, Content: text("This tool intentionally returns an error for testing")},
	}
	nothing := map[string]any{"type": "object"}
	s.AddTool(&sdk.Tool{Name: "json_schema_2020_12_tool", InputSchema: json.RawMessage(keywords)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{}, nil
		})
	for name, answer := range answers {
		s.AddTool(&sdk.Tool{Name: name, Description: name, InputSchema: nothing},
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return answer, nil })
	}
	s.AddTool(&sdk.Tool{Name: "test_tool_with_progress", Description: "Sends progress.", InputSchema: nothing},
		func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			last := -1.0
			for _, left := range []float64{100, 50, 0} {
				at := progress{Status: "Running"}
				at.Counts.Total, at.Counts.Queued = 100, left
				last = at.send(ctx, r, last)
			}
			return &sdk.CallToolResult{Content: text("done")}, nil
		})
	addRules(s, nothing)
	read := func(mime string, resourceAt func(uri string) *sdk.ResourceContents) sdk.ResourceHandler {
		return func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			contents := resourceAt(r.Params.URI)
			contents.URI, contents.MIMEType = r.Params.URI, mime
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{contents}}, nil
		}
	}
	s.AddResource(&sdk.Resource{URI: "test://static-text", Name: "text"}, read("text/plain",
		func(string) *sdk.ResourceContents {
			return &sdk.ResourceContents{Text: "This is the content of the static text resource."}
		}))
	s.AddResource(&sdk.Resource{URI: "test://static-binary", Name: "binary"}, read("image/png",
		func(string) *sdk.ResourceContents { return &sdk.ResourceContents{Blob: pixel} }))
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template"},
		read("application/json", func(uri string) *sdk.ResourceContents {
			id := strings.Split(uri, "/")[3]
			return &sdk.ResourceContents{Text: fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id)}
		}))
	prompts := map[string]func(given map[string]string) []sdk.Content{
		"test_simple_prompt": func(map[string]string) []sdk.Content { return text("This is a simple prompt for testing.") },
		"test_prompt_with_arguments": func(given map[string]string) []sdk.Content {
			return text(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", given["arg1"], given["arg2"]))
		},
		"test_prompt_with_embedded_resource": func(given map[string]string) []sdk.Content {
			return append([]sdk.Content{embedded(given["resourceUri"], "text/plain",
				"Embedded resource content for testing.")}, text("Please process the embedded resource above.")...)
		},
		"test_prompt_with_image": func(map[string]string) []sdk.Content {
			return append([]sdk.Content{image}, text("Please analyze the image above.")...)
		},
	}
	for name, messages := range prompts {
		s.AddPrompt(&sdk.Prompt{Name: name}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			result := &sdk.GetPromptResult{}
			for _, content := range messages(r.Params.Arguments) {
				result.Messages = append(result.Messages, &sdk.PromptMessage{Role: "user", Content: content})
			}
			return result, nil
		})
	}
}

// keywords is the input schema of a tool. The suite checks that the server sends all keywords of the schema.
const keywords = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
	"$defs": {"address": {"$anchor": "addressDef", "type": "object",
		"properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
	"properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]}, "phone": {"type": "string"},
		"email": {"type": "string"}},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]}, "else": {"required": ["email"]}, "additionalProperties": false}`

// addRules adds tools that try what a server may not do. The suite checks that they do not succeed.
func addRules(s *sdk.Server, input any) {
	rules := map[string]sdk.ToolHandler{
		"test_logging_tool": func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			//nolint:staticcheck // logging is deprecated, but the suite still checks that it is off
			err := r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "error", Data: "unwanted"})
			return &sdk.CallToolResult{Content: text("done")}, err
		},
		"test_streaming_elicitation": func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"name": &sdk.ElicitParams{
				Message: "What is your name?", RequestedSchema: input}}}, nil
		},
		"test_missing_capability": func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return nil, &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: "sampling is required",
				Data: json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`)}
		},
	}
	for name, handler := range rules {
		s.AddTool(&sdk.Tool{Name: name, Description: name, InputSchema: input}, handler)
	}
}

// serveBehind serves the transport behind a gateway that admits every request.
func serveBehind(t *testing.T, o gateway.Options, transport *Transport) string {
	t.Helper()
	o.Authenticate = func(context.Context, string) (model.Principal, error) {
		return model.Principal{Scopes: []model.APIKeyScope{model.APIKeyScopeAdmin}}, nil
	}
	o.Ready = func(context.Context) error { return nil }
	o.Transports = append(o.Transports, transport)
	entrance := gateway.New(o)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-Api-Key", "any")
		entrance.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + Path
}
