package local

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// pingPatience bounds one attempt: a server that is being stopped may leave a connection in its queue for ever.
const pingPatience = 5 * time.Second

// ping tells whether the database accepts connections.
func ping(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, pingPatience)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// makeDatabase executes the statements and makes the empty database.
func (c *cluster) makeDatabase(ctx context.Context, before ...string) error {
	create := "CREATE DATABASE " + database
	if !c.durable && c.binaries.major >= 15 {
		create += " STRATEGY file_copy" // without the pages in the log too; a durable cluster would wait for the disk
	}
	conn, err := pgx.Connect(ctx, c.url(superuser))
	if err != nil {
		return err
	}
	for _, statement := range append(before, create) {
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
