package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/model"
)

// ErrImportedBefore means that the same archive was taken in before, and that nothing is to be done.
var ErrImportedBefore = errors.New("the archive was imported before")

// CompanyImport takes in the rows of a company, in one transaction: nobody sees any of them before all are there.
type CompanyImport struct {
	tenant  tenantTx
	columns map[string][]string
}

// RowError says which of the rows that were given is wrong, from 0, and why.
type RowError struct {
	Index int
	Err   error
}

func (e *RowError) Error() string { return e.Err.Error() }

func (e *RowError) Unwrap() error { return e.Err }

// ImportCompany makes the company of what fill adds: all of it, or nothing at all if it returns an error or something does
// not fit together; and nothing for a rehearsal, which returns the same errors. CONFLICT says that there is a company
// with the id, ErrImportedBefore that it came from the same archive.
func (s *Store) ImportCompany(ctx context.Context, company *model.Company, archiveID string, isRehearsal bool, fill func(context.Context, *CompanyImport) error) error {
	errRehearsed := errors.New("rehearsed")
	err := s.Tx(ctx, func(ctx context.Context, tx *Tx) error {
		tenant := tx.Tenant(company.ID)
		if err := tenant.takeItsTime(ctx); err != nil {
			return err
		}
		if err := tx.addCompany(ctx, company, archiveID); err != nil {
			return err
		}
		in := &CompanyImport{tenant: tenantTx{tenant}}
		if err := in.begin(ctx); err != nil {
			return err
		}
		if err := fill(ctx, in); err != nil {
			return err
		}
		if err := in.complete(ctx); err != nil {
			return err
		}
		if isRehearsal {
			return errRehearsed
		}
		return nil
	})
	if errors.Is(err, errRehearsed) {
		return nil
	}
	return err
}

// addCompany adds a company that has its id.
func (tx *Tx) addCompany(ctx context.Context, company *model.Company, archiveID string) error {
	program := scoped{tx.store.db, tx.bun, everyCompany}
	known := []*model.Company{}
	if err := program.NewSelect().Model(&known).Where("id = ?", company.ID).Scan(ctx); err != nil {
		return translate(err)
	}
	if len(known) > 0 {
		isSame, err := program.NewSelect().TableExpr("company_imports").Where("company_id = ?", company.ID).Where("archive_id = ?", archiveID).Exists(ctx)
		if err != nil {
			return translate(err)
		}
		if isSame {
			return ErrImportedBefore
		}
		return model.Errorf(model.Conflict, "there is a company with the id %q already, called %q: an archive makes a company, and adds to none", company.ID, known[0].Name)
	}
	if _, err := program.NewInsert().Model(company).Exec(ctx); err != nil {
		return translate(err)
	}
	_, err := program.NewRaw("INSERT INTO company_imports (company_id, archive_id, imported_at) VALUES (?, ?, ?)", company.ID, archiveID, now()).Exec(ctx)
	return translate(err)
}

func (i *CompanyImport) begin(ctx context.Context) (err error) {
	if _, err := i.tenant.db.ExecContext(ctx, "SET CONSTRAINTS ALL DEFERRED"); err != nil {
		return translate(err)
	}
	i.columns, _, err = i.tenant.columnsOf(ctx)
	return err
}

// Rows adds rows to a table, one of ArchivedTables, each a JSON object by its columns. What they refer to must be there
// before them, or come with them. A RowError names the first one that breaks a bound.
func (i *CompanyImport) Rows(ctx context.Context, table string, lines []json.RawMessage) error {
	complete := make([]json.RawMessage, len(lines))
	for n, line := range lines {
		var err error
		if complete[n], err = i.complement(table, line); err != nil {
			return &RowError{n, err}
		}
	}
	err := i.insert(ctx, table, complete)
	var named *RowError
	if err == nil || errors.As(err, &named) || IsAway(translate(err)) || ctx.Err() != nil {
		return translate(err)
	}
	// Postgres does not say which row it was.
	for n := range complete {
		if err := i.insert(ctx, table, complete[n:n+1]); err != nil {
			return &RowError{n, i.sayWhy(ctx, err, complete[n])}
		}
	}
	return i.sayWhy(ctx, err, nil)
}

// complement gives a row what it leaves out, and returns an error if it is not one of the table.
func (i *CompanyImport) complement(table string, line json.RawMessage) (json.RawMessage, error) {
	values := map[string]json.RawMessage{}
	if err := json.Unmarshal(line, &values); err != nil {
		return nil, errors.New("is not a JSON object")
	}
	for column, value := range values {
		if !slices.Contains(i.columns[table], column) {
			return nil, fmt.Errorf("%s is no field of %s", shortened(column), table)
		}
		if column != "id" {
			continue
		}
		var id string
		if json.Unmarshal(value, &id) != nil || !model.IsID(id) {
			return nil, fmt.Errorf("id must be a text of 1 to %d letters, digits and . _ ~ : @ - that begins with a letter or a digit", model.MaxIDLength)
		}
	}
	absent := archivedTableOf(table).absent
	if absent == nil {
		return line, nil
	}
	isComplete := true
	for column, value := range absent() {
		if _, given := values[column]; given {
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		values[column], isComplete = text, false
	}
	if isComplete {
		return line, nil
	}
	return json.Marshal(values)
}

func shortened(name string) string {
	const most = 64
	if len(name) > most {
		name = name[:most] + "…"
	}
	return fmt.Sprintf("%q", name)
}

// insert adds rows behind a savepoint, to which a failure goes back.
func (i *CompanyImport) insert(ctx context.Context, table string, lines []json.RawMessage) error {
	text := &strings.Builder{}
	separator := "["
	for _, line := range lines {
		text.WriteString(separator)
		text.Write(line)
		separator = ","
	}
	text.WriteString("]")
	if _, err := i.tenant.db.ExecContext(ctx, "SAVEPOINT rows"); err != nil {
		return err
	}
	err := i.check(ctx, table, text.String())
	if err == nil {
		_, err = i.tenant.db.NewRaw("INSERT INTO ? (company_id, ?) SELECT ?, ? FROM json_populate_recordset(NULL::?, ?::json)",
			bun.Ident(table), identifiers(i.columns[table]), i.tenant.companyID, identifiers(i.columns[table]), bun.Ident(table), text.String()).Exec(ctx)
	}
	end := "RELEASE SAVEPOINT rows"
	if err != nil {
		end = "ROLLBACK TO SAVEPOINT rows"
	}
	_, failed := i.tenant.db.ExecContext(ctx, end)
	return errors.Join(err, failed)
}

// check reads rows as the program does, and checks the bounds that it keeps.
func (i *CompanyImport) check(ctx context.Context, table, lines string) error {
	none := archivedTableOf(table).row
	if none == nil {
		return nil
	}
	rows := slice(none)
	err := i.tenant.db.NewSelect().Model(rows.Interface()).ModelTableExpr("json_populate_recordset(NULL::?, ?::json) AS ?TableAlias", bun.Ident(table), lines).Scan(ctx)
	if err != nil {
		return err
	}
	for n := range rows.Elem().Len() {
		row := rows.Elem().Index(n).Interface()
		if tool, ok := row.(*model.Tool); ok {
			if _, err := i.tenant.HeadersOf(tool); err != nil {
				return &RowError{n, errors.New("endpoint.sealedHeaders were sealed with another secret key than this server's")}
			}
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

// File adds the file that a document came as, whose row says how many bytes it has.
func (i *CompanyImport) File(ctx context.Context, documentID string, size int64, content io.Reader) error {
	d, err := i.tenant.Document(ctx, documentID)
	if err != nil {
		return err
	}
	if int64(d.Size) != size {
		return model.Errorf(model.BadInput, "the file has %d bytes, and the document's size is %d", size, d.Size)
	}
	err = i.tenant.keepContent(ctx, d, content)
	if sqlState(err) == "23505" {
		return model.Errorf(model.BadInput, "the file is there twice")
	}
	return err
}

// sayWhy says in the words of the archive why Postgres refused a row. Postgres itself does not name values of rows that
// policies guard.
func (i *CompanyImport) sayWhy(ctx context.Context, err error, row json.RawMessage) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err
	}
	switch pg.Code {
	case "23502":
		return fmt.Errorf("%s is missing", pg.ColumnName)
	case "23503":
		return fmt.Errorf("%s refers to what the archive does not have before it", i.keyOf(ctx, pg.ConstraintName, row))
	case "23505":
		return fmt.Errorf("%s is there twice", i.keyOf(ctx, pg.ConstraintName, row))
	case "23514":
		return fmt.Errorf("breaks the bound %s", pg.ConstraintName)
	}
	return errors.New(pg.Message)
}

// keyOf names the columns of a constraint, with the values that a row has in them.
func (i *CompanyImport) keyOf(ctx context.Context, constraint string, row json.RawMessage) string {
	columns, values := []string{}, map[string]json.RawMessage{}
	err := i.tenant.db.NewRaw(`SELECT attname FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
			WHERE indexrelid = to_regclass(?0) AND attname <> 'company_id'
		UNION SELECT attname FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = ANY (conkey)
			WHERE conname = ?0 AND contype = 'f' AND connamespace = 'public'::regnamespace AND attname <> 'company_id' ORDER BY attname`, constraint).Scan(ctx, &columns)
	if err != nil || len(columns) == 0 {
		return "the row"
	}
	_ = json.Unmarshal(row, &values) // it is an object, or none is given
	for n, column := range columns {
		if value := values[column]; value != nil {
			columns[n] = column + " " + string(value)
		}
	}
	return strings.Join(columns, ", ")
}
