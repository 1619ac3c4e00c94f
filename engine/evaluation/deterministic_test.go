package evaluation

import (
	"context"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// picky rejects requests with a temperature, or all requests.
type picky struct {
	rejectsAll bool
	asked      []*float64
}

func (*picky) Name() string { return "picky" }

func (p *picky) Chat(_ context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		p.asked = append(p.asked, req.Temperature)
		if p.rejectsAll || req.Temperature != nil {
			yield(llm.Chunk{}, &llm.Error{Cause: llm.Rejected, Message: "the provider answered 400 Bad Request"})
			return
		}
		yield(llm.Chunk{Text: "Yes.", Finish: llm.FinishStop}, nil)
	}
}

func TestJudgeRunsAtTemperatureZero(t *testing.T) {
	t.Parallel()
	played := &player{lines: []line{{text: "Yes."}}}
	_, err := llm.Collect((&deterministic{Model: played}).Chat(t.Context(), llm.Request{}))
	require.NoError(t, err)
	require.InDelta(t, 0, *played.asked[0].Temperature, 0)

	p := &picky{}
	m := &deterministic{Model: p}
	for range 2 {
		answer, err := llm.Collect(m.Chat(t.Context(), llm.Request{}))
		require.NoError(t, err)
		require.Equal(t, "Yes.", answer.Text)
	}
	require.Len(t, p.asked, 3, "the rejected temperature is not sent again")
	require.NotNil(t, p.asked[0])
	require.Nil(t, p.asked[2])

	p = &picky{rejectsAll: true}
	m = &deterministic{Model: p}
	_, err = llm.Collect(m.Chat(t.Context(), llm.Request{}))
	require.ErrorContains(t, err, "400")
	require.False(t, m.rejectsTemperature.Load(), "the model rejected something other than the temperature")
}
