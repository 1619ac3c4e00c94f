package main

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/graph"
)

// Reads select only the columns that a query needs. So every field, asked for alone and through every
// way that leads to its noun, must be what it is when all fields are asked for.
func TestEachFieldAloneIsWhatItIsAmongAll(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	key, _ := g.demo(t)
	g.addDocumentOfDemo(t, key)
	ways := map[string][]string{
		"Agent": {
			`{ agents { nodes { %s } } }`, `{ agents { edges { node { ... on Agent { %s } } } } }`,
			`{ agents { nodes { subAgents { agent { %s } } } } }`, `{ tools(first: 20) { nodes { agents(first: 20) { nodes { %s } } } } }`,
		},
		"Tool":              {`{ tools { nodes { %s } } }`, `{ agents { nodes { tools { ... on Node { id } %s } } } }`},
		"SubAgent":          {`{ agents { nodes { subAgents { %s } } } }`},
		"PromptVersion":     {`{ agents { nodes { promptVersions { ... on PromptVersionConnection { nodes { %s } } } } } }`},
		"KnowledgeBaseChat": {`{ knowledgeBaseChats { nodes { %s } } }`, `{ agents { nodes { knowledgeBaseChat { %s } } } }`},
		"Dataset":           {`{ datasets { nodes { %s } } }`, `{ knowledgeBaseChats { nodes { datasets { %s } } } }`},
		"Document": {
			`{ documents { nodes { %s } } }`, `{ datasets(first: 20) { nodes { documents { nodes { %s } } } } }`,
			`{ documents(first: 20) { nodes { chunks(first: 20) { nodes { document { %s } } } } } }`,
		},
		"Chunk": {`{ documents { nodes { chunks { nodes { %s } } } } }`},
	}
	schema := graph.NewExecutableSchema(graph.Config{}).Schema()
	for noun, queries := range ways {
		w := walker{schema: schema}
		for _, field := range schema.Types[noun].Fields {
			if field.Name == "retrieve" { // its argument is no page
				continue
			}
			selection := field.Name + w.selection(field.Type, 2)
			for _, query := range queries {
				var alone, among any
				g.must(t, key, fmt.Sprintf(query, selection), nil, &alone)
				g.must(t, key, fmt.Sprintf(query, selection+" probe: "+everyColumn[noun]), nil, &among)
				strip(among)
				require.Equal(t, asJSON(t, among), asJSON(t, alone), "%s.%s: %s", noun, field.Name, query)
			}
		}
	}
}

// everyColumn is a field that needs what no other does, so that asking for it reads different columns.
var everyColumn = map[string]string{
	"Agent": "prompt", "Tool": "parameters", "SubAgent": "description", "PromptVersion": "prompt",
	"KnowledgeBaseChat": "name", "Dataset": "name", "Document": "size", "Chunk": "tokens",
}

// strip removes the probe from a response.
func strip(value any) {
	switch v := value.(type) {
	case map[string]any:
		delete(v, "probe")
		for _, inner := range v {
			strip(inner)
		}
	case []any:
		for _, inner := range v {
			strip(inner)
		}
	}
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}
