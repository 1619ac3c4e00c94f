package engine

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/graph-gophers/dataloader/v7"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// The database does not answer in the middle of a run, though it does when the run is given back.
func TestARunWhoseDatabaseIsAway(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, db.Options{})
	company, err := store.CreateCompany(t.Context(), "Company")
	require.NoError(t, err)
	tenant := store.Tenant(company.ID)
	agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
		Name: "Front desk", Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en", Prompt: "Be kind.",
	})
	require.NoError(t, err)
	test, err := tenant.CreateSimulationTest(t.Context(), model.CreateSimulationTestInput{
		AgentID: agent.ID, Name: "Test", Scenario: "You want an appointment.", Criteria: []string{"It is booked."}, MaxTurns: 1,
	})
	require.NoError(t, err)
	execution, err := tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{
		TestIds: []string{test.ID}, Repeats: 1, Concurrency: 1,
	})
	require.NoError(t, err)
	runs, err := tenant.RunsOfExecutions(nil, nil).Pages(t.Context(), []string{execution.ID}, model.PageArgs{First: 1})
	require.NoError(t, err)
	id := runs[0].ID
	stored := func() *model.AgentTestRun {
		runs, err := tenant.AgentTestRunsByID(t.Context(), []string{id})
		require.NoError(t, err)
		return runs[0]
	}

	e := New(&player{by: func(req llm.Request) line {
		if len(req.Schema) > 0 {
			return line{text: `{"evidence":[],"rationale":"It was booked.","passed":true}`}
		}
		return line{text: "Your appointment is booked."}
	}}, Options{Log: slog.New(slog.DiscardHandler)})
	answers, away := e.speakers, model.Errorf(model.Unavailable, "the database cannot be reached")
	e.speakers = dataloader.NewBatchedLoader(func(_ context.Context, wanted []speakerOf) []*dataloader.Result[*speaker] {
		results := make([]*dataloader.Result[*speaker], len(wanted))
		for i := range results {
			results[i] = &dataloader.Result[*speaker]{Error: away}
		}
		return results
	})
	require.ErrorIs(t, e.RunTest(t.Context(), tenant, id, 1), away, "the queue calls again")
	left := stored()
	require.Equal(t, model.AgentTestRunStatusQueued, left.Status)
	require.Zero(t, left.Lost)
	require.Empty(t, left.Messages)

	e.speakers = answers
	require.NoError(t, e.RunTest(t.Context(), tenant, id, 2))
	require.Equal(t, model.AgentTestRunStatusPassed, stored().Status)

	breakOff(t, address)
	var later *db.Later
	require.ErrorAs(t, e.RunTest(t.Context(), tenant, id, 3), &later, "that is no failure of the run")
}

// breakOff ends every connection with the database at the address, which accepts no other from then on.
func breakOff(t *testing.T, address string) {
	t.Helper()
	config, err := pgx.ParseConfig(address)
	require.NoError(t, err)
	name := config.Database
	config.Database = "postgres"
	conn, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), fmt.Sprintf("ALTER DATABASE %s ALLOW_CONNECTIONS false", name))
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
}
