package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
)

// explainRefusal explains, in terms of the archive, why Postgres refused a row. The error of Postgres does not show the
// values, because row-level security protects the row.
func (i *CompanyImport) explainRefusal(ctx context.Context, err error, table string, row json.RawMessage) error {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return fmt.Errorf("is not a row of %s", table)
	}
	switch pgErr.Code {
	case "23502":
		return fmt.Errorf("%s is missing", pg.ColumnOf(pgErr))
	case "23503":
		return fmt.Errorf("%s must refer to an earlier row of the archive",
			i.describeKey(ctx, pg.ConstraintOf(pgErr), row))
	case "23505":
		return fmt.Errorf("%s occurs twice", i.describeKey(ctx, pg.ConstraintOf(pgErr), row))
	case "23514":
		columns := i.columnsOf(ctx, pg.ConstraintOf(pgErr))
		switch len(columns) {
		case 0:
			return errors.New("a value is out of range")
		case 1:
			return fmt.Errorf("%s is out of range", i.describeKey(ctx, pg.ConstraintOf(pgErr), row))
		}
		return fmt.Errorf("the values of %s contradict each other", strings.Join(columns, ", "))
	}
	if column := i.unreadable(ctx, table, row); column != "" {
		return fmt.Errorf("%s: %s", column, pgErr.Message)
	}
	return errors.New(pgErr.Message)
}

// unreadable returns the column whose value does not have the column's type, or "" if there is none.
func (i *CompanyImport) unreadable(ctx context.Context, table string, row json.RawMessage) string {
	values := map[string]json.RawMessage{}
	if json.Unmarshal(row, &values) != nil {
		return ""
	}
	for _, column := range slices.Sorted(maps.Keys(values)) {
		one, err := json.Marshal(map[string]json.RawMessage{column: values[column]})
		if err != nil {
			continue
		}
		if _, err := i.tenant.db.ExecContext(ctx, "SAVEPOINT value"); err != nil {
			return ""
		}
		_, refused := i.tenant.db.NewRaw("SELECT 1 FROM json_populate_recordset(NULL::?, ?::json)", bun.Ident(table), "["+
			string(one)+"]").Exec(ctx)
		if _, err := i.tenant.db.ExecContext(ctx, "ROLLBACK TO SAVEPOINT value"); err != nil {
			return ""
		}
		if refused != nil {
			return column
		}
	}
	return ""
}

// columnsOf returns the columns of a constraint or an index, without the company.
func (i *CompanyImport) columnsOf(ctx context.Context, constraint string) (columns []string) {
	err := i.tenant.db.NewRaw(
		`SELECT attname FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
			WHERE indexrelid = to_regclass(?0) AND attname <> 'company_id'
		UNION SELECT attname FROM pg_depend JOIN pg_attribute ON attrelid = refobjid AND attnum = refobjsubid
			WHERE classid = 'pg_class'::regclass AND objid = to_regclass(?0) AND refobjsubid > 0
				AND attname NOT IN ('company_id', 'deleted_at')
		UNION SELECT attname FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = ANY (conkey)
			WHERE conname = ?0 AND contype IN ('f', 'c') AND connamespace = `+pg.OwnSchema+` AND attname <> 'company_id'
				ORDER BY attname`,
		constraint).Scan(ctx, &columns)
	if err != nil {
		return nil
	}
	return columns
}

// describeKey returns the columns of a constraint, with the values of a row.
func (i *CompanyImport) describeKey(ctx context.Context, constraint string, row json.RawMessage) string {
	columns, values := i.columnsOf(ctx, constraint), map[string]json.RawMessage{}
	if len(columns) == 0 {
		return "the row"
	}
	_ = json.Unmarshal(row, &values) // row is an object or empty
	for n, column := range columns {
		if value := values[column]; value != nil {
			columns[n] = column + " " + shortValue(value)
		}
	}
	return strings.Join(columns, ", ")
}

func shortValue(value json.RawMessage) string {
	const most = 100
	if len(value) > most {
		return string(value[:most]) + "…"
	}
	return string(value)
}

// checkReferences checks the deferred references, which may refer to rows that are imported later.
func (i *CompanyImport) checkReferences(ctx context.Context) error {
	if _, err := i.tenant.db.ExecContext(ctx, "SAVEPOINT whole"); err != nil {
		return err
	}
	_, err := i.tenant.db.ExecContext(ctx, "SET CONSTRAINTS ALL IMMEDIATE")
	var pgErr *pgconn.PgError
	if err == nil || !errors.As(err, &pgErr) {
		return err
	}
	if _, err := i.tenant.db.ExecContext(ctx, "ROLLBACK TO SAVEPOINT whole"); err != nil {
		return err
	}
	columns := i.columnsOf(ctx, pg.ConstraintOf(pgErr))
	return fmt.Errorf("the archive is incomplete: %s of %s refers to a row that is not in the archive",
		strings.Join(columns, ", "), pgErr.TableName)
}
