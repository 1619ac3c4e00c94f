package dbtest

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// CountFinalRuns counts the runs that have ended.
const CountFinalRuns = "SELECT count(*) FROM agent_test_runs WHERE status NOT IN ('Queued', 'Running')"

// Options returns options of a store that can store secrets.
func Options() db.Options { return db.Options{SecretKey: bytes.Repeat([]byte{7}, 32)} }

// Environment is a database for running agent tests. Its table verdicts records every write that makes a run final. On
// a Citus cluster it has no such table.
type Environment struct {
	Address string
	Store   *db.Store
	Tenant  *db.Tenant
	conn    *pgx.Conn
}

// NewEnvironment returns an Environment with one company.
func NewEnvironment(t testing.TB) *Environment {
	t.Helper()
	e := &Environment{Address: URL(t)}
	e.Store = Open(t, e.Address, Options())
	company, err := e.Store.CreateCompany(t.Context(), "Company")
	require.NoError(t, err)
	e.Tenant = e.Store.Tenant(company.ID)
	e.conn, err = pgx.Connect(t.Context(), e.Address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.conn.Close(context.Background())) })
	if nodes() != nil {
		return e // Citus accepts no triggers on sharded tables
	}
	// A run must become final only once.
	_, err = e.conn.Exec(t.Context(), `CREATE TABLE verdicts (run_id text, status text);
		CREATE FUNCTION note_verdict() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO verdicts VALUES (NEW.id,
			NEW.status); RETURN NULL; END $$;
		GRANT INSERT ON verdicts TO PUBLIC;
		CREATE TRIGGER verdict AFTER UPDATE ON agent_test_runs FOR EACH ROW WHEN (NEW.status NOT IN ('Queued',
			'Running')) EXECUTE FUNCTION note_verdict()`,
		pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	return e
}

// Tests creates tests of a new agent, of one turn each, and returns their ids.
func (e *Environment) Tests(t testing.TB, count int) []string {
	t.Helper()
	return Tests(t, e.Tenant, count, 1)
}

// Count returns the number that a query selects.
func (e *Environment) Count(t testing.TB, query string) int {
	t.Helper()
	var n int
	require.NoError(t, e.conn.QueryRow(t.Context(), query).Scan(&n), query)
	return n
}

// Await polls until done reports true.
func (e *Environment) Await(t testing.TB, done func() bool, what string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(WaitTimeout); !done(); {
		select {
		case <-tick.C:
		case <-late:
			require.FailNow(t, "this did not happen in time: "+what)
		}
	}
}

// Tests creates tests of a new agent and returns their ids.
func Tests(t testing.TB, tenant *db.Tenant, count, turns int) []string {
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

// Execute starts an execution of the tests.
func Execute(t testing.TB, tenant *db.Tenant, testIDs []string, repeats, concurrency int32) *model.AgentTestExecution {
	t.Helper()
	execution, err := tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{
		TestIds: testIDs, Repeats: repeats, Concurrency: concurrency,
	})
	require.NoError(t, err)
	return execution
}

// Chats starts simulated chats with an agent and returns their ids.
func Chats(t testing.TB, tenant *db.Tenant, agentID string, n int) []string {
	t.Helper()
	ids := make([]string, n)
	for i := range ids {
		chat := &model.SimulationChat{
			AgentID: agentID, DataBag: model.JSONObject("{}"), Warnings: []string{},
			ToolMocking: model.ToolMocking{SideEffects: model.SideEffectsAllow},
		}
		require.NoError(t, tenant.CreateSimulationChat(t.Context(), chat))
		ids[i] = chat.ID
	}
	return ids
}
