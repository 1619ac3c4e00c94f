package schema

import (
	"database/sql"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pressly/goose/v3"
)

// Migrator migrates the schema of one database up and down. Several processes may migrate at the same time: one does
// the work while the others wait.
type Migrator struct {
	pool  *pgxpool.Pool
	db    *sql.DB
	goose *goose.Provider
	// Progress is called with the progress of migrating large tables. It may be nil.
	Progress func(string)
}

func (m *Migrator) say(progress string) {
	if m.Progress != nil {
		m.Progress(progress)
	}
}

// Close closes the connections.
func (m *Migrator) Close() error {
	err := m.db.Close()
	m.pool.Close()
	return err
}
