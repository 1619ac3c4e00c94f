package db_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// rowsOf reads all stored rows by company. It omits River's tables, because they are derived from jobs.
func rowsOf(t *testing.T, conn *pgx.Conn) map[string][]string {
	t.Helper()
	rows, _ := conn.Query(t.Context(),
		`SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'companies'
			AND NOT starts_with(relname, 'river_')`)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	parts := make([]string, len(tables))
	for i, table := range tables {
		parts[i] = "SELECT company_id, '" + table + " ' || to_jsonb(t)::text AS row FROM " + table + " AS t"
	}
	all := map[string][]string{}
	var company, row string
	rows, _ = conn.Query(t.Context(), strings.Join(parts, " UNION ALL ")+" ORDER BY 1, 2")
	_, err = pgx.ForEachRow(rows, []any{&company, &row}, func() error {
		all[company] = append(all[company], row)
		return nil
	})
	require.NoError(t, err)
	return all
}

var (
	contextType = reflect.TypeFor[context.Context]()
	errorType   = reflect.TypeFor[error]()
	// quiet lists the methods that return an empty result instead of NOT_FOUND for ids that do not exist.
	quiet = []string{
		"FirstChunks", "Find", "FindPages", "Count", "MessagesAfter", "TouchAPIKey", "APIKeysByPrefix", "AgentTestRuns",
		"ClaimDocument", "ContentOfDocument", "PartOfDocument", "SearchedDatasets", "ReindexForModel", "RevokeAccessToken",
		"LabelledQuestionsOfChat", "ContinueBlameSearch", "CreditsOfRuns", "PromptsOf",
		"UsageOfRuns", "UsageOfExecutions", "HasPassage",
	}
	// free lists methods that take no id or return no data. ClaimRequest takes an id that the client
	// chose, and Read takes the caller's statements. Both have their own tests.
	free = []string{"DecryptHeaders", "Tx", "WithAPIKey", "WithReach", "WatchRun", "ClaimRequest", "Read", "ReadShared",
		"Reader", "MoveDocuments"}
)

// textOf returns a result as text: pages, lists for many parents, and rows.
func textOf(t *testing.T, result reflect.Value) string {
	t.Helper()
	if result.Kind() == reflect.Pointer && result.Type().Elem().Kind() == reflect.Struct && !result.IsNil() {
		if nodes := result.Elem().FieldByName("Nodes"); nodes.IsValid() {
			result = nodes
		}
	}
	if result.Kind() == reflect.Chan {
		return "a channel"
	}
	switch rows := result.Interface().(type) {
	case iter.Seq2[*model.UsageEntry, error]:
		result = reflect.ValueOf(collect(t, rows))
		require.Equal(t, 1, result.Len())
	case iter.Seq2[*model.AuditEvent, error]:
		result = reflect.ValueOf(collect(t, rows))
	case iter.Seq2[*model.Chunk, error]:
		result = reflect.ValueOf(collect(t, rows))
	}
	text, err := json.Marshal(result.Interface())
	require.NoError(t, err)
	return string(text)
}

// The test calls every method of a Tenant with another company's id in each place that takes an id. It finds new
// methods by reflection.
func TestRowsOfAnotherCompanyAreUnreachable(t *testing.T) {
	t.Parallel()
	for variant, address := range dbtest.SecurityVariants(t) {
		t.Run(variant, func(t *testing.T) { nothingOfAnotherCompanyIsReachable(t, address) })
	}
}

func nothingOfAnotherCompanyIsReachable(t *testing.T, address string) {
	store, conn := dbtest.Open(t, address, db.Options{SecretKey: make([]byte, 32)}), connect(t, address)
	own, other := newFixture(t, store, "OWN"), newFixture(t, store, "SECRET")
	before := rowsOf(t, conn)
	require.Len(t, before, 2)
	methods := reflect.TypeFor[*db.Tenant]()
	for i := range methods.NumMethod() {
		method := methods.Method(i)
		if slices.Contains(free, method.Name) {
			continue
		}
		t.Run(method.Name, func(t *testing.T) {
			for _, c := range callsOf(t, method, own, other) {
				probe(t, method.Name, c, own, other)
			}
			require.Equal(t, before, rowsOf(t, conn), "%s changed something", method.Name)
		})
	}
}

// call is one call of a method. foreign is set if an argument has an id of the other company.
type call struct {
	args    []any
	foreign bool
}

// firstArgument returns the index of the first argument after the receiver and the context.
func firstArgument(method reflect.Method) int {
	if method.Type.NumIn() > 1 && method.Type.In(1) == contextType {
		return 2
	}
	return 1
}

func callsOf(t *testing.T, method reflect.Method, own, other fixture) []call {
	t.Helper()
	var plain []any
	var variants []call
	for p := firstArgument(method); p < method.Type.NumIn(); p++ {
		if method.Type.IsVariadic() && p == method.Type.NumIn()-1 {
			break
		}
		values, known := arguments(method.Type.In(p), own, other)
		require.True(t, known, "arguments() has no value for type %s: add one", method.Type.In(p))
		for i := range variants {
			variants[i].args = append(variants[i].args, values[0])
		}
		for _, value := range values[1:] {
			variants = append(variants, call{append(slices.Clone(plain), value), true})
		}
		plain = append(plain, values[0])
	}
	return append(variants, call{plain, false})
}

var errRolledBack = errors.New("rolled back")

// probe makes the call in a transaction that is rolled back.
func probe(t *testing.T, name string, c call, own, other fixture) {
	t.Helper()
	err := own.tenant.Tx(t.Context(), func(ctx context.Context, tenant *db.Tenant) error {
		method := reflect.ValueOf(tenant).MethodByName(name)
		var in []reflect.Value
		if method.Type().NumIn() > 0 && method.Type().In(0) == contextType {
			in = append(in, reflect.ValueOf(ctx))
		}
		for _, arg := range c.args {
			in = append(in, reflect.ValueOf(arg).Convert(method.Type().In(len(in))))
		}
		if method.Type().NumOut() > 0 && method.Type().Out(0).Kind() == reflect.Chan && !c.foreign {
			return errRolledBack // the channel would remain open after the transaction
		}
		results := method.Call(in)
		var failed error
		if last := len(results) - 1; last >= 0 && results[last].Type() == errorType {
			failed, _ = results[last].Interface().(error)
		}
		switch {
		case failed != nil && c.foreign:
			requireHidden(t, name, failed)
		case failed != nil:
			require.False(t, slices.ContainsFunc(c.args, isInput), "%s: %v", name, failed)
		case c.foreign:
			require.True(t, slices.Contains(quiet, name) || slices.ContainsFunc(c.args, isList), "%s%v succeeded", name, c.args)
		}
		if failed != nil {
			return errRolledBack
		}
		for _, out := range results {
			if out.Type() != errorType {
				text := textOf(t, out)
				require.NotContains(t, text, other.mark)
				if name != "Tokens" { // it returns the given words
					require.NotContains(t, text, other.ids["AgentID"])
					require.NotContains(t, text, other.ids["ChunkID"])
				}
			}
		}
		return errRolledBack
	})
	require.ErrorIs(t, err, errRolledBack)
}

func isList(arg any) bool { _, list := arg.([]string); return list }

// isInput reports whether the argument is an input. Inputs are valid, so the call must succeed.
func isInput(arg any) bool { return strings.HasSuffix(reflect.TypeOf(arg).Name(), "Input") }

func requireHidden(t *testing.T, name string, err error) {
	t.Helper()
	var known *model.Error
	require.ErrorAs(t, err, &known, name)
	// Callers of these methods have already read the agent, or claimed the run or the document.
	claimed := []string{"CreateSimulationChat", "FinishRun", "ReleaseRun", "FinishDocument", "FailDocument",
		"PostponeDocument", "ReleaseDocument"}
	if slices.Contains(claimed, name) {
		require.Equal(t, model.Conflict, known.Code)
		return
	}
	require.Equal(t, model.NotFound, known.Code, "%s: %v", name, err)
	require.NotContains(t, err.Error(), "SECRET")
}

func TestDatabaseRefusesReferencesBetweenCompanies(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	own, other := newFixture(t, store, "OWN"), newFixture(t, store, "SECRET")
	for _, f := range []fixture{own, other} {
		_, err := f.tenant.CreateTool(t.Context(), model.CreateToolInput{Name: "Offered", TechnicalName: "offered",
			McpServerID: new(f.ids["McpServerID"]), McpName: &f.mark})
		require.NoError(t, err)
	}
	company, err := own.tenant.Company(t.Context())
	require.NoError(t, err)
	rows, _ := conn.Query(t.Context(), `SELECT c.conrelid::regclass::text, a.attname FROM pg_constraint c
		JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[2] WHERE c.contype = 'f'
			AND cardinality(c.conkey) = 2`)
	type reference struct{ Table, Column string }
	references, err := pgx.CollectRows(rows, pgx.RowToStructByPos[reference])
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(references), 19)
	for _, r := range references {
		var foreign string
		query := "SELECT " + r.Column + " FROM " + r.Table + " WHERE company_id <> $1 AND " + r.Column +
			" IS NOT NULL LIMIT 1"
		require.NoError(t, conn.QueryRow(t.Context(), query, company.ID).Scan(&foreign), "%+v", r)
		_, err = conn.Exec(t.Context(), "UPDATE "+r.Table+" SET "+r.Column+" = $1 WHERE ctid = (SELECT max(ctid) FROM "+
			r.Table+" WHERE company_id = $2)", foreign, company.ID)
		require.ErrorContains(t, err, "violates foreign key constraint", "%+v", r)
	}
	require.NotEmpty(t, other.ids)
}
