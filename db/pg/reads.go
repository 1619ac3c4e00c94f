package pg

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// readStatements is how many prepared statements a connection for reads keeps, the most recently used ones. Each takes
// Postgres some tens of kB.
const readStatements = 256

// Statement is a read of one company's rows. Its text is written once, and Postgres plans it once on each connection: the
// values have places in it, the first of which is the company's.
type Statement struct{ text, name string }

func NewStatement(text string) Statement {
	hash := sha256.Sum256([]byte(text))
	return Statement{text, "read_" + hex.EncodeToString(hash[:12])}
}

// prepared is a statement that a connection has prepared.
type prepared struct {
	*pgconn.StatementDescription
	formats []int16
}

// statements are the prepared statements of a connection.
type statements = simplelru.LRU[string, *prepared]

const statementsKey = "reads"

// isUsed reports whether the connection has read anything before.
func isUsed(conn *pgconn.PgConn) bool {
	_, ok := conn.CustomData()[statementsKey]
	return ok
}

func statementsOf(conn *pgconn.PgConn) *statements {
	if known, ok := conn.CustomData()[statementsKey]; ok {
		return known.(*statements)
	}
	// The only error is a size below one.
	known, _ := simplelru.NewLRU[string, *prepared](readStatements, nil)
	conn.CustomData()[statementsKey] = known
	return known
}

// Read is a statement with its arguments.
type Read struct {
	Statement Statement
	// Keys are those of ManyRows, or the ids of the parents of a list; nil for none.
	Keys []string
	// IsOne says that the statement takes the one key as it is.
	IsOne bool
	// Part is the page that is read, or whose list is counted.
	Part Part
	// IsTotal says that the rows of the list are counted.
	IsTotal bool
	// more are values behind these. isText: all values of rows are texts.
	more   []any
	isText bool
}

// Receive is called with each row of what the read with the number found, in order. The values are Postgres's own, text for
// texts and JSON, binary for the rest, nil for NULL, and good until it returns.
type Receive func(read int, values [][]byte) error

// MostReads is how many reads may be sent together: fewer than the statements that a connection keeps prepared.
const MostReads = 200

// trace tells the tracer, if there is one that listens to batches, of the reads.
func (d *DB) trace(ctx context.Context, conn *pgx.Conn, reads []Read) (traced context.Context, end func(error)) {
	tracer, ok := d.tracer.(pgx.BatchTracer)
	if !ok {
		return ctx, func(error) {}
	}
	batch := &pgx.Batch{}
	for _, read := range reads {
		batch.Queue(read.Statement.text)
	}
	ctx = tracer.TraceBatchStart(ctx, conn, pgx.TraceBatchStartData{Batch: batch})
	for _, read := range reads {
		tracer.TraceBatchQuery(ctx, conn, pgx.TraceBatchQueryData{SQL: read.Statement.text})
	}
	return ctx, func(err error) { tracer.TraceBatchEnd(ctx, conn, pgx.TraceBatchEndData{Err: err}) }
}

func (s Scope) receive(ctx context.Context, conn *pgconn.PgConn, reads []Read, receive Receive) (err error) {
	known := statementsOf(conn)
	// A connection that is another company's is made this one's in the same round trip.
	scope := s.db.scopes.change(conn, s.companyID)
	isBound := scope.statement == (Statement{})
	isPooled := s.db.scopes.isPooled
	isAlone := conn.TxStatus() == 'I'
	var missing []Statement
	if !isBound {
		missing = lacking(known, missing, scope.statement)
	}
	for i := range reads {
		missing = lacking(known, missing, reads[i].Statement)
	}
	if err := prepare(ctx, conn, known, missing, isPooled); err != nil {
		_ = conn.Close(context.WithoutCancel(ctx)) // what is prepared on it is not known
		return err
	}
	pipeline := conn.StartPipeline(ctx)
	defer func() {
		if closing := pipeline.Close(); err == nil {
			err = closing
		}
		if isStale(err) {
			_ = conn.Close(context.WithoutCancel(ctx)) // the pool opens another one
		}
		scope.applied(conn, err)
	}()
	if isPooled && isAlone {
		pipeline.SendQueryParams(ofThisMoment, nil, nil, nil, nil)
	}
	sender := sender{pipeline: pipeline, known: known, isPooled: isPooled}
	if !isBound {
		sender.send(s.companyID, &Read{Statement: scope.statement})
	}
	for i := range reads {
		sender.send(s.companyID, &reads[i])
	}
	if err := pipeline.Sync(); err != nil {
		return err
	}
	for _, isAhead := range []bool{isPooled && isAlone, !isBound} { // of the reads: rows of these are for nobody
		if !isAhead {
			continue
		}
		if err := nextRows(pipeline, noRows); err != nil {
			return err
		}
	}
	for i := range reads {
		if err := nextRows(pipeline, func(values [][]byte) error {
			err := receive(i, values)
			if err != nil {
				// The rest is not wanted, however much it is.
				_ = conn.Close(context.WithoutCancel(ctx))
			}
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// sender sends reads by the pipeline of a connection that knows their statements.
type sender struct {
	pipeline  *pgconn.Pipeline
	known     *statements
	isPooled  bool
	arguments arguments
}

func (s *sender) send(companyID string, read *Read) {
	statement, _ := s.known.Get(read.Statement.name)
	s.arguments.of(companyID, read)
	formats := statement.formats
	if read.isText {
		formats = nil
	}
	if s.isPooled {
		s.pipeline.SendQueryParams(statement.SQL, s.arguments.values, statement.ParamOIDs, s.arguments.formats, formats)
	} else {
		s.pipeline.SendQueryStatement(statement.StatementDescription, s.arguments.values, s.arguments.formats, formats)
	}
}

// ofThisMoment has all that is read together be of one moment, where connections do not begin so. It has no rows.
const ofThisMoment = "SET transaction_isolation = 'repeatable read'"

// noRows is for rows that nobody wants.
func noRows([][]byte) error { return nil }

// nextRows hands out the rows of the pipeline's next statement.
func nextRows(pipeline *pgconn.Pipeline, hand func(values [][]byte) error) error {
	results, err := pipeline.GetResults()
	if err != nil {
		return err
	}
	rows, ok := results.(*pgconn.ResultReader)
	if !ok {
		return fmt.Errorf("read: %T in place of rows", results)
	}
	for rows.NextRow() {
		if err := hand(rows.Values()); err != nil {
			return err
		}
	}
	_, err = rows.Close()
	return err
}

// isStale reports whether prepared statements have changed since they were prepared.
func isStale(err error) bool {
	state := SQLState(err)
	return state == "0A000" || state == "26000" // a plan whose result has changed, or no such statement
}

// isEnded reports whether the server has ended the connection.
func isEnded(err error) bool {
	state := SQLState(err)
	return state == "57P01" || state == "57P02" || state == "57P03" // by an administrator, by a crash, while it starts
}

// lacking adds the statement to the missing ones, unless the connection has prepared it.
func lacking(known *statements, missing []Statement, s Statement) []Statement {
	if _, ok := known.Get(s.name); ok || slices.Contains(missing, s) {
		return missing
	}
	return append(missing, s)
}

// prepare prepares the statements that the connection does not know yet, together, and lets go of those that were not used
// for longest.
func prepare(ctx context.Context, conn *pgconn.PgConn, known *statements, missing []Statement, isPooled bool) error {
	if len(missing) == 0 {
		return nil
	}
	pipeline := conn.StartPipeline(ctx)
	for _, s := range missing {
		name := s.name
		if isPooled {
			name = "" // only to be described: the pooler may go on with another connection
		}
		pipeline.SendPrepare(name, s.text, nil)
	}
	deallocated := 0
	// The needed ones were used last, and are fewer than the cache holds.
	for known.Len()+len(missing) > readStatements && known.Len() > 0 {
		name, _, _ := known.RemoveOldest()
		if !isPooled {
			pipeline.SendDeallocate(name)
			deallocated++
		}
	}
	err := pipeline.Sync()
	for i := 0; err == nil && i < len(missing)+deallocated; i++ {
		var result any
		if result, err = pipeline.GetResults(); err != nil {
			break
		}
		if description, ok := result.(*pgconn.StatementDescription); ok {
			description.Name, description.SQL = missing[i].name, missing[i].text
			known.Add(missing[i].name, &prepared{description, resultFormats(description)})
		}
	}
	if closing := pipeline.Close(); err == nil {
		err = closing
	}
	return err
}

// resultFormats are text for texts and JSON, and binary for everything else.
func resultFormats(of *pgconn.StatementDescription) []int16 {
	formats := make([]int16, len(of.Fields))
	for i, field := range of.Fields {
		switch field.DataTypeOID {
		case pgtype.TextOID, pgtype.JSONOID, pgtype.JSONBOID:
		default:
			formats[i] = pgtype.BinaryFormatCode
		}
	}
	return formats
}

// arguments are those of a statement, as Postgres takes them.
type arguments struct {
	values  [][]byte
	formats []int16
}

// of makes them those of the read.
func (a *arguments) of(companyID string, read *Read) {
	a.values, a.formats = a.values[:0], a.formats[:0]
	a.add([]byte(companyID), pgtype.TextFormatCode)
	switch {
	case read.IsOne:
		a.add([]byte(read.Keys[0]), pgtype.TextFormatCode)
	case read.Keys != nil:
		a.add(textArray(read.Keys), pgtype.BinaryFormatCode)
	}
	for _, c := range read.Part.Filter {
		if c.Value != nil {
			a.addValue(c.Value)
		}
	}
	for _, value := range read.more {
		a.addValue(value)
	}
	if read.IsTotal {
		return
	}
	if read.Part.Offset != nil {
		a.addValue(*read.Part.Offset)
	}
	if read.Part.Cursor() != nil {
		key, id := read.Part.Place()
		a.addValue(key)
		a.addValue(id)
	}
}

func (a *arguments) add(value []byte, format int16) {
	a.values, a.formats = append(a.values, value), append(a.formats, format)
}

// addValue adds a value of a filter, of a page or of a row, nil for NULL.
func (a *arguments) addValue(value any) {
	switch v := value.(type) {
	case nil:
		a.add(nil, pgtype.TextFormatCode)
	case string:
		a.add([]byte(v), pgtype.TextFormatCode)
	case []byte:
		a.add(v, pgtype.BinaryFormatCode)
	case int32:
		a.add(strconv.AppendInt(nil, int64(v), 10), pgtype.TextFormatCode)
	case int64:
		a.add(strconv.AppendInt(nil, v, 10), pgtype.TextFormatCode)
	case bool:
		a.add(strconv.AppendBool(nil, v), pgtype.TextFormatCode)
	case time.Time:
		a.add(v.UTC().AppendFormat(nil, "2006-01-02 15:04:05.999999999Z"), pgtype.TextFormatCode)
	default:
		of := reflect.ValueOf(value)
		if of.Kind() != reflect.Slice {
			a.add([]byte(of.String()), pgtype.TextFormatCode) // a value of an enum
			return
		}
		texts := make([]string, of.Len())
		for i := range texts {
			texts[i] = of.Index(i).String()
		}
		a.add(textArray(texts), pgtype.BinaryFormatCode)
	}
}

// textArray is Postgres's text[] with the texts.
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
	array = binary.BigEndian.AppendUint32(array, 1) // the first place
	for _, text := range texts {
		array = binary.BigEndian.AppendUint32(array, uint32(len(text)))
		array = append(array, text...)
	}
	return array
}
