package db

import (
	"database/sql"
	"reflect"
	"strconv"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// selection narrows a query.
type selection func(*bun.SelectQuery) *bun.SelectQuery

// all is the selection of everything.
func all(q *bun.SelectQuery) *bun.SelectQuery { return q }

// where is a selection by a condition.
func where(condition string, args ...any) selection {
	return func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where(condition, args...) }
}

// parameter is where a statement has its nth value.
func parameter(n int) bun.Safe {
	return bun.Safe("$" + strconv.Itoa(n))
}

// literal makes what bun writes as an array of a slice.
func literal(value any) any {
	if reflect.ValueOf(value).Kind() == reflect.Slice {
		return pgdialect.Array(value)
	}
	return value
}

// literalTime is a time as a text that Postgres reads, for arrays of them.
func literalTime(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }

// affects reports whether a statement changed a row.
func affects(result sql.Result, err error) (bool, error) {
	if err != nil {
		return false, translate(err)
	}
	n, err := result.RowsAffected()
	return n > 0, err
}
