package app

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/graph"
)

func TestMutationsThatReturnSecretsAreListed(t *testing.T) {
	t.Parallel()
	schema := graph.NewExecutableSchema(graph.Config{}).Schema()
	var found []string
	for _, mutation := range schema.Mutation.Fields {
		for _, field := range schema.Types[mutation.Type.Name()].Fields {
			if slices.Contains([]string{"secret", "token"}, field.Name) {
				found = append(found, mutation.Name)
			}
		}
	}
	require.ElementsMatch(t, found, secretFields)
}
