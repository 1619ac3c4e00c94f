package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"regexp"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/agentgraph/agentgraph/model"
)

// taken says, by the name of a unique constraint, which field must differ.
var taken = map[string]struct{ field, message string }{
	"tools_technical_name_key":      {"technicalName", "is the technical name of another tool"},
	"sub_agents_technical_name_key": {"technicalName", "is the technical name of another sub-agent of this agent"},
	"agent_test_folders_name_key":   {"name", "is the name of another folder of this agent"},
}

// translate turns a driver's error into one of the program's. Unknown errors stay as they are, and are masked further
// up.
func translate(err error) error {
	var known *model.Error
	if err == nil || errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
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
		if t, ok := taken[constraintOf(pg)]; ok {
			var faults model.Fields
			faults.Add(t.field, "%s", t.message)
			return faults.As(model.Unprocessable)
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

// constraintOf returns the name of the constraint that a statement broke, as the schema has it. Citus passes on the message of
// a shard's constraint, which has the shard's number behind its name, and no field of its own.
func constraintOf(err *pgconn.PgError) string {
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

// reason returns why a connection failed. The driver's own text has a line for each address that it
// tried.
func reason(err error) error {
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

// IsAway reports whether the error is that the database does not answer.
func IsAway(err error) bool {
	var known *model.Error
	return errors.As(err, &known) && known.Code == model.Unavailable
}

// sqlState returns the SQLSTATE of an error of Postgres, empty for any other error.
func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// isMissing reports whether the error is NOT_FOUND.
func isMissing(err error) bool {
	var known *model.Error
	return errors.As(err, &known) && known.Code == model.NotFound
}
