package db

import (
	"context"
	"database/sql"
	"errors"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/db/queue"
	"github.com/agentgraph/agentgraph/model"
)

// Tenant is one company's part of the database: nothing of another company can be read or written
// through it. Its methods are named for the nouns, one file each.
type Tenant struct {
	store     *Store
	db        bun.IDB
	companyID string
	keyID     *string
	// delivery is the job that a worker was given this for; nil outside of workers.
	delivery *queue.Delivery
}

// By returns the same part, for writes that record who made them.
func (t *Tenant) By(keyID string) *Tenant {
	by := *t
	by.keyID = &keyID
	return &by
}

// Tx runs fn in one transaction: everything it does through the Tenant that it is given is kept, or,
// when it returns an error, nothing.
func (t *Tenant) Tx(ctx context.Context, fn func(context.Context, *Tenant) error) error {
	if _, nested := t.db.(bun.Tx); nested {
		return fn(ctx, t)
	}
	return translate(t.store.inTx(ctx, func(ctx context.Context, tx *transaction) error {
		inner, store := *t, *t.store
		store.db, store.tx = tx.Tx, tx
		inner.db, inner.store = tx.Tx, &store
		return fn(ctx, &inner)
	}))
}

// Store is the database that the part is of.
func (t *Tenant) Store() *Store { return t.store }

// own is the one place where a statement is bound to the company.
const own = "?TableAlias.company_id = ?"

func (t *Tenant) find(rows any) *bun.SelectQuery {
	return t.db.NewSelect().Model(rows).Where(own, t.companyID)
}

func (t *Tenant) change(row any) *bun.UpdateQuery {
	return t.db.NewUpdate().Model(row).Where(own, t.companyID)
}

func (t *Tenant) remove(row any) *bun.DeleteQuery {
	return t.db.NewDelete().Model(row).Where(own, t.companyID)
}

// row is what every table of a company maps to.
type row interface {
	OwnBy(companyID string)
	Parent() string
}

// insert writes new rows. They are complete, so nothing is read back into them: others may be reading them.
func insert[R row](ctx context.Context, t *Tenant, rows ...R) error {
	if len(rows) == 0 {
		return nil
	}
	for _, r := range rows {
		r.OwnBy(t.companyID)
	}
	_, err := t.db.NewInsert().Model(&rows).Returning("NULL").Exec(ctx)
	return translate(err)
}

// batched is a row that remembers which rows it was read with.
type batched interface {
	JoinBatch(b *model.Batch, row any)
}

// together makes the rows that one statement read a batch.
func together[R batched](rows []R) []R {
	batch := &model.Batch{Rows: make([]any, 0, len(rows))}
	for _, r := range rows {
		r.JoinBatch(batch, r)
	}
	return rows
}

// rowLock says whether a row that is read is held until the end of the transaction.
type rowLock string

const (
	noLock   rowLock = ""
	forShare rowLock = "SHARE"
	// forUpdate lets others refer to the row meanwhile: they do so by its id, which never changes. A
	// stronger lock would have two agents that become each other's sub-agents wait for one another.
	forUpdate rowLock = "NO KEY UPDATE"
	forDelete rowLock = "UPDATE"
)

// one reads the row with the id into dst, a pointer to a struct; NOT_FOUND names the noun.
func (t *Tenant) one(ctx context.Context, noun, id string, dst any, hold rowLock) error {
	query := t.find(dst).Where("?TableAlias.id = ?", id)
	if hold != noLock {
		query = query.For(string(hold))
	}
	err := query.Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return model.Missing(noun, id)
	}
	return translate(err)
}

// exists returns NOT_FOUND, which names the noun, when an id that narrows a list is that of no row like none, a nil
// pointer to its struct.
func (t *Tenant) exists(ctx context.Context, noun string, id *string, none any) error {
	if id == nil {
		return nil
	}
	found, err := t.find(none).Where("?TableAlias.id = ?", *id).Exists(ctx)
	if err == nil && !found {
		return model.Missing(noun, *id)
	}
	return translate(err)
}

// byID reads the rows with the ids, in any order; what does not exist is left out.
func byID[R batched](ctx context.Context, t *Tenant, ids, columns []string) ([]R, error) {
	rows := []R{}
	err := t.find(&rows).Apply(only(columns)).Where("?TableAlias.id IN (?)", bun.List(ids)).Scan(ctx)
	return together(rows), translate(err)
}

// of reads the rows that the keys lead to, every row with its ParentID.
func of[R batched](ctx context.Context, t *Tenant, r Rows, keys, columns []string) ([]R, error) {
	rows := []R{}
	q := t.find(&rows).Apply(only(columns)).ColumnExpr(r.key + " AS parent_id")
	err := r.read(q, t.companyID, pgdialect.Array(keys)).Scan(ctx)
	return together(rows), translate(err)
}

// only reads the given columns beside those that tell and order rows; all columns when none is given.
func only(columns []string) selection {
	return func(q *bun.SelectQuery) *bun.SelectQuery {
		if len(columns) == 0 {
			return q.ColumnExpr("?TableColumns")
		}
		q = q.ColumnExpr("?TableAlias.id, ?TableAlias.created_at")
		for _, column := range columns {
			if column != "id" && column != "created_at" {
				q = q.ColumnExpr("?TableAlias.?", bun.Ident(column))
			}
		}
		return q
	}
}

// selection narrows a query.
type selection func(*bun.SelectQuery) *bun.SelectQuery

// list reads one page, newest first, of the rows that pass the filter.
func list[R interface {
	model.Node
	batched
}](ctx context.Context, t *Tenant, args model.PageArgs, columns []string, filter Filter) (*model.Page[R], error) {
	if err := args.Validate(); err != nil {
		return nil, err
	}
	rows := []R{}
	if err := paged(t.find(&rows).Apply(only(columns)).Apply(filter.apply), args, newestFirst).Scan(ctx); err != nil {
		return nil, translate(err)
	}
	page := model.NewPage(rows, args, func(ctx context.Context) (int32, error) {
		var none R
		count, err := t.find(none).Apply(filter.apply).Count(ctx)
		return int32(count), translate(err)
	})
	together(page.Nodes)
	return page, nil
}

func all(q *bun.SelectQuery) *bun.SelectQuery { return q }

// order is how a list is ordered, by time of creation and then by id, and what is behind a row of it.
type order struct{ direction, behind bun.Safe }

var (
	newestFirst = order{"DESC", "<"}
	oldestFirst = order{"ASC", ">"}
)

// paged orders rows and takes one more than the page holds, to know whether another follows.
func paged(q *bun.SelectQuery, args model.PageArgs, o order) *bun.SelectQuery {
	q = q.OrderExpr("?TableAlias.created_at ?0, ?TableAlias.id ?0", o.direction).Limit(int64(args.First) + 1)
	if args.Offset != nil {
		q = q.Offset(int64(*args.Offset))
	}
	if args.After != nil {
		// Validate has read it before.
		cursor, _ := model.ParseCursor(*args.After)
		q = q.Where("(?TableAlias.created_at, ?TableAlias.id) ? (?, ?)", o.behind, cursor.CreatedAt, cursor.ID)
	}
	return q
}

// Children is a list that hangs on each of several parents, read for all of them in one statement.
type Children[R interface {
	model.Node
	batched
}] struct {
	tenant *Tenant
	list   List
	filter Filter
}

// Pages reads one page of each parent's list, in its order, at most one row more than args.First each,
// every row with its ParentID.
func (c Children[R]) Pages(ctx context.Context, parents []string, args model.PageArgs, columns ...string) ([]R, error) {
	if err := args.Validate(); err != nil {
		return nil, err
	}
	rows := []R{}
	var none R
	page := paged(c.filter.apply(c.list.narrow(c.tenant.find(none), c.tenant.companyID)).Apply(only(columns)), args, c.list.order)
	err := c.tenant.db.NewSelect().Model(&rows).ModelTableExpr("unnest(?::text[]) AS parent (id)", pgdialect.Array(parents)).
		ColumnExpr("parent.id AS parent_id, child.*").Join("CROSS JOIN LATERAL (?) AS child", page).
		OrderExpr("parent.id, child.created_at ?0, child.id ?0", c.list.order.direction).Scan(ctx)
	return together(rows), translate(err)
}

// Counts returns how many rows each parent's list holds, in the order of the parents.
func (c Children[R]) Counts(ctx context.Context, parents []string) ([]int32, error) {
	var none R
	counts := []int32{}
	all := c.filter.apply(c.list.narrow(c.tenant.find(none), c.tenant.companyID))
	err := c.tenant.db.NewSelect().TableExpr("unnest(?::text[]) WITH ORDINALITY AS parent (id, place)", pgdialect.Array(parents)).
		ColumnExpr("(?)", all.ColumnExpr("count(*)::int")).OrderExpr("parent.place").Scan(ctx, &counts)
	return counts, translate(err)
}
