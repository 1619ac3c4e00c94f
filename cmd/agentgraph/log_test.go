package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The log names what failed, but has no contents of calls, criteria or checks.
func TestLogHasNoContents(t *testing.T) {
	t.Parallel()
	clinic := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, `{"patient": "Erika Mustermann"}`)
	}))
	t.Cleanup(clinic.Close)
	b := newBench(t, "--workers", "1", "--tool-allow", "127.0.0.1", "--log-level", "debug")
	var made struct {
		CreateTool struct{ Tool struct{ ID string } }
	}
	b.must(t, `mutation ($url: String!) { createTool(input: {name: "Book", technicalName: "book", description: "Books.",
		endpoint: {method: POST, url: $url, timeoutSeconds: 5}}) { tool { id } } }`, map[string]any{"url": clinic.URL}, &made)
	toolID := made.CreateTool.Tool.ID
	var tried struct{ CallTool struct{ Error string } }
	b.must(t, `mutation ($id: ID!) { callTool(input: {toolId: $id, arguments: {}}) { error } }`, map[string]any{"id": toolID},
		&tried)
	require.Contains(t, tried.CallTool.Error, "Mustermann", "the caller sees the answer")
	b.must(t, `mutation ($agentId: ID!, $toolId: ID!) { connectTool(input: {agentId: $agentId, toolId: $toolId}) {
		agent { id } } }`, map[string]any{"agentId": b.agent, "toolId": toolID}, nil)
	b.must(t, `mutation ($id: ID!, $prompt: String!) { updateAgent(input: {agentId: $id, prompt: $prompt}) { agent { id } } }`,
		map[string]any{"id": b.agent, "prompt": "# Examples\nUser: book me\nCall: book\nAgent: Booked.\n"}, nil)
	var started struct {
		StartSimulationChat struct{ SimulationChat struct{ ID string } }
	}
	b.must(t, `mutation ($id: ID!) { startSimulationChat(input: {agentId: $id}) { simulationChat { id } } }`,
		map[string]any{"id": b.agent}, &started)
	b.must(t, `mutation ($id: ID!) { sendSimulationMessage(input: {simulationChatId: $id, text: "book me"}) {
		newMessages { text } } }`, map[string]any{"id": started.StartSimulationChat.SimulationChat.ID}, nil)
	b.simulation(t, "Rude", "never says that Erika Mustermann is ill")
	ran := b.test(t, "run", "--test", "Rude")
	require.Equal(t, 3, ran.code, ran.log)
	for _, line := range []string{`"call failed","tool":"` + toolID, `"call failed","chat":"`, `"run has no verdict","run":"`} {
		require.Eventually(t, func() bool { return strings.Contains(b.log.String(), line) }, time.Minute,
			5*time.Millisecond, line)
	}
	require.Contains(t, b.log.String(), `"error":"the tool answered 422 Unprocessable Entity"`)
	require.NotContains(t, b.log.String(), "Mustermann")
}
