package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"github.com/agentgraph/agentgraph/model"
)

// Names that look equal are equal, whatever the form of their characters.
func TestNamesAreComparedInOneForm(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Forms")
	agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{Name: norm.NFD.String("Größe"), Channel: "Web",
		Direction: "Inbound", Language: "de", Prompt: "Hilf."})
	require.NoError(t, err)
	_, err = tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: norm.NFD.String("Größe")})
	require.NoError(t, err)
	for _, part := range []string{norm.NFC.String("GRÖ"), norm.NFD.String("grö")} {
		var found struct {
			Datasets struct{ TotalCount int }
		}
		g.must(t, key, `query ($part: String!) { datasets(filter: {nameContains: $part}) { totalCount } }`, map[string]any{"part": part}, &found)
		require.Equal(t, 1, found.Datasets.TotalCount)
	}

	const folder = `mutation ($agent: ID!, $name: String!) { createAgentTestFolder(input: {agentId: $agent, name: $name,
		color: "#112233"}) { folder { id } } }`
	g.must(t, key, folder, map[string]any{"agent": agent.ID, "name": norm.NFC.String("Maße für Übung")}, nil)
	a := g.query(t, key, folder, map[string]any{"agent": agent.ID, "name": norm.NFD.String("Maße für Übung")})
	require.NotEmpty(t, a.codes())
	a = g.query(t, key, `mutation ($agent: ID!, $tags: [ClassificationTagInput!]) { updateAgent(input: {agentId: $agent,
		classificationTags: $tags}) { agent { id } } }`, map[string]any{"agent": agent.ID, "tags": []map[string]any{
		{"name": norm.NFC.String("Rückgabe"), "definition": "a"}, {"name": norm.NFD.String("Rückgabe"), "definition": "b"}}})
	require.Equal(t, []string{string(model.BadInput)}, a.codes())
}
