package queue

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// schemaVersion is the version of River's tables that this program needs.
const schemaVersion = 8

// Migrate creates River's tables, or upgrades them to schemaVersion. Never run two calls at the same time.
func Migrate(ctx context.Context, pool *pgxpool.Pool) error {
	return migrate(ctx, pool, rivermigrate.DirectionUp, schemaVersion)
}

// Unmigrate drops River's tables with all their rows.
func Unmigrate(ctx context.Context, pool *pgxpool.Pool) error {
	return migrate(ctx, pool, rivermigrate.DirectionDown, -1)
}

func migrate(ctx context.Context, pool *pgxpool.Pool, direction rivermigrate.Direction, version int) error {
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err == nil {
		_, err = migrator.Migrate(ctx, direction, &rivermigrate.MigrateOpts{TargetVersion: version})
	}
	if err != nil {
		return fmt.Errorf("migrate the queue %s: %w", direction, err)
	}
	return nil
}
