package gateway

import (
	"context"
	"fmt"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/model"
)

func limitOf(bytes int64) responseLimit {
	settings := Settings{ResponseBytes: bytes}
	return responseLimit{settings: settings, memory: newResponseMemory(settings)}
}

// While many large responses are in progress, no other response may become large. Small responses continue.
func TestLargeResponsesShareALimit(t *testing.T) {
	t.Parallel()
	l := limitOf(800)
	l.memory.held.Add(4 * 800)
	out := l.memory.open("c1", nil)
	s := &responseSize{limit: 800, out: out}
	l.addBytes(s, 100)
	require.False(t, s.isOver.Load())
	l.addBytes(s, 1)
	require.True(t, s.isOver.Load())
	require.True(t, s.isBusy.Load())

	// A response that exceeds its own limit should not be retried.
	s = &responseSize{limit: 800, out: out}
	l.addBytes(s, 801)
	require.True(t, s.isOver.Load())
	require.False(t, s.isBusy.Load())

	s = &responseSize{limit: 800, isMutation: true, out: out}
	l.addBytes(s, 800)
	require.False(t, s.isOver.Load())

	l.memory.held.Store(0)
	var last *responseSize
	ctx := graphql.WithOperationContext(t.Context(),
		&graphql.OperationContext{Operation: &ast.OperationDefinition{Operation: ast.Query}})
	l.InterceptResponse(ctx, func(ctx context.Context) *graphql.Response {
		last = ctx.Value(sizeKey{}).(*responseSize)
		l.addBytes(last, 700)
		require.EqualValues(t, 700, l.memory.held.Load())
		return &graphql.Response{}
	})
	require.False(t, last.isOver.Load())
	require.Zero(t, l.memory.held.Load(), "a complete response does not count unless it is being written")
}

// The rows that mutations read are bounded too, per mutation and in total.
func TestMutationReadsAreBounded(t *testing.T) {
	t.Parallel()
	l := limitOf(800)
	mutate := func(bytes ...int) error {
		_, err := l.limitMutation(l.memory.open("", nil), func(ctx context.Context) (any, error) {
			for _, n := range bytes {
				if err := model.MemoryBudgetOf(ctx).Reserve(n); err != nil {
					return nil, fmt.Errorf("read: %w", err)
				}
			}
			require.Positive(t, l.memory.held.Load())
			return "done", nil
		})(t.Context())
		return err
	}
	require.NoError(t, mutate(2000, 400))
	require.ErrorContains(t, mutate(2000, 401), "more than 2400 bytes")
	require.Zero(t, l.memory.held.Load())

	l.memory.held.Add(4 * 800)
	require.NoError(t, mutate(300))
	require.ErrorContains(t, mutate(301), "too many large responses")
}
