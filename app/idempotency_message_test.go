package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/llm"
)

// gatedModel blocks until the test lets it answer "Yes." or fail.
type gatedModel struct {
	asked   atomic.Int32
	started chan struct{}
	answers chan error
}

func (*gatedModel) Name() string { return "gated" }

func (m *gatedModel) Chat(ctx context.Context, _ llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		m.asked.Add(1)
		m.started <- struct{}{}
		select {
		case <-ctx.Done():
			yield(llm.Chunk{}, ctx.Err())
		case err := <-m.answers:
			yield(llm.Chunk{Text: "Yes.", Finish: llm.FinishStop}, err)
		}
	}
}

// startGated returns a gateway with a gatedModel, a key, and the body of a message to a chat.
func startGated(t *testing.T) (g *gatewayUnderTest, m *gatedModel, key, message string) {
	t.Helper()
	m = &gatedModel{started: make(chan struct{}, 10), answers: make(chan error, 10)}
	store := dbtest.Open(t, dbtest.URL(t), dbtest.Options())
	g = &gatewayUnderTest{url: serveEngine(t, store, engineOf(m), nil), store: store}
	tenant, key := g.company(t, "Gated")
	agent, _ := frontDesk(t, tenant)
	started := g.post(t, "/SimulationChat/start", key, fmt.Sprintf(`{"agentId":%q}`, agent))
	var chat struct{ SimulationChatID string }
	require.NoError(t, json.Unmarshal([]byte(started.text), &chat), started.text)
	return g, m, key, fmt.Sprintf(`{"simulationChatId":%q,"message":"Hello?"}`, chat.SimulationChatID)
}

func TestUnavailableRequestCanBeRetried(t *testing.T) {
	t.Parallel()
	g, m, key, message := startGated(t)
	m.answers <- &llm.Error{Cause: llm.Rejected, Message: "no"}
	failed := g.post(t, "/SimulationChat/send-message", key, message, onceOnly)
	require.Equal(t, http.StatusBadGateway, failed.status, failed.text)
	m.answers <- nil
	first := g.post(t, "/SimulationChat/send-message", key, message, onceOnly)
	require.Equal(t, http.StatusOK, first.status, first.text)
	requireReplay(t, first, g.post(t, "/SimulationChat/send-message", key, message, onceOnly))
	require.EqualValues(t, 2, m.asked.Load())
}

func TestRequestRunsAfterItsClientDisconnects(t *testing.T) {
	t.Parallel()
	g, m, key, message := startGated(t)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := g.tryPost(ctx, "/SimulationChat/send-message", key, message, onceOnly)
		left <- err
	}()
	<-m.started
	running := g.post(t, "/SimulationChat/send-message", key, message, onceOnly)
	require.Equal(t, http.StatusConflict, running.status)
	require.Equal(t, "1", running.header.Get("Retry-After"))
	require.Contains(t, running.text, "Idempotency-Key")
	leave()
	require.ErrorIs(t, <-left, context.Canceled)
	m.answers <- nil
	var replayed whole
	require.Eventually(t, func() bool {
		replayed = g.post(t, "/SimulationChat/send-message", key, message, onceOnly)
		return replayed.status != http.StatusConflict
	}, dbtest.WaitTimeout, often)
	require.Equal(t, http.StatusOK, replayed.status, replayed.text)
	require.True(t, replayed.isReplayed())
	require.Contains(t, replayed.text, "Yes.")
	require.EqualValues(t, 1, m.asked.Load())
}
