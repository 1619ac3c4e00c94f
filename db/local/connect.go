package local

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// pingTimeout bounds one attempt. A server that is stopping may never answer a queued connection.
const pingTimeout = 5 * time.Second

// ping returns nil if the database accepts connections.
func ping(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// makeDatabase creates the empty database. In a new cluster without durability it renames initdb's database, which is
// faster.
func (c *cluster) makeDatabase(ctx context.Context, isNew bool) error {
	if isNew && !c.durable {
		return c.execute(ctx, "ALTER DATABASE postgres RENAME TO "+database)
	}
	return c.execute(ctx, "CREATE DATABASE "+database)
}

// execute runs statements on the database template1.
func (c *cluster) execute(ctx context.Context, statements ...string) error {
	conn, err := pgx.Connect(ctx, c.url("template1"))
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if _, err = conn.Exec(ctx, statement); err != nil {
			break
		}
	}
	return errors.Join(err, conn.Close(ctx))
}

func isMissingDatabase(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "3D000"
}
