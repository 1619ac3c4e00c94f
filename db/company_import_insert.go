package db

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// attempt calls fn after a savepoint, and rolls back to it on failure.
func (i *CompanyImport) attempt(ctx context.Context, fn func() error) error {
	if _, err := i.tenant.db.ExecContext(ctx, "SAVEPOINT rows"); err != nil {
		return err
	}
	err := fn()
	end := "RELEASE SAVEPOINT rows"
	if err != nil {
		end = "ROLLBACK TO SAVEPOINT rows"
	}
	_, failed := i.tenant.db.ExecContext(ctx, end)
	return errors.Join(err, failed)
}

// arrayOf returns the rows as a JSON array.
func arrayOf(lines []json.RawMessage) string {
	text := &strings.Builder{}
	separator := "["
	for _, line := range lines {
		text.WriteString(separator)
		text.Write(line)
		separator = ","
	}
	text.WriteString("]")
	return text.String()
}

// insert adds rows and checks them.
func (i *CompanyImport) insert(ctx context.Context, table string, lines []json.RawMessage) error {
	if len(lines) == 0 {
		return nil
	}
	return i.checkRows(ctx, table, "INSERT INTO ?0 (company_id, ?1) SELECT ?2, ?1 FROM json_populate_recordset(NULL::?0, "+
		"?3::json) RETURNING ?4", identifiers(i.columns[table]), i.tenant.CompanyID(), arrayOf(lines))
}

// insertEach checks and adds rows one by one after their common statement failed with an error. Their statement does
// not show which row is faulty: Postgres does not name it, and returns rows in no reliable order. It returns the faulty
// rows, except those that refer to a refused row.
func (i *CompanyImport) insertEach(ctx context.Context, table string, lines []json.RawMessage,
	cause error) (faults RowErrors, err error) {
	if pg.IsUnavailable(cause) || ctx.Err() != nil {
		return nil, cause
	}
	found := false
	for n := range lines {
		err := i.attempt(ctx, func() error {
			if err := i.check(ctx, table, lines[n:n+1]); err != nil {
				return err
			}
			return i.insert(ctx, table, lines[n:n+1])
		})
		if err == nil {
			continue
		}
		if pg.IsUnavailable(err) || ctx.Err() != nil {
			return nil, err
		}
		found = true
		var out *RowError
		switch {
		case errors.As(err, &out):
			faults = append(faults, i.refuse(n, lines[n], out.Err))
		case pg.SQLState(err) == "23503" && i.refersToRefused(lines[n]):
			_ = i.refuse(n, lines[n], err) // only the row that it refers to is faulty
		default:
			faults = append(faults, i.refuse(n, lines[n], i.explainRefusal(ctx, err, table, lines[n])))
		}
	}
	if !found {
		return nil, i.explainRefusal(ctx, cause, table, nil)
	}
	return faults, nil
}

// refuse records that a row is refused.
func (i *CompanyImport) refuse(index int, line json.RawMessage, err error) *RowError {
	_ = eachMember(line, func(name string, value json.RawMessage) { // a line that is not an object has no id
		if name == "id" && value[0] == '"' {
			i.refused[string(value)] = true
		}
	})
	return &RowError{index, err}
}

// refersToRefused reports whether a column of the row has the id of a refused row.
func (i *CompanyImport) refersToRefused(line json.RawMessage) (refers bool) {
	_ = eachMember(line, func(name string, value json.RawMessage) {
		refers = refers || name != "id" && i.refused[string(value)]
	})
	return refers
}

// check checks rows without adding them.
func (i *CompanyImport) check(ctx context.Context, table string, lines []json.RawMessage) error {
	if len(lines) == 0 {
		return nil
	}
	return i.checkRows(ctx, table, "SELECT ?4 FROM json_populate_recordset(NULL::?0, ?3::json)", bun.Safe(""), "",
		arrayOf(lines))
}

// checkRows reads rows the way the program does, and checks the program's bounds.
func (i *CompanyImport) checkRows(ctx context.Context, table, query string, columns bun.Safe, companyID,
	lines string) error {
	none := archivedTableOf(table).row
	if none == nil {
		return exec(ctx, i.tenant.db.NewRaw(query, bun.Ident(table), columns, companyID, lines, bun.Safe("1")))
	}
	rowType := reflect.TypeOf(none)
	names := []string{}
	for _, field := range rowTypes.Get(rowType.Elem()).Fields {
		names = append(names, field.Name)
	}
	rows := reflect.New(reflect.SliceOf(rowType))
	err := i.tenant.db.NewRaw(query, bun.Ident(table), columns, companyID, lines, identifiers(names)).
		Scan(ctx, rows.Interface())
	if err != nil {
		return err
	}
	for n := range rows.Elem().Len() {
		row := rows.Elem().Index(n).Interface()
		if err := i.checkHeaders(row); err != nil {
			return &RowError{n, err}
		}
		imported, ok := row.(model.Imported)
		if !ok {
			return nil
		}
		if err := imported.CheckImported(); err != nil {
			return &RowError{n, err}
		}
	}
	return nil
}

// analyzedRows is how many imported rows of a table make Postgres's statistics about it too old.
const analyzedRows = 1000

// analyze updates the statistics of the table of the last rows. Autovacuum does not see these rows before the commit.
// If it analyzed the table after a failed import, the statistics say that the table is empty. Postgres then checks
// references to the table by an index that reads all rows of the company. ANALYZE locks the table, so no autovacuum
// changes the statistics until the import ends.
func (i *CompanyImport) analyze(ctx context.Context) error {
	if i.inserted < analyzedRows {
		return nil
	}
	return exec(ctx, i.tx.Program().NewRaw("ANALYZE ?", bun.Ident(i.table)))
}
