package evaluation

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/model"
)

// evaluatorOf returns an evaluator. The model plays all parts and agents, except those that the options set.
func evaluatorOf(m llm.Model, o Options) *Evaluator {
	o.Log = slog.New(slog.DiscardHandler)
	return New(engine.New(m, engine.Options{Log: o.Log}), o)
}

// newRun returns the only run of a new execution, and a function that reads the run from the database.
func newRun(t *testing.T, store *db.Store) (tenant *db.Tenant, id string, stored func() *model.AgentTestRun) {
	t.Helper()
	company, err := store.CreateCompany(t.Context(), "Company")
	require.NoError(t, err)
	tenant = store.Tenant(company.ID)
	agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
		Name: "Front desk", Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en", Prompt: "Be kind.",
	})
	require.NoError(t, err)
	test, err := tenant.CreateSimulationTest(t.Context(), model.CreateSimulationTestInput{
		AgentID: agent.ID, Name: "Test", Scenario: "You want an appointment.", Criteria: []string{"It is booked."},
		MaxTurns: 1,
	})
	require.NoError(t, err)
	execution, err := tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{
		TestIds: []string{test.ID}, Repeats: 1, Concurrency: 1,
	})
	require.NoError(t, err)
	runs, err := dbtest.Pages[*model.AgentTestRun](t.Context(), tenant, db.RunsOfExecutions, nil, []string{execution.ID},
		model.PageArgs{First: 1})
	require.NoError(t, err)
	id = runs[0].ID
	return tenant, id, func() *model.AgentTestRun {
		runs, err := dbtest.Find[*model.AgentTestRun](t.Context(), tenant, db.AgentTestRunRows, []string{id})
		require.NoError(t, err)
		return runs[0]
	}
}

func TestTestedAgentsUseTheirOwnModel(t *testing.T) {
	t.Parallel()
	tenant, id, stored := newRun(t, dbtest.Open(t, dbtest.URL(t), db.Options{}))
	tested := &player{answer: func(req llm.Request) line {
		if len(req.Schema) > 0 {
			return line{text: `{"evidence":[{"messageIndex":1,"quote":"booked"}],"rationale":"It was booked.","passed":true}`}
		}
		return line{text: "Your appointment is booked."}
	}}
	// A model that waits for an hour would not answer in time.
	waiting := engine.New(offline.New().Paced(time.Hour), engine.Options{Tested: tested})
	e := New(waiting, Options{Contact: tested, Judge: tested, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, e.RunTest(t.Context(), tenant, id, 1))
	require.Equal(t, model.AgentTestRunStatusPassed, stored().Status)
}

func TestRunRecordsTheInstructionsOfItsModels(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	tenant, id, _ := newRun(t, dbtest.Open(t, dbtest.URL(t), db.Options{}))
	run, err := tenant.RunsWithSnapshots(ctx, []string{id})
	require.NoError(t, err)
	agent, err := tenant.UpdateAgent(ctx, model.UpdateAgentInput{
		AgentID: run[0].Snapshot.Agent.ID, Fields: []*model.AgentField{{Name: "who"},
			{Name: "customer_phone", IsSystem: true}},
		ClassificationTags: []*model.ClassificationTag{{Name: "Done"}},
	})
	require.NoError(t, err)
	tagged, err := tenant.CreateClassificationTest(ctx, model.CreateClassificationTestInput{
		AgentID: agent.ID, Name: "Tags", TagExpected: "Done",
		ConversationContext: &model.ConversationContext{
			Messages: []model.TestMessage{{Role: model.MessageRoleUser, Text: "Thanks"}}},
	})
	require.NoError(t, err)
	_, err = tenant.UpdateSimulationTest(ctx, model.UpdateSimulationTestInput{TestID: *run[0].TestID,
		Variables: model.JSONObject(`{"who":"Ana"}`)})
	require.NoError(t, err)
	execution, err := tenant.StartAgentTestExecution(ctx, model.StartAgentTestExecutionInput{
		TestIds: []string{*run[0].TestID, tagged.ID}, Repeats: 1, Concurrency: 5,
		Prompt: new("Talk with {who}, {customer_phone}, {nobody}."),
	})
	require.NoError(t, err)
	runs, err := dbtest.Pages[*model.AgentTestRun](ctx, tenant, db.RunsOfExecutions, nil, []string{execution.ID},
		model.PageArgs{First: 2})
	require.NoError(t, err)

	var agents, classifiers []string
	e := evaluatorOf(&player{answer: func(req llm.Request) line {
		agents = append(agents, req.System)
		return line{text: "Your appointment is booked."}
	}}, Options{
		Contact: lines("I want one."), Judge: lines(`{"evidence":[{"messageIndex":1,"quote":"booked"}],"rationale":"It was booked.","passed":true}`),
		Classifier: &player{answer: func(req llm.Request) line {
			classifiers = append(classifiers, req.System)
			return line{text: `{"rationale":"It is.","tag":"Done"}`}
		}},
	})
	ids := []string{id, runs[0].ID, runs[1].ID}
	waiting, err := e.InstructionsOfRuns(ctx, tenant, ids)
	require.NoError(t, err)
	require.Empty(t, waiting, "they have not started")
	for _, run := range runs {
		require.NoError(t, e.RunTest(ctx, tenant, run.ID, 1))
	}
	instructions, err := e.InstructionsOfRuns(ctx, tenant, ids)
	require.NoError(t, err)
	require.Len(t, instructions, 2)
	require.Len(t, agents, 1)
	for _, run := range runs {
		want := agents[0]
		if *run.TestID == tagged.ID {
			want = classifiers[0]
		}
		require.Equal(t, want, *instructions[run.ID].Text)
	}
	require.Contains(t, agents[0], "Talk with Ana, +12025550143, {nobody}.")
}

// An execution uses the prompts that sub-agents had at its start, also those of sub-agents of sub-agents.
func TestSubAgentsKeepTheirPromptsDuringAnExecution(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c := newClinic(t, func(in *model.CreateAgentInput) { in.Prompt, in.Fields = "Desk", nil })
	nurse := c.another(t, func(in *model.CreateAgentInput) { in.Prompt, in.Fields = "Nurse 1", nil })
	doctor := c.another(t, func(in *model.CreateAgentInput) { in.Prompt, in.Fields = "Doctor 1", nil })
	c.subAgent(t, c.agent, nurse, "ask_nurse")
	c.subAgent(t, nurse, doctor, "ask_doctor")
	c.subAgent(t, doctor, c.agent, "ask_desk")
	test, err := c.tenant.CreateSimulationTest(ctx, model.CreateSimulationTestInput{AgentID: c.agent.ID, Name: "Asks",
		Scenario: "Ask.", Criteria: []string{"It helps."}, MaxTurns: 1})
	require.NoError(t, err)
	start := func() string {
		execution, err := c.tenant.StartAgentTestExecution(ctx, model.StartAgentTestExecutionInput{
			TestIds: []string{test.ID}, Repeats: 1, Concurrency: 1})
		require.NoError(t, err)
		runs, err := dbtest.Pages[*model.AgentTestRun](ctx, c.tenant, db.RunsOfExecutions, nil, []string{execution.ID},
			model.PageArgs{First: 1})
		require.NoError(t, err)
		return runs[0].ID
	}
	earlier := start()
	for _, edit := range []model.UpdateAgentPromptInput{{AgentID: nurse.ID, Prompt: "Nurse 2"},
		{AgentID: doctor.ID, Prompt: "Doctor 2"}} {
		_, err := c.tenant.UpdateAgentPrompt(ctx, edit)
		require.NoError(t, err)
	}
	later := start()

	var asked []string
	e := evaluatorOf(&player{answer: func(req llm.Request) line {
		prompt, _, _ := strings.Cut(req.System, "\n")
		if asked = append(asked, prompt); req.Messages[len(req.Messages)-1].Role == llm.RoleTool ||
			strings.HasPrefix(prompt, "Doctor") {
			return line{text: "Drink water."}
		}
		return line{calls: []llm.ToolCall{{ID: "c", Name: req.Tools[0].Name, Arguments: `{"request":"Help"}`}}}
	}}, Options{Contact: lines("Help me."), Judge: lines(
		`{"evidence":[{"messageIndex":1,"quote":"Drink water"}],"rationale":"It does.","passed":true}`)})
	for id, want := range map[string][]string{
		earlier: {"Desk", "Nurse 1", "Doctor 1", "Nurse 1", "Desk"},
		later:   {"Desk", "Nurse 2", "Doctor 2", "Nurse 2", "Desk"},
	} {
		asked = nil
		require.NoError(t, e.RunTest(ctx, c.tenant, id, 1))
		require.Equal(t, want, asked)
	}
}

// The database is unavailable during a run, and available again when the run is released.
func TestRunIsReleasedDuringAnOutage(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	tenant, id, stored := newRun(t, dbtest.Open(t, address, db.Options{}))
	errUnavailable := model.Errorf(model.Unavailable, "the database cannot be reached")
	isUnavailable := true
	e := evaluatorOf(&player{answer: func(req llm.Request) line {
		if isUnavailable {
			return line{err: errUnavailable}
		}
		if len(req.Schema) > 0 {
			return line{text: `{"evidence":[{"messageIndex":1,"quote":"booked"}],"rationale":"It was booked.","passed":true}`}
		}
		return line{text: "Your appointment is booked."}
	}}, Options{})
	var later *db.Later
	err := e.RunTest(t.Context(), tenant, id, 1)
	require.ErrorIs(t, err, errUnavailable)
	require.ErrorAs(t, err, &later, "the queue retries, and the run does not fail")
	run := stored()
	require.Equal(t, model.AgentTestRunStatusQueued, run.Status)
	require.Zero(t, run.Lost)
	require.Empty(t, run.Messages)

	isUnavailable = false
	require.NoError(t, e.RunTest(t.Context(), tenant, id, 2))
	require.Equal(t, model.AgentTestRunStatusPassed, stored().Status)

	disconnect(t, address)
	later = nil
	require.ErrorAs(t, e.RunTest(t.Context(), tenant, id, 3), &later, "an outage does not fail the run either")
}

// failedConnections receives the error of each connection that a store could not open.
type failedConnections chan error

func (failedConnections) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (failedConnections) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (failedConnections) TraceConnectStart(ctx context.Context, _ pgx.TraceConnectStartData) context.Context {
	return ctx
}

func (f failedConnections) TraceConnectEnd(_ context.Context, data pgx.TraceConnectEndData) {
	if data.Err != nil {
		f <- data.Err
	}
}

// The database becomes unavailable, so a worker is interrupted. It releases its run as soon as the database is
// available, and the run does not count as lost.
func TestRunInterruptedByAnOutageIsNotLost(t *testing.T) {
	t.Parallel()
	failed := make(failedConnections, 1000)
	address := dbtest.URL(t)
	tenant, id, stored := newRun(t, dbtest.Open(t, address, db.Options{Tracer: failed}))
	started, answer := make(chan struct{}), make(chan struct{})
	e := evaluatorOf(&player{answer: func(llm.Request) line {
		close(started)
		<-answer
		return line{text: "I would like an appointment."}
	}}, Options{})
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.RunTest(ctx, tenant, id, 1) }()
	<-started
	disconnect(t, address)
	interrupt()
	close(answer)
	for range 5 {
		require.Error(t, <-failed)
	}
	admit(t, address, true)
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Equal(t, model.AgentTestRunStatusQueued, stored().Status)
	require.Zero(t, stored().Lost)
}

// disconnect ends every connection to the database at the address, and makes it refuse new ones.
func disconnect(t *testing.T, address string) {
	t.Helper()
	admit(t, address, false)
	withOtherDatabase(t, address, func(conn *pgx.Conn, name string) {
		_, err := conn.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name)
		require.NoError(t, err)
	})
}

// admit makes the database at the address accept or refuse connections.
func admit(t *testing.T, address string, connections bool) {
	t.Helper()
	withOtherDatabase(t, address, func(conn *pgx.Conn, name string) {
		_, err := conn.Exec(t.Context(), fmt.Sprintf("ALTER DATABASE %s ALLOW_CONNECTIONS %t", name, connections))
		require.NoError(t, err)
	})
}

// withOtherDatabase calls fn with a connection to another database on the server, and with the name of the database at
// the address.
func withOtherDatabase(t *testing.T, address string, fn func(conn *pgx.Conn, name string)) {
	t.Helper()
	config, err := pgx.ParseConfig(address)
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), dbtest.EmptyURL(t))
	require.NoError(t, err)
	fn(conn, config.Database)
	require.NoError(t, conn.Close(t.Context()))
}
