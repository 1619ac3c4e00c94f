package engine

import (
	"context"
	"iter"
	"strings"
	"sync/atomic"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// Meter counts the tokens of a conversation's answers from all models. It estimates tokens that a model does not
// report. Failed or abandoned answers do not count.
type Meter struct{ input, output atomic.Int64 }

// Of wraps the model to count its answers. It returns nil for a nil model.
func (m *Meter) Of(counted llm.Model) llm.Model {
	if counted == nil {
		return nil
	}
	return metered{counted, m}
}

type metered struct {
	llm.Model
	meter *Meter
}

// Chat forwards the model's answer and counts its tokens.
func (m metered) Chat(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		var text strings.Builder
		for chunk, err := range m.Model.Chat(ctx, req) {
			if err == nil {
				text.WriteString(chunk.Text)
			}
			if err == nil && chunk.Finish != "" {
				used := chunk.Usage
				if used == (llm.Usage{}) {
					used = llm.EstimateUsage(req, llm.Answer{Text: text.String(), ToolCalls: chunk.ToolCalls})
				}
				m.meter.input.Add(int64(used.InputTokens))
				m.meter.output.Add(int64(used.OutputTokens))
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// Spent returns the usage of a conversation with the agent. messages is the number of the agent's messages.
func (e *Engine) Spent(agent *model.Agent, m *Meter, messages int32) *model.UsageEntry {
	return &model.UsageEntry{
		AgentID: agent.ID, Channel: agent.Channel,
		Credits: e.prices.Of(int64(messages), m.input.Load(), m.output.Load()),
	}
}
