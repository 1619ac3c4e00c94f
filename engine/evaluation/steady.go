package evaluation

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// steady asks a model at the temperature 0 unless another one is given, so that it decides tomorrow as it does today.
// Some models take no temperature and reject the request; they are asked without one, from then on at once.
type deterministic struct {
	llm.Model
	takesNone atomic.Bool
}

// Chat implements llm.Model.
func (m *deterministic) Chat(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	without, with := req, req
	without.Temperature = nil
	if m.takesNone.Load() {
		return m.Model.Chat(ctx, without)
	}
	if with.Temperature == nil {
		with.Temperature = new(float64)
	}
	return func(yield func(llm.Chunk, error) bool) {
		for chunk, err := range m.Model.Chat(ctx, with) {
			if failure, ok := errors.AsType[*llm.Error](err); ok && failure.Cause == llm.Rejected {
				m.ask(ctx, without, yield)
				return
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// ask asks without a temperature, and remembers if that helps.
func (m *deterministic) ask(ctx context.Context, req llm.Request, yield func(llm.Chunk, error) bool) {
	for chunk, err := range m.Model.Chat(ctx, req) {
		if err == nil {
			m.takesNone.Store(true)
		}
		if !yield(chunk, err) {
			return
		}
	}
}
