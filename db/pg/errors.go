package pg

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"regexp"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/agentgraph/agentgraph/model"
)

// Taken says which field of the input must differ, and how, when a row breaks a unique constraint.
type Taken struct{ Field, Message string }

// Translate turns a driver's error into one of the program's. The rest of the error stays behind it. Errors that it
// does not know stay as they are.
func (d *DB) Translate(err error) error {
	var known *model.Error
	if err == nil || errors.As(err, &known) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	// This goes first because it may wrap an answer of the server, such as a refused password or too many connections.
	var connect *pgconn.ConnectError
	var network net.Error
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &connect), !errors.As(err, &pg) && (errors.As(err, &network) || isCut(err)):
		return errors.Join(model.Errorf(model.Unavailable, "the database cannot be reached"), err)
	case pg == nil:
		return err
	}
	if pg.Code == "08P01" && pg.Routine == "" {
		// Not Postgres says so but a pooler in front of it, of whatever has happened to its connections.
		return errors.Join(model.Errorf(model.Unavailable, "the database is not available"), err)
	}
	switch pg.Code {
	case "22021":
		return errors.Join(model.Errorf(model.BadInput, "a text must not contain the character U+0000"), err)
	case "23505":
		if t, ok := d.taken[ConstraintOf(pg)]; ok {
			var faults model.Fields
			faults.Add(t.Field, "%s", t.Message)
			return errors.Join(faults.As(model.Unprocessable), err)
		}
		return errors.Join(model.Errorf(model.Conflict, "this exists already"), err)
	case "23503":
		return errors.Join(model.Errorf(model.Conflict, "what the request refers to was deleted meanwhile"), err)
	case "23514":
		return errors.Join(model.Errorf(model.BadInput, "a value is out of its bounds"), err)
	case "22003":
		return errors.Join(model.Errorf(model.Unprocessable, "a sum is larger than can be kept"), err)
	case "40001", "40P01", "55P03":
		return errors.Join(model.Errorf(model.Conflict, "another request changed the same thing; try again"), err)
	case "57014", "57P01", "57P02", "57P03", "53100", "53200", "53300", "08000", "08003", "08006":
		return errors.Join(model.Errorf(model.Unavailable, "the database is not available"), err)
	}
	return err
}

var (
	quotedConstraint = regexp.MustCompile(`constraint "([^"]+)"`)
	shardNumber      = regexp.MustCompile(`_\d{6,}$`)
)

// ConstraintOf returns the name of the constraint that a statement broke, as the schema has it. Citus passes on the
// message of a shard's constraint, which has the shard's number behind its name, and no field of its own.
func ConstraintOf(err *pgconn.PgError) string {
	name := err.ConstraintName
	if quoted := quotedConstraint.FindStringSubmatch(err.Message); name == "" && quoted != nil {
		name = quoted[1]
	}
	return shardNumber.ReplaceAllString(name, "")
}

// isCut reports whether the connection ended in the middle of a statement, or had before it.
func isCut(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, driver.ErrBadConn) || pgconn.SafeToRetry(err)
}

// Reason returns why a connection failed. The driver's own text has a line for each address that it
// tried.
func Reason(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return errors.New(pg.Message)
	}
	var lookup *net.DNSError
	if errors.As(err, &lookup) {
		return lookup
	}
	var network *net.OpError
	if errors.As(err, &network) {
		return network
	}
	return err
}

// OrMissing returns the error of reading one row: NOT_FOUND, which names the type and the id, if there was no row.
func OrMissing(typeName, id string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return model.Missing(typeName, id)
	}
	return err
}

// IsAway reports whether the error is that the database does not answer.
func IsAway(err error) bool {
	var known *model.Error
	return errors.As(err, &known) && known.Code == model.Unavailable
}

// SQLState returns the SQLSTATE of an error of Postgres, empty for any other error.
func SQLState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// IsMissing reports whether the error is NOT_FOUND.
func IsMissing(err error) bool {
	var known *model.Error
	return errors.As(err, &known) && known.Code == model.NotFound
}
