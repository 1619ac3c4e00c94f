package app_test

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

	"github.com/agentgraph/agentgraph/cmd/agentgraph/demo"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// BenchmarkTurns sends messages over HTTP to the program with its default settings. The program calls its model over
// HTTP too. Time beyond the model's own is overhead of the program, its database, the clients and the model server,
// which all share the machine.
func BenchmarkTurns(b *testing.B) {
	for _, c := range []struct {
		chats  int
		thinks time.Duration
	}{{1, 0}, {500, 2 * time.Second}} {
		b.Run(fmt.Sprintf("open=%d/model=%s", c.chats, c.thinks), func(b *testing.B) { benchmarkTurns(b, c.chats, c.thinks) })
	}
}

func benchmarkTurns(b *testing.B, chats int, thinks time.Duration) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(thinks):
		case <-r.Context().Done():
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"Good morning"},"finish_reason":"stop"}]}`+
			"\n\ndata: [DONE]\n\n")
	}))
	b.Cleanup(server.Close)
	address := dbtest.URL(b)
	g := &gatewayUnderTest{store: dbtest.Open(b, address, dbtest.Options())}
	tenant, key := g.company(b, "Turns")
	s := serve(b, address, key, (&stubServer{url: server.URL}).asks("any"))
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
	require.NoError(b, send(dbtest.Chats(b, tenant, agent.ID, 1)[0])) // opens the persistent connections
	quiet := func() int {
		client.CloseIdleConnections()
		server.CloseClientConnections()
		return goroutines(b)
	}
	before := quiet()
	var cpu time.Duration
	turns := 0
	for b.Loop() {
		b.StopTimer()
		ids := dbtest.Chats(b, tenant, agent.ID, chats)
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

// BenchmarkOfflineTurns sends messages to the demo company's agents, 16 at a time, in chats of a given length. The
// model answers offline, so a turn costs only what the program and its database cost.
func BenchmarkOfflineTurns(b *testing.B) {
	for _, before := range []int{0, 600} {
		b.Run(fmt.Sprintf("messages=%d", before), func(b *testing.B) { benchmarkOfflineTurns(b, before) })
	}
}

func benchmarkOfflineTurns(b *testing.B, before int) {
	g := startGateway(b)
	company, err := demo.Seed(b.Context(), g.store)
	require.NoError(b, err)
	tenant, key := g.keyOf(b, company.ID, model.APIKeyScopeAdmin)
	page, err := tenant.Agents(b.Context(), model.PageArgs{First: 50}, nil)
	require.NoError(b, err)
	said := []string{"Hello", "Where is my parcel?", "What are your opening hours?", "How do I return something?",
		"I want to change my address"}
	var cpu time.Duration
	turns := 0
	for b.Loop() {
		b.StopTimer()
		var chats []string
		for _, agent := range page.Nodes {
			chats = append(chats, dbtest.Chats(b, tenant, agent.ID, 2)...)
		}
		for _, id := range chats {
			for range before / 2 {
				turn, err := tenant.BeginChatTurn(b.Context(), id, time.Minute)
				require.NoError(b, err)
				_, err = turn.Finish(b.Context(), &model.SimulationChatMessage{Text: "Hello"},
					&model.SimulationChatMessage{Text: "How can I help?"}, nil)
				require.NoError(b, err)
			}
		}
		spent := cpuTime(b)
		b.StartTimer()
		var open sync.WaitGroup
		for _, id := range chats {
			open.Go(func() {
				for _, text := range said {
					g.must(b, key, `mutation ($id: ID!, $text: String!) { sendSimulationMessage(input: {simulationChatId: $id,
						text: $text}) { newMessages { text } } }`,
						map[string]any{"id": id, "text": text}, &struct{}{})
				}
			})
		}
		open.Wait()
		cpu += cpuTime(b) - spent
		turns += len(chats) * len(said)
	}
	b.ReportMetric(float64(turns)/b.Elapsed().Seconds(), "turns/s")
	b.ReportMetric(float64(cpu.Microseconds())/float64(turns), "cpu-µs/turn")
}

// goroutines returns the number of goroutines once it is stable.
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

// cpuTime returns the processor time that the process has used, clients and model server included.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
