package pg

import (
	"database/sql"
	"reflect"
	"slices"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/schema"

	"github.com/agentgraph/agentgraph/model"
)

// dialect is bun's dialect for Postgres with exact literals.
type dialect struct{ *pgdialect.Dialect }

// postgres is the dialect of all databases. It caches bun's descriptions of structs.
var postgres = dialect{pgdialect.New()}

// AppendString appends a text as a literal. Postgres cannot hold the character U+0000: a text with it becomes an
// expression that fails with SQLSTATE 22021. bun alone would write invalid SQL.
func (d dialect) AppendString(b []byte, text string) []byte {
	if strings.ContainsRune(text, 0) {
		return append(b, `convert_from('\x00', 'UTF8')`...)
	}
	return d.Dialect.AppendString(b, text)
}

// AppendJSON appends JSON as a literal. bun alone would corrupt a text that has a backslash before u0000.
func (d dialect) AppendJSON(b, json []byte) []byte { return d.AppendString(b, string(json)) }

// unconnected renders statements. Its database is closed, so it cannot run them.
var unconnected = bun.NewDB(closed(), postgres, bun.WithDiscardUnknownColumns())

func closed() *sql.DB {
	db := sql.OpenDB(nil)
	_ = db.Close()
	return db
}

// Type describes how rows of a struct type are read, if this does not follow from the columns of the struct.
type Type struct {
	// Visible is the condition that leaves out deleted rows, with ?0 for the company. It is empty if rows are never
	// marked as deleted.
	Visible string
	// Expressions maps columns to the expressions that are read instead. ?0 is the table, ?1 the column, and ?3 the
	// company.
	Expressions map[string]string
	// Always is a column that is read even if the caller chooses others. It may be empty.
	Always string
	// Row converts a struct to the model.Row that callers get. Nil if the struct itself is one.
	Row func(row any) model.Row
	// Count returns the statement that counts the rows of a list. Nil to count the rows one by one.
	Count func(c Count) *bun.SelectQuery
}

// Count describes what to count: the rows of a list that pass a filter.
type Count struct {
	List   List
	Filter Filter
	// Company, Parent and Values are literals or placeholders. Values are the values of the filter's conditions.
	Company, Parent any
	Values          []any
	// Rows is the query that counts the rows one by one.
	Rows *bun.SelectQuery
}

// Tables renders statements about a company's rows. It has no connection to run them.
type Tables struct{ types map[reflect.Type]Type }

// NewSelect returns a statement that is not about one type.
func (t *Tables) NewSelect() *bun.SelectQuery { return unconnected.NewSelect() }

// Table returns the name of the table of a row's type.
func (t *Tables) Table(row reflect.Type) string { return unconnected.Table(row).Name }

// Columns returns the columns of a row, a struct, by the lower-case names of its fields.
func (t *Tables) Columns(row any) map[string]string {
	columns := map[string]string{}
	for _, field := range fieldsOf(reflect.TypeOf(row)) {
		columns[strings.ToLower(field.GoName)] = field.Name
	}
	return columns
}

func fieldsOf(row reflect.Type) []*schema.Field { return unconnected.Table(row).Fields }

// typeOf returns the Type of rows, which are a struct, or pointers to or slices of such structs.
func (t *Tables) typeOf(rows any) Type { return t.types[structOf(rows)] }

func structOf(rows any) reflect.Type {
	row := reflect.TypeOf(rows)
	for row.Kind() == reflect.Pointer || row.Kind() == reflect.Slice {
		row = row.Elem()
	}
	return row
}

// CompanyCondition is the condition that binds a statement to the company.
const CompanyCondition = "?TableAlias.company_id = ?"

// visible narrows a statement to the company's rows that are not marked as deleted.
func visible[Q interface {
	Where(condition string, args ...any) Q
}](t *Tables, q Q, rows, company any) Q {
	q = q.Where(CompanyCondition, company)
	switch is := t.typeOf(rows).Visible; {
	case strings.Contains(is, "?0"):
		return q.Where(is, company)
	case is != "":
		return q.Where(is)
	}
	return q
}

// Select selects the company's rows that are not marked as deleted. The statement has placeholders, the first of
// which is the company.
func (t *Tables) Select(nilRow any) *bun.SelectQuery {
	return visible(t, unconnected.NewSelect().Model(nilRow), nilRow, Param(1))
}

// Update updates the company's rows that are not marked as deleted. The statement has placeholders, the first of
// which is the company.
func (t *Tables) Update(nilRow any) *bun.UpdateQuery {
	return visible(t, unconnected.NewUpdate().Model(nilRow), nilRow, Param(1))
}

// UpdateAll is Update including rows that are marked as deleted.
func (t *Tables) UpdateAll(nilRow any) *bun.UpdateQuery {
	return unconnected.NewUpdate().Model(nilRow).Where(CompanyCondition, Param(1))
}

// ColumnsToRead returns the columns of a row to read: the given ones, those that identify and order rows, and
// Type.Always. If none is given, it returns all columns.
func (t *Tables) ColumnsToRead(row reflect.Type, columns []string) []string {
	var chosen []string
	if len(columns) == 0 {
		for _, field := range fieldsOf(row) {
			chosen = append(chosen, field.Name)
		}
		return chosen
	}
	chosen = append(chosen, "id", "created_at")
	if always := t.types[row].Always; always != "" {
		chosen = append(chosen, always)
	}
	for _, column := range columns {
		if !slices.Contains(chosen, column) {
			chosen = append(chosen, column)
		}
	}
	return chosen
}
