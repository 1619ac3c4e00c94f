package db

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// errUnprepared is of a statement that Postgres does not take: whose it is, its error does not tell.
var errUnprepared = errors.New("statements are not prepared")

// errUnwanted is of rows that whoever asked for them does not want, or that are too many for a flight.
var errUnwanted = errors.New("unwanted rows")

// flight is what is read in one round trip and one transaction.
type flight struct {
	joint *jointReads
	// reads are ordered by company, and companies are theirs, each once. landed of them were told what came of them.
	reads     []*jointRead
	companies []string
	landed    int
	// isReceiving says that it is the code of the next of them that runs.
	isReceiving bool
}

// fly makes a flight, and tells all who wait for it what came of it. The context may end it.
func (j *jointReads) fly(ctx context.Context, reads []*jointRead) {
	f := flight{joint: j, reads: reads, companies: make([]string, 0, len(reads))}
	defer f.end()
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, j.flightTime)
	defer cancel()
	conn, err := j.store.reads.Acquire(ctx)
	if err != nil {
		return // whoever reads alone finds out why
	}
	defer conn.Release()
	from, _ := conn.Conn().PgConn().CustomData()[bondKey].(bond)
	slices.SortStableFunc(reads, before(from.companyID))
	for i, r := range reads {
		if i == 0 || r.companyID != reads[i-1].companyID {
			f.companies = append(f.companies, r.companyID)
		}
		_, r.traced = j.store.trace(r.ctx, conn.Conn(), r.reads)
	}
	err = f.read(ctx, conn.Conn().PgConn())
	switch {
	case errors.Is(err, errUnprepared): // It is not known whose fault that is. All of them are better off alone.
		for _, companyID := range f.companies {
			j.setApart(companyID)
		}
	case time.Since(start) > j.patience:
		j.suspect(f.companies)
	case f.landed < len(reads) && (errors.Is(err, errUnwanted) || isRefused(err)):
		j.setApart(reads[f.landed].companyID)
	}
}

// end tells those whose rows were not read. A panic of whoever received rows is theirs.
func (f *flight) end() {
	panicked := recover()
	if panicked != nil && f.isReceiving {
		r := f.reads[f.landed]
		f.joint.setApart(r.companyID)
		r.panicked = panicked
	} else if panicked != nil {
		f.joint.store.locks.log.Error("reads of several requests panicked", "panic", panicked, "stack", string(debug.Stack()))
	}
	for _, r := range f.reads[f.landed:] {
		r.end(ErrAlone)
	}
}

// isRefused reports whether Postgres does not do what it was asked for, and not because of the connection.
func isRefused(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && !isStale(err) && !isEnded(err)
}

// read reads on the connection, which is bound to one company after the other. It ends with the first error: the
// transaction has ended with it, too.
func (f *flight) read(ctx context.Context, conn *pgconn.PgConn) (err error) {
	isKept, pipeline := false, (*pgconn.Pipeline)(nil)
	defer func() {
		if !isKept {
			// Nobody knows what is prepared, whose rows it sees, and how much is still to come.
			_ = conn.Close(context.WithoutCancel(ctx)) // the pool opens another one
		}
		if pipeline == nil {
			return
		}
		if closing := pipeline.Close(); err == nil {
			err = closing
		}
		if isStale(err) {
			_ = conn.Close(context.WithoutCancel(ctx))
		}
		if err != nil {
			unbind(conn) // what was set is undone with the transaction
		}
	}()
	known := statementsOf(conn)
	var missing []Statement
	for i, r := range f.reads {
		if r.binding = (Statement{}); i == 0 || r.companyID != f.reads[i-1].companyID {
			binding := f.joint.store.locks.change(conn, r.companyID)
			if r.binding = binding.statement; r.binding != (Statement{}) {
				missing = lacking(known, missing, r.binding)
			}
			binding.made(conn, nil) // as the next one finds it
		}
		for n := range r.reads {
			missing = lacking(known, missing, r.reads[n].Statement)
		}
	}
	if err := prepare(ctx, conn, known, missing, false); err != nil {
		if isRefused(err) {
			return errUnprepared
		}
		return err
	}
	pipeline = conn.StartPipeline(ctx)
	sender := sender{pipeline: pipeline, known: known}
	for _, r := range f.reads {
		if r.binding != (Statement{}) {
			sender.send(r.companyID, &Read{Statement: r.binding})
		}
		for n := range r.reads {
			sender.send(r.companyID, &r.reads[n])
		}
	}
	if err := pipeline.Sync(); err != nil {
		return err
	}
	for _, r := range f.reads {
		err, own := f.receive(r, pipeline)
		switch {
		case own != nil:
			f.joint.setApart(r.companyID)
			r.end(own)
			f.landed++
			return nil
		case err != nil:
			isKept = !errors.Is(err, errUnwanted)
			return err
		}
		r.end(nil)
		f.landed++
	}
	isKept = true
	return nil
}

// receive hands out the rows of a read, unless it was given up. The error own is that of whoever receives them.
func (f *flight) receive(r *jointRead, pipeline *pgconn.Pipeline) (err, own error) {
	if r.binding != (Statement{}) {
		if err := nextRows(pipeline, noRows); err != nil {
			return err, nil
		}
	}
	isDecided, isWanted := false, false
	take := func() {
		if !isDecided {
			isDecided, isWanted = true, r.isTaken.CompareAndSwap(false, true)
		}
	}
	for n := range r.reads {
		if err := nextRows(pipeline, func(values [][]byte) error {
			for _, value := range values {
				r.bytes += len(value)
			}
			if r.bytes > mostJointBytes {
				return errUnwanted
			}
			if take(); isWanted {
				f.isReceiving = true
				own = r.receive(n, values)
				f.isReceiving = false
			}
			if own != nil {
				return errUnwanted
			}
			return nil
		}); err != nil {
			return err, own
		}
	}
	take()
	return nil, nil
}

// end tells whoever waits what came of the read.
func (r *jointRead) end(err error) {
	if traced := r.traced; traced != nil {
		r.traced = nil
		traced(err)
	}
	r.err = err
	r.done <- struct{}{}
}
