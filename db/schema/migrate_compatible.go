package schema

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/agentgraph/agentgraph/db/migrations"
)

// expands marks a migration that programs of the previous versions tolerate: they do not need its additions, and what
// they write satisfies its constraints. All other migrations make older programs unusable.
const expands = "-- Expands:"

// oldestProgramFor returns the version of the oldest programs that can use a schema of the version. It is the last
// migration, up to the version, that is not marked with expands.
func oldestProgramFor(version int64) (oldest int64, err error) {
	files, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		number, _, _ := strings.Cut(file, "_")
		migration, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("the name of %s must begin with a number: %w", file, err)
		}
		text, err := migrations.Files.ReadFile(file)
		if err != nil {
			return 0, err
		}
		if migration <= version && !bytes.HasPrefix(text, []byte(expands)) {
			oldest = max(oldest, migration)
		}
	}
	return oldest, nil
}

// saveOldestProgram stores the result of oldestProgramFor in the database, for programs that do not know its
// migrations.
func (m *Migrator) saveOldestProgram(ctx context.Context, version int64) error {
	oldest, err := oldestProgramFor(version)
	if err != nil {
		return err
	}
	// Without the lock, two processes that create the table at the same time would fail, despite IF NOT EXISTS.
	_, err = m.db.ExecContext(ctx, fmt.Sprintf(`SELECT pg_advisory_xact_lock(hashtext('migration.oldest_program'));
		CREATE TABLE IF NOT EXISTS migration.oldest_program (is_row boolean PRIMARY KEY DEFAULT true CHECK (is_row),
			schema_version bigint NOT NULL);
		INSERT INTO migration.oldest_program (schema_version) VALUES (%d)
			ON CONFLICT (is_row) DO UPDATE SET schema_version = EXCLUDED.schema_version`, oldest))
	return err
}

// oldestProgram returns the version of the oldest programs that can use the schema of the version. If the database does
// not tell, it is the same version.
func (m *Migrator) oldestProgram(ctx context.Context, version int64) (oldest int64, err error) {
	var says bool
	err = m.db.QueryRowContext(ctx,
		`SELECT coalesce(has_table_privilege(to_regclass('migration.oldest_program'), 'SELECT'), false)`).Scan(&says)
	if err != nil || !says {
		return version, err
	}
	err = m.db.QueryRowContext(ctx, "SELECT schema_version FROM migration.oldest_program").Scan(&oldest)
	return oldest, err
}
