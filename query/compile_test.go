package query

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
)

// newTestTable returns the table of relations. Its store only provides the columns of types.
func newTestTable(t *testing.T) *Table {
	t.Helper()
	store := dbtest.Open(t, dbtest.URL(t), db.Options{})
	table, err := NewTable(graph.NewExecutableSchema(graph.Config{}).Schema(), store, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return table
}

// operationOf parses a text with a single operation.
func operationOf(t *testing.T, table *Table, text string, variables map[string]any) *graphql.OperationContext {
	t.Helper()
	document, errs := gqlparser.LoadQueryWithRules(table.schema, text, rules.NewDefaultRules())
	require.Nil(t, errs, text)
	return &graphql.OperationContext{
		RawQuery: text, Doc: document, Operation: document.Operations[0], Variables: variables,
	}
}

// Related rows are joined to the statement of another read, or have their own read.
func TestPlansReadRelations(t *testing.T) {
	t.Parallel()
	table := newTestTable(t)
	for text, want := range map[string]struct{ reads, joins int }{
		`{ agent(id: "a") { id name } }`:                                                   {1, 0},
		`{ agent(id: "a") { tools { id } subAgents { id } } }`:                             {3, 0},
		`{ agent(id: "a") { t: tools { id } u: tools { name } } }`:                         {2, 0},
		`{ a: agent(id: "a") { id } b: agent(id: "a") { name } c: agent(id: "c") { id } }`: {2, 0},
		// A single related row is joined.
		`{ agent(id: "a") { knowledgeBaseChat { llmSettings { temperature } datasets { id } } } }`: {2, 1},
		`{ agent(id: "a") { knowledgeBaseChatName knowledgeBaseChat { name } } }`:                  {1, 1},
		// The related rows of several rows are joined only if nothing long would be sent repeatedly.
		`{ agents { nodes { knowledgeBaseChat { name } } } }`:                        {1, 1},
		`{ agents { nodes { knowledgeBaseChat { llmSettings { temperature } } } } }`: {2, 0},
		`{ simulationChats { nodes { agent { name } } } }`:                           {1, 1},
		`{ simulationChats { nodes { agent { prompt } } } }`:                         {2, 0},
		`{ agentTestRuns { nodes { draftPrompt } } }`:                                {2, 0},
		// A page and its total are one read. Pages with different arguments are separate reads.
		`{ agent(id: "a") { tests(first: 2) { totalCount nodes { id } } } }`:                         {2, 0},
		`{ agent(id: "a") { a: tests(first: 2) { totalCount } b: tests(first: 3) { totalCount } } }`: {3, 0},
		`query ($n: Int) { agent(id: "a") { tests(first: $n) { nodes { id } totalCount } } }`:        {2, 0},
		// The object of a required id argument is looked up.
		`{ campaignItems(campaignId: "c") { nodes { id } } }`:        {2, 0},
		`{ agentTests(agentId: "a", folderId: "f") { totalCount } }`: {3, 0},
	} {
		made := compile(operationOf(t, table, text, nil), table)
		require.NotNil(t, made, text)
		require.Empty(t, made.fallbackFields, text)
		joins := 0
		for _, r := range made.reads {
			joins += len(r.joins)
		}
		require.Equal(t, want, struct{ reads, joins int }{len(made.reads), joins}, text)
	}
}

func TestPlansLeaveFieldsToResolvers(t *testing.T) {
	t.Parallel()
	table := newTestTable(t)
	for text, left := range map[string][]string{
		`{ agent(id: "a") { id } node(id: "a") { id } }`:                                            {"node"},
		`{ a: agents { nodes { coverage { effect } } } b: agents { nodes { id } } company { id } }`: {"a", "company"},
		`{ document(id: "d", datasetId: "e") { id } document2: document(id: "d") { id } }`:          {"document"},
		`{ __schema { description } agent(id: "a") { id } __typename }`:                             {"__schema"},
	} {
		made := compile(operationOf(t, table, text, nil), table)
		require.NotNil(t, made, text)
		var names []string
		for _, field := range graphql.CollectFields(operationOf(t, table, text, nil), made.fallbackFields,
			[]string{"Query"}) {
			names = append(names, field.Alias)
		}
		require.Equal(t, left, names, text)
	}
	// A field that cannot be planned leaves no read behind.
	made := compile(operationOf(t, table, `{ tools { nodes { id } } agents { nodes { coverage { effect } } } }`, nil), table)
	require.Len(t, made.reads, 1)
}

// A row without selected columns is read by its id, not with all columns.
func TestPlansReadFewColumns(t *testing.T) {
	t.Parallel()
	table := newTestTable(t)
	for _, text := range []string{`{ agent(id: "a") { __typename } }`, `{ agents { nodes { __typename } } }`} {
		made := compile(operationOf(t, table, text, nil), table)
		require.Equal(t, []string{"id"}, made.reads[0].columns, text)
	}
}

// A read keeps the statements of a bounded number of shapes.
func TestPagesOfAReadAreBounded(t *testing.T) {
	t.Parallel()
	table := newTestTable(t)
	r := compile(operationOf(t, table, `{ agents { nodes { id } } }`, nil), table).reads[0]
	for i := range 3 * maxShapes {
		r.page(table.store, pg.Part{PageArgs: model.PageArgs{First: int32(1 + i)}})
		require.LessOrEqual(t, len(r.pages), maxShapes)
	}
}

func TestUnplannableOperationsAreRefused(t *testing.T) {
	t.Parallel()
	table := newTestTable(t)
	aliases := func(n int, field string) string {
		var all strings.Builder
		for i := range n {
			fmt.Fprintf(&all, " a%d: %s", i, strings.ReplaceAll(field, "#", fmt.Sprint(i)))
		}
		return "{" + all.String() + " }"
	}
	for why, text := range map[string]string{
		"no field can be planned": `{ node(id: "a") { id } company { id } }`,
		"it has too many values":  "{ agent(id: \"a\") " + aliases(maxValues, "id") + " }",
		"it has too many reads":   aliases(maxReads+1, `agent(id: "#") { id }`),
	} {
		require.Nil(t, compile(operationOf(t, table, text, nil), table), why)
	}
	require.NotNil(t, compile(operationOf(t, table, aliases(maxReads, `agent(id: "#") { id }`), nil), table))
}

// Binding refuses variables that are wrong, and variables that plans do not support.
func TestWrongArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	table := newTestTable(t)
	const text = `query ($first: Int, $last: Int, $filter: AgentFilter) {
		agents(first: $first, last: $last, filter: $filter) { nodes { id } } }`
	for _, c := range []struct {
		variables map[string]any
		isBound   bool
	}{
		{nil, true},
		{map[string]any{"first": int64(100)}, true},
		{map[string]any{"first": int64(101)}, false},
		{map[string]any{"first": int64(0)}, false},
		{map[string]any{"last": int64(5)}, false},
		{map[string]any{"filter": map[string]any{"channels": []any{"WebChat"}}}, true},
		{map[string]any{"filter": map[string]any{"nameContains": "a"}}, false},
		{map[string]any{"filter": map[string]any{"tags": []any{"a"}}}, false},
	} {
		made := compile(operationOf(t, table, text, c.variables), table)
		a := newResponse(made, nil, c.variables)
		if err := a.bind(); c.isBound {
			require.NoError(t, err, c.variables)
		} else {
			require.ErrorIs(t, err, errUnplanned, c.variables)
		}
		a.release()
	}
}

// A plan needs the scopes of the fields that it answers itself.
func TestPlansListTheirScopes(t *testing.T) {
	t.Parallel()
	table := newTestTable(t)
	needs := func(text string) []requirement { return compile(operationOf(t, table, text, nil), table).requirements }
	require.Len(t, needs(`{ agent(id: "a") { id } agents { nodes { id } } }`), 1)
	require.Len(t, needs(`{ agent(id: "a") { id } auditEvents { nodes { id } } }`), 2)
}
