package pg

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/agentgraph/agentgraph/model"
)

// UniqueViolation is the error for a row that breaks a unique constraint: the input field that must differ, and a
// message.
type UniqueViolation struct{ Field, Message string }

// ErrReadOnly is returned if Postgres accepts no writes.
var ErrReadOnly = model.Errorf(model.Unavailable, "the database is a standby or read-only; agentgraph needs "+
	"the primary")

// Translate turns a driver's error into a model.Error and wraps the original error. It returns all other errors
// unchanged.
func (d *DB) Translate(err error) error {
	var known *model.Error
	if err == nil || errors.As(err, &known) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	// This case goes first because a connection error may wrap an answer of the server, such as a refused password.
	var connect *pgconn.ConnectError
	var network net.Error
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		d.shortages.report(pg)
	}
	switch {
	case errors.As(err, &connect), pg == nil && (errors.As(err, &network) || isCut(err)):
		return errors.Join(model.Errorf(model.Unavailable, "the database cannot be reached"), err)
	case pg == nil:
		return err
	}
	if pg.Code == "08P01" && pg.Routine == "" {
		// A pooler sends this code, not Postgres, for any failure of its connections.
		return errors.Join(model.Errorf(model.Unavailable, "the database is not available; try again"), err)
	}
	if UnreachableNode(err) != "" {
		return errors.Join(model.Errorf(model.Unavailable, "a part of the database is not available; try again"), err)
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
		return errors.Join(model.Errorf(model.Conflict, "this already exists"), err)
	case "23503":
		return errors.Join(model.Errorf(model.Conflict, "an object that the request refers to no longer exists"), err)
	case "23514":
		return errors.Join(model.Errorf(model.BadInput, "a value is out of range"), err)
	case "22003":
		return errors.Join(model.Errorf(model.Unprocessable, "a sum is too large to store"), err)
	case "40001", "40P01":
		return errors.Join(model.Errorf(model.Conflict, "another request changed the same data; try again"), err)
	case "25006":
		return errors.Join(ErrReadOnly, err)
	case "57014", "57P01", "57P02", "57P03", "57P05", "55P03", "25P03", "25P04", "53100", "53200", "53300", "08000",
		"08003", "08006":
		return errors.Join(model.Errorf(model.Unavailable, "the database is not available; try again"), err)
	}
	return err
}

// shortages logs that Postgres lacks a resource: disk space, memory or connections.
type shortages struct {
	log *slog.Logger
	mu  sync.Mutex
	// reported has the time of the last line for each SQLSTATE.
	reported map[string]time.Time
}

// shortageGap is the time between two log lines for the same SQLSTATE.
const shortageGap = time.Minute

// report logs an error of the class "insufficient resources". It ignores all other errors.
func (s *shortages) report(err *pgconn.PgError) {
	if !strings.HasPrefix(err.Code, "53") {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.reported[err.Code]) < shortageGap {
		return
	}
	s.reported[err.Code] = time.Now()
	s.log.Error("Postgres lacks a resource", "sqlstate", err.Code, "error", err.Message, "hint", err.Hint)
}

var (
	quotedConstraint = regexp.MustCompile(`constraint "([^"]+)"`)
	quotedColumn     = regexp.MustCompile(`column "([^"]+)"`)
	shardNumber      = regexp.MustCompile(`_\d{6,}$`)
)

// ConstraintOf returns the name of the constraint that a statement broke, as the schema spells it. Citus leaves the
// constraint field empty and passes on the message of a shard, whose constraint has the shard's number appended.
func ConstraintOf(err *pgconn.PgError) string {
	name := err.ConstraintName
	if quoted := quotedConstraint.FindStringSubmatch(err.Message); name == "" && quoted != nil {
		name = quoted[1]
	}
	return shardNumber.ReplaceAllString(name, "")
}

// ColumnOf returns the name of the column that a statement set to NULL although it is NOT NULL. The errors of Citus
// have the name only in the message.
func ColumnOf(err *pgconn.PgError) string {
	if quoted := quotedColumn.FindStringSubmatch(err.Message); err.ColumnName == "" && quoted != nil {
		return quoted[1]
	}
	return err.ColumnName
}

// isCut reports whether the connection was lost before or during a statement.
func isCut(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, driver.ErrBadConn) || pgconn.SafeToRetry(err)
}

var remoteNode = regexp.MustCompile(`remote node (?:\S*@)?(\S+:\d+) failed|executing command on (\S+:\d+)`)

// UnreachableNode returns the host and port of the node of a Citus cluster that a statement needed and did not reach.
// For any other error, it returns "". Citus names the node in the message or, if the node ended the connection, in the
// context.
func UnreachableNode(err error) string {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || !strings.HasPrefix(pg.Code, "08") && !strings.HasPrefix(pg.Code, "57P") {
		return ""
	}
	if named := remoteNode.FindStringSubmatch(pg.Message + "\n" + pg.Where); named != nil {
		return named[1] + named[2]
	}
	return ""
}

// InvalidAddress returns the error for an address that pgx could not parse. pgx's own error may contain the password.
func InvalidAddress(err error) error {
	const message = "the address is not a valid Postgres URL"
	cause, file := errors.Unwrap(err), (*fs.PathError)(nil)
	if errors.As(err, &file) || cause != nil && cause.Error() == "sslmode is invalid" {
		return fmt.Errorf(message+": %w", cause)
	}
	return errors.New(message + ": write special characters of the password as %40 for @ and %2F for /, as in " +
		"postgres://user:p%40ssword@host:5432/database")
}

// Reason returns why a connection failed, in one line. The driver's own text has a line for each address that it
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

// OrMissing returns the error of reading one row. If there was no row, it returns NOT_FOUND with the type and the id.
func OrMissing(typeName, id string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return model.Missing(typeName, id)
	}
	return err
}

// IsUnavailable reports whether the error is UNAVAILABLE: the database does not answer.
func IsUnavailable(err error) bool {
	var known *model.Error
	return errors.As(err, &known) && known.Code == model.Unavailable
}

// SQLState returns the SQLSTATE of an error of Postgres, or "" for any other error.
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
