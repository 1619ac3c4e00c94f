package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mcpOf runs "agentgraph mcp" with the messages as input, and returns the answers by id.
func mcpOf(t *testing.T, env []string, messages ...string) map[string]map[string]any {
	t.Helper()
	//nolint:gosec // The tests' own program.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], "mcp")
	cmd.Env = append([]string{asCommand + "=1"}, env...)
	cmd.Stdin = strings.NewReader(strings.Join(messages, "\n"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	answers := map[string]map[string]any{}
	for line := range strings.Lines(string(output)) {
		var answer map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &answer), line)
		answers[fmt.Sprint(answer["id"])] = answer
	}
	return answers
}

func TestMCPPassesMessages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	env := b.environment(t)
	answers := mcpOf(t, env,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},`+
			`"clientInfo":{"name":"test","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "",
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"find_agents","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"nothing"}`, `{"jsonrpc":"2.0","id":"a\u0026b","method":"ping"}`,
		// The newest version repeats parts of the message in headers.
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"find_tools","arguments":{},"_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
	require.Len(t, answers, 5)
	require.Contains(t, answers["1"]["result"], "serverInfo")
	require.Contains(t, answers["2"]["result"].(map[string]any)["structuredContent"], "agents")
	require.Contains(t, answers["3"]["error"].(map[string]any)["message"], `method not found: "nothing"`)
	require.Contains(t, answers["a&b"], "result")
	require.Contains(t, answers["4"]["result"].(map[string]any)["structuredContent"], "tools")

	require.InDelta(t, -32601, answers["3"]["error"].(map[string]any)["code"], 0)
	for line, code := range map[string]float64{"not JSON": -32700, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`: -32600} {
		malformed := mcpOf(t, env, line)
		require.Contains(t, malformed, "<nil>")
		require.InDelta(t, code, malformed["<nil>"]["error"].(map[string]any)["code"], 0)
	}

	notification := mcpOf(t, env, `{"jsonrpc":"2.0","method":"notifications/progress"}`)
	require.Empty(t, notification, "notifications have no answer, even without their params")

	wrong := []string{"AGENTGRAPH_URL=" + b.url, "AGENTGRAPH_API_KEY=ag_wrong", "XDG_CONFIG_HOME=" + t.TempDir()}
	refused := mcpOf(t, wrong, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	require.Contains(t, refused["1"]["error"].(map[string]any)["message"], "API key is not valid")
	away := mcpOf(t, []string{"AGENTGRAPH_URL=http://127.0.0.1:1", "AGENTGRAPH_API_KEY=ag_x", "XDG_CONFIG_HOME=" +
		t.TempDir()}, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	require.Contains(t, away["1"]["error"].(map[string]any)["message"], "cannot be reached")
}
