package llm

import (
	"context"
	"errors"
	"iter"
	"log/slog"
)

// Named returns a model with another name, which records and logs show.
func Named(m Model, name string) Model { return named{m, name} }

type named struct {
	Model
	name string
}

func (n named) Name() string { return n.name }

// Fallback returns a model with the name of the first one. If the first is unavailable or too slow before its first
// chunk, the second answers within the remaining time of ctx. The last chunk then names the second in Model, and the
// failure of the first is logged. If both fail, the second model's error is returned.
func Fallback(first, second Model, log *slog.Logger) Model { return fallback{first, second, log} }

type fallback struct {
	Model
	second Model
	log    *slog.Logger
}

// Chat implements Model.
func (f fallback) Chat(ctx context.Context, req Request) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		hasBegun := false
		for chunk, err := range f.Model.Chat(ctx, req) {
			failure, isKnown := errors.AsType[*Error](err)
			if isKnown && !hasBegun && failure.IsUnavailable() && ctx.Err() == nil {
				f.log.WarnContext(ctx, "model failed; its fallback answers", "model", f.Name(), "fallback", f.second.Name(),
					"error", err, ErrorAttr(err))
				break
			}
			hasBegun = true
			if !yield(chunk, err) || err != nil {
				return
			}
		}
		if hasBegun {
			return
		}
		for chunk, err := range f.second.Chat(ctx, req) {
			if chunk.Finish != "" {
				chunk.Model = f.second.Name()
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}
