package pg

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

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

// Receive is called with each row of what the read with the number found, in order. The values are Postgres's own, text
// for texts and JSON, binary for the rest, nil for NULL, and good until it returns.
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
	// A connection that is another company's is made this one's in the same round trip.
	scope := s.db.scopes.change(conn, s.companyID)
	isPooled := s.db.scopes.isPooled
	isAlone := isPooled && conn.TxStatus() == 'I'
	pipeline := conn.StartPipeline(ctx)
	send := sender{pipeline: pipeline, known: statementsOf(conn), isPooled: isPooled}
	defer func() {
		if closing := pipeline.Close(); err == nil {
			err = closing
		}
		if isStale(err) || err != nil && send.isPreparing {
			_ = conn.Close(context.WithoutCancel(ctx)) // what is prepared on it is not known
		}
		scope.applied(conn, err)
	}()
	var ahead []Statement // of the reads: nobody wants their rows
	if isAlone {
		ahead = append(ahead, Statement{})
		pipeline.SendQueryParams(ofThisMoment, nil, nil, nil, nil)
	}
	if scope.statement != (Statement{}) {
		ahead = append(ahead, scope.statement)
		send.read(s.companyID, &Read{Statement: scope.statement})
	}
	for i := range reads {
		send.read(s.companyID, &reads[i])
	}
	if err := pipeline.Sync(); err != nil {
		return err
	}
	for _, statement := range ahead {
		if err := send.rows(statement, noRows); err != nil {
			return err
		}
	}
	for i := range reads {
		if err := send.rows(reads[i].Statement, func(values [][]byte) error {
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
	send.isPreparing = false
	return nil
}
