package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// BenchmarkTurns sends messages over HTTP to the program with its default settings, whose model is
// asked over HTTP too. What is above the model's own time is overhead: of the program, of its
// database, and of the clients and the model server, which share the machine with it.
func BenchmarkTurns(b *testing.B) {
	for _, c := range []struct {
		chats  int
		thinks time.Duration
	}{{1, 0}, {500, 2 * time.Second}} {
		b.Run(fmt.Sprintf("open=%d/model=%s", c.chats, c.thinks), func(b *testing.B) { benchmarkTurns(b, c.chats, c.thinks) })
	}
}

func benchmarkTurns(b *testing.B, chats int, thinks time.Duration) {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(thinks):
		case <-r.Context().Done():
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"Good morning"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	b.Cleanup(provider.Close)
	address := dbtest.URL(b)
	g := &gatewayUnderTest{store: dbtest.Open(b, address, dbOptions())}
	tenant, key := g.company(b, "Turns")
	s := serve(b, address, key, "--openai-base-url", provider.URL+"/v1", "--openai-api-key", "any")
	agent, err := tenant.CreateAgent(b.Context(), model.CreateAgentInput{
		Name: "Front desk", Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en", Prompt: "Be kind.",
	})
	require.NoError(b, err)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: chats}}
	send := func(chatID string) error {
		request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, s.url+"/SimulationChat/send-message",
			strings.NewReader(fmt.Sprintf(`{"simulationChatId":%q,"message":"Hello"}`, chatID)))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("X-Api-Key", key)
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		var chat restChat
		if err := json.NewDecoder(response.Body).Decode(&chat); err != nil || len(chat.Messages) != 2 {
			return fmt.Errorf("%s %+v %w", response.Status, chat, err)
		}
		return nil
	}
	require.NoError(b, send(startChats(b, tenant, agent.ID, 1)[0])) // opens what stays open
	quiet := func() int {
		client.CloseIdleConnections()
		provider.CloseClientConnections()
		return goroutines(b)
	}
	before := quiet()
	var cpu time.Duration
	turns := 0
	for b.Loop() {
		b.StopTimer()
		ids := startChats(b, tenant, agent.ID, chats)
		spent := cpuTime(b)
		b.StartTimer()
		var open sync.WaitGroup
		for _, id := range ids {
			open.Go(func() {
				if err := send(id); err != nil {
					b.Error(err)
				}
			})
		}
		open.Wait()
		cpu += cpuTime(b) - spent
		turns += chats
	}
	wall := b.Elapsed()/time.Duration(turns/chats) - thinks
	b.ReportMetric(float64(wall.Microseconds())/1_000, "overhead-ms")
	b.ReportMetric(float64(cpu.Microseconds())/float64(turns), "cpu-µs/turn")
	b.ReportMetric(float64(quiet()-before), "goroutines-left")
}

func startChats(b testing.TB, tenant *db.Tenant, agentID string, n int) []string {
	b.Helper()
	ids := make([]string, n)
	for i := range ids {
		chat := &model.SimulationChat{
			AgentID: agentID, DataBag: model.JSONObject("{}"), Warnings: []string{},
			ToolMocking: model.ToolMocking{SideEffects: model.SideEffectsAllow},
		}
		require.NoError(b, tenant.CreateSimulationChat(b.Context(), chat, nil))
		ids[i] = chat.ID
	}
	return ids
}

// goroutines returns how many there are once their number does not change any more.
func goroutines(b *testing.B) int {
	b.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	last, same := runtime.NumGoroutine(), 0
	for same < 5 {
		select {
		case <-tick.C:
		case <-b.Context().Done():
			return last
		}
		now := runtime.NumGoroutine()
		if now == last {
			same++
		} else {
			last, same = now, 0
		}
	}
	return last
}

// cpuTime is what the process has used of the processor, clients and model server included.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
