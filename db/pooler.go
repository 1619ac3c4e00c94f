package db

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/agentgraph/agentgraph/model"
)

// errPooled is why a program does not start behind the wrong pooler.
var errPooled = errors.New("the pooler in front of Postgres hands connections to others between transactions, and a connection is bound to " +
	"a company: let it pool sessions (pool_mode = session of PgBouncer), or name Postgres itself")

// checkSessions returns errPooled unless what is set on a connection stays with it, and with nobody else. Both pools lead to
// the same database.
func checkSessions(ctx context.Context, pool, other *pgxpool.Pool) error {
	mark := model.NewID("session")
	one, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer one.Release()
	two, err := other.Acquire(ctx)
	if err != nil {
		return err
	}
	defer two.Release()
	if _, err := one.Exec(ctx, "SELECT set_config('agentgraph.session', $1, false)", mark); err != nil {
		return err
	}
	tx, err := two.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	const read = "SELECT coalesce(current_setting('agentgraph.session', true), '')"
	var theirs string
	if err := tx.QueryRow(ctx, read).Scan(&theirs); err != nil {
		return err
	}
	if theirs == mark {
		return errPooled
	}
	// While the transaction holds a connection a pooler may need another one for this, and each time if it takes them in turn.
	for range 3 {
		var ours string
		if err := one.QueryRow(ctx, read).Scan(&ours); err != nil {
			return err
		}
		if ours != mark {
			return errPooled
		}
	}
	return nil
}
