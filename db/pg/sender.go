package pg

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// sender sends reads through the pipeline of a connection and receives their rows in the same order.
type sender struct {
	pipeline  *pgconn.Pipeline
	prepared  *statements
	isPooled  bool
	arguments arguments
	// isPreparing is set once a statement was sent to be prepared.
	isPreparing bool
}

// inBinary requests all values in binary format. Texts and JSON are the same in both formats. Binary jsonb begins with
// a version byte, which the method rows removes.
var inBinary = []int16{pgtype.BinaryFormatCode}

// sendRead sends a read, after preparing its statement if the connection has not prepared it yet.
func (s *sender) sendRead(companyID string, read *Read) {
	s.arguments.encode(companyID, read)
	formats := inBinary
	if read.isText {
		formats = nil
	}
	name := read.Statement.name
	description, isKnown := s.prepared.Get(name)
	switch {
	case s.isPooled: // the pooler may use another connection next
		s.pipeline.SendQueryParams(read.Statement.text, s.arguments.values, nil, s.arguments.formats, formats)
		return
	case description != nil:
		s.pipeline.SendQueryStatement(description, s.arguments.values, s.arguments.formats, formats)
		return
	case !isKnown:
		if s.prepared.Len() == readStatements {
			oldest, _, _ := s.prepared.RemoveOldest()
			s.pipeline.SendDeallocate(oldest)
		}
		s.isPreparing = true
		s.pipeline.SendPrepare(name, read.Statement.text, nil)
		s.prepared.Add(name, nil)
	}
	s.pipeline.SendQueryPrepared(name, s.arguments.values, s.arguments.formats, formats)
}

// hasUnprepared reports whether Postgres has not prepared the statement of one of the reads. Call it after the results
// of all reads were received.
func (s *sender) hasUnprepared(reads []Read) bool {
	return slices.ContainsFunc(reads, func(read Read) bool {
		description, isSent := s.prepared.Peek(read.Statement.name)
		return isSent && description == nil
	})
}

// scopeSession binds the session to no company and to GatewayRole, in a transaction of its own.
func (s *sender) scopeSession(scopes *scopes, conn *pgconn.PgConn) error {
	scope := scopes.statementFor(conn, "")
	if scope.statement == (Statement{}) {
		return nil
	}
	s.sendRead("", &Read{Statement: scope.statement})
	err := s.pipeline.Sync()
	if err == nil {
		err = s.rows(scope.statement, noRows)
	}
	if err == nil {
		err = s.receiveSync()
	}
	scope.applied(conn, err)
	return err
}

// receiveSync receives results until the end of the transaction.
func (s *sender) receiveSync() error {
	for {
		results, err := s.pipeline.GetResults()
		var refused *pgconn.PgError
		if err != nil && !errors.As(err, &refused) || results == nil && err == nil {
			return errors.Join(err, errUnread)
		}
		if _, isEnd := results.(*pgconn.PipelineSync); isEnd {
			return nil
		}
	}
}

// setRepeatableRead makes all reads of a transaction see one snapshot. Connections behind a pooler need it, because
// they do not have that isolation as their default. It returns no rows.
const setRepeatableRead = "SET transaction_isolation = 'repeatable read'"

// noRows drops a row.
func noRows([][]byte) error { return nil }

// rows receives the next result and passes its rows to receive. The next result must belong to the statement.
func (s *sender) rows(statement Statement, receive func(values [][]byte) error) error {
	var rows *pgconn.ResultReader
	for rows == nil {
		results, err := s.pipeline.GetResults()
		if err != nil {
			return err
		}
		switch results := results.(type) {
		case *pgconn.ResultReader:
			rows = results
		case *pgconn.StatementDescription:
			if results.Name, results.SQL = statement.name, statement.text; s.prepared.Contains(statement.name) {
				s.prepared.Add(statement.name, results)
			}
		case *pgconn.CloseComplete: // the least recently used statement was deallocated
		default:
			return fmt.Errorf("read: %T instead of rows", results)
		}
	}
	var versioned []int
	for i, field := range rows.FieldDescriptions() {
		if field.DataTypeOID == pgtype.JSONBOID && field.Format == pgtype.BinaryFormatCode {
			versioned = append(versioned, i)
		}
	}
	for rows.NextRow() {
		values := rows.Values()
		for _, i := range versioned {
			if values[i] != nil {
				values[i] = values[i][1:]
			}
		}
		if err := receive(values); err != nil {
			return err
		}
	}
	_, err := rows.Close()
	return err
}

// isStale reports whether Postgres rejected a prepared statement as outdated or unknown.
func isStale(err error) bool {
	state := SQLState(err)
	return state == "0A000" || state == "26000" // a plan with a changed result type, or an unknown statement
}

// isEnded reports whether the server has ended the connection.
func isEnded(err error) bool {
	switch SQLState(err) {
	case "57P01", "57P02", "57P03", "57P05": // shut down, crashed, starting, or the connection was idle for too long
		return true
	}
	return false
}

// arguments are the values of a statement in Postgres's formats.
type arguments struct {
	values  [][]byte
	formats []int16
}

func (a *arguments) encode(companyID string, read *Read) {
	a.values, a.formats = a.values[:0], a.formats[:0]
	a.addArgument([]byte(companyID), pgtype.TextFormatCode)
	switch {
	case read.IsOne:
		a.addArgument([]byte(read.Keys[0]), pgtype.TextFormatCode)
	case read.Keys != nil:
		a.addArgument(textArray(read.Keys), pgtype.BinaryFormatCode)
	}
	for _, c := range read.Part.Filter {
		if c.Value != nil {
			a.addValue(c.Value)
		}
	}
	for _, value := range read.extraArgs {
		a.addValue(value)
	}
	if read.IsTotal {
		return
	}
	if read.Part.Offset != nil {
		a.addValue(*read.Part.Offset)
	}
	if read.Part.Cursor() != nil {
		key, id := read.Part.Position()
		a.addValue(key)
		a.addValue(id)
	}
}

func (a *arguments) addArgument(value []byte, format int16) {
	a.values, a.formats = append(a.values, value), append(a.formats, format)
}

// addValue appends a value of a filter, of a page or of a row, nil for NULL.
func (a *arguments) addValue(value any) {
	switch v := value.(type) {
	case nil:
		a.addArgument(nil, pgtype.TextFormatCode)
	case string:
		a.addArgument([]byte(v), pgtype.TextFormatCode)
	case []byte:
		a.addArgument(v, pgtype.BinaryFormatCode)
	case int32:
		a.addArgument(strconv.AppendInt(nil, int64(v), 10), pgtype.TextFormatCode)
	case int64:
		a.addArgument(strconv.AppendInt(nil, v, 10), pgtype.TextFormatCode)
	case bool:
		a.addArgument(strconv.AppendBool(nil, v), pgtype.TextFormatCode)
	case time.Time:
		a.addArgument(v.UTC().AppendFormat(nil, "2006-01-02 15:04:05.999999999Z"), pgtype.TextFormatCode)
	default:
		reflected := reflect.ValueOf(value)
		if reflected.Kind() != reflect.Slice {
			a.addArgument([]byte(reflected.String()), pgtype.TextFormatCode) // a value of an enum
			return
		}
		texts := make([]string, reflected.Len())
		for i := range texts {
			texts[i] = reflected.Index(i).String()
		}
		a.addArgument(textArray(texts), pgtype.BinaryFormatCode)
	}
}

// textArray encodes the texts as a text[] in Postgres's binary format.
func textArray(texts []string) []byte {
	size := 20
	for _, text := range texts {
		size += 4 + len(text)
	}
	array := make([]byte, 0, size)
	if len(texts) == 0 {
		array = binary.BigEndian.AppendUint32(array, 0) // dimensions
		array = binary.BigEndian.AppendUint32(array, 0)
		return binary.BigEndian.AppendUint32(array, pgtype.TextOID)
	}
	array = binary.BigEndian.AppendUint32(array, 1) // dimensions
	array = binary.BigEndian.AppendUint32(array, 0) // no NULL
	array = binary.BigEndian.AppendUint32(array, pgtype.TextOID)
	array = binary.BigEndian.AppendUint32(array, uint32(len(texts)))
	array = binary.BigEndian.AppendUint32(array, 1) // lower bound
	for _, text := range texts {
		array = binary.BigEndian.AppendUint32(array, uint32(len(text)))
		array = append(array, text...)
	}
	return array
}
