package pg

import (
	"context"
	"reflect"
	"slices"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/model"
)

// Reads reads the rows of one company by descriptions of their types. It cannot change rows.
type Reads struct{ scope Scope }

// CompanyID returns the id of the company.
func (r Reads) CompanyID() string { return r.scope.companyID }

// Find reads the rows of the keys as structs. It reads the given columns in addition to those that identify and order
// rows, or all columns when none is given. Each row has its key as ParentID. Rows that are read by their own ids have
// no ParentID, and come in any order.
func (r Reads) Find(ctx context.Context, source Rows, keys []string, columns ...string) ([]model.Row, error) {
	return Find[model.Row](ctx, r.scope, source, keys, columns...)
}

// FindPages reads one page of each parent's list, in the list's order. It reads one more row than the page holds, if
// there is one, and sets the ParentID of each row.
func (r Reads) FindPages(ctx context.Context, l List, f Filter, parents []string, args model.PageArgs,
	columns ...string) ([]model.Row, error) {
	args.Table = l.Table()
	if err := args.ValidateIn(ctx); err != nil {
		return nil, err
	}
	s, part := r.scope, Part{PageArgs: args, Filter: f, AndNext: true}
	rows, err := s.rows(ctx, l.Model, s.db.pagesOf(l, s.companyID, pgdialect.Array(parents), "parent.id AS parent_id",
		s.db.ColumnsToRead(l.Row(), columns), part, literal, nil))
	if args.IsBackward() {
		slices.Reverse(rows)
	}
	return JoinBatch(rows), err
}

// Count returns how many rows of each parent's list pass the filter, by the parent's id. Parents without rows are
// left out.
func (r Reads) Count(ctx context.Context, l List, f Filter, parents []string) (map[string]int32, error) {
	s := r.scope
	return shared(ctx, s, l, f, parents, func() (map[string]int32, error) {
		rows := []struct {
			ID    string
			Total int32
		}{}
		err := s.db.totalsOf(l, s.companyID, pgdialect.Array(parents), "parent.id", f, literal).Conn(s).Scan(ctx, &rows)
		counts := make(map[string]int32, len(rows))
		for _, row := range rows {
			if row.Total > 0 {
				counts[row.ID] = row.Total
			}
		}
		return counts, err
	})
}

// Find is Reads.Find for a type of rows that the caller knows.
func Find[R any](ctx context.Context, s Scope, source Rows, keys []string, columns ...string) ([]R, error) {
	rows, err := s.rows(ctx, source.Model, s.db.rowsOfKeys(source, s.companyID, pgdialect.Array(keys),
		s.db.ColumnsToRead(source.Row(), columns), nil))
	return castRows[R](JoinBatch(rows)), err
}

// Page reads one page of the rows that pass the filter, in the order of the list or of the arguments.
func Page[R model.Node](ctx context.Context, s Scope, l List, args model.PageArgs, columns []string,
	f Filter) (*model.Page[R], error) {
	args.Table = l.Table()
	if err := args.ValidateIn(ctx); err != nil {
		return nil, err
	}
	if o := l.orderOf(args); len(columns) > 0 && o.Column != "" {
		columns = append(slices.Clip(columns), o.Column) // cursors are made from it
	}
	q := s.db.pageOf(l, s.companyID, nil, Part{PageArgs: args, Filter: f, AndNext: true}, literal, nil)
	rows, err := s.rows(ctx, l.Model,
		s.db.selectColumns(q, l.Row(), s.companyID, s.db.ColumnsToRead(l.Row(), columns), nil))
	if err != nil {
		return nil, err
	}
	if args.IsBackward() {
		slices.Reverse(rows)
	}
	JoinBatch(model.TrimExtra(rows, args)) // rows outside the page stay out of its batch
	return model.NewPage(castRows[R](rows), args, func(ctx context.Context) (int32, error) {
		return shared(ctx, s, l, f, nil, func() (count int32, err error) {
			err = s.db.totalOf(l, s.companyID, nil, f, literal).Conn(s).Scan(ctx, &count)
			return count, err
		})
	}), nil
}

// rows runs a query whose rows have the type of nilRow.
func (s Scope) rows(ctx context.Context, nilRow any, q *bun.SelectQuery) ([]model.Row, error) {
	rows := slice(nilRow)
	if err := q.Conn(s).Scan(ctx, rows.Interface()); err != nil {
		return nil, err
	}
	return s.db.modelRows(rows), nil
}

func castRows[R any](rows []model.Row) []R {
	return model.Map(rows, func(row model.Row) R { return row.(R) })
}

// JoinBatch joins the rows that one statement read into one batch.
func JoinBatch[R interface {
	JoinBatch(b *model.Batch, row any)
}](rows []R) []R {
	batch := &model.Batch{Rows: make([]any, 0, len(rows))}
	for _, r := range rows {
		r.JoinBatch(batch, r)
	}
	return rows
}

// slice returns a pointer to an empty slice whose elements have the type of nilRow, a pointer to a struct.
func slice(nilRow any) reflect.Value {
	rows := reflect.New(reflect.SliceOf(reflect.TypeOf(nilRow)))
	rows.Elem().Set(reflect.MakeSlice(rows.Elem().Type(), 0, 0))
	return rows
}

// modelRows returns the rows of a slice, each converted by its type's Row function if it has one.
func (t *Tables) modelRows(rows reflect.Value) []model.Row {
	as := t.types[structOf(rows.Interface())].Row
	all := make([]model.Row, rows.Elem().Len())
	for i := range all {
		if row := rows.Elem().Index(i).Interface(); as != nil {
			all[i] = as(row)
		} else {
			all[i] = row.(model.Row)
		}
	}
	return all
}
