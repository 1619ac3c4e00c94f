package app_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/evaluation"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/model"
)

// openBlame starts a gateway and workers with the offline models.
func openBlame(t *testing.T) *gatewayUnderTest {
	t.Helper()
	counted := &statements{}
	options := dbtest.Options()
	options.Tracer = counted
	store := dbtest.Open(t, dbtest.URL(t), options)
	e, v := workOffline(t, store)
	return &gatewayUnderTest{url: serveEngine(t, store, e, v), store: store, statements: counted}
}

// workOffline runs the store's jobs with the offline models until the test ends.
func workOffline(t *testing.T, store *db.Store) (*engine.Engine, *evaluation.Evaluator) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	e := engine.New(offline.New(), engine.Options{Log: log})
	v := evaluation.New(e, evaluation.Options{Contact: offline.Contact(), Judge: offline.Judge(),
		Classifier: offline.Classifier(), Log: log})
	require.NoError(t, store.Work(t.Context(), 4, db.Workers{RunTest: v.RunTest, Index: e.Knowledge().Index,
		ContinueBlame: v.ContinueBlame}))
	t.Cleanup(func() { require.NoError(t, store.StopWork(context.Background())) })
	return e, v
}

// change is a change of a prompt as clients see it.
type change struct {
	Number                    int
	Section, Before, After    *string
	BeforePieces, AfterPieces []struct {
		Text                string
		IsChanged, IsNeeded bool
	}
	Needed    []string
	IsSuspect bool
}

// blame is why a test is red, as clients see it.
type blame struct {
	GoodVersion, BadVersion int
	GoodRun, BadRun         struct {
		ID       string
		Messages []struct{ Text string }
	}
	RowNumber *int
	RowName   *string
	PartsAt   *int
	Changes   []change
	Estimate  struct {
		Runs, RunsAtMost       int
		Credits, CreditsAtMost *float64
	}
	Search *search
}

// search is a search for a cause, as clients see it.
type search struct {
	ID, Status     string
	Verdict, Error *string
	Repeats        int
	RunsAtMost     int
	Changes, Cause []change
	IsOnlyCause    *bool
	RestoredPrompt *string
	FinishedAt     *string
	GoodVersion    int
	BadVersion     int
	Steps          []blameStep
	RowNumber      *int
	RowName        *string
	TestID         string
	CreatedAt      string
}

type blameStep struct {
	Restored       []int
	ExecutionID    string
	Judged, Passed *int
	IsRepaired     *bool
}

const (
	changeFields = `number section before after beforePieces { text isChanged isNeeded }
		afterPieces { text isChanged isNeeded } needed isSuspect`
	searchFields = `id testId status verdict error repeats runsAtMost goodVersion badVersion rowNumber rowName
		createdAt finishedAt changes { ` + changeFields + ` } cause { ` + changeFields + ` } isOnlyCause restoredPrompt
		steps { restored executionId judged passed isRepaired }`
	blameFields = `goodVersion badVersion goodRun { id messages { text } } badRun { id messages { text } }
		rowNumber rowName partsAt changes { ` + changeFields + ` }
		estimate { runs runsAtMost credits creditsAtMost } search { ` +
		searchFields + ` }`
)

func (g *gatewayUnderTest) blameOf(t *testing.T, key, testID string) *blame {
	t.Helper()
	var got struct{ AgentTest struct{ Blame *blame } }
	g.must(t, key, `query ($id: ID!) { agentTest(id: $id) { blame { `+blameFields+` } } }`, map[string]any{"id": testID},
		&got)
	return got.AgentTest.Blame
}

func (g *gatewayUnderTest) startBlame(t *testing.T, key, testID string) string {
	t.Helper()
	var started struct{ StartBlame struct{ Search search } }
	g.must(t, key, `mutation ($id: ID!) { startBlame(input: {testId: $id}) { search { id status } } }`,
		map[string]any{"id": testID}, &started)
	require.Equal(t, "Running", started.StartBlame.Search.Status)
	return started.StartBlame.Search.ID
}

// awaitBlame follows a search to its end.
func (g *gatewayUnderTest) awaitBlame(t *testing.T, key, id string) search {
	t.Helper()
	followed := g.follow(t, key, `subscription ($id: ID!) { blameUpdated(searchId: $id) { `+searchFields+` } }`,
		map[string]any{"id": id})
	var last struct{ Data struct{ BlameUpdated search } }
	for steps := 0; ; steps = len(last.Data.BlameUpdated.Steps) {
		event := followed.receive()
		if event.Type == "complete" {
			return last.Data.BlameUpdated
		}
		require.Equal(t, "next", event.Type, string(event.Payload))
		require.NoError(t, json.Unmarshal(event.Payload, &last))
		require.GreaterOrEqual(t, len(last.Data.BlameUpdated.Steps), steps)
	}
}

func (g *gatewayUnderTest) testNamed(t *testing.T, key, name string) string {
	t.Helper()
	return g.firstID(t, key, `{ list: agentTests(filter: {nameContains: "`+name+`"}) { nodes { id } } }`)
}

func TestBlameFindsTheLostSentence(t *testing.T) {
	t.Parallel()
	g := openBlame(t)
	key, _ := g.demo(t)
	test := g.testNamed(t, key, "Says where to park")
	blame := g.blameOf(t, key, test)
	require.Equal(t, []int{1, 2}, []int{blame.GoodVersion, blame.BadVersion})
	suspects := []change{}
	for i, c := range blame.Changes {
		require.Equal(t, i+1, c.Number)
		t.Logf("%d %v %v -> %v %v", c.Number, str(c.Section), str(c.Before), str(c.After), c.IsSuspect)
		if c.IsSuspect {
			suspects = append(suspects, c)
		}
	}
	require.Len(t, suspects, 1)
	require.Equal(t, "- Cars park free of charge behind the building for two hours.", *suspects[0].Before)
	require.Equal(t, "Getting here", *suspects[0].Section)
	require.Nil(t, suspects[0].After)
	require.Equal(t, []string{"behind the building"}, suspects[0].Needed)
	require.Len(t, suspects[0].BeforePieces, 3)
	require.Equal(t, "behind the building", suspects[0].BeforePieces[1].Text)
	require.True(t, suspects[0].BeforePieces[1].IsNeeded)
	require.Equal(t, 2, *blame.PartsAt)
	require.Contains(t, blame.GoodRun.Messages[2].Text, "behind the building")
	require.NotContains(t, blame.BadRun.Messages[2].Text, "behind the building")
	require.Equal(t, []int{20, 100}, []int{blame.Estimate.Runs, blame.Estimate.RunsAtMost})
	require.Nil(t, blame.Estimate.Credits)
	require.Nil(t, blame.Search)

	found := g.awaitBlame(t, key, g.startBlame(t, key, test))
	require.Equal(t, "Completed", found.Status, "%v %+v", str(found.Error), found.Steps)
	require.Equal(t, "Found", *found.Verdict)
	require.Len(t, found.Cause, 1)
	require.Equal(t, suspects[0].Number, found.Cause[0].Number)
	require.True(t, *found.IsOnlyCause)
	require.NotContains(t, *found.RestoredPrompt, "Bus 14")
	require.Contains(t, *found.RestoredPrompt, "and end the conversation. Do not book anything and do not ask for "+
		"details.\n\n# Getting here\n- Cars park free of charge behind the building for two hours.\n\n# Booking\n",
		"the line about emergencies stays whole, and the removed heading is restored")
	require.Len(t, found.Steps, 4)
	require.Equal(t, []int{5, 0, 5, 0}, []int{*found.Steps[0].Passed, *found.Steps[1].Passed, *found.Steps[2].Passed,
		*found.Steps[3].Passed})
	require.Equal(t, found.ID, g.blameOf(t, key, test).Search.ID)
}

func str(text *string) string {
	if text == nil {
		return "-"
	}
	return *text
}

// red creates an agent with the good prompt and runs the test, which passes. Then it writes the bad prompt, and the
// test fails.
func (g *gatewayUnderTest) red(t *testing.T, tenant *db.Tenant, good, bad string,
	in model.CreateSimulationTestInput) string {
	t.Helper()
	agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{Name: "Desk", Channel: model.ChannelWeb,
		Direction: model.DirectionInbound, Language: "en", Prompt: good})
	require.NoError(t, err)
	in.AgentID, in.MaxTurns = agent.ID, 3
	test, err := tenant.CreateSimulationTest(t.Context(), in)
	require.NoError(t, err)
	g.play(t, tenant, test.ID)
	_, err = tenant.UpdateAgentPrompt(t.Context(), model.UpdateAgentPromptInput{AgentID: agent.ID, Prompt: bad})
	require.NoError(t, err)
	g.play(t, tenant, test.ID)
	return test.ID
}

// play runs a test once.
func (g *gatewayUnderTest) play(t *testing.T, tenant *db.Tenant, testID string) {
	t.Helper()
	execution, err := tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{
		TestIds: []string{testID}, Repeats: 1, Concurrency: 5, VirtualTime: true})
	require.NoError(t, err)
	changes, err := tenant.FollowExecution(t.Context(), execution.ID)
	require.NoError(t, err)
	for range changes { //nolint:revive // until it is finished
	}
}

const (
	wayThere = "You are Robin.\n\n# Getting here\n" +
		"- Cars park free of charge behind the building.\n- Bus 14 stops at the door.\n"
	asking = `says: "Where can I park the car?"
says: "Which bus stops near you?"
says: "Thank you, goodbye"`
)

func TestBlameFindsChangesThatAreNeededTogether(t *testing.T) {
	t.Parallel()
	g := openBlame(t)
	tenant, key := g.company(t, "Two")
	test := g.red(t, tenant, wayThere+"\n# Opening hours\nWe open at nine.\nWe close at six.\n",
		"You are Robin, a robot.\n\n# Opening hours\nWe open at ten.\nNobody opens on Sunday.\n",
		model.CreateSimulationTestInput{Name: "Both", Scenario: asking,
			Criteria: []string{`says "behind the building"`, `says "Bus 14"`}})
	found := g.awaitBlame(t, key, g.startBlame(t, key, test))
	require.Equal(t, "Found", str(found.Verdict), str(found.Error))
	require.Equal(t, []string{"- Cars park free of charge behind the building.", "- Bus 14 stops at the door."},
		[]string{str(found.Cause[0].Before), str(found.Cause[1].Before)})
	require.Len(t, found.Cause, 2)
	require.True(t, *found.IsOnlyCause)
	for _, step := range found.Steps[2:] {
		t.Log(step.Restored, *step.Passed, *step.IsRepaired)
	}
}

// A sentence in the place of another is one change, so there is nothing to search after both prompts were tried.
func TestBlameOfAReplacedPromptIsFound(t *testing.T) {
	t.Parallel()
	g := openBlame(t)
	tenant, key := g.company(t, "Replaced")
	test := g.red(t, tenant, "Parking is behind the building.", "Parking is in front of it.",
		model.CreateSimulationTestInput{Name: "Parking", Scenario: asking,
			Criteria: []string{`says "behind the building"`}})
	found := g.awaitBlame(t, key, g.startBlame(t, key, test))
	require.Equal(t, "Found", str(found.Verdict), str(found.Error))
	require.Equal(t, "Parking is behind the building.", str(found.Cause[0].Before))
	require.Equal(t, "Parking is in front of it.", str(found.Cause[0].After))
	require.Equal(t, "Parking is behind the building.", str(found.RestoredPrompt))
	require.Len(t, found.Steps, 2)
}

func TestBlameOfAnotherCauseIsNotExplained(t *testing.T) {
	t.Parallel()
	g := openBlame(t)
	tenant, key := g.company(t, "Other")
	test := g.red(t, tenant, wayThere, "You are Robin.\n", model.CreateSimulationTestInput{Name: "Parking",
		Scenario: asking, Criteria: []string{`says "behind the building"`}})
	_, err := tenant.UpdateSimulationTest(t.Context(), model.UpdateSimulationTestInput{TestID: test,
		Criteria: []string{`says "on the roof"`}})
	require.NoError(t, err)
	found := g.awaitBlame(t, key, g.startBlame(t, key, test))
	require.Equal(t, "NotExplained", str(found.Verdict), str(found.Error))
	require.Len(t, found.Steps, 1)
	require.Empty(t, found.Cause)
	require.Nil(t, found.RestoredPrompt)
}

// A search is stored with each step, so another process continues it when its workers are killed.
func TestBlameSurvivesItsWorkers(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	first := dbtest.Open(t, address, dbtest.Options())
	e, v := workOffline(t, first)
	g := &gatewayUnderTest{url: serveEngine(t, first, e, v), store: first}
	tenant, key := g.company(t, "Killed")
	test := g.red(t, tenant, wayThere, "You are Robin.\n\n# Prices\nPrices vary.\n", model.CreateSimulationTestInput{
		Name: "Parking", Scenario: asking, Criteria: []string{`says "behind the building"`}})
	id := g.startBlame(t, key, test)
	killed, cancel := context.WithCancel(t.Context())
	cancel()
	_ = first.StopWork(killed)
	stopped := g.blameOf(t, key, test).Search
	again := dbtest.Open(t, address, dbtest.Options())
	e, v = workOffline(t, again)
	elsewhere := &gatewayUnderTest{url: serveEngine(t, again, e, v), store: again}
	found := elsewhere.awaitBlame(t, key, id)
	require.Equal(t, "Found", str(found.Verdict), str(found.Error))
	require.Len(t, found.Steps, 4)
	require.GreaterOrEqual(t, len(found.Steps), len(stopped.Steps))
	executions, err := tenant.AgentTestExecutions(t.Context(), model.PageArgs{First: 100}, nil, nil)
	require.NoError(t, err)
	require.Len(t, executions.Nodes, 2+len(found.Steps), "each step is started once")
}

func TestBlameIsBoundedAndCancelled(t *testing.T) {
	t.Parallel()
	g := startGateway(t) // without workers, so that steps stay in progress
	tenant, key := g.company(t, "Bounds")
	_, stranger := g.company(t, "Stranger")
	agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{Name: "Desk", Channel: model.ChannelWeb,
		Direction: model.DirectionInbound, Language: "en", Prompt: "You are Robin."})
	require.NoError(t, err)
	test, err := tenant.CreateSimulationTest(t.Context(), model.CreateSimulationTestInput{AgentID: agent.ID,
		Name: "Parking", Scenario: asking, Criteria: []string{"It helps."}, MaxTurns: 1})
	require.NoError(t, err)
	const start = `mutation ($id: ID!, $repeats: Int!) {
		startBlame(input: {testId: $id, repeats: $repeats}) { search { id } } }`
	refuse := func(key, code, says string, repeats int) {
		t.Helper()
		a := g.query(t, key, start, map[string]any{"id": test.ID, "repeats": repeats})
		require.Equal(t, []string{code}, a.codes())
		require.Contains(t, a.Errors[0].Message, says)
	}
	refuse(key, "UNPROCESSABLE", "is not red", 5)
	refuse(stranger, "NOT_FOUND", "does not exist", 5)
	refuse(key, "BAD_INPUT", "between 4 and 20", 3)

	search, err := model.NewBlameSearch(model.StartBlameInput{TestID: test.ID, Repeats: 5}, &model.AgentTestBlame{
		GoodVersion: 1, BadVersion: 1, Changes: []*model.PromptChange{{Number: 1, Was: "Park here."}}}, time.Now())
	require.NoError(t, err)
	require.NoError(t, tenant.StartBlameSearch(t.Context(), search))
	other := *search
	other.ID, other.Steps = model.NewID("blame"), nil
	var conflict *model.Error
	require.ErrorAs(t, tenant.StartBlameSearch(t.Context(), &other), &conflict)
	require.Equal(t, model.Conflict, conflict.Code)

	const cancel = `mutation ($id: ID!) { cancelBlame(input: {searchId: $id}) { search { status } } }`
	require.Equal(t, []string{"NOT_FOUND"}, g.query(t, stranger, cancel, map[string]any{"id": search.ID}).codes())
	var cancelled struct {
		CancelBlame struct{ Search struct{ Status string } }
	}
	g.must(t, key, cancel, map[string]any{"id": search.ID}, &cancelled)
	require.Equal(t, "Cancelled", cancelled.CancelBlame.Search.Status)
	execution, err := tenant.AgentTestExecution(t.Context(), search.ExecutionID)
	require.NoError(t, err)
	require.Equal(t, model.AgentTestExecutionStatusCancelled, execution.Status())
	require.Equal(t, search.ID, *execution.BlameSearchID)
	require.Equal(t, []string{"CONFLICT"}, g.query(t, key, cancel, map[string]any{"id": search.ID}).codes())

	// A finished search is replaced by the next one, and is deleted with its test.
	require.NoError(t, tenant.StartBlameSearch(t.Context(), &other))
	_, err = tenant.BlameSearch(t.Context(), search.ID)
	require.ErrorAs(t, err, &conflict)
	require.NoError(t, tenant.DeleteAgentTest(t.Context(), test.ID))
	_, err = tenant.BlameSearch(t.Context(), other.ID)
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, model.NotFound, conflict.Code)
	require.NoError(t, tenant.ContinueBlameSearch(t.Context(), other.ExecutionID))
}

// The blames of a list take the same number of statements for any number of tests.
func TestBlamesTakeAFixedNumberOfStatements(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	key, _ := g.demo(t)
	taken := []int64{}
	for _, first := range []int{1, 1, 20} {
		before := g.statements.Load()
		var got struct {
			AgentTests struct{ Nodes []struct{ Blame *blame } }
		}
		g.must(t, key, `query ($n: Int!) { agentTests(first: $n, filter: {nameContains: "Says wh",
			lastRunStatuses: [Failed]}) {
			nodes { blame { `+blameFields+` } } } }`, map[string]any{"n": first}, &got)
		require.Len(t, got.AgentTests.Nodes, min(first, 2))
		require.NotNil(t, got.AgentTests.Nodes[0].Blame)
		taken = append(taken, g.statements.Load()-before)
	}
	require.Equal(t, taken[1], taken[2])
}
