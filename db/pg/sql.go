package pg

import (
	"database/sql"
	"strconv"
	"time"

	"github.com/uptrace/bun"
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
