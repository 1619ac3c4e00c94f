package gateway

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// A query can wait for a database connection while other responses take the memory. If its response is known to be
// large, the query then fails before it reads.
func TestWaitingQueriesNeedMemoryBeforeReading(t *testing.T) {
	t.Parallel()
	const responseBytes = 1 << 20
	limit := responseLimit{settings: Settings{ResponseBytes: responseBytes},
		memory: newResponseMemory(Settings{ResponseBytes: responseBytes})}
	first := limit.memory.open("company_1", nil)
	defer first.close()
	known := &responseSize{limit: responseBytes, out: first, document: "{ large }"}
	require.NoError(t, responseBudget{limit, known}.Reserve(responseBytes-1))
	require.NoError(t, responseBudget{limit, known}.Reserve(1))
	waiting := func(document string) responseBudget {
		out := limit.memory.open("company_1", nil)
		t.Cleanup(out.close)
		return responseBudget{limit, &responseSize{limit: responseBytes, out: out, document: document}}
	}
	same, other := waiting("{ large }"), waiting("{ small }")
	require.NoError(t, same.CountStatement())
	first.addBytes(2 * responseBytes)
	defer first.addBytes(-3 * responseBytes)
	require.ErrorIs(t, same.CountStatement(), model.ErrTooLarge)
	require.True(t, same.size.isBusy.Load())
	require.NoError(t, other.CountStatement())
}
