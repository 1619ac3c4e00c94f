package query

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/demo"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }

// idsOfCompany returns ids of the company's rows, at most the given number of each table.
func idsOfCompany(t *testing.T, conn *pgx.Conn, companyID string, most int) []string {
	t.Helper()
	rows, _ := conn.Query(t.Context(), "SELECT table_name::text FROM information_schema.columns WHERE table_schema = "+
		"'public' AND column_name = 'id' AND table_name IN (SELECT table_name FROM information_schema.columns WHERE "+
		"column_name = 'company_id')")
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	var ids []string
	for _, table := range tables {
		rows, _ := conn.Query(t.Context(), "SELECT id FROM "+table+" WHERE company_id = $1 ORDER BY id LIMIT $2",
			companyID, most)
		ids, err = pgx.AppendRows(ids, rows, pgx.RowTo[string])
		require.NoError(t, err)
	}
	return ids
}

// TestNothingOfAnotherCompanyIsFound reads every relation by all ids of another company, and by the ids of its own
// company. It uses plans and resolvers.
func TestNothingOfAnotherCompanyIsFound(t *testing.T) {
	t.Parallel()
	for held, address := range dbtest.SecurityVariants(t) {
		t.Run(held, func(t *testing.T) { nothingOfAnotherCompanyIsFound(t, address) })
	}
}

func nothingOfAnotherCompanyIsFound(t *testing.T, address string) {
	ctx := t.Context()
	store := dbtest.Open(t, address, db.Options{})
	_, err := demo.Seed(ctx, store)
	require.NoError(t, err)
	companies, err := store.Companies(ctx)
	require.NoError(t, err)
	require.Len(t, companies, 2)
	conn, err := pgx.Connect(ctx, address)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	table, err := NewTable(graph.NewExecutableSchema(graph.Config{}).Schema(), store, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	tenant := store.Tenant(companies[0].ID)
	// The company that is read has a long history of runs. The other company's rows are all tried.
	own, foreign := idsOfCompany(t, conn, companies[0].ID, 50), idsOfCompany(t, conn, companies[1].ID, 1000)
	require.NotEmpty(t, foreign)

	all := map[string]*relation{}
	for name, r := range table.relations {
		all[name] = r
	}
	for name, r := range table.roots {
		all["Query."+name] = &r.relation
	}
	for _, rows := range db.Nodes {
		all["Node "+rows.Type] = &relation{shape: toOne, rows: rows}
	}
	part := pg.Part{PageArgs: model.PageArgs{First: 100}, AndNext: true}
	// reached returns the number of rows with the keys that resolvers find, and the number that plans read.
	reached := func(r *relation, keys []string) (found, read int) {
		var rows []model.Row
		var reads []pg.Read
		var one pg.Statement
		if r.shape == toOne || r.shape == toMany {
			rows, err = tenant.Find(ctx, r.rows, keys)
			require.NoError(t, err)
			same, err := tenant.FindTogether(ctx, pg.Want{Rows: r.rows, Keys: keys})
			require.NoError(t, err)
			require.Equal(t, textsOf(t, same[0]), textsOf(t, rows), "a prepared statement reads the same")
			reads = []pg.Read{{Statement: store.ManyRows(r.rows, []string{"company_id"}), Keys: keys}}
			one = store.OneRow(r.rows, pg.KeyArgument, []string{"company_id"})
		} else {
			rows, err = tenant.FindPages(ctx, r.list, nil, keys, part.PageArgs)
			reads = []pg.Read{{Statement: store.Pages(r.list, []string{"company_id"}, part), Keys: keys, Part: part}}
			one = store.Page(r.list, pg.KeyArgument, []string{"company_id"}, part)
		}
		require.NoError(t, err)
		require.NoError(t, tenant.Read(ctx, reads, func(int, [][]byte) error {
			read++
			return nil
		}))
		singly := 0
		for some := range slices.Chunk(keys, 500) {
			reads = reads[:0]
			for _, key := range some {
				reads = append(reads, pg.Read{Statement: one, Keys: []string{key}, IsOne: true, Part: part})
			}
			require.NoError(t, tenant.Read(ctx, reads, func(int, [][]byte) error {
				singly++
				return nil
			}))
		}
		require.Equal(t, read, singly)
		return len(rows), read
	}
	for name, r := range all {
		if r.shape == toPage && table.roots[nameOf(name)] != nil {
			continue // A list of the company has no keys.
		}
		found, read := reached(r, foreign)
		require.Zero(t, found, name)
		require.Zero(t, read, name)
		found, read = reached(r, own)
		require.Equal(t, found, read, name)
		if r.shape == toPage || r.shape == toTotal {
			counts, err := tenant.Count(ctx, r.list, nil, foreign)
			require.NoError(t, err)
			for id, count := range counts {
				require.Zero(t, count, "%s of %s", name, id)
			}
		}
	}
}

// textsOf returns the rows as JSON, each with its parent's id, sorted.
func textsOf(t *testing.T, rows []model.Row) []string {
	t.Helper()
	texts := make([]string, len(rows))
	for i, row := range rows {
		text, err := json.Marshal(row)
		require.NoError(t, err)
		texts[i] = row.Parent() + " " + string(text)
	}
	slices.Sort(texts)
	return texts
}

// nameOf returns the name of a field of Query, or "" for other names.
func nameOf(name string) string {
	const prefix = "Query."
	if len(name) > len(prefix) && name[:len(prefix)] == prefix {
		return name[len(prefix):]
	}
	return ""
}
