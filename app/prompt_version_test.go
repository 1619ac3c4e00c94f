package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// An update based on an older prompt version is refused, and the error names who changed the prompt since.
func TestConflictingPromptEditsAreReported(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Authors")
	_, other, err := tenant.CreateAPIKey(t.Context(),
		model.CreateAPIKeyInput{Name: "Ada's", Scopes: []model.APIKeyScope{model.APIKeyScopeWrite}})
	require.NoError(t, err)
	agent := manyAgents(t, tenant, 1)
	const update = `mutation ($input: UpdateAgentPromptInput!) { updateAgentPrompt(input: $input) { agent { promptVersion }
		} }`
	input := func(prompt string) map[string]any {
		return map[string]any{"input": map[string]any{"agentId": agent, "prompt": prompt, "expectedVersion": 1}}
	}
	g.must(t, other, update, input("Ada's words."), nil)
	require.Equal(t, []string{"CONFLICT"}, g.query(t, key, update, input("Mine.")).codes())
	var found struct {
		Agent struct {
			Prompt         string
			PromptVersions struct{ Nodes []struct{ WrittenBy *string } }
		}
	}
	before := g.statements.Load()
	g.must(t, other, `query ($id: ID!) { agent(id: $id) { prompt promptVersions { nodes { version writtenBy } } } }`,
		map[string]any{"id": agent}, &found)
	require.Equal(t, "Ada's words.", found.Agent.Prompt)
	require.Equal(t, "Ada's", *found.Agent.PromptVersions.Nodes[0].WrittenBy)
	require.Nil(t, found.Agent.PromptVersions.Nodes[1].WrittenBy)
	require.LessOrEqual(t, g.statements.Load()-before, int64(3))
}

func TestPartsOfPromptsAreEdited(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Editors")
	_, stranger := g.company(t, "Strangers")
	_, reader := g.keyOf(t, companyIDOf(t, tenant), model.APIKeyScopeRead)
	agent := manyAgents(t, tenant, 1)
	_, err := tenant.UpdateAgentPrompt(t.Context(), model.UpdateAgentPromptInput{AgentID: agent,
		Prompt: "Say hello. Say where to park."})
	require.NoError(t, err)
	const edit = `mutation ($input: EditAgentPromptInput!) { editAgentPrompt(input: $input) { agent { prompt
		promptVersion } } }`
	input := func(before, after string, version int) map[string]any {
		return map[string]any{"input": map[string]any{"agentId": agent, "expectedVersion": version, "note": "Why",
			"edits": []map[string]any{{"before": before, "after": after}}}}
	}
	require.Equal(t, []string{"NOT_FOUND"}, g.query(t, stranger, edit, input("hello", "hi", 2)).codes())
	require.Equal(t, []string{"FORBIDDEN"}, g.query(t, reader, edit, input("hello", "hi", 2)).codes())
	require.Equal(t, []string{"CONFLICT"}, g.query(t, key, edit, input("hello", "hi", 1)).codes())
	refused := g.query(t, key, edit, input("Say", "Ask", 2))
	require.Equal(t, []string{"BAD_INPUT"}, refused.codes())
	require.Contains(t, refused.Errors[0].Message, "edits.0.before occurs 2 times in the prompt")
	var changed struct {
		EditAgentPrompt struct {
			Agent struct {
				Prompt        string
				PromptVersion int
			}
		}
	}
	g.must(t, key, edit, input("hello", "hi", 2), &changed)
	require.Equal(t, "Say hi. Say where to park.", changed.EditAgentPrompt.Agent.Prompt)
	require.Equal(t, 3, changed.EditAgentPrompt.Agent.PromptVersion)
}
