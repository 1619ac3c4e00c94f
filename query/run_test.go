package query

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// fixedBudget is a memory budget with the remaining bytes.
type fixedBudget struct{ left int }

func (p *fixedBudget) Reserve(bytes int) error {
	if p.left -= bytes; p.left < 0 {
		return model.ErrTooLarge
	}
	return nil
}

func (p *fixedBudget) CountStatement() error { return p.Reserve(0) }

// A response that is far longer than its rows is measured first. It allocates at most its own length, and almost
// nothing if it exceeds the budget.
func TestLongResponsesAreMeasuredFirst(t *testing.T) {
	t.Parallel()
	const pieces, length = 512, 64 << 10
	piece, longest := bytes.Repeat([]byte("x"), length), 0
	p := &queryPlan{}
	for range pieces {
		p.fields = append(p.fields, output[writeKey]{`"a":`, func(a *response, dst []byte, _ int) []byte {
			dst = a.reserveWritten(append(dst, piece...))
			longest = max(longest, cap(dst))
			return dst
		}})
	}
	want := append(bytes.Repeat(append([]byte(`"a":`), piece...), pieces), '}')

	budget, head := &fixedBudget{64 << 20}, []byte("head ")
	buffer := bytes.Clone(head)
	ctx := model.WithBuffer(model.WithMemoryBudget(t.Context(), budget), &buffer)
	data, err := p.run(ctx, nil, nil, nil)
	require.NoError(t, err)
	require.True(t, bytes.Equal(append([]byte("{"), want...), data))
	require.True(t, bytes.Equal(append(head, data...), buffer))
	require.Less(t, cap(buffer), len(buffer)+1024)
	require.InDelta(t, len(data), 64<<20-budget.left, 64<<10)

	longest = 0
	_, err = p.run(model.WithMemoryBudget(context.Background(), &fixedBudget{16 << 20}), nil, nil, nil)
	require.ErrorIs(t, err, model.ErrTooLarge)
	require.Less(t, longest, 4<<20)
}
