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

// dialect is Postgres's with literals that say exactly what they were given.
type dialect struct{ *pgdialect.Dialect }

// postgres is the dialect of all databases. It keeps what bun knows of structs.
var postgres = dialect{pgdialect.New()}

// AppendString writes a text as a literal. One with the character U+0000, which Postgres cannot hold, becomes an
// expression that fails with SQLSTATE 22021; bun would write what is no SQL.
func (d dialect) AppendString(b []byte, text string) []byte {
	if strings.ContainsRune(text, 0) {
		return append(b, `convert_from('\x00', 'UTF8')`...)
	}
	return d.Dialect.AppendString(b, text)
}

// AppendJSON writes JSON as a literal. bun would spoil a text that has a backslash before u0000.
func (d dialect) AppendJSON(b, json []byte) []byte { return d.AppendString(b, string(json)) }

// unconnected renders statements. Its database is closed, so it cannot run them.
var unconnected = bun.NewDB(closed(), postgres, bun.WithDiscardUnknownColumns())

func closed() *sql.DB {
	db := sql.OpenDB(nil)
	_ = db.Close()
	return db
}

// Type is what reads have to know of a struct of rows beside its columns.
type Type struct {
	// Visible is the condition that leaves out deleted rows. ?0 is the company. Empty if no row is ever marked as deleted.
	Visible string
	// Expressions are read instead of columns. ?0 is the table, ?1 the column.
	Expressions map[string]string
	// Always is a column that is read even if others are chosen. It may be empty.
	Always string
	// Row makes what a row is read as. Nil for the struct itself.
	Row func(row any) model.Row
	// Count returns the statement that counts the rows of a list. Nil for one that counts the rows one by one.
	Count func(c Count) *bun.SelectQuery
}

// Count is what is counted: the rows of a list that pass a filter.
type Count struct {
	List   List
	Filter Filter
	// Company, Parent and Values, which are those of the filter's conditions, are literals, or places of a statement.
	Company, Parent any
	Values          []any
	// Rows counts the rows one by one.
	Rows *bun.SelectQuery
}

// Tables renders statements about a company's rows. It has no connection to run them.
type Tables struct{ types map[reflect.Type]Type }

// NewSelect begins a statement that is not about one type.
func (t *Tables) NewSelect() *bun.SelectQuery { return unconnected.NewSelect() }

// Table returns the name of the table with the rows.
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

// typeOf is the type of rows, which are a struct, a slice of structs or a pointer to either.
func (t *Tables) typeOf(rows any) Type { return t.types[structOf(rows)] }

func structOf(rows any) reflect.Type {
	row := reflect.TypeOf(rows)
	for row.Kind() == reflect.Pointer || row.Kind() == reflect.Slice {
		row = row.Elem()
	}
	return row
}

// own is the one place where a statement is bound to the company.
const Own = "?TableAlias.company_id = ?"

// visible narrows a statement to the company's rows that are not marked as deleted.
func visible[Q interface {
	Where(condition string, args ...any) Q
}](t *Tables, q Q, rows, company any) Q {
	q = q.Where(Own, company)
	switch is := t.typeOf(rows).Visible; {
	case strings.Contains(is, "?0"):
		return q.Where(is, company)
	case is != "":
		return q.Where(is)
	}
	return q
}

// Select selects the company's rows in a statement with places, of which the first is the company's.
func (t *Tables) Select(none any) *bun.SelectQuery {
	return visible(t, unconnected.NewSelect().Model(none), none, Place(1))
}

// Update changes the company's rows in a statement with places, of which the first is the company's.
func (t *Tables) Update(none any) *bun.UpdateQuery {
	return visible(t, unconnected.NewUpdate().Model(none), none, Place(1))
}

// UpdateAll is Update that changes rows that are marked as deleted, too.
func (t *Tables) UpdateAll(none any) *bun.UpdateQuery {
	return unconnected.NewUpdate().Model(none).Where(Own, Place(1))
}

// Chosen returns the columns of a row to read: those that tell and order rows and the given ones, or all if none is
// given.
func (t *Tables) Chosen(row reflect.Type, columns []string) []string {
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
