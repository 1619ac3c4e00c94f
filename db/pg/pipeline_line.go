package pg

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// errUnread is returned when the connection still has too many unwanted rows to receive. Closing it is cheaper.
var errUnread = errors.New("the rows were not read")

// pipeline sends requests on a connection and receives their rows, in order. One goroutine does both.
type pipeline struct {
	of   *pipelines
	sent []*pipelined
	// movedAt is when the connection last received something. The mutex of pipelines guards it.
	movedAt time.Time
}

// run serves the queue until it is empty, or until it cannot acquire a connection.
func (l *pipeline) run() {
	for isServed := true; isServed; {
		isServed = l.serve()
		for _, r := range l.sent { // after an error
			r.finishRead(ErrUnshared)
		}
		l.sent = nil
		l.of.mu.Lock()
		if isServed = isServed && len(l.of.queue) > 0; !isServed {
			l.of.active = slices.DeleteFunc(l.of.active, func(other *pipeline) bool { return other == l })
		}
		l.of.mu.Unlock()
	}
}

// serve sends requests on one connection. It returns false if it sent none.
func (l *pipeline) serve() bool {
	ctx, cancel := context.WithTimeout(context.Background(), pipelineTime)
	defer cancel()
	db := l.of.db
	conn, err := db.pools.reads.Acquire(ctx)
	if err != nil {
		return false
	}
	defer conn.Release()
	pg := conn.Conn().PgConn()
	open := pg.StartPipeline(ctx)
	send := &sender{pipeline: open, known: statementsOf(pg)}
	err = send.scopeSession(db.scopes, pg)
	left := pipelineRequests
	for err == nil {
		for r := l.next(left); r != nil; r = l.next(left) {
			l.send(send, conn, r)
			left--
		}
		if len(l.sent) == 0 {
			break
		}
		if err = open.Flush(); err == nil {
			err = l.receive(send)
		}
	}
	if err != nil {
		_ = pg.Close(context.Background())
	}
	_ = open.Close()
	return left < pipelineRequests
}

// next returns a request to send, or nil.
func (l *pipeline) next(left int) *pipelined {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.movedAt = time.Now()
	if left == 0 || len(l.sent) == pipelineDepth {
		return nil
	}
	return l.of.next(l.sent)
}

// send sends a request, with its company scope before it and a Sync after it, without flushing.
func (l *pipeline) send(send *sender, conn *pgxpool.Conn, r *pipelined) {
	l.sent = append(l.sent, r)
	_, r.traced = l.of.db.trace(r.ctx, conn.Conn(), r.reads)
	send.sendRead(r.scope.companyID, &Read{Statement: ofRequest.setCompany})
	for i := range r.reads {
		send.sendRead(r.scope.companyID, &r.reads[i])
	}
	send.pipeline.SendPipelineSync()
}

// receive receives the rows of the oldest request in flight. It returns only errors of the connection.
func (l *pipeline) receive(send *sender) error {
	r := l.sent[0]
	own, err := r.rows(send)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && !isStale(err) && !isEnded(err) && !send.lacks(r.reads) {
		own, err = ErrUnshared, nil
	}
	if err == nil {
		err = send.synced()
	}
	if err == nil || own != nil {
		l.sent = l.sent[1:]
		r.finishRead(own)
	}
	return err
}

// rows passes the rows of a request to its receiver, unless the caller gave up. own has the receiver's error, and err
// the connection's.
func (r *pipelined) rows(send *sender) (own, err error) {
	if err := send.rows(ofRequest.setCompany, noRows); err != nil {
		return nil, err
	}
	bytes, isWanted := 0, false
	for i := range r.reads {
		err := send.rows(r.reads[i].Statement, func(values [][]byte) error {
			for _, value := range values {
				bytes += len(value)
			}
			isWanted = isWanted || r.isTaken.CompareAndSwap(false, true)
			switch {
			case bytes > maxPipelinedBytes && (own != nil || !isWanted):
				return errUnread
			case bytes > maxPipelinedBytes:
				own = ErrUnshared
			case isWanted && own == nil:
				own = r.hand(i, values)
			}
			return nil
		})
		if err != nil {
			return own, err
		}
	}
	r.isTaken.Store(true)
	return own, nil
}

// hand passes a row to the receiver. A panic of the receiver is raised again in the caller's goroutine.
func (r *pipelined) hand(read int, values [][]byte) (err error) {
	defer func() {
		if r.panicked = recover(); r.panicked != nil {
			err = ErrUnshared
		}
	}()
	return r.receive(read, values)
}

// finishRead reports the outcome to the waiting caller.
func (r *pipelined) finishRead(err error) {
	if r.traced != nil {
		r.traced(err)
	}
	r.err = err
	r.done <- struct{}{}
}
