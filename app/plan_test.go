package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
)

// bothWays are two servers on the demo's database. One answers by query plans, the other only by resolvers.
type bothWays struct {
	planned, resolved string
	key, other        string
	counted           *batches
	operations        *operations
}

func startBothWays(t testing.TB) *bothWays {
	t.Helper()
	counted := &batches{}
	return startBothWaysWith(t, counted, counted)
}

// startBothWaysWith is startBothWays with a tracer that counts statements.
func startBothWaysWith(t testing.TB, tracer pgx.QueryTracer, counted *batches) *bothWays {
	t.Helper()
	b := &bothWays{counted: counted}
	options := dbtest.Options()
	options.Tracer = tracer
	store := dbtest.Open(t, dbtest.URL(t), options)
	settings := gateway.DefaultSettings()
	settings.QueryCost, settings.ResponseWork = 0, 0
	b.planned, b.resolved = servePlanned(t, store, settings, true), servePlanned(t, store, settings, false)
	g := &gatewayUnderTest{url: b.resolved, store: store}
	b.key, b.other = g.demo(t)
	b.operations = &operations{schema: graph.NewExecutableSchema(graph.Config{}).Schema(), ids: map[string][]string{},
		cursors: map[string][]string{}}
	for _, key := range []string{b.key, b.other} {
		for _, list := range []string{
			"agents", "tools", "knowledgeBaseChats", "datasets", "documents", "simulationChats", "agentTests",
			"agentTestFolders",
			"agentTestExecutions", "agentTestRuns", "campaigns",
		} {
			var found map[string]struct {
				Edges []struct {
					Cursor string
					Node   struct{ ID string }
				}
			}
			g.must(t, key, "{ "+list+"(first: 12) { edges { cursor node { id } } } }", nil, &found)
			for i, edge := range found[list].Edges {
				if key == b.key || i < 2 {
					b.operations.ids[list] = append(b.operations.ids[list], edge.Node.ID)
					b.operations.cursors[list] = append(b.operations.cursors[list], edge.Cursor)
				}
			}
		}
	}
	return b
}

var traceID = regexp.MustCompile(`"traceId":"[^"]*"`)

// ask returns the status and the body of the response.
func (b *bothWays) ask(t testing.TB, url string, o operation) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": o.text, "variables": o.variables})
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/graphql", bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Api-Key", b.key)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return fmt.Sprintln(response.StatusCode, inOrder(t, traceID.ReplaceAllString(string(text), `"traceId":""`)))
}

var moreErrors = regexp.MustCompile(`"message":"and \d+ more errors"`)

// inOrder sorts the errors of a response, because their order is random.
func inOrder(t testing.TB, answer string) string {
	if !strings.HasPrefix(answer, `{"errors":`) {
		return answer
	}
	var parts struct {
		Errors []json.RawMessage
		Data   json.RawMessage
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &parts))
	errors := make([]string, len(parts.Errors))
	for i, fault := range parts.Errors {
		errors[i] = string(fault)
		if moreErrors.MatchString(errors[i]) {
			// If there are many errors, the choice of those that are reported is random too.
			return fmt.Sprintln(errors[i], string(parts.Data))
		}
	}
	slices.Sort(errors)
	return fmt.Sprintln(slices.Compact(errors), string(parts.Data))
}

// same requires both servers to give the same answer. It reports whether a plan ran, and whether there was no error.
func (b *bothWays) same(t testing.TB, o operation) (planned, good bool) {
	t.Helper()
	want := b.ask(t, b.resolved, o)
	before := b.counted.trips.Load()
	got := b.ask(t, b.planned, o)
	planned = b.counted.trips.Load() > before
	require.Equal(t, want, got, "%s\n%v", o.text, o.variables)
	return planned, strings.HasPrefix(want, `200 {`)
}

// Soft-deleted rows are hidden from plans and from resolvers, on every path.
func TestSoftDeletedRowsAreHiddenFromBothPaths(t *testing.T) {
	t.Parallel()
	b := startBothWays(t)
	g := &gatewayUnderTest{url: b.resolved}
	var found struct {
		AgentTestRuns struct {
			Nodes []struct {
				ID          string
				TestID      *string
				ExecutionID string
				Test        *struct {
					ID    string
					Agent struct{ ID string }
				}
			}
		}
	}
	const runs = "{ agentTestRuns(first: 50) { nodes { id testId executionId test { id agent { id } } } } }"
	g.must(t, b.key, runs, nil, &found)
	gone, stays := found.AgentTestRuns.Nodes[0], found.AgentTestRuns.Nodes[len(found.AgentTestRuns.Nodes)-1]
	require.NotNil(t, stays.Test)
	require.NotEqual(t, gone.ExecutionID, stays.ExecutionID)
	test, agent := *stays.TestID, stays.Test.Agent.ID
	for _, mutation := range []string{
		`deleteAgentTestExecution(input: {executionId: "` + gone.ExecutionID + `"}) { deletedId }`,
		`deleteAgentTest(input: {testId: "` + test + `"}) { deletedId }`,
	} {
		g.must(t, b.key, "mutation { "+mutation+" }", nil, &struct{}{})
	}
	g.must(t, b.key, runs, nil, &found)
	for _, run := range found.AgentTestRuns.Nodes {
		require.NotEqual(t, gone.ExecutionID, run.ExecutionID)
	}
	ask := func(text string) string {
		o := operation{text: text}
		b.same(t, o)
		answer := b.ask(t, b.planned, o)
		require.True(t, strings.HasPrefix(answer, `200 {"data":`) || strings.Contains(answer, "NOT_FOUND"), answer)
		return answer
	}
	require.Contains(t, ask(`{ agentTestRun(id: "`+stays.ID+
		`") { testId test { id } rejudgements { testId test { id } } execution { id tests { test { id } } } } }`),
		`{"testId":null,"test":null`)
	for _, text := range []string{
		runs, `{ agentTest(id: "` + test + `") { id } }`, `{ node(id: "` + test + `") { id } }`, `{ node(id: "` +
			gone.ExecutionID + `") { id } }`,
		`{ agentTestRun(id: "` + gone.ID + `") { id execution { id } } }`, `{ agentTestExecution(id: "` + gone.ExecutionID +
			`") { id runs { totalCount } } }`,
		`{ agentTestExecutions { totalCount nodes { id agent { id } agentId counts { total } retryOfId } } }`,
		`{ agent(id: "` + agent + `") { tests { totalCount nodes { id lastRun { id testId } history { id } isFlaky } } } }`,
	} {
		answer := ask(text)
		require.NotContains(t, answer, `{"id":"`+test, text)
		require.NotContains(t, answer, `{"id":"`+gone.ExecutionID, text)
	}

	g.must(t, b.key, `mutation { deleteAgent(input: {agentId: "`+agent+`"}) { deletedId } }`, nil, &struct{}{})
	for _, text := range []string{
		`{ agents(first: 50) { totalCount nodes { id subAgents { id } tools { id } } } }`, `{ agent(id: "` + agent +
			`") { id } }`,
		`{ simulationChats(first: 50) { totalCount nodes { id agent { id } } } }`,
		`{ campaigns(first: 50) { totalCount nodes { id agent { id } } } }`,
		`{ agentTestExecutions(first: 50) { nodes { id agent { id } } } }`,
		`{ agentTests(first: 50) { totalCount nodes { id agent { id } } } }`,
		`{ tools(first: 50) { nodes { id agents { totalCount nodes { id } } } } }`,
		`{ knowledgeBaseChats(first: 50) { nodes { id agents { nodes { id } } } } }`,
		`{ agentTestFolders(first: 50) { nodes { id agent { id } } } }`,
		`{ agentTestSchedules(first: 50) { nodes { id agent { id } } } }`,
	} {
		require.NotContains(t, ask(text), agent+`"}`, text)
	}
}

// TestQueryPlansAnswerLikeResolvers compares the answers of plans and resolvers, byte for byte.
func TestQueryPlansAnswerLikeResolvers(t *testing.T) {
	t.Parallel()
	b := startBothWays(t)
	planned, good := 0, 0
	const many = 800
	for seed := range uint64(many) {
		isPlanned, isGood := b.same(t, b.operations.make(seed))
		if isGood {
			good++
		}
		if isPlanned && isGood {
			planned++
		}
	}
	t.Logf("%d of %d operations have no errors, and %d of these were planned", good, many, planned)
	require.Greater(t, good, many/2)
	require.Greater(t, planned, good/3)
}

// FuzzQueryPlansAnswerLikeResolvers does the same with random seeds.
func FuzzQueryPlansAnswerLikeResolvers(f *testing.F) {
	b := startBothWays(f)
	f.Add(uint64(1_000_000))
	f.Fuzz(func(t *testing.T, seed uint64) { b.same(t, b.operations.make(seed)) })
}

// TestQueryPlansWaitOncePerLevel counts how often plans wait for the database. Relations of one agent are read with the
// agent. Relations of a page's rows are read after the page. A single related row is read together with its row.
func TestQueryPlansWaitOncePerLevel(t *testing.T) {
	t.Parallel()
	counted := &batches{}
	options := dbtest.Options()
	options.Tracer = counted
	store := dbtest.Open(t, dbtest.URL(t), options)
	g := &gatewayUnderTest{url: serveStore(t, store), store: store, statements: &counted.statements}
	tenant, key := g.company(t, "Round trips")
	id := manyAgents(t, tenant, 20)
	g.must(t, key, `{ company { id } }`, nil, nil) // a key's first use takes another statement
	for _, c := range []struct {
		query             string
		trips, statements int64
	}{
		{oneAgent, 1, promisedOfOne},
		{fiftyAgents, 2, promisedOfFifty},
		{`{ __typename }`, 0, 0},
		{`query ($id: ID!) { agent(id: $id) { tools { name } subAgents { name } tests(first: 2) { totalCount nodes { name } }
			} }`, 1, 5},
		{`query ($id: ID!) { agent(id: $id) { tools { name } again: tools { description } } }`, 1, 2},
		// Equal reads run once, whatever they select.
		{`{ a: agents(first: 3) { totalCount } b: agents(first: 3) { totalCount nodes { name } } c: agents(first: 3) { nodes {
			language } } }`, 1, 2},
		// A total needs no rows, so totals of different pages are one read.
		{`{ a: agents(first: 3) { totalCount } b: agents(first: 4) { totalCount } }`, 1, 1},
		{`query ($id: ID!) { agent(id: $id) { a: tests(first: 2) { nodes { id } } b: tests(first: 2) { nodes { name } } }
			again: agent(id: $id) { name } }`, 1, 2},
	} {
		variables := map[string]any{"id": id}
		if !strings.Contains(c.query, "$id") {
			variables = nil
		}
		for range 2 {
			trips, statements := counted.trips.Load(), counted.Load()
			g.must(t, key, c.query, variables, nil)
			require.Equal(t, c.trips, counted.trips.Load()-trips, c.query)
			require.Equal(t, c.statements, counted.Load()-statements, c.query)
		}
	}
}

// TestBatchReadsFromOneSnapshot reads an agent while its connection alternates between two chats. The datasets, which
// are found through the agent's row, always belong to the chat in the same answer.
func TestBatchReadsFromOneSnapshot(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "One moment")
	agentID := manyAgents(t, tenant, 2)
	var chats []string
	for _, name := range []string{"red", "blue"} {
		dataset, err := tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: name})
		require.NoError(t, err)
		chat, err := tenant.CreateKnowledgeBaseChat(t.Context(), model.CreateKnowledgeBaseChatInput{Name: name,
			DatasetIds: []string{dataset.ID}})
		require.NoError(t, err)
		chats = append(chats, chat.ID)
	}
	connect := func(chatID string) error {
		_, err := tenant.ConnectKnowledgeBaseChat(t.Context(), model.ConnectKnowledgeBaseChatInput{AgentID: agentID,
			ChatID: chatID})
		return err
	}
	require.NoError(t, connect(chats[0]))
	stop := make(chan struct{})
	var going sync.WaitGroup
	going.Go(func() {
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
				assert.NoError(t, connect(chats[i%2]))
			}
		}
	})
	defer going.Wait()
	defer close(stop)
	seen := map[string]bool{}
	for i := 0; i < 300 || len(seen) < 2; i++ {
		var got struct {
			Agent struct {
				KnowledgeBaseChat struct {
					Name     string
					Datasets []struct{ Name string }
				}
			}
		}
		g.must(t, key, `query ($id: ID!) { agent(id: $id) { knowledgeBaseChat { name datasets { name } } } }`,
			map[string]any{"id": agentID}, &got)
		chat := got.Agent.KnowledgeBaseChat
		require.Len(t, chat.Datasets, 1)
		require.Equal(t, chat.Name, chat.Datasets[0].Name)
		seen[chat.Name] = true
	}
}
