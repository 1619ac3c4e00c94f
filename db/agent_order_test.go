package db_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/model"
)

func TestAgentsAreListedInEachOrder(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	by := map[model.AgentOrder]string{
		"": "created_at DESC, id DESC", model.AgentOrderCreatedAt: "created_at DESC, id DESC",
		model.AgentOrderUpdatedAt: "updated_at DESC, id DESC", model.AgentOrderName: "lower(name), id",
	}
	rapid.Check(t, func(r *rapid.T) {
		company, err := store.CreateCompany(ctxOf(t), "Orders")
		require.NoError(r, err)
		tenant := store.Tenant(company.ID)
		for i := range rapid.IntRange(0, 9).Draw(r, "agents") {
			// Names and times repeat, so that ids decide the order.
			name := rapid.SampledFrom([]string{"Anna", "anna", "Ärzte", "zoe", "Zoe 2", "a b", "%_'\\"}).Draw(r, "name")
			at := epoch.Add(time.Duration(rapid.IntRange(0, 2).Draw(r, "updated")) * time.Microsecond)
			_, err := conn.Exec(ctxOf(t),
				`INSERT INTO agents (company_id, id, name, channel, direction, language, tags, prompt, prompt_version, fields,
					classification_tags, extracted_values, is_call_transfer_enabled, created_at, updated_at)
				VALUES ($1, $2, $3, 'Web', 'Inbound', 'en', '[]', 'Help.', 1, '[]', '[]', '[]', false, $4, $5)`,
				company.ID, fmt.Sprintf("agent_%d", i), name, epoch.Add(time.Duration(i/2)*time.Second), at)
			require.NoError(r, err)
		}
		for order, clause := range by {
			want := []string{}
			rows, _ := conn.Query(ctxOf(t), "SELECT id FROM agents WHERE company_id = $1 ORDER BY "+clause, company.ID)
			want, err = pgx.AppendRows(want, rows, pgx.RowTo[string])
			require.NoError(r, err)
			got, byOffset := []string{}, []string{}
			args := model.PageArgs{First: rapid.Int32Range(1, 4).Draw(r, "first"), OrderBy: order}
			for next := true; next; {
				page, err := tenant.Agents(ctxOf(t), args, nil, "id") // the columns that define the order are not selected
				require.NoError(r, err)
				got = append(got, idsOf(page.Nodes)...)
				if edges := page.Edges(); len(edges) > 0 {
					require.Equal(r, *page.PageInfo.StartCursor, edges[0].Cursor())
					require.Equal(r, *page.PageInfo.EndCursor, edges[len(edges)-1].Cursor())
				}
				args.After, next = page.PageInfo.EndCursor, page.PageInfo.HasNextPage
			}
			require.Equal(r, want, got, "by %q", order)
			args.After = nil
			for next := true; next; {
				args.Offset = new(int32(len(byOffset)))
				page, err := tenant.Agents(ctxOf(t), args, nil)
				require.NoError(r, err)
				byOffset, next = append(byOffset, idsOf(page.Nodes)...), page.PageInfo.HasNextPage
			}
			require.Equal(r, want, byOffset, "by %q", order)
			back := []string{}
			args = model.PageArgs{Last: new(args.First), OrderBy: order}
			for previous := true; previous; {
				page, err := tenant.Agents(ctxOf(t), args, nil, "id")
				require.NoError(r, err)
				back = append(idsOf(page.Nodes), back...)
				args.Before, previous = page.PageInfo.StartCursor, page.PageInfo.HasPreviousPage
			}
			require.Equal(r, want, back, "by %q, backward", order)
		}
	})
}

// A cursor is valid for one order only.
func TestCursorsOfAnotherOrderAreRefused(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	newAgent(t, tenant)
	cursors := map[model.AgentOrder]string{}
	for _, order := range model.AllAgentOrder {
		page, err := tenant.Agents(t.Context(), model.PageArgs{First: 1, OrderBy: order}, nil)
		require.NoError(t, err)
		cursors[order] = *page.PageInfo.EndCursor
	}
	for order := range cursors {
		for cursorOrder, cursor := range cursors {
			_, err := tenant.Agents(t.Context(), model.PageArgs{First: 1, OrderBy: order, After: &cursor}, nil)
			if cursorOrder == order {
				require.NoError(t, err)
				continue
			}
			faults(t, err, model.BadInput, "after", "is not a cursor of this list")
		}
	}
	for _, made := range []model.OrderedCursor{
		{Order: model.AgentOrderUpdatedAt, Key: "yesterday", ID: "a"}, {Order: model.AgentOrderUpdatedAt, Key: "", ID: "a"},
		{Order: model.AgentOrderName, Key: "a", ID: ""}, {Order: model.AgentOrderName, Key: "\xff", ID: "a"},
		{Order: model.AgentOrderName, Key: "a\x00b", ID: "a"},
	} {
		_, err := tenant.Agents(t.Context(), model.PageArgs{First: 1, OrderBy: made.Order, After: new(made.String())}, nil)
		faults(t, err, model.BadInput, "after", "")
	}
}

func TestAgentTagsAreListedOnce(t *testing.T) {
	t.Parallel()
	store, _ := fresh(t)
	tenant, _ := newCompany(t, store)
	other, _ := newCompany(t, store)
	tags := func() []string {
		tags, err := tenant.AgentTags(t.Context())
		require.NoError(t, err)
		return tags
	}
	require.Equal(t, []string{}, tags())
	for _, agentTags := range [][]string{{"b", "a"}, {}, {"a", "c"}} {
		in := agentInput()
		in.Tags = agentTags
		_, err := tenant.CreateAgent(t.Context(), in)
		require.NoError(t, err)
	}
	in := agentInput()
	in.Tags = []string{"secret"}
	_, err := other.CreateAgent(t.Context(), in)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, tags())
}
