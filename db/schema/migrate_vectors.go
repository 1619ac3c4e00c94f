package schema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
)

// makeVectors creates the table of vectors. Only this table needs pgvector, so a dump can be restored without it.
// Vectors are stored in the rows as long as they fit, so that a search through all of them reads few pages.
var makeVectors = []string{
	`CREATE TABLE chunk_vectors (
		company_id text NOT NULL,
		dataset_id text NOT NULL,
		document_id text NOT NULL,
		position int NOT NULL CHECK (position >= 0),
		chunk_id text NOT NULL,
		embedding real[] NOT NULL,
		PRIMARY KEY (company_id, dataset_id, document_id, position),
		FOREIGN KEY (company_id, dataset_id, document_id) REFERENCES documents (company_id, dataset_id, id) ON DELETE CASCADE
	)`,
	"ALTER TABLE chunk_vectors ALTER COLUMN embedding SET STORAGE MAIN",
}

// vectorTable is the migration that creates the table of vectors. It is not a file, because its statements also create
// the table again after it was lost.
func vectorTable() *goose.Migration {
	m := goose.NewGoMigration(11,
		&goose.GoFunc{RunTx: run(append(makeVectors,
			`INSERT INTO chunk_vectors (company_id, dataset_id, document_id, position, chunk_id, embedding)
				SELECT company_id, dataset_id, document_id, position, id, embedding FROM chunks WHERE embedding IS NOT NULL`,
			"ALTER TABLE chunks DROP COLUMN embedding",
			"ALTER TABLE documents ADD COLUMN waits int CHECK (waits >= 0)",
			"UPDATE documents SET waits = 0",
			"ALTER TABLE documents ALTER COLUMN waits SET NOT NULL",
		)...)},
		&goose.GoFunc{RunTx: run(
			"ALTER TABLE documents DROP COLUMN waits",
			"ALTER TABLE chunks ADD COLUMN embedding real[]",
			`UPDATE chunks SET embedding = kept.embedding::real[] FROM chunk_vectors AS kept
				WHERE kept.company_id = chunks.company_id AND kept.chunk_id = chunks.id`,
			"DROP TABLE chunk_vectors",
		)},
	)
	m.Source = "0011_chunk_vectors.go"
	return m
}

func run(statements ...string) func(context.Context, *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		for _, statement := range statements {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}
}

// VectorType is the type of the column that holds the vectors.
type VectorType string

const (
	// Pgvector is the type of the extension pgvector.
	Pgvector VectorType = "pgvector"
	// lost means that a dump was restored without pgvector, or that pgvector was dropped with its dependent objects.
	lost VectorType = "lost"
)

// VectorTypeOf returns how the database stores vectors.
func VectorTypeOf(ctx context.Context, db interface {
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}) (kept VectorType, err error) {
	err = db.QueryRow(ctx, `SELECT coalesce((
		SELECT CASE atttypid WHEN 'real[]'::regtype THEN 'arrays' ELSE 'pgvector' END FROM pg_attribute
		WHERE attrelid = to_regclass('chunk_vectors') AND attname = 'embedding' AND NOT attisdropped), 'lost')`).Scan(&kept)
	return kept, err
}

// faultOfVectors says in a sentence why the vectors of a complete schema cannot be used. It is empty if they can.
func (m *Migrator) faultOfVectors(ctx context.Context) (string, error) {
	kept, err := VectorTypeOf(ctx, m.pool)
	switch {
	case err != nil:
		return "", err
	case kept == lost:
		return `the table of the chunks' vectors is missing: run "agentgraph migrate up", which embeds all documents again`,
			nil
	case kept == Pgvector:
		_, err = m.pool.Exec(ctx, "SELECT '[1]'::vector")
	}
	if isPostgresError(err) {
		return "the chunks' vectors are stored with pgvector, but the database no longer finds it: install it again, or " +
			"add its schema to the search path", nil
	}
	return "", err
}

// isPostgresError reports whether Postgres returned the error.
func isPostgresError(err error) bool {
	var known *pgconn.PgError
	return errors.As(err, &known)
}

// vectorLock is the key of the advisory lock for moving vectors.
const vectorLock = 0x76656374

// moveVectors stores vectors by pgvector if the server has it and the role may create it, and otherwise leaves them
// as arrays. Documents whose vectors are lost are indexed again. Other writers wait until this is done.
func (m *Migrator) moveVectors(ctx context.Context) error {
	return pgx.BeginFunc(ctx, m.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", vectorLock); err != nil {
			return err
		}
		kept, err := VectorTypeOf(ctx, tx)
		if err != nil || kept == Pgvector {
			return err
		}
		if kept == lost {
			again := append([]string{"DROP TABLE IF EXISTS chunk_vectors", "UPDATE documents SET embedding_model = NULL"},
				makeVectors...)
			for _, statement := range again {
				if _, err := tx.Exec(ctx, statement); err != nil {
					return fmt.Errorf("recreate the table of vectors: %w", err)
				}
			}
		}
		var available bool
		if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'vector')").
			Scan(&available); err != nil || !available {
			return err
		}
		err = pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "CREATE EXTENSION IF NOT EXISTS vector"); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "ALTER TABLE chunk_vectors ALTER COLUMN embedding TYPE vector, ALTER COLUMN embedding SET "+
				"STORAGE MAIN")
			return err
		})
		if isPostgresError(err) {
			m.say("the server has pgvector, but it could not be used, so vectors are stored as arrays: " + err.Error())
			return nil
		}
		return err
	})
}
