package pg

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Reader reads a company's rows on a connection of its own, until Close returns the connection to the pool. It is not
// safe for concurrent use.
type Reader struct {
	scope Scope
	conn  *pgxpool.Conn
	leave func()
}

// Reader waits for a free connection and returns a Reader on it. One company has at most three quarters of the
// connections that are not pipelined. Close the Reader.
func (r Reads) Reader(ctx context.Context) (*Reader, error) {
	reader := &Reader{scope: r.scope}
	if err := reader.open(ctx); err != nil {
		return nil, err
	}
	return reader, nil
}

func (r *Reader) open(ctx context.Context) error {
	giveBack, err := takeSlot(ctx)
	if err != nil {
		return err
	}
	db, companyID := r.scope.db, r.scope.companyID
	if err := db.readers.Enter(ctx, companyID); err != nil {
		giveBack()
		return err
	}
	r.leave = func() { db.readers.Leave(companyID); giveBack() }
	if err := countStatement(ctx); err != nil {
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

// Read opens a Reader, reads once and closes it.
func (r Reads) Read(ctx context.Context, reads []Read, receive Receive) error {
	reader, err := r.Reader(ctx)
	if err != nil {
		return err
	}
	defer reader.Close()
	return reader.Read(ctx, reads, receive)
}

// Read sends all reads to Postgres together and passes their rows to receive, in order. It takes one round trip, or
// two if the connection has not prepared a statement yet. Pass at most MaxReads reads.
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
		// The server closed the connection, or its statements are outdated. This happens at most once per connection,
		// so the loop ends. Release this connection before acquiring another: all others may be waiting for one too.
		r.Close()
		if err := r.open(ctx); err != nil {
			return err
		}
	}
}

// readOnce is Read on the current connection. isCut is true if a connection that was used before is now closed, and
// another connection may succeed.
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
