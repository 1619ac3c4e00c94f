package pg

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Read is a statement with its arguments.
type Read struct {
	Statement Statement
	// Keys are the keys of ManyRows, or the ids of the parents of a list. Nil for none.
	Keys []string
	// IsOne is set for a statement that takes the single key as a text instead of an array.
	IsOne bool
	// Part is the page to read, or the part whose list is counted.
	Part Part
	// IsTotal is set to count the rows of the list.
	IsTotal bool
	// extraArgs has further arguments, after those from the fields above. isText requests all values of rows in text
	// format.
	extraArgs []any
	isText    bool
}

// Receive is called with each row, in order; read is the index of the read that found it. The values are in
// Postgres's formats: text for texts and JSON, binary for all other types, nil for NULL. They are valid until the
// function returns.
type Receive func(read int, values [][]byte) error

// MaxReads bounds the reads that may be sent together. It is less than the number of statements that a connection
// keeps prepared.
const MaxReads = 200

// trace reports the reads to the tracer, if the tracer listens to batches.
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

// beginBlock begins a transaction block. It does not set the isolation, which connections for reads have by default.
const beginBlock = "BEGIN"

// begin returns the statement that makes all reads see one snapshot, or "" if none is needed. Citus sends reads to
// another node, where each one has its own snapshot unless a block contains them.
func (s Scope) begin(conn *pgconn.PgConn, reads int) string {
	switch {
	case conn.TxStatus() != 'I':
		return ""
	case s.db.scopes.isPooled:
		return setRepeatableRead
	case s.db.isSharded && reads > 1:
		return beginBlock
	}
	return ""
}

func (s Scope) receive(ctx context.Context, conn *pgconn.PgConn, reads []Read, receive Receive) (err error) {
	// If the connection is bound to another company, the same round trip binds it to this one.
	scope := s.db.scopes.statementFor(conn, s.companyID)
	isPooled := s.db.scopes.isPooled
	begin := s.begin(conn, len(reads))
	pipeline := conn.StartPipeline(ctx)
	send := sender{pipeline: pipeline, prepared: statementsOf(conn), isPooled: isPooled}
	defer func() {
		if closing := pipeline.Close(); err == nil {
			err = closing
		}
		if isStale(err) || err != nil && send.isPreparing {
			_ = conn.Close(context.WithoutCancel(ctx)) // it is unknown which statements the connection has prepared
		}
		scope.applied(conn, err)
	}()
	var preamble []Statement // statements before the reads, whose rows are dropped
	if begin != "" {
		preamble = append(preamble, Statement{})
		pipeline.SendQueryParams(begin, nil, nil, nil, nil)
	}
	if scope.statement != (Statement{}) {
		preamble = append(preamble, scope.statement)
		send.sendRead(s.companyID, &Read{Statement: scope.statement})
	}
	for i := range reads {
		send.sendRead(s.companyID, &reads[i])
	}
	if begin == beginBlock {
		pipeline.SendPipelineSync() // after an error, the COMMIT rolls back
		pipeline.SendQueryParams("COMMIT", nil, nil, nil, nil)
	}
	if err := pipeline.Sync(); err != nil {
		return err
	}
	for _, statement := range preamble {
		if err := send.rows(statement, noRows); err != nil {
			return err
		}
	}
	for i := range reads {
		if err := send.rows(reads[i].Statement, func(values [][]byte) error {
			err := receive(i, values)
			if err != nil {
				// The receiver wants no more rows, however many follow.
				_ = conn.Close(context.WithoutCancel(ctx))
			}
			return err
		}); err != nil {
			return err
		}
	}
	send.isPreparing = false
	return nil
}
