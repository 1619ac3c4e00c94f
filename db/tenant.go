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

// Tenant is one company's part of the database. It cannot read or write rows of other companies. The methods for each
// type of row are in a file of that name.
type Tenant struct {
	pg.Reads
	// db runs statements about the company's rows. Outside a transaction, each may use another connection.
	db    pg.Scope
	store *Store
	keyID *string
	// reach restricts the caller. Nil for the whole company.
	reach *model.Reach
	// delivery is the worker's job that the Tenant belongs to. It is nil outside workers.
	delivery *queue.Delivery
}

// withScope returns the Tenant with another scope for its statements.
func (t *Tenant) withScope(scope pg.Scope) *Tenant {
	other := *t
	other.Reads, other.db = scope.Reads(), scope
	return &other
}

// WithAPIKey returns a Tenant whose writes record the API key.
func (t *Tenant) WithAPIKey(keyID string) *Tenant {
	other := *t
	other.keyID = &keyID
	return &other
}

// WithReach returns the Tenant restricted to the reach. Chats outside the reach cannot be read, followed or changed by
// id. New chats record Reach.Holder, so they are within the reach. Nothing else is restricted, because the scope "chat"
// gives access to chats only.
func (t *Tenant) WithReach(reach *model.Reach) *Tenant {
	other := *t
	other.reach = reach
	return &other
}

// Tx runs fn in a transaction. It commits when fn returns nil, and rolls back when fn returns an error. A Tenant in a
// transaction continues that transaction.
func (t *Tenant) Tx(ctx context.Context, fn func(context.Context, *Tenant) error) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error { return fn(ctx, t.Tenant) })
}

// tenantTx is a Tenant in a transaction, for methods that need one.
type tenantTx struct{ *Tenant }

func (t *Tenant) inTx(ctx context.Context, fn func(context.Context, tenantTx) error) error {
	if t.db.InTx() {
		return fn(ctx, tenantTx{t})
	}
	return t.db.Begin(ctx, nil, func(ctx context.Context, tx *pg.Tx) error {
		return fn(ctx, tenantTx{t.withScope(tx.Company(t.CompanyID()))})
	})
}

// exec runs a statement and drops its result.
func exec(ctx context.Context, q interface {
	Exec(ctx context.Context, dest ...any) (sql.Result, error)
}) error {
	_, err := q.Exec(ctx)
	return err
}

// signalOf returns the signal key of the row with the id.
func (t *Tenant) signalOf(id string) notify.Key {
	return notify.Key{CompanyID: t.CompanyID(), ID: id}
}

// wake signals the followers of the row with the id after the commit.
func (t *Tenant) wake(id string) {
	t.db.OnCommit(func() { t.store.hub.Wake(t.signalOf(id)) })
}

// rowLock is how a row is locked until the end of the transaction.
type rowLock string

const (
	forShare rowLock = "SHARE"
	// forReference only keeps the row from being deleted.
	forReference rowLock = "KEY SHARE"
	// forUpdate lets other transactions refer to the row by its id, which never changes. With a stronger lock, two
	// agents that become each other's sub-agents would deadlock.
	forUpdate rowLock = "NO KEY UPDATE"
	forDelete rowLock = "UPDATE"
)

// lock locks the row with the id and reads it into a struct. It returns NOT_FOUND with the type's name.
func (t tenantTx) lock(ctx context.Context, typeName, id string, row any, strength rowLock) error {
	return t.db.One(ctx, typeName, id, row, func(q *bun.SelectQuery) *bun.SelectQuery { return q.For(string(strength)) })
}
