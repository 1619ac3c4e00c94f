package evaluation

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
)

func TestJudgeRunsAtTemperatureZero(t *testing.T) {
	t.Parallel()
	played := &player{lines: []line{{text: "Yes."}}}
	_, err := llm.Collect(deterministic{played}.Chat(t.Context(), llm.Request{}))
	require.NoError(t, err)
	require.InDelta(t, 0, *played.asked[0].Temperature, 0)
}
