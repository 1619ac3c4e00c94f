package engine_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// BenchmarkTurn measures a turn with one call. The model takes no time. The call goes to the tool over HTTP, and is
// recorded before it starts and when it ends.
func BenchmarkTurn(b *testing.B) {
	for _, isMocked := range []bool{true, false} {
		b.Run(fmt.Sprintf("mocked=%t", isMocked), func(b *testing.B) {
			e, tenant, agent := newBench(b, 8, once("book", "{}"))
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				chat := startBench(b, e, tenant, agent, isMocked)
				b.StartTimer()
				_, messages, err := send(b.Context(), e, tenant, chat.ID, "Book")
				require.NoError(b, err)
				require.NotContains(b, messages[1].Text, "failed")
			}
		})
	}
}

// BenchmarkOpenTurns has 500 turns in progress at once. The model takes 2 s, so any additional time is overhead.
func BenchmarkOpenTurns(b *testing.B) {
	const chats, thinks = 500, 2 * time.Second
	e, tenant, agent := newBench(b, 32, actor(func(ctx context.Context, _ llm.Request) (llm.Answer, error) {
		select {
		case <-time.After(thinks):
			return say("Hello")
		case <-ctx.Done():
			return llm.Answer{}, ctx.Err()
		}
	}))
	var left int
	for b.Loop() {
		b.StopTimer()
		ids := make([]string, chats)
		for i := range ids {
			ids[i] = startBench(b, e, tenant, agent, true).ID
		}
		before := runtime.NumGoroutine()
		b.StartTimer()
		var turns sync.WaitGroup
		for _, id := range ids {
			turns.Go(func() {
				if _, _, err := send(b.Context(), e, tenant, id, "Hello"); err != nil {
					b.Error(err)
				}
			})
		}
		turns.Wait()
		left = runtime.NumGoroutine() - before
	}
	b.ReportMetric(float64(b.Elapsed()/time.Duration(b.N)-thinks)/float64(time.Millisecond), "overhead-ms")
	b.ReportMetric(float64(left), "goroutines-left")
}

func newBench(b *testing.B, connections int32, m llm.Model) (*engine.Engine, *db.Tenant, *model.Agent) {
	b.Helper()
	store := dbtest.Open(b, dbtest.URL(b), db.Options{MaxConnections: connections})
	company, err := store.CreateCompany(b.Context(), b.Name())
	require.NoError(b, err)
	tenant := store.Tenant(company.ID)
	agent, err := tenant.CreateAgent(b.Context(), model.CreateAgentInput{
		Name: "Reception", Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en", Prompt: "Be kind.",
	})
	require.NoError(b, err)
	tool, err := tenant.CreateTool(b.Context(), model.CreateToolInput{
		Name: "Book", TechnicalName: "book", Endpoint: &model.ToolEndpointInput{
			Method: model.HTTPMethodPost, TimeoutSeconds: 5,
			URL: serve(b, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "booked") }),
		},
	})
	require.NoError(b, err)
	_, err = tenant.ConnectTool(b.Context(), model.ConnectToolInput{AgentID: agent.ID, ToolID: tool.ID})
	require.NoError(b, err)
	return newEngine(m, engine.Options{Caller: loopback(b)}), tenant, agent
}

func startBench(b *testing.B, e *engine.Engine, tenant *db.Tenant, agent *model.Agent,
	isMocked bool) *model.SimulationChat {
	b.Helper()
	chat, err := e.StartSimulationChat(b.Context(), tenant, model.StartSimulationChatInput{
		AgentID: agent.ID, ToolMocking: &model.ToolMocking{MockAllTools: isMocked},
	})
	require.NoError(b, err)
	return chat
}
