package engine

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// counting is a model that reports its tokens.
type counting struct {
	usage llm.Usage
	err   error
}

func (counting) Name() string { return "counting" }

func (c counting) Chat(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		if !yield(llm.Chunk{Text: "12345678"}, nil) {
			return
		}
		if c.err != nil {
			yield(llm.Chunk{}, c.err)
			return
		}
		yield(llm.Chunk{Finish: llm.FinishToolCalls, ToolCalls: []llm.ToolCall{{Name: "book", Arguments: "{}{}"}},
			Usage: c.usage}, nil)
	}
}

func TestMeterCountsTokens(t *testing.T) {
	t.Parallel()
	var m Meter
	req := llm.Request{
		System: "1234", Schema: []byte("{}"),
		Tools:    []llm.Tool{{Name: "book", Description: "Books", Parameters: []byte("{}")}},
		Messages: []llm.Message{{Text: "12345"}, {ToolCalls: []llm.ToolCall{{Name: "book", Arguments: "{}"}}}},
	}
	ask := func(c counting) (llm.Answer, error) { return llm.Collect(m.Wrap(c).Chat(t.Context(), req)) }
	answer, err := ask(counting{usage: llm.Usage{InputTokens: 100, OutputTokens: 20}})
	require.NoError(t, err)
	require.Equal(t, "12345678", answer.Text)
	require.Equal(t, llm.Usage{InputTokens: 100, OutputTokens: 20}, m.total())

	_, err = ask(counting{err: errors.New("broken")})
	require.EqualError(t, err, "broken")
	for _, err := range m.Wrap(counting{}).Chat(t.Context(), req) {
		require.NoError(t, err)
		break
	}
	require.Equal(t, llm.Usage{InputTokens: 100, OutputTokens: 20}, m.total(), "failed and abandoned answers do not count")

	// This model reports no tokens. They are estimated from 28 bytes of input and 16 bytes of output.
	_, err = ask(counting{})
	require.NoError(t, err)
	require.Equal(t, llm.Usage{InputTokens: 107, OutputTokens: 24}, m.total())

	e := New(counting{}, Options{Prices: model.Prices{Message: 5, InputTokens: 1_000, OutputTokens: 10_000}})
	spent := e.Spent(&model.Agent{ID: "agent_1", Channel: model.ChannelWeb}, &m, 2)
	require.Equal(t, &model.UsageEntry{AgentID: "agent_1", Channel: model.ChannelWeb, Credits: 10 + 107 + 240}, spent)

	// Each model has its own prices, and a price for cached tokens. The agent's model has the price of messages.
	cheap := Choice{Model: llm.Named(counting{}, "cheap"), Prices: model.Prices{Message: 1, InputTokens: 1_000,
		CachedTokens: new(model.Credits(100))}}
	e = New(counting{}, Options{Prices: e.prices, Choices: []Choice{cheap}})
	m.addUsage("cheap", llm.Usage{InputTokens: 50, CachedTokens: 40, OutputTokens: 9})
	spent = e.Spent(&model.Agent{ID: "agent_1", Model: new("cheap")}, &m, 2)
	require.Equal(t, model.Credits(2+10+4+107+240), spent.Credits)

	// These are also the prices of an agent whose model is the default.
	e = New(cheap, Options{Prices: e.prices, Choices: []Choice{cheap}})
	spent = e.Spent(&model.Agent{ID: "agent_1"}, &m, 2)
	require.Equal(t, model.Credits(2+10+4+107+240), spent.Credits)
}
