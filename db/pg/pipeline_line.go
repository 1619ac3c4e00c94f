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
	owner *pipelines
	sent  []*pipelineRequest
	// movedAt is when the connection last received something. The mutex of pipelines guards it.
	movedAt time.Time
}

// run serves the queue until it is empty, or until it cannot acquire a connection.
func (l *pipeline) run() {
	for isServed := true; isServed; {
		isServed = l.serve()
		for _, r := range l.sent { // the requests without a result, after an error
			r.finishRead(ErrUnshared)
		}
		l.sent = nil
		l.owner.mu.Lock()
		if isServed = isServed && len(l.owner.queue) > 0; !isServed {
			l.owner.active = slices.DeleteFunc(l.owner.active, func(other *pipeline) bool { return other == l })
		}
		l.owner.mu.Unlock()
	}
}

// serve sends requests on one connection. It returns false if it sent none.
func (l *pipeline) serve() bool {
	ctx, cancel := context.WithTimeout(context.Background(), pipelineTimeout)
	defer cancel()
	db := l.owner.db
	conn, err := db.pools.reads.Acquire(ctx)
	if err != nil {
		return false
	}
	defer conn.Release()
	pg := conn.Conn().PgConn()
	open := pg.StartPipeline(ctx)
	send := &sender{pipeline: open, prepared: statementsOf(pg)}
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
func (l *pipeline) next(left int) *pipelineRequest {
	l.owner.mu.Lock()
	defer l.owner.mu.Unlock()
	l.movedAt = time.Now()
	if left == 0 || len(l.sent) == pipelineDepth {
		return nil
	}
	return l.owner.next(l.sent)
}

// send sends a request, with its company scope before it and a Sync after it, without flushing.
func (l *pipeline) send(send *sender, conn *pgxpool.Conn, r *pipelineRequest) {
	l.sent = append(l.sent, r)
	_, r.traced = l.owner.db.trace(r.ctx, conn.Conn(), r.reads)
	send.sendRead(r.scope.companyID, &Read{Statement: requestBindings.setCompany})
	for i := range r.reads {
		send.sendRead(r.scope.companyID, &r.reads[i])
	}
	send.pipeline.SendPipelineSync()
}

// receive receives the rows of the oldest request in flight. It returns only errors of the connection.
func (l *pipeline) receive(send *sender) error {
	r := l.sent[0]
	receiverErr, err := r.rows(send)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && !isStale(err) && !isEnded(err) && !send.hasUnprepared(r.reads) {
		receiverErr, err = ErrUnshared, nil
	}
	if err == nil {
		err = send.receiveSync()
	}
	if err == nil || receiverErr != nil {
		l.sent = l.sent[1:]
		r.finishRead(receiverErr)
	}
	return err
}

// rows passes the rows of a request to its receiver, unless the caller gave up. receiverErr is the receiver's error,
// and err is the connection's.
func (r *pipelineRequest) rows(send *sender) (receiverErr, err error) {
	if err := send.rows(requestBindings.setCompany, noRows); err != nil {
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
			case bytes > maxPipelinedBytes && (receiverErr != nil || !isWanted):
				return errUnread
			case bytes > maxPipelinedBytes:
				receiverErr = ErrUnshared
			case isWanted && receiverErr == nil:
				receiverErr = r.passRow(i, values)
			}
			return nil
		})
		if err != nil {
			return receiverErr, err
		}
	}
	r.isTaken.Store(true)
	return receiverErr, nil
}

// passRow passes a row to the receiver. If that panics, the caller reads again, so the panic occurs in its goroutine.
func (r *pipelineRequest) passRow(read int, values [][]byte) (err error) {
	defer func() {
		if recover() != nil {
			err = ErrUnshared
		}
	}()
	return r.receive(read, values)
}

// finishRead reports the outcome to the waiting caller.
func (r *pipelineRequest) finishRead(err error) {
	if r.traced != nil {
		r.traced(err)
	}
	r.done <- err
}
