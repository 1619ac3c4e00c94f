package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
)

// asProgram is the environment variable that makes the test binary run the program until its standard input ends.
const asProgram = "AGENTGRAPH_TEST_PROGRAM"

// asCommand is the environment variable that makes the test binary run a command, which may read its standard input.
const asCommand = "AGENTGRAPH_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	if os.Getenv(asProgram) != "" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin) // standard input ends with the test
			os.Exit(1)
		}()
		main()
	}
	os.Exit(dbtest.Main(m))
}

// replicaFixture is a database and a model server for replicas of the program. The simulated contact asks for an
// appointment. The agent books it once the gate opens, and the judge passes the run.
type replicaFixture struct {
	*dbtest.Environment
	provider *httptest.Server
	// Each value sent to gate lets one agent answer. Once it is closed, all agents answer.
	gate chan struct{}
	// waiting counts agents that wait at the gate.
	waiting atomic.Int64
}

func newReplicaFixture(t *testing.T) *replicaFixture {
	t.Helper()
	s := &replicaFixture{Environment: dbtest.NewEnvironment(t), gate: make(chan struct{}, 1000)}
	s.provider = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.provider.Close)
	t.Cleanup(s.provider.CloseClientConnections)
	return s
}

func (s *replicaFixture) answer(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		http.NotFound(w, r) // The server lists no models.
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	text := "Your appointment is booked."
	switch asked := string(body); {
	case strings.Contains(asked, `"json_schema"`):
		text = `{"evidence":[{"messageIndex":1,"quote":"booked"}],"rationale":"It was booked.","passed":true,` +
			`"onRole":true,"loops":false,"leaked":false,"completed":true}`
	case strings.Contains(asked, "You play a person"):
		text = "I want an appointment."
	default:
		s.waiting.Add(1)
		defer s.waiting.Add(-1)
		select {
		case <-s.gate:
		case <-r.Context().Done():
			return
		}
	}
	content, _ := json.Marshal(text)
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "data: "+
		"{\"choices\":[{\"index\":0,\"delta\":{\"content\":%s},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", content)
}

// replica is a serving process.
type replica struct{ cmd *exec.Cmd }

func (s *replicaFixture) startReplica(t *testing.T, flags ...string) *replica {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), binary, append([]string{
		"serve", "--database-url", s.Address, "--listen", "127.0.0.1:0", "--log-level", "warn", "--drain-delay", "0s",
		"--openai-base-url", s.provider.URL + "/v1", "--openai-api-key", "any", "--model-timeout", "10m",
	}, flags...)...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stderr = t.Output()
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	return &replica{cmd}
}

func (r *replica) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, r.cmd.Process.Kill())
	_ = r.cmd.Wait() // the error says that it was killed
}
