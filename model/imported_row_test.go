package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestImportedRowsReportEveryBound(t *testing.T) {
	t.Parallel()
	endpoint := &ToolEndpoint{Method: "FETCH", URL: "https://shop.example", TimeoutSeconds: 1}
	server := &McpServer{Endpoint: endpoint, Offers: []McpOffer{{}}}
	test := &AgentTestRow{Kind: AgentTestKindSimulation, ToolMocking: &ToolMocking{SideEffects: "Maybe"}}
	for _, c := range []struct {
		row   Imported
		paths []string
	}{
		{&Tool{Endpoint: endpoint}, []string{"name", "endpoint.method"}},
		{server, []string{"name", "offers.0.name", "endpoint.method"}},
		{&AgentTestExecution{Tried: []TestVariant{{Label: "now"}, {Label: "hot", TriedSettings: TriedSettings{
			LlmSettings: &LlmSettingsInput{Temperature: new(9.0)}}}}}, []string{"variants.1.llmSettings.temperature"}},
		{test, []string{"toolMocking.sideEffects", "name"}},
	} {
		var known *Error
		require.ErrorAs(t, c.row.CheckImported(), &known)
		for _, path := range c.paths {
			require.Contains(t, known.Fields, path)
		}
	}
}

func TestMcpServersSetTheirOwnHeaders(t *testing.T) {
	t.Parallel()
	in := CreateMcpServerInput{Name: "Shop", Endpoint: &ToolEndpointInput{Method: HTTPMethodPost, TimeoutSeconds: 1,
		URL: "https://shop.example", Headers: JSONObject(`{"accept":"text/plain","mcp-session-id":"1","X-Key":"k"}`)}}
	var known *Error
	require.ErrorAs(t, in.Validate(), &known)
	require.Equal(t, Fields{
		"endpoint.headers.Accept":         {"must not be given, because the protocol sets it"},
		"endpoint.headers.Mcp-Session-Id": {"must not be given, because the protocol sets it"},
	}, known.Fields)
}

func TestCallsAreExpectedOnce(t *testing.T) {
	t.Parallel()
	called := &CalledExpectation{NeverCalledExpectation: NeverCalledExpectation{TechnicalName: new("book")}, Min: 1,
		Max: new(int32(1))}
	require.Equal(t, "calls book, once", called.String())
}
