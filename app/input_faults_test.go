package app_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Faults of variables have the path of the field that is absent, unknown or of the wrong type.
func TestFaultsOfVariablesNameTheField(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Inputs")
	a := g.query(t, key, `mutation($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }`,
		map[string]any{"input": map[string]any{"name": "Desk", "channel": "web", "language": "en", "prompt": "Help.", "nmae": "x",
			"fields": []any{map[string]any{"isMandatory": true}}}})
	fields := map[string][]string{}
	for _, e := range a.Errors {
		require.Equal(t, "GRAPHQL_VALIDATION_FAILED", e.Extensions.Code)
		for path, texts := range e.Extensions.Fields {
			fields[path] = texts
		}
	}
	require.Equal(t, map[string][]string{
		"input.channel":       {`Value does not exist in "Channel" enum. It has Phone, SMS, Web, WhatsApp.`},
		"input.direction":     {"is required"},
		"input.fields.0.name": {"is required"},
		"input.nmae":          {"is unknown"},
	}, fields)
	a = g.query(t, key, `mutation($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }`, nil)
	require.Equal(t, map[string][]string{"input": {"is required"}}, a.Errors[0].Extensions.Fields)
}

// Postgres would refuse such an id without saying which it is.
func TestIdsThatCannotBeStoredNameTheField(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Ids")
	const fault = "must not contain the character U+0000"
	for field, query := range map[string]string{
		"agentId":   `mutation($id: ID!) { deleteAgent(input: {agentId: $id}) { deletedId } }`,
		"datasetId": `mutation($id: ID!) { updateDataset(input: {datasetId: $id, name: "D"}) { dataset { id } } }`,
		"toolId":    `mutation($id: ID!) { connectTool(input: {agentId: "a", toolId: $id}) { agent { id } } }`,
		"testIds.1": `mutation($id: ID!) { startAgentTestExecution(input: {testIds: ["a", $id]}) { execution { id } } }`,
		"id":        `query($id: ID!) { agent(id: $id) { id } }`,
		"ids.0":     `query { nodes(ids: ["a\u0000b"]) { id } }`,
	} {
		variables := map[string]any{}
		if strings.Contains(query, "$id") {
			variables["id"] = "a\x00b"
		}
		a := g.query(t, key, query, variables)
		require.Equal(t, []string{"BAD_INPUT"}, a.codes(), field)
		require.Equal(t, field+" "+fault, a.Errors[0].Message)
		require.Equal(t, map[string][]string{field: {fault}}, a.Errors[0].Extensions.Fields)
	}
}

// A value that only the server can judge does not hide the faults of other fields.
func TestFaultsOfAnInputAreReportedTogether(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Together")
	for mutation, fields := range map[string][]string{
		`createAgent(input: {name: "", channel: Web, direction: Inbound, language: "x", prompt: " ", model: "nope"}) {
			agent { id } }`: {"language", "model", "name", "prompt"},
		`createWebhook(input: {url: "http://10.0.0.1/", events: [], description: "` + strings.Repeat("x", 501) + `"}) {
			secret }`: {"description", "events", "url"},
		`createTool(input: {name: "", technicalName: "T", endpoint: {url: "http://10.0.0.1/", method: GET,
			headers: {a: 1}}}) { tool { id } }`: {"endpoint.headers", "endpoint.url", "name", "technicalName"},
		`createMcpServer(input: {name: "", endpoint: {url: "http://10.0.0.1/", method: GET}}) {
			mcpServer { id } }`: {"endpoint.method", "endpoint.url", "name"},
	} {
		a := g.query(t, key, "mutation { "+mutation+" }", nil)
		require.Equal(t, []string{"BAD_INPUT"}, a.codes(), mutation)
		require.Equal(t, fields, slices.Sorted(maps.Keys(a.Errors[0].Extensions.Fields)), mutation)
	}
	one := g.query(t, key, `mutation { createTool(input: {name: "T", technicalName: "t", endpoint: {url: "http://10.0.0.1/",
		method: GET, headers: {a: "secret"}}}) { tool { id } } }`, nil)
	require.Equal(t, []string{"endpoint.url"}, slices.Sorted(maps.Keys(one.Errors[0].Extensions.Fields)))
}
