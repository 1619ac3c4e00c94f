package evaluation

import (
	"context"
	"iter"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// deterministic asks a model at temperature 0, unless the request sets another, so that its decisions are stable.
type deterministic struct{ llm.Model }

// Chat implements llm.Model.
func (m deterministic) Chat(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	if req.Temperature == nil {
		req.Temperature = new(float64)
	}
	return m.Model.Chat(ctx, req)
}
