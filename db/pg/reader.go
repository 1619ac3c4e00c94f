package pg

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Reader reads a company's rows on a connection of its own, which others wait for until it is closed. It is not safe
// for concurrent use.
type Reader struct {
	scope Scope
	conn  *pgxpool.Conn
	leave func()
}

// Reader returns a Reader as soon as a connection is free. One company has at most three quarters of them at a time.
func (r Reads) Reader(ctx context.Context) (*Reader, error) {
	reader := &Reader{scope: r.scope}
	if err := reader.open(ctx); err != nil {
		return nil, err
	}
	return reader, nil
}

func (r *Reader) open(ctx context.Context) error {
	giveBack, err := takeTurn(ctx)
	if err != nil {
		return err
	}
	db, companyID := r.scope.db, r.scope.companyID
	if err := db.readers.Enter(ctx, companyID); err != nil {
		giveBack()
		return err
	}
	r.leave = func() { db.readers.Leave(companyID); giveBack() }
	if err := mayAsk(ctx); err != nil {
		r.leave()
		return err
	}
	if r.conn, err = db.pools.reads.Acquire(ctx); err != nil {
		r.leave()
		return db.Translate(err)
	}
	return nil
}

// Close returns the connection to the pool.
func (r *Reader) Close() {
	if r.conn != nil {
		r.conn.Release()
		r.conn = nil
		r.leave()
	}
}

// Read is Read of one Reader.
func (r Reads) Read(ctx context.Context, reads []Read, receive Receive) error {
	reader, err := r.Reader(ctx)
	if err != nil {
		return err
	}
	defer reader.Close()
	return reader.Read(ctx, reads, receive)
}

// Read sends all reads to Postgres together and hands out what they find, in order: one round trip, or two where a
// connection sees a statement for the first time. There are at most MostReads.
func (r *Reader) Read(ctx context.Context, reads []Read, receive Receive) error {
	hasReceived := false
	for {
		err, isCut := r.readOnce(ctx, reads, func(read int, values [][]byte) error {
			hasReceived = true
			return receive(read, values)
		})
		if !isCut || hasReceived || ctx.Err() != nil {
			return r.scope.db.Translate(err)
		}
		// What the server has closed or changed meanwhile shows only now. There are no more such connections than there
		// were. This one has to go before another is asked for: all others may be waiting for the same.
		r.Close()
		if err := r.open(ctx); err != nil {
			return err
		}
	}
}

// readOnce is Read on the connection. isCut says that this was used before and is of no use any more, for a reason that
// another one has not.
func (r *Reader) readOnce(ctx context.Context, reads []Read, receive Receive) (err error, isCut bool) {
	pg := r.conn.Conn().PgConn()
	isUsed := isUsed(pg)
	ctx, end := r.scope.db.trace(ctx, r.conn.Conn(), reads)
	err = r.scope.receive(ctx, pg, reads, receive)
	end(err)
	var answer *pgconn.PgError
	isOwn := !errors.As(err, &answer) || isStale(err) || isEnded(err)
	return err, err != nil && isUsed && pg.IsClosed() && isOwn
}
