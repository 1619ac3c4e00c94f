package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestPruneAsksAtTheTerminal(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	tenant, key := newCompany(t, c.store, "Asked")
	for _, name := range []string{"one", "two"} {
		_, err := tenant.CreateTool(t.Context(), model.CreateToolInput{Name: name, TechnicalName: name})
		require.NoError(t, err)
	}
	file := write(t, "tools: [{technicalName: one}]\n")
	env := []string{"AGENTGRAPH_URL=" + c.proxy.URL, "AGENTGRAPH_API_KEY=" + key}
	for answer, code := range map[string]int{"n\n": 4, "\x03": 4} {
		asked := onTerminal(t, env, "apply", "-f", file, "--prune")
		asked.await(t, "Apply these changes? [y/N] ")
		asked.press(t, answer)
		require.Equal(t, code, asked.code())
		require.Contains(t, asked.seen.String(), `- delete tool "two"`)
	}
	require.Empty(t, c.mutations)
	asked := onTerminal(t, env, "apply", "-f", file, "--prune")
	asked.await(t, "Apply these changes? [y/N] ")
	asked.press(t, "y\n")
	require.Zero(t, asked.code())
	require.Equal(t, []string{"deleteTool"}, c.mutations)
}
