package query

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// countedExecutor is a generated executor that only counts its operations.
type countedExecutor struct {
	graphql.ExecutableSchema
	operations int
}

func (e *countedExecutor) Exec(context.Context) graphql.ResponseHandler {
	e.operations++
	return graphql.OneShot(&graphql.Response{Data: []byte(`"executed"`)})
}

// exec answers an operation for the caller. It returns the response, and whether the executor made it.
func (c *clinic) exec(ctx context.Context, t *testing.T, text string, variables map[string]any) (string, bool) {
	t.Helper()
	executor := &countedExecutor{}
	ctx = graphql.WithOperationContext(ctx, operationOf(t, c.table, text, variables))
	response := c.table.Plan(executor).Exec(ctx)(ctx)
	return string(response.Data), executor.operations > 0
}

func (c *clinic) principal() model.Principal {
	return model.Principal{CompanyID: c.tenant.CompanyID(), Scopes: []model.APIKeyScope{model.APIKeyScopeAdmin}}
}

// Plans do not check the reach of a caller, and change nothing. The executor answers restricted callers and mutations.
func TestPlansAnswerQueriesOfUnrestrictedCallers(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	const text = `{ agents { totalCount } }`
	known := model.WithPrincipal(t.Context(), c.principal())
	data, executed := c.exec(known, t, text, nil)
	require.False(t, executed)
	require.JSONEq(t, `{"agents":{"totalCount":3}}`, data)

	restricted := c.principal()
	restricted.Reach = &model.Reach{Holder: []byte{1}}
	for why, ctx := range map[string]context.Context{
		"no caller": t.Context(), "a restricted caller": model.WithPrincipal(t.Context(), restricted),
		"no scope": model.WithPrincipal(t.Context(), model.Principal{CompanyID: c.tenant.CompanyID()}),
	} {
		_, executed = c.exec(ctx, t, text, nil)
		require.True(t, executed, why)
	}
	_, executed = c.exec(known, t, `mutation { deleteAgent(input: {agentId: "a"}) { deletedId } }`, nil)
	require.True(t, executed)
}

// The executor does not repeat a plan that exceeded the budget, because it would exceed the budget too.
func TestTooLargePlansAreNotRepeated(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	ctx := model.WithMemoryBudget(model.WithPrincipal(t.Context(), c.principal()), &fixedBudget{-1})
	data, executed := c.exec(ctx, t, `{ agents { nodes { name } } }`, nil)
	require.Equal(t, "null", data)
	require.False(t, executed)
}

// A text that Postgres cannot store is the client's fault, and needs no log entry.
func TestUnstorableTextsAreNotLogged(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	var log bytes.Buffer
	c.table.log = slog.New(slog.NewTextHandler(&log, nil))
	_, executed := c.exec(model.WithPrincipal(t.Context(), c.principal()), t,
		`query ($id: ID!) { agent(id: $id) { id } }`, map[string]any{"id": "a\x00"})
	require.True(t, executed)
	require.Empty(t, log.String())
}

// inField returns the context of the first field of an operation, with the loaders of a response.
func (c *clinic) inField(t *testing.T, text string) context.Context {
	t.Helper()
	operation := operationOf(t, c.table, text, nil)
	ctx := model.WithPrincipal(graphql.WithOperationContext(t.Context(), operation), c.principal())
	return inFieldOf(Loading{c.table}.withLoaders(ctx), operation, "Query", 0)
}

// inFieldOf returns the context of a field of an object of the type.
func inFieldOf(ctx context.Context, operation *graphql.OperationContext, typeName string, n int) context.Context {
	set := operation.Operation.SelectionSet
	if outer := graphql.GetFieldContext(ctx); outer != nil {
		set = outer.Field.Selections
	}
	field := graphql.CollectFields(operation, set, []string{typeName})[n]
	return graphql.WithFieldContext(ctx, &graphql.FieldContext{Object: typeName, Field: field})
}

// Fields with different selections read different columns of the same rows.
func TestLoadersReadTheSelectedColumns(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	ctx := c.inField(t, `{ agent(id: "a") { a: tools { name } b: tools { technicalName } } }`)
	operation, desk := graphql.GetOperationContext(ctx), &model.Agent{ID: c.desk}
	for n, want := range []model.Tool{{Name: "tool of desk"}, {TechnicalName: "tool_of_desk"}} {
		tools, err := Many[*model.Tool](inFieldOf(ctx, operation, "Agent", n), desk)
		require.NoError(t, err)
		require.Len(t, tools, 2)
		require.Equal(t, want, model.Tool{Name: tools[0].Name, TechnicalName: tools[0].TechnicalName})
	}
	require.Equal(t, []string{"created_at", "id", "name"}, c.table.columnsOf(c.inField(t,
		`{ agents { nodes { name createdAt } edges { node { name coverage { effect } } } } }`)))
	require.Nil(t, c.table.columnsOf(c.inField(t, `{ company { id name } }`)), "it may need any column")
}

// Each field of a mutation sees the changes of the field before it. A query reads each row once.
func TestMutationsHaveFreshLoaders(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	for text, isFresh := range map[string]bool{
		`mutation { deleteAgent(input: {agentId: "a"}) { deletedId } }`: true, `{ agents { totalCount } }`: false,
	} {
		ctx := c.inField(t, text)
		Loading{c.table}.InterceptRootField(ctx, func(inner context.Context) graphql.Marshaler {
			require.Equal(t, isFresh, loadersOf(inner) != loadersOf(ctx), text)
			return graphql.Null
		})
	}
}

// A response that only reads uses a few connections. A mutation has no such limit, because it would wait for
// connections that it holds itself.
func TestOnlyReadingResponsesShareSlots(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	// opened opens readers until one does not get a connection in time, at most four.
	opened := func(text string, patience time.Duration) (n int) {
		ctx, cancel := context.WithTimeout(loadersOf(c.inField(t, text)).ctx, patience)
		defer cancel()
		for ; n < 4; n++ {
			reader, err := c.tenant.Reader(ctx)
			if err != nil {
				break
			}
			defer reader.Close()
		}
		return n
	}
	require.Equal(t, 3, opened(`{ agents { totalCount } }`, 2*time.Second))
	require.Equal(t, 4, opened(`mutation { deleteAgent(input: {agentId: "a"}) { deletedId } }`, time.Minute))
}

func TestNodesAreBounded(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	ctx := c.inField(t, `{ agents { totalCount } }`)
	nodes, err := Nodes(ctx, []string{"a\x00", c.desk, "\xff"})
	require.NoError(t, err)
	require.Nil(t, nodes[0])
	require.Equal(t, c.desk, nodes[1].Cursor().ID)
	_, err = Nodes(ctx, make([]string, model.MaxPageSize))
	require.NoError(t, err)
	_, err = Nodes(ctx, make([]string, model.MaxPageSize+1))
	require.ErrorContains(t, err, "at most 100 entries")
}
