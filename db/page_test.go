package db_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// insertDatasets inserts datasets by SQL, so that several may have the same time of creation.
func insertDatasets(t require.TestingT, conn *pgx.Conn, companyID string, ids []string, at func(i int) time.Time) {
	for i, id := range ids {
		_, err := conn.Exec(ctxOf(t),
			`INSERT INTO datasets (company_id, id, name, chunk_method, parser_config, created_at) VALUES
			($1, $2, 'A dataset', 'naive', '{"chunkTokenNum": 1, "taskPageSize": 1, "delimiter": ",", "layoutRecognize": true}',
				$3)`, companyID, id, at(i))
		require.NoError(t, err)
	}
}

var epoch = time.Date(2026, 3, 1, 9, 30, 0, 123_456_000, time.UTC)

// walk reads all pages, each after the end cursor of the previous page, or by offset.
func walk(t require.TestingT, tenant *db.Tenant, first int32, byOffset bool) []string {
	ids := []string{}
	args := model.PageArgs{First: first}
	for {
		page, err := tenant.Datasets(ctxOf(t), args, nil)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.Nodes), int(first))
		require.Equal(t, len(ids) > 0, page.PageInfo.HasPreviousPage)
		ids = append(ids, idsOf(page.Nodes)...)
		if !page.PageInfo.HasNextPage {
			return ids
		}
		require.Len(t, page.Nodes, int(first))
		require.Equal(t, page.Edges()[first-1].Cursor(), *page.PageInfo.EndCursor)
		require.Equal(t, page.Edges()[0].Cursor(), *page.PageInfo.StartCursor)
		if byOffset {
			args.Offset = new(int32(len(ids)))
		} else {
			args.After = page.PageInfo.EndCursor
		}
	}
}

// walkBack reads all pages from the end of the list, each before the start cursor of the previously read page.
func walkBack(t require.TestingT, read func(model.PageArgs) (*model.Page[*model.Dataset], error), last int32) []string {
	ids := []string{}
	args := model.PageArgs{Last: &last}
	for {
		page, err := read(args)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.Nodes), int(last))
		require.Equal(t, len(ids) > 0, page.PageInfo.HasNextPage)
		ids = append(idsOf(page.Nodes), ids...)
		if !page.PageInfo.HasPreviousPage {
			return ids
		}
		require.Len(t, page.Nodes, int(last))
		require.Equal(t, page.Edges()[0].Cursor(), *page.PageInfo.StartCursor)
		require.Equal(t, page.Edges()[last-1].Cursor(), *page.PageInfo.EndCursor)
		args.Before = page.PageInfo.StartCursor
	}
}

func TestPagesContainEachRowOnceNewestFirst(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	rapid.Check(t, func(r *rapid.T) {
		company, err := store.CreateCompany(ctxOf(t), "Pages")
		require.NoError(r, err)
		tenant := store.Tenant(company.ID)
		// Legacy ids may contain anything, even text that looks like a part of a statement.
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zA-Z0-9?$:'\\ ]{1,6}|\?TableAlias|ü+`), 0, 12,
			rapid.ID[string]).Draw(r, "ids")
		times := rapid.SliceOfN(rapid.Int64Range(0, 3), len(ids), len(ids)).Draw(r, "microseconds")
		at := func(i int) time.Time { return epoch.Add(time.Duration(times[i]) * time.Microsecond) }
		insertDatasets(t, conn, company.ID, ids, at)
		want := []string{}
		rows, _ := conn.Query(ctxOf(t), "SELECT id FROM datasets WHERE company_id = $1 ORDER BY created_at DESC, id DESC",
			company.ID)
		want, err = pgx.AppendRows(want, rows, pgx.RowTo[string])
		require.NoError(r, err)
		first := rapid.Int32Range(1, 5).Draw(r, "first")
		require.Equal(r, want, walk(t, tenant, first, false))
		require.Equal(r, want, walk(t, tenant, first, true))
		require.Equal(r, want, walkBack(t, func(args model.PageArgs) (*model.Page[*model.Dataset], error) {
			return tenant.Datasets(ctxOf(t), args, nil)
		}, first))
		page, err := tenant.Datasets(ctxOf(t), model.PageArgs{First: first}, nil)
		require.NoError(r, err)
		total, err := page.TotalCount(ctxOf(t))
		require.NoError(r, err)
		require.EqualValues(r, len(ids), total)
	})
}

func TestNewRowsDoNotShiftPages(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, company := newCompany(t, store)
	var old []string
	for i := range 20 {
		old = append(old, fmt.Sprintf("old%02d", i))
	}
	insertDatasets(t, conn, company, old, func(i int) time.Time { return epoch.Add(time.Duration(i/3) * time.Second) })
	var seen []string
	args := model.PageArgs{First: 4}
	for next := true; next; {
		page, err := tenant.Datasets(t.Context(), args, nil)
		require.NoError(t, err)
		seen = append(seen, idsOf(page.Nodes)...)
		args.After, next = page.PageInfo.EndCursor, page.PageInfo.HasNextPage
		newDataset(t, tenant)
	}
	slices.Reverse(old)
	require.Equal(t, old, seen)
}

func TestInvalidPageArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	newDataset(t, tenant)
	cursor := model.Cursor{CreatedAt: epoch, ID: "a"}.String()
	for _, c := range []struct {
		field string
		args  model.PageArgs
	}{
		{"first", model.PageArgs{First: 0}},
		{"first", model.PageArgs{First: -1}},
		{"first", model.PageArgs{First: 101}},
		{"offset", model.PageArgs{First: 1, Offset: new(int32(-1))}},
		{"offset", model.PageArgs{First: 1, Offset: new(int32(10_001))}},
		{"offset", model.PageArgs{First: 1, Offset: new(int32(1)), After: &cursor}},
		{"after", model.PageArgs{First: 1, After: new("")}},
		{"after", model.PageArgs{First: 1, After: new("nonsense")}},
		{"after", model.PageArgs{First: 1, After: new(cursor + "\n")}},
		{"after", model.PageArgs{First: 1, After: new(model.Cursor{CreatedAt: epoch, ID: "a\x00"}.String())}},
		{"after", model.PageArgs{First: 1, After: new(model.Cursor{CreatedAt: epoch, ID: "\xff"}.String())}},
		{"after", model.PageArgs{First: 1,
			After: new(model.Cursor{CreatedAt: time.Time{}.AddDate(-1, 0, 0), ID: "a"}.String())}},
		{"after", model.PageArgs{First: 1, After: new(model.Cursor{CreatedAt: epoch}.String())}},
		{"last", model.PageArgs{Last: new(int32(0))}},
		{"last", model.PageArgs{Last: new(int32(-1))}},
		{"last", model.PageArgs{Last: new(int32(101))}},
		{"first", model.PageArgs{First: 1, Last: new(int32(1))}},
		{"first", model.NewPageArgs(new(int32(0)), nil, nil, new(int32(1)), nil)},
		{"after", model.PageArgs{Last: new(int32(1)), After: &cursor}},
		{"offset", model.PageArgs{Last: new(int32(1)), Offset: new(int32(0))}},
		{"before", model.PageArgs{First: 1, Before: &cursor}},
		{"before", model.NewPageArgs(nil, nil, nil, nil, &cursor)},
		{"before", model.PageArgs{Last: new(int32(1)), Before: new("nonsense")}},
	} {
		_, err := tenant.Datasets(t.Context(), c.args, nil)
		faults(t, err, model.BadInput, c.field, "")
		_, err = dbtest.Pages[*model.Agent](t.Context(), tenant, db.AgentsOfTools, nil, []string{"a"}, c.args)
		faults(t, err, model.BadInput, c.field, "")
	}
	_, err := tenant.Datasets(t.Context(), model.PageArgs{First: 1, Before: new("nonsense")}, nil)
	require.EqualError(t, err, "before must be given together with last and is not a cursor of this list")
	for _, args := range []model.PageArgs{
		{First: 1}, {First: 100}, {First: 100, Offset: new(int32(0))}, {First: 1, Offset: new(int32(10_000))},
		{First: 1, After: &cursor},
	} {
		page, err := tenant.Datasets(t.Context(), args, nil)
		require.NoError(t, err)
		if args.Offset != nil && *args.Offset > 0 || args.After != nil {
			require.Empty(t, page.Nodes)
			require.NotNil(t, page.Nodes)
			require.Nil(t, page.PageInfo.EndCursor)
			require.True(t, page.PageInfo.HasPreviousPage)
			require.False(t, page.PageInfo.HasNextPage)
		}
	}
}

func TestPagesOfManyParentsAreRead(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, _ := fresh(t)
	tenant, _ := newCompany(t, store)
	stranger, _ := newCompany(t, store)
	foreign := newAgent(t, stranger)
	parents := make([]string, 4)
	for i := range parents {
		agent := newAgent(t, tenant)
		parents[i] = agent.ID
		for n := range i * 2 { // so that the agents have 1, 3, 5 and 7 versions
			_, err := tenant.UpdateAgentPrompt(ctx, model.UpdateAgentPromptInput{AgentID: agent.ID,
				Prompt: fmt.Sprint("prompt ", n)})
			require.NoError(t, err)
		}
	}
	asked := append(slices.Clone(parents), foreign.ID, "unknown")
	counts, err := dbtest.Counts(ctx, tenant, db.PromptVersionsOfAgents, nil, asked)
	require.NoError(t, err)
	require.Equal(t, []int32{1, 3, 5, 7, 0, 0}, counts)
	read := func(args model.PageArgs) map[string][]int32 {
		rows, err := dbtest.Pages[*model.PromptVersion](ctx, tenant, db.PromptVersionsOfAgents, nil, asked, args)
		require.NoError(t, err)
		pages := map[string][]int32{}
		for _, v := range rows {
			require.Equal(t, v.AgentID, v.Parent())
			pages[v.Parent()] = append(pages[v.Parent()], v.Version)
		}
		return pages
	}
	require.Equal(t, map[string][]int32{parents[0]: {1}, parents[1]: {3, 2, 1}, parents[2]: {5, 4, 3},
		parents[3]: {7, 6, 5}},
		read(model.PageArgs{First: 2}), "one more than the page holds")
	require.Equal(t, map[string][]int32{parents[1]: {1}, parents[2]: {3, 2}, parents[3]: {5, 4}},
		read(model.PageArgs{First: 1, Offset: new(int32(2))}))
	all, err := dbtest.Pages[*model.PromptVersion](ctx, tenant, db.PromptVersionsOfAgents, nil, parents[3:],
		model.PageArgs{First: 10})
	require.NoError(t, err)
	after := all[2].Cursor().String()
	require.Equal(t, map[string][]int32{parents[0]: {1}, parents[1]: {3, 2, 1}, parents[2]: {5, 4, 3, 2, 1},
		parents[3]: {4, 3, 2, 1}},
		read(model.PageArgs{First: 10, After: &after}))
	require.Equal(t, map[string][]int32{parents[0]: {1}, parents[1]: {3, 2, 1}, parents[2]: {3, 2, 1},
		parents[3]: {3, 2, 1}},
		read(model.PageArgs{Last: new(int32(2))}), "in the order of the list, and one more than the page holds")
	require.Equal(t, map[string][]int32{parents[3]: {7, 6}}, read(model.PageArgs{Last: new(int32(4)), Before: &after}))
	for _, none := range [][]string{nil, {}} {
		rows, err := dbtest.Pages[*model.PromptVersion](ctx, tenant, db.PromptVersionsOfAgents, nil, none,
			model.PageArgs{First: 10})
		require.NoError(t, err)
		require.Empty(t, rows)
		counts, err := dbtest.Counts(ctx, tenant, db.PromptVersionsOfAgents, nil, none)
		require.NoError(t, err)
		require.Empty(t, counts)
	}
}

func TestOnlyRequestedColumnsAreRead(t *testing.T) {
	t.Parallel()
	store, _ := fresh(t)
	tenant, _ := newCompany(t, store)
	agent := newAgent(t, tenant)
	columns := store.Columns(model.Agent{})
	require.Equal(t, "prompt_version", columns["promptversion"])
	for _, ask := range [][]string{{"name"}, {"id", "name", "created_at"}} {
		page, err := tenant.Agents(t.Context(), model.PageArgs{First: 1}, nil, ask...)
		require.NoError(t, err)
		byID, err := tenant.AgentsByID(t.Context(), []string{agent.ID}, ask...)
		require.NoError(t, err)
		for _, got := range append(page.Nodes, byID...) {
			require.Equal(t, agent.Name, got.Name)
			require.Equal(t, agent.Cursor().String(), got.Cursor().String())
			require.Empty(t, got.Prompt)
		}
	}
	_, err := tenant.Agents(t.Context(), model.PageArgs{First: 1}, nil, `name" FROM agents; --`)
	require.Error(t, err)
	require.False(t, strings.Contains(err.Error(), "syntax"), "a column is an identifier: %v", err)
}

// A list that is filtered by a missing parent fails with NOT_FOUND, and the error names the parent.
func TestListsOfMissingParentsAreNotFound(t *testing.T) {
	t.Parallel()
	ctx, args := t.Context(), model.PageArgs{First: 10}
	store, _ := fresh(t)
	own, _ := newCompany(t, store)
	stranger, _ := newCompany(t, store)
	agent, dataset, run := newAgent(t, own), newDataset(t, own), newRun(t, own)
	folder := newFolder(t, own, agent.ID, "Smoke")
	for _, c := range []struct {
		typeName, id string
		list         func(*db.Tenant) error
	}{
		{"agent", agent.ID, func(t *db.Tenant) error {
			_, err := t.AgentTests(ctx, args, &agent.ID, model.AgentTestFilter{})
			return err
		}},
		{"agent test folder", folder.ID, func(t *db.Tenant) error {
			_, err := t.AgentTests(ctx, args, nil, model.AgentTestFilter{FolderID: folder.ID})
			return err
		}},
		{"agent", agent.ID, func(t *db.Tenant) error {
			_, err := t.AgentTestFolders(ctx, args, &agent.ID)
			return err
		}},
		{"agent", agent.ID, func(t *db.Tenant) error {
			_, err := t.AgentTestExecutions(ctx, args, &agent.ID, nil)
			return err
		}},
		{"agent", agent.ID, func(t *db.Tenant) error {
			_, err := t.SimulationChats(ctx, args, &agent.ID, nil)
			return err
		}},
		{"agent test execution", run.ExecutionID, func(t *db.Tenant) error {
			_, err := t.AgentTestRuns(ctx, args, model.AgentTestRunFilter{ExecutionID: &run.ExecutionID})
			return err
		}},
		{"dataset", dataset.ID, func(t *db.Tenant) error {
			_, err := t.Documents(ctx, args, &dataset.ID, nil)
			return err
		}},
	} {
		require.NoError(t, c.list(own), c.typeName)
		require.Equal(t, model.Missing(c.typeName, c.id).Message, fails(t, c.list(stranger), model.NotFound))
	}
	page, err := stranger.AgentTestRuns(ctx, args, model.AgentTestRunFilter{TestID: run.TestID})
	require.NoError(t, err, "the test may have been deleted")
	require.Empty(t, page.Nodes)
}
