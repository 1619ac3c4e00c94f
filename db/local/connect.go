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

func createDatabase(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE DATABASE "+database)
	return errors.Join(err, conn.Close(ctx))
}

// replaceDatabase replaces the database by an empty one.
func replaceDatabase(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "DROP DATABASE "+database+" WITH (FORCE)")
	if err == nil {
		_, err = conn.Exec(ctx, "CREATE DATABASE "+database)
	}
	return errors.Join(err, conn.Close(ctx))
}

func isMissingDatabase(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "3D000"
}
