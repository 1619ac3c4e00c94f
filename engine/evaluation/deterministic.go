package evaluation

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// deterministic asks a model at temperature 0, unless the request sets another, so that its decisions are stable. Some
// models reject temperatures. For these it asks without a temperature, and remembers that.
type deterministic struct {
	llm.Model
	rejectsTemperature atomic.Bool
}

// Chat implements llm.Model.
func (m *deterministic) Chat(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	without, with := req, req
	without.Temperature = nil
	if m.rejectsTemperature.Load() {
		return m.Model.Chat(ctx, without)
	}
	if with.Temperature == nil {
		with.Temperature = new(float64)
	}
	return func(yield func(llm.Chunk, error) bool) {
		for chunk, err := range m.Model.Chat(ctx, with) {
			if failure, ok := errors.AsType[*llm.Error](err); !ok || failure.Cause != llm.Rejected {
				if !yield(chunk, err) {
					return
				}
				continue
			}
			for chunk, err := range m.Model.Chat(ctx, without) {
				if err == nil {
					m.rejectsTemperature.Store(true)
				}
				if !yield(chunk, err) {
					return
				}
			}
			return
		}
	}
}
