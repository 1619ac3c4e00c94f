package app_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A scalar that cannot be parsed is reported like any other invalid input.
func TestInvalidScalarsAreReportedByField(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Scalars")
	const (
		entries = `mutation ($e: [UsageEntryInput!]!) { recordUsage(input: {entries: $e}) { recorded } }`
		usage   = `mutation ($i: RecordUsageInput!) { recordUsage(input: $i) { recorded } }`
		fine    = `idempotencyKey: "a", agentId: "b", channel: Phone`
	)
	for name, test := range map[string]struct{ query, variables, field, path, text string }{
		"Credits, a variable": {
			entries, `{"e": [{"idempotencyKey": "a", "agentId": "b", "channel": "Phone", "credits": "abc", "at": "2026-03-01T00:00:00Z"}]}`,
			"recordUsage", "entries.0.credits", `must be a decimal number such as 12.5, not "abc"`,
		},
		"Credits in an input that is a variable": {
			usage, `{"i": {"entries": [{"idempotencyKey": "a", "agentId": "b", "channel": "Phone", "credits": 0.0000001, "at": "2026-03-01T00:00:00Z"}]}}`,
			"recordUsage", "entries.0.credits", "must have at most six decimals",
		},
		"Credits, a literal": {
			`mutation { recordUsage(input: {entries: [{` + fine +
				`, credits: true, at: "2026-03-01T00:00:00Z"}]}) { recorded } }`, `{}`,
			"recordUsage", "entries.0.credits", "must be a number, or a string such as \"12.5\"",
		},
		"DateTime, a variable": {
			entries, `{"e": [{"idempotencyKey": "a", "agentId": "b", "channel": "Phone", "credits": 1, "at": 5}]}`,
			"recordUsage", "entries.0.at", "must be a date-time such as 2026-03-01T09:30:00.000Z",
		},
		"DateTime, a literal in the second of two": {
			`mutation { recordUsage(input: {entries: [{` + fine + `, credits: 1, at: "2026-03-01T00:00:00Z"}, {` + fine +
				`, credits: 1, at: "2026-02-30T00:00:00Z"}]}) { recorded } }`, `{}`,
			"recordUsage", "entries.1.at", "must be a date-time such as 2026-03-01T09:30:00.000Z",
		},
		"DateBound, a variable": {
			`query ($f: DateBound!) { consumptionBreakdown(from: $f, to: "2026-03-01") { totalCredits } }`, `{"f": [1]}`,
			"consumptionBreakdown", "from", "must be an existing ISO date such as 2026-03-01, or a date-time such as 2026-03-01T09:30:00Z",
		},
		"DateBound, a literal behind an alias": {
			`{ used: consumptionBreakdown(from: "2026-03-01", to: "March") { totalCredits } }`, `{}`,
			"used", "to", "must be an existing ISO date such as 2026-03-01, or a date-time such as 2026-03-01T09:30:00Z",
		},
		"JSONObject, a variable": {
			`mutation ($d: JSONObject) { addCampaignItems(input: {campaignId: "c", items: [{dataBag: {}},
				{dataBag: $d}]}) { items { id } } }`, `{"d": [1]}`,
			"addCampaignItems", "items.1.dataBag", "must be an object",
		},
		"JSONObject in an input that is a variable": {
			`mutation ($i: CreateToolInput!) { createTool(input: $i) { tool { id } } }`,
			`{"i": {"name": "T", "technicalName": "t", "parameters": [1]}}`,
			"createTool", "parameters", "must be an object",
		},
		"JSONObject, a literal": {
			`mutation { addCampaignItems(input: {campaignId: "c", items: [{dataBag: "{}"}]}) { items { id } } }`, `{}`,
			"addCampaignItems", "items.0.dataBag", "must be an object",
		},
	} {
		var variables map[string]any
		decoder := json.NewDecoder(strings.NewReader(test.variables))
		decoder.UseNumber()
		require.NoError(t, decoder.Decode(&variables))
		a := g.query(t, key, test.query, variables)
		require.Equal(t, []string{"BAD_INPUT"}, a.codes(), name)
		fault := a.Errors[0]
		require.Equal(t, []any{test.field}, fault.Path, "%s: the path is the path in the response", name)
		require.Equal(t, test.path+" "+test.text, fault.Message, name)
		require.Equal(t, map[string][]string{test.path: {test.text}}, fault.Extensions.Fields, name)
	}
}

func TestRESTReportsInvalidScalarsByField(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Scalars")
	agent := manyAgents(t, tenant, 1)
	for _, test := range []struct{ method, path, body, field string }{
		{"GET", "/Consumption/breakdown?from=March&to=2026-03-01", "", "from"},
		{"GET", "/Consumption/export?from=2026-03-01&to=2026-02-30", "", "to"},
		{"POST", "/CampaignItem/campaign_1", `{"items": [{}, {"dataBag": [1]}]}`, "items.1.dataBag"},
		{"POST", "/AgentTest/simulation", `{"agentId": "` + agent +
			`", "name": "T", "scenario": "S", "criteria": ["C"], "variables": "none"}`, "variables"},
	} {
		response := g.do(t, test.method, test.path, key, test.body)
		text := body(t, response)
		require.Equal(t, 400, response.StatusCode, text)
		var problem struct{ Errors map[string][]string }
		require.NoError(t, json.Unmarshal([]byte(text), &problem))
		require.Len(t, problem.Errors[test.field], 1, text)
	}
}
