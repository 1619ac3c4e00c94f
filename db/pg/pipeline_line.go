package pg

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// errUnread is of a connection that has more to receive than anybody wants.
var errUnread = errors.New("rows that nobody wants")

// pipeline is a connection with the requests that are on their way on it. One goroutine at a time uses it.
type pipeline struct {
	of   *pipelines
	conn *pgxpool.Conn
	open *pgconn.Pipeline
	// cancel ends the time that open has. left is how many more requests open sends.
	cancel context.CancelFunc
	left   int
	// isBinding says that what binds the session to a company is on its way, ahead of what is sent.
	isBinding bool
	// sent are on their way, in order. held waits until nothing is, since the session or statements have to be prepared for it.
	sent []*pipelined
	held *pipelined
	// movedAt is when something was received last. The mutex of pipelines guards it.
	movedAt time.Time
}

// begin sends a request and receives its rows, as long as its context lasts. What others want meanwhile is sent in the
// background.
func (l *pipeline) begin(r *pipelined) {
	if !l.acquire(r.ctx) {
		r.end(ErrUnshared)
		return
	}
	if l.send(r.ctx, r) {
		if l.open.Flush() == nil {
			l.receive()
		} else {
			l.fail()
		}
	}
	if l.conn == nil {
		return
	}
	l.close() // Its context ends.
	if l.fill() {
		go l.goOn()
	}
}

// run sends what waits, from a new connection on.
func (l *pipeline) run() {
	if l.acquire(context.Background()) && l.fill() {
		l.goOn()
	}
}

// goOn receives what is on its way and sends what waits, until nothing does.
func (l *pipeline) goOn() {
	for isBusy := true; isBusy; isBusy = l.fill() {
		l.receive()
	}
}

// acquire takes a connection from the pool.
func (l *pipeline) acquire(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, pipelinePatience)
	defer cancel()
	conn, err := l.of.db.pools.reads.Acquire(ctx)
	if l.conn = conn; err != nil {
		l.fail()
	}
	return err == nil
}

// fill sends what waits, and reports whether anything is on its way. If nothing is, the pipeline has ended.
func (l *pipeline) fill() bool {
	isSending := false
	for l.conn != nil {
		r, isOver := l.take()
		if isOver {
			l.close()
			l.conn.Release()
			l.conn = nil
		}
		if r == nil || !l.send(context.Background(), r) {
			break
		}
		isSending = true
	}
	if isSending && l.conn != nil && l.open.Flush() != nil {
		l.fail()
	}
	return l.conn != nil
}

// take returns the request to send next, or nil. isOver says that the pipeline has ended.
func (l *pipeline) take() (r *pipelined, isOver bool) {
	isIdle := len(l.sent) == 0
	if l.held != nil {
		if isIdle {
			r, l.held = l.held, nil
		}
		return r, false
	}
	if isIdle && l.left == 0 {
		l.close()
	}
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.movedAt = time.Now()
	if len(l.sent) < pipelineDepth && (isIdle || l.left > 0) {
		r = l.of.next(l.sent)
	}
	if isIdle && r == nil {
		l.leave()
		isOver = true
	}
	return r, isOver
}

// leave takes the pipeline from those that are active. The caller holds the mutex of pipelines.
func (l *pipeline) leave() {
	l.of.active = slices.DeleteFunc(l.of.active, func(other *pipeline) bool { return other == l })
}

// close ends what is sent by the connection so far. All of it was received.
func (l *pipeline) close() {
	if l.open != nil {
		_ = l.open.Close()
		l.cancel()
		l.open = nil
	}
}

// fail closes the connection. What is on its way is to be read on other ones.
func (l *pipeline) fail() {
	if l.conn != nil {
		_ = l.conn.Conn().PgConn().Close(context.Background())
		l.close()
		l.conn.Release()
		l.conn = nil
	}
	l.of.mu.Lock()
	if l.leave(); len(l.of.queue) > 0 && l.of.mayOpen() {
		go l.of.add().run()
	}
	l.of.mu.Unlock()
	if l.held != nil {
		l.sent = append(l.sent, l.held)
	}
	for _, r := range l.sent {
		r.end(ErrUnshared)
	}
	l.sent, l.held = nil, nil
}

// send puts a request on its way, without flushing it. It returns false when the request has to wait, or the pipeline failed.
// The context is for all that is sent before the next close.
func (l *pipeline) send(ctx context.Context, r *pipelined) bool {
	conn, isIdle := l.conn.Conn().PgConn(), len(l.sent) == 0
	known := statementsOf(conn)
	from, _ := conn.CustomData()[scopeKey].(connScope)
	scope := l.of.db.scopes.change(conn, r.scope.companyID)
	r.bind = Statement{}
	switch {
	case scope.statement == (Statement{}):
	case isIdle:
		l.isBinding, r.bind = true, scope.statement
		scope.applied(conn, nil) // as the next request finds it
	case from.isSecured != scope.to.isSecured:
		l.held = r
		return false
	default:
		r.bind = ofRequest.setCompany
	}
	var missing []Statement
	if r.bind != (Statement{}) {
		missing = lacking(known, missing, r.bind)
	}
	for n := range r.reads {
		missing = lacking(known, missing, r.reads[n].Statement)
	}
	if len(missing) > 0 && !isIdle {
		l.held = r
		return false
	}
	l.sent = append(l.sent, r)
	if len(missing) > 0 {
		l.close()
		preparing, cancel := context.WithTimeout(ctx, pipelineTime)
		err := prepare(preparing, conn, known, missing, false)
		cancel()
		if err != nil {
			l.fail()
			return false
		}
	}
	if l.open == nil {
		ctx, l.cancel = context.WithTimeout(ctx, pipelineTime)
		l.open, l.left = conn.StartPipeline(ctx), pipelineRequests
	}
	_, r.traced = l.of.db.trace(r.ctx, l.conn.Conn(), r.reads)
	sender := sender{pipeline: l.open, known: known}
	if r.bind != (Statement{}) {
		sender.send(r.scope.companyID, &Read{Statement: r.bind})
	}
	if l.isBinding && isIdle {
		l.open.SendPipelineSync() // What binds the session must not be undone with the request.
		r.bind = Statement{}
	}
	for n := range r.reads {
		sender.send(r.scope.companyID, &r.reads[n])
	}
	l.open.SendPipelineSync()
	l.left--
	return true
}

// receive receives what the first request on its way has read.
func (l *pipeline) receive() {
	if l.isBinding {
		if err := cmp.Or(nextRows(l.open, noRows), l.sync()); err != nil {
			l.fail()
			return
		}
		l.isBinding = false
	}
	r := l.sent[0]
	own, err := l.rows(r)
	var refused *pgconn.PgError
	if isRefused := errors.As(err, &refused) && !isStale(err) && !isEnded(err); err == nil || isRefused {
		if synced := l.sync(); synced == nil {
			if l.sent = slices.Delete(l.sent, 0, 1); isRefused {
				own = ErrUnshared
			}
			r.end(own)
			return
		}
	}
	if own != nil {
		l.sent = slices.Delete(l.sent, 0, 1)
		r.end(own)
	}
	l.fail()
}

// rows hands out the rows of a request, unless it was given up. own is what became of it for whoever receives them.
func (l *pipeline) rows(r *pipelined) (own, err error) {
	if r.bind != (Statement{}) {
		if err := nextRows(l.open, noRows); err != nil {
			return nil, err
		}
	}
	bytes, isDecided, isWanted := 0, false, false
	take := func() bool {
		if !isDecided {
			isDecided, isWanted = true, r.isTaken.CompareAndSwap(false, true)
		}
		return isWanted && own == nil
	}
	for n := range r.reads {
		err := nextRows(l.open, func(values [][]byte) error {
			for _, value := range values {
				bytes += len(value)
			}
			switch {
			case bytes > mostPipelinedBytes && (own != nil || !isWanted):
				return errUnread
			case bytes > mostPipelinedBytes:
				own = ErrUnshared
			case take():
				own = r.hand(n, values)
			}
			return nil
		})
		if err != nil {
			return own, err
		}
	}
	take()
	return own, nil
}

// sync receives the end of a request.
func (l *pipeline) sync() error {
	for {
		results, err := l.open.GetResults()
		var refused *pgconn.PgError
		if err != nil && !errors.As(err, &refused) || results == nil && err == nil {
			return errors.Join(err, errUnread)
		}
		if _, isEnd := results.(*pgconn.PipelineSync); isEnd {
			return nil
		}
	}
}

// hand hands out a row. A panic is that of whoever receives it.
func (r *pipelined) hand(read int, values [][]byte) (err error) {
	defer func() {
		if r.panicked = recover(); r.panicked != nil {
			err = ErrUnshared
		}
	}()
	return r.receive(read, values)
}

// end tells whoever waits what came of the request.
func (r *pipelined) end(err error) {
	if traced := r.traced; traced != nil {
		r.traced = nil
		traced(err)
	}
	r.err = err
	r.done <- struct{}{}
}
