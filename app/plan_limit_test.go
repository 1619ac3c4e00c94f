package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/model"
)

// longPrompts starts a gateway that limits responses to limit bytes, and a company of agents with prompts of 45,000
// bytes.
func longPrompts(t *testing.T, limit int64, agents int) (g *gatewayUnderTest, key string) {
	t.Helper()
	store := dbtest.Open(t, dbtest.URL(t), dbtest.Options())
	settings := gateway.DefaultSettings()
	settings.ResponseBytes = limit
	g = &gatewayUnderTest{url: serveWith(t, store, settings), store: store}
	tenant, key := g.company(t, "Long prompts")
	for i := range agents {
		_, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
			Name: fmt.Sprintf("Agent %d", i), Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en",
			Prompt: strings.Repeat("long ", 9_000),
		})
		require.NoError(t, err)
	}
	return g, key
}

// Rows count toward the response limit when they are read, before any row is written.
func TestQueryPlansRespectTheResponseLimit(t *testing.T) {
	t.Parallel()
	g, key := longPrompts(t, 400_000, 20)
	g.must(t, key, `{ agents(first: 3) { nodes { prompt } } }`, nil, nil)
	refused := g.query(t, key, `{ agents { nodes { prompt } } }`, nil)
	require.Equal(t, []string{"LIMIT_EXCEEDED"}, refused.codes())
	require.Equal(t, "null", string(refused.Data))
}

// Reading stops when a response is too large. The next request is not affected.
func TestOversizedBodiesAreNotReadToTheEnd(t *testing.T) {
	t.Parallel()
	g, key := longPrompts(t, 200_000, 30)
	var aliases strings.Builder
	for i := range 20 {
		fmt.Fprintf(&aliases, " a%d: agents(first: 30) { nodes { prompt } }", i)
	}
	for range 3 {
		require.Equal(t, []string{"LIMIT_EXCEEDED"}, g.query(t, key, "{"+aliases.String()+" }", nil).codes())
		g.must(t, key, `{ agents(first: 1) { nodes { prompt } } }`, nil, nil)
	}
}

// A query may select the same rows a thousand times, although they are read once.
func TestAliasesDoNotMultiplyPastTheLimit(t *testing.T) {
	t.Parallel()
	store := dbtest.Open(t, dbtest.URL(t), dbtest.Options())
	settings := gateway.DefaultSettings()
	settings.ResponseBytes = 1 << 20
	g := &gatewayUnderTest{url: serveWith(t, store, settings), store: store}
	tenant, key := g.company(t, "Aliases")
	tags := make([]*model.ClassificationTag, 50)
	for i := range tags {
		tags[i] = &model.ClassificationTag{Name: fmt.Sprintf("Tag %d", i), Definition: strings.Repeat("d", 2_000)}
	}
	agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
		Name: "Agent", Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en",
		Prompt:             strings.Repeat("p", 50_000),
		ClassificationTags: tags,
	})
	require.NoError(t, err)
	for _, field := range []string{"prompt", "definition"} {
		var aliases strings.Builder
		for i := range 1_000 {
			fmt.Fprintf(&aliases, " a%d: %s", i, field)
		}
		selection := aliases.String()
		if field == "definition" {
			selection = "classificationTags {" + selection + "}"
		}
		refused := g.query(t, key, `{ agent(id: "`+agent.ID+`") { `+selection+` } }`, nil)
		require.Equal(t, []string{"LIMIT_EXCEEDED"}, refused.codes(), field)
		require.Equal(t, "null", string(refused.Data))
	}
	// A plan that leaves the response to resolvers releases the bytes that it has reserved.
	g.must(t, key, `{ agent(id: "`+agent.ID+`") { prompt classificationTags { definition } } }`, nil, nil)
	missing := g.query(t, key, `{ agents { nodes { a: prompt b: prompt c: prompt d: prompt } } agent(id: "none") { id } }`,
		nil)
	require.Equal(t, []string{"NOT_FOUND"}, missing.codes())
}
