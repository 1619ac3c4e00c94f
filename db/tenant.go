package db

import (
	"context"
	"database/sql"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/notify"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/db/queue"
	"github.com/agentgraph/agentgraph/model"
)

// Tenant is one company's part of the database: nothing of another company can be read or written
// through it. Its methods are named for the types, one file each.
type Tenant struct {
	pg.Reads
	// db makes statements for the company's rows alone: each on any connection, or all of them in a transaction.
	db    pg.Scope
	store *Store
	keyID *string
	// reach is what the caller is narrowed to; nil for the whole company.
	reach *model.Reach
	// delivery is the worker's job that the Tenant is for. It is nil outside of workers.
	delivery *queue.Delivery
}

// in returns the same part, as its statements are made by the scope.
func (t *Tenant) in(scope pg.Scope) *Tenant {
	other := *t
	other.Reads, other.db = scope.Reads(), scope
	return &other
}

// By returns the same part, for writes that record who made them.
func (t *Tenant) By(keyID string) *Tenant {
	by := *t
	by.keyID = &keyID
	return &by
}

// Within returns the part of it that is within reach: other simulated chats cannot be read, followed or changed by
// their ids, and those that are started have the reach's holder. Nothing else is narrowed: the scope chat gives nothing
// else.
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
	if t.db.InTx() {
		return fn(ctx, tenantTx{t})
	}
	return t.db.Begin(ctx, nil, func(ctx context.Context, tx *pg.Tx) error {
		return fn(ctx, tenantTx{t.in(tx.Company(t.CompanyID()))})
	})
}

// exec runs a statement whose result nobody needs.
func exec(ctx context.Context, q interface {
	Exec(ctx context.Context, dest ...any) (sql.Result, error)
}) error {
	_, err := q.Exec(ctx)
	return err
}

// signalOf is the key under which what has the id signals.
func (t *Tenant) signalOf(id string) notify.Key {
	return notify.Key{CompanyID: t.CompanyID(), ID: id}
}

// wake tells those who follow what has the id that it has changed, once the change is committed.
func (t *Tenant) wake(id string) {
	t.db.OnCommit(func() { t.store.hub.Wake(t.signalOf(id)) })
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

// lock reads the row with the id into a struct, and locks it. NOT_FOUND names the type.
func (t tenantTx) lock(ctx context.Context, typeName, id string, row any, strength rowLock) error {
	return t.db.One(ctx, typeName, id, row, func(q *bun.SelectQuery) *bun.SelectQuery { return q.For(string(strength)) })
}
