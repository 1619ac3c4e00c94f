package app_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/archive"
	"github.com/agentgraph/agentgraph/model"
)

// archiveOf packs table rows into an archive of the company.
func archiveOf(t *testing.T, companyID string, entries ...[2]string) io.Reader {
	t.Helper()
	file := &bytes.Buffer{}
	compressed := gzip.NewWriter(file)
	w := tar.NewWriter(compressed)
	manifest := fmt.Sprintf(
		`{"format":"agentgraph-company","version":1,"company":{"id":%q,"name":"Legacy","createdAt":"2026-01-02T03:04:05Z"}}`,
		companyID)
	for _, e := range append([][2]string{{"manifest.json", manifest}}, entries...) {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: e[0], Size: int64(len(e[1])), Mode: 0o600, Typeflag: tar.TypeReg}))
		_, err := io.WriteString(w, e[1])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, compressed.Close())
	return file
}

// Ids from another server work wherever ids are used: in paths, arguments, cursors, node and references.
func TestImportedIDsAreUnchanged(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	long := strings.Repeat("x", model.MaxIDLength-2)
	agents := []string{"17", "3F2504E0-4F89-41D3-9A0C-0305E82C3301", "a.b~c:d@e-f_g", long + "-1", "agent:7"}
	lines := &strings.Builder{}
	for i, id := range agents {
		fmt.Fprintf(lines, `{"id":%q,"name":"Agent %d","channel":"Web","direction":"Inbound","prompt":"Be kind.","created_at":"2026-01-02T03:04:0%dZ"}`+"\n", id, i, i)
	}
	const settings = `"llm_settings":{"temperature":0,"topP":0,"presencePenalty":0,"frequencyPenalty":0},"prompt_settings":{"similarityThreshold":0.2,"keywordsSimilarityWeight":0.5,"topN":6,"prompt":"{knowledge}","opener":"","emptyResponse":"","rerankModel":"","showQuote":true}`
	company := "42_" + long[:50]
	_, err := archive.Import(t.Context(), g.store, archiveOf(t, company,
		[2]string{"knowledge_base_chats.jsonl", `{"id":"chat-1","name":"Answers",` + settings + `}`},
		[2]string{"datasets.jsonl", `{"id":"ds:1","name":"Manuals"}`},
		[2]string{"agents.jsonl", lines.String()},
		[2]string{"tools.jsonl",
			`{"id":"t~1","name":"Find","technical_name":"find","description":"","parameters":{"type":"object","properties":{}}}`},
		[2]string{"agent_test_folders.jsonl", `{"id":"f@1","agent_id":"17","name":"Old","color":"#112233","body":""}`},
		[2]string{"campaigns.jsonl",
			`{"id":"c.1","agent_id":"17","name":"Calls","status":"Draft","max_attempts":1,"retry_delay_minutes":5}`},
	), archive.ImportOptions{})
	require.NoError(t, err)
	_, key := g.keyOf(t, company, model.APIKeyScopeAdmin)

	for _, id := range agents {
		var found struct {
			Agent struct{ ID string }
			Node  struct {
				Typename string `json:"__typename"`
				ID       string
			}
		}
		g.must(t, key, `query($id: ID!) { agent(id: $id) { id } node(id: $id) { __typename id } }`, map[string]any{"id": id},
			&found)
		require.Equal(t, id, found.Agent.ID)
		require.Equal(t, "Agent", found.Node.Typename)
		require.Equal(t, id, found.Node.ID)
		for _, path := range []string{id, url.PathEscape(id)} {
			response := g.do(t, http.MethodGet, "/Agent/"+path, key, "")
			var body struct{ AgentID string }
			require.NoError(t, json.NewDecoder(response.Body).Decode(&body))
			require.NoError(t, response.Body.Close())
			require.Equal(t, http.StatusOK, response.StatusCode, path)
			require.Equal(t, id, body.AgentID)
		}
	}
	for id, typename := range map[string]string{"chat-1": "KnowledgeBaseChat", "ds:1": "Dataset", "t~1": "Tool",
		"f@1": "AgentTestFolder", "c.1": "Campaign", company: "Company"} {
		var found struct {
			Node struct {
				Typename string `json:"__typename"`
			}
		}
		g.must(t, key, `query($id: ID!) { node(id: $id) { __typename } }`, map[string]any{"id": id}, &found)
		require.Equal(t, typename, found.Node.Typename)
	}

	seen, after := []string{}, (*string)(nil)
	for range agents {
		var page struct {
			Agents struct {
				Nodes    []struct{ ID string }
				PageInfo struct{ EndCursor *string }
			}
		}
		g.must(t, key, `query($after: String) { agents(first: 1, after: $after) { nodes { id } pageInfo { endCursor } } }`,
			map[string]any{"after": after}, &page)
		require.Len(t, page.Agents.Nodes, 1)
		seen, after = append(seen, page.Agents.Nodes[0].ID), page.Agents.PageInfo.EndCursor
	}
	require.ElementsMatch(t, agents, seen)

	response := g.do(t, http.MethodPut, "/Agent/"+agents[2]+"/chat", key, `{"chatId":"chat-1"}`)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
	var made struct {
		ConnectTool          struct{ Agent struct{ ID string } }
		CreateSimulationTest struct {
			AgentTest struct {
				ID    string
				Agent struct{ ID string }
			}
		}
		StartSimulationChat struct{ SimulationChat struct{ ID string } }
	}
	g.must(t, key, `mutation($agent: ID!, $test: ID!) {
		connectTool(input: {agentId: $agent, toolId: "t~1"}) { agent { id } }
		createSimulationTest(input: {agentId: $test, folderId: "f@1", name: "Polite", scenario: "Say hello",
			criteria: ["Polite"]}) { agentTest { id agent { id } } }
		startSimulationChat(input: {agentId: $agent}) { simulationChat { id } }
	}`, map[string]any{"agent": agents[3], "test": "17"}, &made)
	require.Equal(t, agents[3], made.ConnectTool.Agent.ID)
	require.Equal(t, "17", made.CreateSimulationTest.AgentTest.Agent.ID)
	token, _ := g.token(t, key, "read")
	g.must(t, token, `{ company { id } }`, nil, nil)
}
