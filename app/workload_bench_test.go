package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// BenchmarkWorkloads times the two workloads with a documented number of statements over HTTP, and the same statements
// without a gateway. The difference is the gateway's own time.
func BenchmarkWorkloads(b *testing.B) {
	g := startGateway(b)
	tenant, key := g.company(b, "Workloads")
	id := manyAgents(b, tenant, 50)
	ask := func(b *testing.B, query string, variables map[string]any) {
		body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
		require.NoError(b, err)
		for b.Loop() {
			request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, g.url+"/graphql",
				strings.NewReader(string(body)))
			require.NoError(b, err)
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("X-Api-Key", key)
			response, err := http.DefaultClient.Do(request)
			require.NoError(b, err)
			var a answer
			require.NoError(b, json.NewDecoder(response.Body).Decode(&a))
			require.NoError(b, response.Body.Close())
			require.Empty(b, a.Errors)
		}
	}
	statements := func(b *testing.B, first int32) {
		ctx := b.Context()
		for b.Loop() {
			page, err := tenant.Agents(ctx, model.PageArgs{First: first}, nil)
			require.NoError(b, err)
			agentIDs, chatIDs := []string{}, []string{}
			for _, agent := range page.Nodes {
				agentIDs, chatIDs = append(agentIDs, agent.ID), append(chatIDs, agent.ChatID())
			}
			_, err = tenant.ToolsOfAgents(ctx, agentIDs)
			require.NoError(b, err)
			edges, err := tenant.SubAgentsOfAgents(ctx, agentIDs)
			require.NoError(b, err)
			delegates := []string{}
			for _, edge := range edges {
				delegates = append(delegates, edge.DelegateAgentID)
			}
			_, err = tenant.AgentsByID(ctx, delegates)
			require.NoError(b, err)
			_, err = tenant.Find(ctx, db.KnowledgeBaseChatRows, chatIDs)
			require.NoError(b, err)
			_, err = dbtest.Find[*model.Dataset](ctx, tenant, db.DatasetsOfChats, chatIDs)
			require.NoError(b, err)
		}
	}
	for _, size := range []int32{1, 50} {
		b.Run(fmt.Sprintf("agents=%d/statements", size), func(b *testing.B) { statements(b, size) })
		b.Run(fmt.Sprintf("agents=%d/gateway", size), func(b *testing.B) {
			if size == 1 {
				ask(b, oneAgent, map[string]any{"id": id})
			} else {
				ask(b, fiftyAgents, nil)
			}
		})
	}
}
