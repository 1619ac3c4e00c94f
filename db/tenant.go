package db

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/notify"
	"github.com/agentgraph/agentgraph/db/queue"
	"github.com/agentgraph/agentgraph/model"
)

// Tenant is one company's part of the database: nothing of another company can be read or written
// through it. Its methods are named for the types, one file each.
type Tenant struct {
	store     *Store
	companyID string
	keyID     *string
	// reach is what the caller is narrowed to; nil for the whole company.
	reach *model.Reach
	// db makes statements for the company's rows alone: each on any connection, or all of them in tx.
	db scoped
	// tx is the transaction that the Tenant is in, or nil.
	tx *Tx
	// delivery is the worker's job that the Tenant is for. It is nil outside of workers.
	delivery *queue.Delivery
}

// By returns the same part, for writes that record who made them.
func (t *Tenant) By(keyID string) *Tenant {
	by := *t
	by.keyID = &keyID
	return &by
}

// CompanyID returns the id of the company.
func (t *Tenant) CompanyID() string { return t.companyID }

// Within returns the part of it that is within reach: other simulated chats cannot be read, followed or changed by their
// ids, and those that are started have the reach's holder. Nothing else is narrowed: the scope chat gives nothing else.
func (t *Tenant) Within(reach *model.Reach) *Tenant {
	within := *t
	within.reach = reach
	return &within
}

// Tx runs fn in one transaction: everything it does through the Tenant that it is given is kept, or,
// when it returns an error, nothing. A Tenant that is in a transaction stays in it.
func (t *Tenant) Tx(ctx context.Context, fn func(context.Context, *Tenant) error) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error { return fn(ctx, t.Tenant) })
}

// tenantTx is a Tenant in a transaction. What needs one is a method of it.
type tenantTx struct{ *Tenant }

func (t *Tenant) inTx(ctx context.Context, fn func(context.Context, tenantTx) error) error {
	if t.tx != nil {
		return fn(ctx, tenantTx{t})
	}
	return t.store.begin(ctx, t.companyID, func(ctx context.Context, tx *Tx) error {
		inner := *t
		inner.db, inner.tx = scoped{t.store.db, tx.bun, t.companyID}, tx
		return fn(ctx, tenantTx{&inner})
	})
}

// onCommit calls f after the commit of what the Tenant has written, and never if that is rolled back. f must be quick.
func (t *Tenant) onCommit(f func()) {
	if t.tx == nil {
		f()
		return
	}
	t.tx.onCommit(f)
}

// signalOf is the key under which what has the id signals.
func (t *Tenant) signalOf(id string) notify.Key {
	return notify.Key{CompanyID: t.companyID, ID: id}
}

// wake tells those who follow what has the id that it has changed, once the change is committed.
func (t *Tenant) wake(id string) {
	t.onCommit(func() { t.store.hub.Wake(t.signalOf(id)) })
}

// own is the one place where a statement is bound to the company.
const own = "?TableAlias.company_id = ?"

// find selects rows, but for those that are marked as deleted.
func (t *Tenant) find(rows any) *bun.SelectQuery {
	q := t.db.NewSelect().Model(rows).Where(own, t.companyID)
	if is, values := unmarkedOf(rows, t.companyID); is != "" {
		q = q.Where(is, values...)
	}
	return q
}

// change changes rows, but for those that are marked as deleted.
func (t *Tenant) change(row any) *bun.UpdateQuery {
	q := t.db.NewUpdate().Model(row).Where(own, t.companyID)
	if is, values := unmarkedOf(row, t.companyID); is != "" {
		q = q.Where(is, values...)
	}
	return q
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

// together makes a batch of the rows that one statement read.
func together[R batched](rows []R) []R {
	batch := &model.Batch{Rows: make([]any, 0, len(rows))}
	for _, r := range rows {
		r.JoinBatch(batch, r)
	}
	return rows
}

// one reads the row with the id into dst, a pointer to a struct; NOT_FOUND names the type.
func (t *Tenant) one(ctx context.Context, typeName, id string, dst any) error {
	return found(typeName, id, t.find(dst).Where("?TableAlias.id = ?", id).Scan(ctx))
}

// rowLock says how a row that is read is locked until the end of the transaction.
type rowLock string

const (
	forShare rowLock = "SHARE"
	// forReference only keeps the row from being deleted.
	forReference rowLock = "KEY SHARE"
	// forUpdate lets others refer to the row meanwhile: they do so by its id, which never changes. A
	// stronger lock would have two agents that become each other's sub-agents wait for one another.
	forUpdate rowLock = "NO KEY UPDATE"
	forDelete rowLock = "UPDATE"
)

// lock is one with the row locked.
func (t tenantTx) lock(ctx context.Context, typeName, id string, dst any, strength rowLock) error {
	return found(typeName, id, t.find(dst).Where("?TableAlias.id = ?", id).For(string(strength)).Scan(ctx))
}

// found translates the error of reading one row.
func found(typeName, id string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return model.Missing(typeName, id)
	}
	return translate(err)
}

// exists returns NOT_FOUND, which names the type, when an id that narrows a list is that of no row like none, a nil
// pointer to its struct.
func (t *Tenant) exists(ctx context.Context, typeName string, id *string, none any) error {
	if id == nil {
		return nil
	}
	found, err := t.find(none).Where("?TableAlias.id = ?", *id).Exists(ctx)
	if err == nil && !found {
		return model.Missing(typeName, *id)
	}
	return translate(err)
}

// of is Find for rows whose type the caller knows.
func of[R any](ctx context.Context, t *Tenant, r Rows, keys, columns []string) ([]R, error) {
	rows, err := t.Find(ctx, r, keys, columns...)
	typed := make([]R, len(rows))
	for i, row := range rows {
		typed[i] = row.(R)
	}
	return typed, err
}

// only reads the given columns beside those that tell and order rows; all columns when none is given.
func only(columns []string) selection {
	return func(q *bun.SelectQuery) *bun.SelectQuery {
		if len(columns) == 0 {
			return whole(q)
		}
		q = q.ColumnExpr("?TableAlias.id, ?TableAlias.created_at")
		for _, column := range columns {
			if column != "id" && column != "created_at" {
				q = read(q, "", column, column)
			}
		}
		return q
	}
}

// list reads one page, in the order of the list or of the arguments, of the rows that pass the filter.
func list[R model.Node](ctx context.Context, t *Tenant, l List, args model.PageArgs, columns []string, filter Filter) (*model.Page[R], error) {
	if err := args.ValidateIn(ctx); err != nil {
		return nil, err
	}
	o := l.order
	if by, ok := orders[args.OrderBy]; ok {
		o = by
	}
	if len(columns) > 0 && o.column != "" {
		columns = append(slices.Clip(columns), o.column) // of which cursors are made
	}
	rows := slice(l.none)
	if err := paged(t.find(rows.Interface()).Apply(only(withKind(l.Row(), columns))).Apply(filter.apply), args, o).Scan(ctx); err != nil {
		return nil, translate(err)
	}
	all := structs(rows)
	if args.IsBackward() {
		slices.Reverse(all)
	}
	together(model.Within(all, args)) // what is beside the page is not of it
	nodes := make([]R, len(all))
	for i, row := range all {
		nodes[i] = row.(R)
	}
	return model.NewPage(nodes, args, func(ctx context.Context) (int32, error) {
		return shared(ctx, t, l, filter, nil, func() (count int32, err error) {
			rows := filter.apply(t.find(l.none)).ColumnExpr("count(*)::int")
			err = l.counted(t.store.db, t.companyID, nil, filter, filter.literals(), rows).Conn(t.db).Scan(ctx, &count)
			return count, translate(err)
		})
	}), nil
}

// order is how a list is ordered, by an expression and then by id, and what is behind a row of it. place makes of a cursor's
// key what the expression is compared with. column is what the expression needs, unless it is the time of creation.
type order struct {
	direction, behind bun.Safe
	by, place, column string
}

var (
	newestFirst = order{direction: "DESC", behind: "<", by: "?TableAlias.created_at", place: "?1"}
	oldestFirst = order{direction: "ASC", behind: ">", by: "?TableAlias.created_at", place: "?1"}
	// orders are those that arguments may ask for.
	orders = map[model.AgentOrder]order{
		model.AgentOrderUpdatedAt: {"DESC", "<", "?TableAlias.updated_at", "?1", "updated_at"},
		model.AgentOrderName:      {"ASC", ">", "lower(?TableAlias.name)", "lower(?1)", "name"},
	}
)

// reversed is the order from the last row to the first.
func (o order) reversed() order {
	back := oldestFirst
	if o.direction == oldestFirst.direction {
		back = newestFirst
	}
	o.direction, o.behind = back.direction, back.behind
	return o
}

// paged orders rows and takes one more than the page holds, to know whether there are more. Those of a page that is counted
// from its end come last row first.
func paged(q *bun.SelectQuery, args model.PageArgs, o order) *bun.SelectQuery {
	if args.IsBackward() {
		o = o.reversed()
	}
	q = q.OrderExpr(o.by+" ?0, ?TableAlias.id ?0", o.direction).Limit(int64(args.Size()) + 1)
	if args.Offset != nil {
		q = q.Offset(int64(*args.Offset))
	}
	if args.Cursor() != nil {
		key, id := args.Place()
		q = q.Where("("+o.by+", ?TableAlias.id) ?0 ("+o.place+", ?2)", o.behind, key, id)
	}
	return q
}
