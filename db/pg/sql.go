package pg

import (
	"database/sql"
	"reflect"
	"strconv"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// Selection narrows a query.
type Selection func(*bun.SelectQuery) *bun.SelectQuery

// All is a Selection that leaves out no row.
func All(q *bun.SelectQuery) *bun.SelectQuery { return q }

// Where returns a Selection by a condition.
func Where(condition string, args ...any) Selection {
	return func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where(condition, args...) }
}

// Param returns the placeholder for the nth value of a statement.
func Param(n int) bun.Safe {
	return bun.Safe("$" + strconv.Itoa(n))
}

// LiteralTime formats a time as a text that Postgres parses, for arrays of times.
func LiteralTime(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }

// Affects reports whether a statement changed at least one row.
func Affects(result sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// renderValue renders a value in a query, either as a literal or as a placeholder.
type renderValue func(value any) any

// literal renders the value itself, and a slice as an array.
func literal(value any) any {
	if reflect.ValueOf(value).Kind() == reflect.Slice {
		return pgdialect.Array(value)
	}
	return value
}

func paramsFrom(n int) renderValue {
	return func(any) any {
		n++
		return Param(n - 1)
	}
}
