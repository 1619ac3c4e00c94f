package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// BenchmarkLive measures the cost of subscribers in a process that does nothing else. It reports memory, processor time
// and statements while the process is idle. It also reports the delay until all subscribers of a chat have received its
// messages.
func BenchmarkLive(b *testing.B) {
	for _, load := range []struct {
		name        string
		idle, chats int
		followers   int
	}{
		{"10000-idle-on-one-chat", 10_000, 1, 0},
		{"10000-idle-on-10000-chats", 10_000, 10_000, 0},
		{"1000-followers", 0, 1, 1_000},
		{"1000-followers-beside-10000-idle", 10_000, 1_000, 1_000},
	} {
		b.Run(load.name, func(b *testing.B) {
			s := startLive(b)
			agent, err := s.tenant.CreateAgent(b.Context(), model.CreateAgentInput{
				Name: "Front desk", Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en",
				Prompt: "Be kind.",
			})
			require.NoError(b, err)
			chats := dbtest.Chats(b, s.tenant, agent.ID, load.chats+1)
			s.open(b, s.keys[1:], load.idle, func(i int) string { return chats[1+i%load.chats] }, nil)
			heard := make(chan time.Time, 2*load.followers)
			s.open(b, s.keys[:1], load.followers, func(int) string { return chats[0] }, heard)
			if load.followers > 0 {
				s.measureTurns(b, chats[0], load.followers, heard)
			} else {
				s.measureIdle(b)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// liveServer is the program as a separate process.
type liveServer struct {
	tenant *db.Tenant
	// keys has enough keys for the sockets, because one key may open 1,000.
	keys    []string
	address string
	pid     int
	conn    *pgx.Conn
}

func startLive(b *testing.B) *liveServer {
	b.Helper()
	database := dbtest.URL(b)
	store := dbtest.Open(b, database, dbtest.Options())
	company, err := store.CreateCompany(b.Context(), "Company")
	require.NoError(b, err)
	s := &liveServer{tenant: store.Tenant(company.ID)}
	for i := range 11 {
		_, key, err := s.tenant.CreateAPIKey(b.Context(),
			model.CreateAPIKeyInput{Name: fmt.Sprint("bench ", i), Scopes: []model.APIKeyScope{model.APIKeyScopeRead}})
		require.NoError(b, err)
		s.keys = append(s.keys, key)
	}
	s.conn, err = pgx.Connect(b.Context(), database)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.conn.Close(context.Background())) })

	binary, err := os.Executable()
	require.NoError(b, err)
	cmd := exec.CommandContext(context.WithoutCancel(b.Context()), binary, "serve", "--database-url", database,
		"--listen", "127.0.0.1:0", "--log-level", "info", "--rate-limit", "0", "--company-rate-limit", "0", "--workers", "0")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	stderr, err := cmd.StderrPipe()
	require.NoError(b, err)
	stdin, err := cmd.StdinPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	lines := bufio.NewScanner(stderr)
	for s.address == "" && lines.Scan() {
		var line struct{ Address string }
		if json.Unmarshal(lines.Bytes(), &line) == nil {
			s.address = line.Address
		}
	}
	require.NotEmpty(b, s.address)
	var read sync.WaitGroup
	read.Go(func() {
		for lines.Scan() {
			if bytes.Contains(lines.Bytes(), []byte(`"level":"WARN"`)) {
				b.Log(lines.Text())
			}
		}
	})
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = stdin.Close()
		read.Wait()
		_ = cmd.Wait()
	})
	s.pid = cmd.Process.Pid
	return s
}

// open opens sockets with the keys in turn, each with a subscription to a chat. A socket that has received two more
// messages sends the time to heard.
func (s *liveServer) open(
	b *testing.B, keys []string, count int, chat func(int) string, heard chan<- time.Time,
) {
	b.Helper()
	next, failed := make(chan int), make(chan error, count)
	var dialling sync.WaitGroup
	for range 16 {
		dialling.Go(func() {
			for i := range next {
				if err := s.follow(b, keys[i%len(keys)], chat(i), heard); err != nil {
					failed <- err
				}
			}
		})
	}
	for i := range count {
		next <- i
	}
	close(next)
	dialling.Wait()
	close(failed)
	require.NoError(b, <-failed)
}

func (s *liveServer) follow(b *testing.B, key, chat string, heard chan<- time.Time) error {
	ctx := b.Context()
	dialer := websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}}
	//nolint:bodyclose // A socket's response has no body.
	socket, _, err := websocket.Dial(ctx, "ws://"+s.address+"/graphql", &dialer)
	if err != nil {
		return err
	}
	b.Cleanup(func() { _ = socket.CloseNow() })
	for _, text := range []string{
		`{"type":"connection_init","payload":{"X-Api-Key":"` + key + `"}}`,
		fmt.Sprintf(`{"type":"subscribe","id":"1","payload":{"query":%q,"variables":{"id":%q}}}`,
			`subscription Follow($id: ID!) { simulationChatMessages(simulationChatId: $id) { sequence role text timestamp
				citations { number } } }`, chat),
		`{"type":"ping"}`,
	} {
		if err := socket.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
			return err
		}
	}
	for range 2 { // connection_ack and pong
		if _, text, err := socket.Read(ctx); err != nil || !bytes.Contains(text, []byte("ack")) &&
			!bytes.Contains(text, []byte("pong")) {
			return fmt.Errorf("%s: %w", text, net.ErrClosed)
		}
	}
	go func() {
		for said := 1; ; said++ {
			if _, _, err := socket.Read(context.Background()); err != nil {
				return
			}
			if said%2 == 0 {
				heard <- time.Now()
			}
		}
	}()
	return nil
}

const (
	restTime = 30 * time.Second
	rounds   = 100
)

// measureIdle measures the idle process, once it is stable.
func (s *liveServer) measureIdle(b *testing.B) {
	b.Helper()
	<-time.After(restTime)
	statements, spent := s.statements(b), s.spent(b)
	<-time.After(restTime)
	b.ReportMetric(float64(s.statements(b)-statements)/restTime.Seconds(), "statements/s")
	b.ReportMetric(100*(s.spent(b)-spent).Seconds()/restTime.Seconds(), "cpu-%")
	b.ReportMetric(s.memory(b), "MiB")
}

// measureTurns runs turns in the chat. It measures the time from each commit until a follower has received both
// messages.
func (s *liveServer) measureTurns(b *testing.B, chat string, followers int, heard <-chan time.Time) {
	b.Helper()
	<-time.After(5 * time.Second) // the newly opened sockets are still being served
	var took []time.Duration
	spent := s.spent(b)
	for round := range rounds {
		turn, err := s.tenant.BeginChatTurn(b.Context(), chat, 10*time.Second)
		require.NoError(b, err)
		at := time.Now()
		_, err = turn.Finish(b.Context(), &model.SimulationChatMessage{Text: fmt.Sprintf("Question %d", round),
			Timestamp: at},
			&model.SimulationChatMessage{Text: strings.Repeat("An answer. ", 30), Timestamp: at}, nil)
		require.NoError(b, err)
		committed := time.Now()
		for range followers {
			took = append(took, (<-heard).Sub(committed))
		}
	}
	b.ReportMetric(float64((s.spent(b)-spent).Microseconds())/float64(2*len(took)), "cpu-µs/message")
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
	b.ReportMetric(s.memory(b), "MiB")
}

// statements returns the number of transactions of the database. Each statement of the server is one transaction.
func (s *liveServer) statements(b *testing.B) (n int) {
	b.Helper()
	require.NoError(b, s.conn.QueryRow(b.Context(), "SELECT xact_commit FROM pg_stat_database WHERE datname = "+
		"current_database()").Scan(&n))
	return n
}

// memory is the resident memory of the process in MiB.
func (s *liveServer) memory(b *testing.B) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.pid))
	require.NoError(b, err)
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	require.NoError(b, err)
	return float64(pages*os.Getpagesize()) / (1 << 20)
}

// spent returns the processor time of the process, with a resolution of 10 ms.
func (s *liveServer) spent(b *testing.B) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.pid))
	require.NoError(b, err)
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+2:]))
	user, err := strconv.Atoi(fields[11])
	require.NoError(b, err)
	system, err := strconv.Atoi(fields[12])
	require.NoError(b, err)
	return time.Duration(user+system) * 10 * time.Millisecond
}
