package archive_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/archive"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

const byHand = `{"id": "a1", "name": "Ada", "channel": "Web", "direction": "Inbound", "prompt": "Be kind."`

// Lines of archives are validated like requests: types, members and bounds. Errors use the JSON names of fields.
func TestArchiveLinesAreValidated(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	folders := `{"id": "f1", "agent_id": "a1", "name": "Smoke"}` + "\n" + `{"id": "f2", "agent_id": "a1", "name": "smoke"}`
	for _, c := range []struct{ table, line, says string }{
		{"agent_tests", `"rows": [{"v": 1}]`, "rows.0.v is unknown: rows.0 may have name, values, key; rows.0.values must " +
			"be given"},
		{"agent_tests", `"rows": [{"values": {"v": "1"}, "key": "mine"}]`, "rows.0.key must be left out"},
		{"agent_tests", `"rows": [{"values": {}}]`, "rows.0.values must have at least one value"},
		{"agent_tests", `"rows": [{"values": {"v": "1"}}, {"values": {"v": "1"}}]`, "rows.1 has the same values as row 0"},
		{"agent_tests", `"tool_mocking": {"x": 1}`, "tool_mocking.x is unknown: tool_mocking may have mockedTools, " +
			"mockAllTools"},
		{"agent_tests", `"tool_mocking": {"mockedTools": [{"toolId": "t", "Rules": []}]}`,
			"tool_mocking.mockedTools.0.Rules is unknown"},
		{"agent_tests", `"persona": "kind"`, "persona must be a JSON object"},
		{"agent_tests", `"persona": {"mood": "Fine"}`, "persona.mood must be a value of ContactMood: Friendly, "},
		{"agent_tests", `"persona": {"patience": 1.5}`, "persona.patience must be a whole number of at most 32 bits"},
		{"agent_tests", `"criteria": "x"`, "criteria must be a list"},
		{"agent_tests", `"criteria": [5]`, "criteria.0 must be a string"},
		{"agent_tests", `"criteria": [null]`, "criteria.0 must be a string"},
		{"agent_tests", `"variables": []`, "variables must be a JSON object"},
		{"agent_tests", `"checks": [{"expect": {"says": {"text": "a", "role": "boss"}}}]`,
			"checks.0.expect.says.role must be a value of MessageRole: assistant, user"},
		{"agent_tests", `"conversation_messages": [{"role": "user", "text": "a", "timestamp": "now"}]`,
			"conversation_messages.0.timestamp must be a date-time"},
		{"agent_tests", `"persona": {"language": "en", "language": "de"}`, "persona.language occurs twice"},
		{"agents", `"tags": "x"`, "line 1: tags must be a list"},
		{"agents", `"fields": {}`, "line 1: fields must be a list"},
		{"agents", `"extracted_values": [{"name": "a", "definition": "b", "type": 5}]`,
			"extracted_values.0.type must be a value of ExtractedValueType"},
		{"agents", `"created_at": "infinity"`, "line 1: created_at must be a date-time"},
		{"agents", `"created_at": "yesterday"`, "line 1: created_at must be a date-time"},
		{"agents", `"inbound_welcome_message": 5`, "line 1: inbound_welcome_message must be a string"},
		{"agents", `"is_call_transfer_enabled": "yes"`, "line 1: is_call_transfer_enabled must be true or false"},
		{"agents", `"prompt_version": "7"`, "line 1: prompt_version must be a whole number"},
		{"agents", `"inbound_welcome_message": "caf` + "\xe9" + `"`, "line 1: is not UTF-8"},
		{"agents", `"language": "en", "language": "de"`, "line 1: language occurs twice"},
		{"agent_test_folders", folders, `line 2: agent_id "a1", name "smoke" occurs twice`},
	} {
		entries := []entry{{"manifest.json", manifest}}
		switch c.table {
		case "agents":
			entries = append(entries, entry{"agents.jsonl", byHand + ", " + c.line + "}"})
		case "agent_tests":
			test := `{"id": "x", "agent_id": "a1", "name": "A", "scenario": "B", `
			if !strings.HasPrefix(c.line, `"criteria"`) {
				test += `"criteria": ["C"], `
			}
			entries = append(entries, entry{"agents.jsonl", byHand + "}"}, entry{"agent_tests.jsonl", test + c.line + "}"})
		default:
			entries = append(entries, entry{"agents.jsonl", byHand + "}"}, entry{c.table + ".jsonl", c.line})
		}
		err := take(t, store, packed(t, entries...))
		require.ErrorContains(t, err, c.says, c.line)
		for _, internal := range []string{"sql:", "Scan", "json:", "unmarshal", "Go value"} {
			require.NotContains(t, err.Error(), internal, c.line)
		}
	}
}

// An import lists all refused lines, but not the lines that only refer to them.
func TestImportListsAllRefusedLines(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	test := func(id, agent, more string) string {
		return `{"id": "` + id + `", "agent_id": "` + agent + `", "name": "` + id + `", "scenario": "B", "criteria": ["C"]` +
			more + "}\n"
	}
	manyTests := ""
	for i := range 60 {
		manyTests += test(fmt.Sprint("many", i), "a1", `, "max_turns": 99`)
	}
	err := take(t, store, packed(t, entry{"manifest.json", manifest},
		entry{"datasets.jsonl", `{"id": "d1", "name": ""}`},
		entry{"agents.jsonl", byHand + "}\n" + strings.Replace(byHand, "a1", "a2", 1) + `, "channel": "Pigeon"}`},
		entry{"agent_test_folders.jsonl", `{"id": "f2", "agent_id": "a2", "name": "F"}`},
		entry{"agent_tests.jsonl", test("t1", "a1", `, "max_turns": 99`) + test("t2", "a2", `, "folder_id": "f2"`) + "\n" +
			test("t3", "a1", `, "persona": 5`) + test("t4", "a1", "") + test("t5", "none", "")}))
	require.EqualError(t, err, strings.Join([]string{"5 lines are refused:",
		"datasets.jsonl: line 1: name must not be empty",
		"agents.jsonl: line 2: channel occurs twice",
		"agent_tests.jsonl: line 1: maxTurns must be between 1 and 30",
		"agent_tests.jsonl: line 4: persona must be a JSON object",
		`agent_tests.jsonl: line 6: agent_id "none" must refer to an earlier row of the archive`,
	}, "\n"))
	err = take(t, store, packed(t, entry{"manifest.json", manifest}, entry{"agents.jsonl", byHand + "}"},
		entry{"agent_tests.jsonl", manyTests}))
	require.ErrorContains(t, err, "60 lines are refused:\nagent_tests.jsonl: line 1: ")
	require.ErrorContains(t, err, "agent_tests.jsonl: line 50: maxTurns must be between 1 and 30\nand 10 more\n"+
		"the lines after these were not checked")
	companies, err := store.Companies(t.Context())
	require.NoError(t, err)
	require.Empty(t, companies)
}

// A handwritten test row gets the same key as from createSimulationTest.
func TestHandwrittenTestRowsGetKeys(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	require.NoError(t, take(t, store, packed(t, entry{"manifest.json", manifest}, entry{"agents.jsonl", byHand + "}"},
		entry{"agent_tests.jsonl",
			`{"id": "x", "agent_id": "a1", "name": "A", "scenario": "{v}", "criteria": ["C"], "rows": [{"values": {"v": "1", "w": null}}]}`})))
	wanted, err := model.NewSimulationTest(model.CreateSimulationTestInput{
		AgentID: "a1", Name: "B", Scenario: "{v}", Criteria: []string{"C"}, MaxTurns: 3,
		Rows: []*model.TestRow{{Values: model.JSONObject(`{"v":"1"}`)}},
	}, time.Now())
	require.NoError(t, err)
	test, err := store.Tenant("acme").UpdateSimulationTest(t.Context(), model.UpdateSimulationTestInput{TestID: "x",
		Name: new("B")})
	require.NoError(t, err)
	require.Equal(t, wanted.Rows, test.Rows)
}

// A campaign that was running at export is paused after the import, until somebody starts it.
func TestImportedRunningCampaignsArePaused(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	m, err := archive.Import(t.Context(), store,
		bytes.NewReader(packed(t, entry{"manifest.json", manifest}, entry{"agents.jsonl", byHand + "}"},
			entry{"campaigns.jsonl", `{"id": "c1", "agent_id": "a1", "name": "A", "status": "Running"}` + "\n" +
				`{"id": "c2", "agent_id": "a1", "name": "B"}`})), archive.ImportOptions{})
	require.NoError(t, err)
	require.Equal(t, 1, m.PausedCampaigns)
	for id, status := range map[string]model.CampaignStatus{"c1": model.CampaignStatusPaused,
		"c2": model.CampaignStatusDraft} {
		campaign, err := store.Tenant("acme").Campaign(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, status, campaign.Status)
	}
}
