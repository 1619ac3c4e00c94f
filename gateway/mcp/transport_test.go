package mcp

import (
	"context"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/graph"
)

func TestPanicIsAnErrorWithoutALog(t *testing.T) {
	t.Parallel()
	transport, err := New(graph.NewExecutableSchema(graph.Config{}).Schema(), Options{})
	require.NoError(t, err)
	handle := transport.filterByScope(func(context.Context, string, sdk.Request) (sdk.Result, error) { panic("broken") })
	_, err = handle(t.Context(), "ping", nil)
	require.ErrorContains(t, err, "internal error")
}
