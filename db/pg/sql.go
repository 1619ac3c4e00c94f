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

// All is the selection of everything.
func All(q *bun.SelectQuery) *bun.SelectQuery { return q }

// Where is a selection by a condition.
func Where(condition string, args ...any) Selection {
	return func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where(condition, args...) }
}

// Place is where a statement has its nth value.
func Place(n int) bun.Safe {
	return bun.Safe("$" + strconv.Itoa(n))
}

// LiteralTime is a time as a text that Postgres reads, for arrays of them.
func LiteralTime(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }

// Affects reports whether a statement changed a row.
func Affects(result sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// placing writes a value into a query: as a literal, or as a place of a prepared statement.
type placing func(value any) any

// literal writes the value itself: a slice as an array.
func literal(value any) any {
	if reflect.ValueOf(value).Kind() == reflect.Slice {
		return pgdialect.Array(value)
	}
	return value
}

func placesFrom(n int) placing {
	return func(any) any {
		n++
		return Place(n - 1)
	}
}
