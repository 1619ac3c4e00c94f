package main

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
)

// The first queries of the README have to work as they stand.
func TestQueriesOfTheReadme(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	bodies := regexp.MustCompile(`-d '(\{"query": "\{ .*\})'`).FindAllStringSubmatch(string(text), -1)
	require.Len(t, bodies, 2, "the agents, and a question to the knowledge base")
	shown, stop := startDev(t, "--ephemeral", "--database-url", dbtest.URL(t))
	defer stop()
	s := &served{url: shown.RestURL, key: *shown.APIKey}
	for _, body := range bodies {
		var request struct{ Query string }
		require.NoError(t, json.Unmarshal([]byte(body[1]), &request))
		s.must(t, request.Query, nil, nil)
	}
}
