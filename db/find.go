package db

import (
	"context"
	"reflect"

	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/model"
)

// Want names rows to be found: those that the keys lead to, with the columns beside those that tell and order rows, or all
// columns when none is given.
type Want struct {
	Rows    Rows
	Keys    []string
	Columns []string
}

// Find reads the rows that the keys lead to, as their structs, with the columns beside those that tell and order rows, or
// all columns when none is given. Every row has the key as its ParentID, but for rows that are read by their own ids, which
// come in any order.
func (t *Tenant) Find(ctx context.Context, r Rows, keys []string, columns ...string) ([]model.Row, error) {
	found, err := t.FindTogether(ctx, Want{r, keys, columns})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// FindTogether is Find for several wants: in one round trip and of one moment, unless the Tenant is in a transaction, which
// it then sees.
func (t *Tenant) FindTogether(ctx context.Context, wants ...Want) ([][]model.Row, error) {
	if t.tx != nil {
		return t.findInTx(ctx, wants)
	}
	asks := make([]ask, len(wants))
	for i, want := range wants {
		if want.Keys == nil {
			want.Keys = []string{}
		}
		asks[i] = t.askingFor(want)
	}
	if err := t.ask(ctx, asks); err != nil {
		return nil, err
	}
	return rowsOf(asks), nil
}

func (t *Tenant) findInTx(ctx context.Context, wants []Want) ([][]model.Row, error) {
	found := make([][]model.Row, len(wants))
	for i, want := range wants {
		rows, r := slice(want.Rows.none), want.Rows
		q := t.find(rows.Interface()).Apply(only(withKind(r.Row(), want.Columns)))
		if r.key != byOwnID {
			q = q.ColumnExpr(r.key + " AS parent_id")
		}
		if err := r.read(q, t.companyID, pgdialect.Array(want.Keys)).Scan(ctx); err != nil {
			return nil, translate(err)
		}
		found[i] = together(structs(rows))
	}
	return found, nil
}

// FindPages reads one page of each parent's list, in its order, at most one row more than the page holds each, every row with
// its ParentID.
func (t *Tenant) FindPages(ctx context.Context, l List, f Filter, parents []string, args model.PageArgs, columns ...string) ([]model.Row, error) {
	if err := args.ValidateIn(ctx); err != nil {
		return nil, err
	}
	rows := slice(l.none)
	page := paged(f.apply(l.narrow(t.find(l.none), t.companyID, parentID)).Apply(only(withKind(l.Row(), columns))), args, l.order)
	err := t.db.NewSelect().Model(rows.Interface()).ModelTableExpr("unnest(?::text[]) AS parent (id)", pgdialect.Array(parents)).
		ColumnExpr("parent.id AS parent_id, child.*").Join("CROSS JOIN LATERAL (?) AS child", page).
		OrderExpr("parent.id, child.created_at ?0, child.id ?0", l.order.direction).Scan(ctx)
	return together(structs(rows)), translate(err)
}

// Count returns how many rows of each parent's list pass the filter, by the parent's id, where there are any.
func (t *Tenant) Count(ctx context.Context, l List, f Filter, parents []string) (map[string]int32, error) {
	return shared(ctx, t, l, f, parents, func() (map[string]int32, error) { return t.counts(ctx, l, f, parents) })
}

func (t *Tenant) counts(ctx context.Context, l List, f Filter, parents []string) (map[string]int32, error) {
	rows := []struct {
		ID    string
		Total int32
	}{}
	all := f.apply(l.narrow(t.find(l.none), t.companyID, parentID))
	err := t.db.NewSelect().TableExpr("unnest(?::text[]) AS parent (id)", pgdialect.Array(parents)).
		ColumnExpr("parent.id, (?) AS total", l.counted(t.store.db, t.companyID, parentID, f, f.literals(), all.ColumnExpr("count(*)::int"))).Scan(ctx, &rows)
	counts := make(map[string]int32, len(rows))
	for _, row := range rows {
		if row.Total > 0 {
			counts[row.ID] = row.Total
		}
	}
	return counts, translate(err)
}

// slice returns a pointer to an empty slice of pointers to rows like none.
func slice(none any) reflect.Value {
	rows := reflect.New(reflect.SliceOf(reflect.TypeOf(none)))
	rows.Elem().Set(reflect.MakeSlice(rows.Elem().Type(), 0, 0))
	return rows
}

// structs returns the rows of a slice. Rows of tests become the tests of their kinds.
func structs(rows reflect.Value) []model.Row {
	all := make([]model.Row, rows.Elem().Len())
	for i := range all {
		row := rows.Elem().Index(i).Interface()
		if test, ok := row.(*model.AgentTestRow); ok {
			row = test.Test()
		}
		all[i] = row.(model.Row)
	}
	return all
}
