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
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// asProgram makes the test binary the program itself, until its standard input ends.
const asProgram = "AGENTGRAPH_TEST_PROGRAM"

// awaited bounds what is waited for; what is awaited comes at once.
const awaited = 2 * time.Minute

// theatre is a database, and a model server for the replicas of the program that are started on it. There the
// contact asks for an appointment, the agent books it when the gate lets it, and the judge is content.
type theatre struct {
	address  string
	store    *db.Store
	tenant   *db.Tenant
	conn     *pgx.Conn
	provider *httptest.Server
	// gate lets one answer of the agent through for each element, and all of them once it is closed.
	gate chan struct{}
	// waiting counts the agents that are before the gate.
	waiting atomic.Int64
}

func newTheatre(t *testing.T) *theatre {
	t.Helper()
	s := &theatre{address: dbtest.URL(t), gate: make(chan struct{}, 1000)}
	s.store = dbtest.Open(t, s.address, dbOptions())
	company, err := s.store.CreateCompany(t.Context(), "Company")
	require.NoError(t, err)
	s.tenant = s.store.Tenant(company.ID)
	s.conn, err = pgx.Connect(t.Context(), s.address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.conn.Close(context.Background())) })
	// What is final is written once, or somebody was judged twice.
	_, err = s.conn.Exec(t.Context(), `CREATE TABLE verdicts (run_id text, status text);
		CREATE FUNCTION note_verdict() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO verdicts VALUES (NEW.id, NEW.status); RETURN NULL; END $$;
		CREATE TRIGGER verdict AFTER UPDATE ON agent_test_runs FOR EACH ROW WHEN (NEW.status NOT IN ('Queued', 'Running')) EXECUTE FUNCTION note_verdict()`,
		pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	s.provider = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.provider.Close)
	t.Cleanup(s.provider.CloseClientConnections)
	return s
}

func (s *theatre) answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	text := "Your appointment is booked."
	switch asked := string(body); {
	case strings.Contains(asked, `"json_schema"`):
		text = `{"evidence":[],"rationale":"It was booked.","passed":true}`
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
	_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", content)
}

// replica is a process that serves.
type replica struct{ cmd *exec.Cmd }

func (s *theatre) startReplica(t *testing.T, flags ...string) *replica {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), binary, append([]string{
		"serve", "--database-url", s.address, "--listen", "127.0.0.1:0", "--log-level", "warn",
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
	_ = r.cmd.Wait() // says that it was killed
}

// tests creates tests of a new agent and returns their ids.
func (s *theatre) tests(t *testing.T, count int) []string {
	t.Helper()
	return testsOf(t, s.tenant, count, 1)
}

func testsOf(t testing.TB, tenant *db.Tenant, count, turns int) []string {
	t.Helper()
	agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
		Name: "Front desk", Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en", Prompt: "Be kind.",
	})
	require.NoError(t, err)
	ids := make([]string, count)
	for i := range ids {
		test, err := tenant.CreateSimulationTest(t.Context(), model.CreateSimulationTestInput{
			AgentID: agent.ID, Name: fmt.Sprintf("Test %d", i), Scenario: "You want an appointment.",
			Criteria: []string{"An appointment is booked."}, MaxTurns: int32(turns),
		})
		require.NoError(t, err)
		ids[i] = test.ID
	}
	return ids
}

func execute(t testing.TB, tenant *db.Tenant, testIDs []string, repeats, concurrency int32) *model.AgentTestExecution {
	t.Helper()
	execution, err := tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{
		TestIds: testIDs, Repeats: repeats, Concurrency: concurrency,
	})
	require.NoError(t, err)
	return execution
}

func (s *theatre) count(t *testing.T, query string) int {
	t.Helper()
	var n int
	require.NoError(t, s.conn.QueryRow(t.Context(), query).Scan(&n), query)
	return n
}

func (s *theatre) await(t *testing.T, done func() bool, what string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(awaited); !done(); {
		select {
		case <-tick.C:
		case <-late:
			require.FailNow(t, "it never came to this: "+what)
		}
	}
}
