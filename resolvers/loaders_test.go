package resolvers

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// A batch is one read, also when the machine is busy and its keys take long to be gathered.
func TestABatchIsReadOnce(t *testing.T) {
	t.Parallel()
	const rows = 100_000
	batch := &model.Batch{}
	for i := range rows {
		tool := &model.Tool{ID: strconv.Itoa(i)}
		tool.JoinBatch(batch, tool)
	}
	var reads atomic.Int32
	read := numbers(func(_ context.Context, ids []string) ([]int32, error) {
		reads.Add(1)
		return make([]int32, len(ids)), nil
	})
	edge := newEdge(t.Context(), nil, func(tool *model.Tool) string { return tool.ID }, read)
	for _, row := range batch.Rows {
		_, err := edge.load(t.Context(), row.(*model.Tool))
		require.NoError(t, err)
	}
	require.EqualValues(t, 1, reads.Load())
}
