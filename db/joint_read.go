package db

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Bounds of joint reads: what a company's reads may make those of others wait.
const (
	// flightSize is how many requests are read together, and flightShare how many of one company while others wait.
	flightSize  = 16
	flightShare = 4
	// mostWaiting is how many requests wait for flights. Those beyond read alone.
	mostWaiting = 16 * flightSize
	// mostKeyBytes is how long the keys of one request are together, and mostJointBytes what is received for it.
	mostKeyBytes   = 16 << 10
	mostJointBytes = 256 << 10
	// jointPatience is how long a request waits before it reads alone, and flightTime how long a flight may take.
	jointPatience = 100 * time.Millisecond
	flightTime    = 500 * time.Millisecond
	// jointPause is how long the requests of a company read alone after one of them did not fit in: it failed, found too
	// much, or was the second within that time in a flight that took longer than jointPatience. As many companies are
	// remembered as mostApart.
	jointPause = 10 * time.Second
	mostApart  = 1024
	// nearby is the longest round trip to a database that is near, for which few flights at a time suffice, and tooFar the
	// shortest to one that is too far away for several requests to wait for each other.
	nearby = 500 * time.Microsecond
	tooFar = 20 * time.Millisecond
)

// MostJointReads is how many reads one request may have made together with those of others.
const MostJointReads = MostReads / flightSize

// ErrAlone says that a read has to be made again by a Reader: it cannot be made together with others now.
var ErrAlone = errors.New("to be read alone")

// jointReads reads what several requests want in one round trip and one transaction, a flight: those that come while as many
// flights as permitted are under way share the next one. What is wrong with a flight is nobody's error, since all
// that it has not read is read alone then. Only reads that find little by an index should be made so.
type jointReads struct {
	store       *Store
	connections int
	patience    time.Duration
	flightTime  time.Duration

	mu      sync.Mutex
	flying  int
	waiting []*jointRead
	// apart has companies with requests that did not fit in.
	apart *simplelru.LRU[string, misfit]
}

// misfit says that requests of a company did not fit in, until when this counts, and whether they read alone as long.
type misfit struct {
	until   time.Time
	isAlone bool
}

func newJointReads(store *Store, connections int) *jointReads {
	// The only error is a size below one.
	apart, _ := simplelru.NewLRU[string, misfit](mostApart, nil)
	return &jointReads{store: store, connections: connections, patience: jointPatience, flightTime: flightTime, apart: apart}
}

// jointConnections is how many flights there may be at a time, 0 for none. Those to a database that is near are bounded by the
// processors, and flights get fuller the busier these are. For one that is further away there are more: it is not the
// processors that are waited for.
func jointConnections(ctx context.Context, reads *pgxpool.Pool) (int, error) {
	most := int(reads.Config().MaxConns)
	trip := time.Hour
	for range 3 {
		start := time.Now()
		if err := reads.Ping(ctx); err != nil {
			return 0, err
		}
		trip = min(trip, time.Since(start))
	}
	if trip >= tooFar {
		return 0, nil
	}
	near := min(runtime.GOMAXPROCS(0), most/4)
	return min(near*int(1+trip/nearby), most/2), nil
}

// jointRead is what a request wants read.
type jointRead struct {
	ctx       context.Context
	companyID string
	reads     []Read
	receive   Receive
	// isTaken: rows have come, or it was given up by whoever waited for it. Only one of both happens.
	isTaken atomic.Bool
	// binding binds the connection to the company, unless it is. traced ends what is told the tracer. bytes were received.
	binding Statement
	traced  func(error)
	bytes   int
	// done gets one value once err and panicked are what came of it.
	done     chan struct{}
	err      error
	panicked any
	patience *time.Timer
}

// jointReadPool recycles the memory of reads that went well.
var jointReadPool = sync.Pool{New: func() any {
	r := &jointRead{done: make(chan struct{}, 1), patience: time.NewTimer(time.Hour)}
	r.patience.Stop()
	return r
}}

// MayReadJointly reports whether ReadJointly is of use now.
func (t *Tenant) MayReadJointly() bool {
	return t.store.joint != nil && !t.store.joint.isApart(t.companyID)
}

// ReadJointly is Read of at most MostJointReads, together with what other requests want read, of this company or of others.
// It returns ErrAlone if this cannot be done now. It asks no budget. After any error, nobody else may use the memory of reads or
// what receive writes to: they may still be in use.
func (t *Tenant) ReadJointly(ctx context.Context, reads []Read, receive Receive) error {
	if t.store.joint == nil || len(reads) > MostJointReads || lengthOf(reads) > mostKeyBytes {
		return ErrAlone
	}
	r := jointReadPool.Get().(*jointRead)
	r.ctx, r.companyID, r.reads, r.receive, r.bytes, r.err = ctx, t.companyID, reads, receive, 0, nil
	r.isTaken.Store(false)
	if err := t.store.joint.read(r); err != nil {
		return err
	}
	r.ctx, r.reads, r.receive = nil, nil, nil
	jointReadPool.Put(r)
	return nil
}

// lengthOf is the length of the keys of reads, in bytes.
func lengthOf(reads []Read) (bytes int) {
	for i := range reads {
		for _, key := range reads[i].Keys {
			bytes += len(key)
		}
	}
	return bytes
}

// read reads at once, if there may be another flight, and else waits for one.
func (j *jointReads) read(r *jointRead) error {
	j.mu.Lock()
	switch {
	case len(j.waiting) == 0 && j.flying < j.connections:
		j.flying++
		j.mu.Unlock()
		j.flyAlone(r)
		return r.result()
	case len(j.waiting) >= mostWaiting:
		j.mu.Unlock()
		return ErrAlone
	}
	j.waiting = append(j.waiting, r)
	j.mu.Unlock()
	r.patience.Reset(j.patience)
	defer r.patience.Stop()
	select {
	case <-r.done:
		return r.result()
	case <-r.patience.C:
		if r.isTaken.CompareAndSwap(false, true) {
			return ErrAlone
		}
	case <-r.ctx.Done():
		if r.isTaken.CompareAndSwap(false, true) {
			return r.ctx.Err()
		}
	}
	<-r.done // its rows have come
	return r.result()
}

func (r *jointRead) result() error {
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.err
}

// flyAlone is a flight of one, by whoever wants it, after which others fly on.
func (j *jointReads) flyAlone(r *jointRead) {
	defer func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		if len(j.waiting) == 0 {
			j.flying--
			return
		}
		go j.flyOn()
	}()
	j.fly(r.ctx, []*jointRead{r})
	<-r.done
}

// flyOn makes flights until nobody waits.
func (j *jointReads) flyOn() {
	flight := make([]*jointRead, 0, flightSize)
	for {
		j.mu.Lock()
		if flight = j.board(flight); len(flight) == 0 {
			j.flying--
			j.mu.Unlock()
			return
		}
		j.mu.Unlock()
		j.fly(context.Background(), flight)
		clear(flight)
		flight = flight[:0]
	}
}

// board moves those who fly next from the waiting ones to the flight: in order of arrival, but no more of one company than its
// share while others wait. Those whose company has been set apart meanwhile do not fly.
func (j *jointReads) board(flight []*jointRead) []*jointRead {
	for _, share := range []int{flightShare, flightSize} {
		left := j.waiting[:0]
		for _, r := range j.waiting {
			switch {
			case r.isTaken.Load():
			case j.apart.Len() > 0 && j.isApartLocked(r.companyID):
				r.end(ErrAlone)
			case len(flight) < flightSize && countOf(flight, r.companyID) < share:
				flight = append(flight, r)
			default:
				left = append(left, r)
			}
		}
		clear(j.waiting[len(left):])
		j.waiting = left
	}
	return flight
}

func countOf(flight []*jointRead, companyID string) (n int) {
	for _, r := range flight {
		if r.companyID == companyID {
			n++
		}
	}
	return n
}

// isApart reports whether the company's requests read alone for now.
func (j *jointReads) isApart(companyID string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.apart.Len() > 0 && j.isApartLocked(companyID)
}

// isApartLocked is isApart for who holds mu.
func (j *jointReads) isApartLocked(companyID string) bool {
	known, _ := j.apart.Get(companyID)
	return known.isAlone && time.Now().Before(known.until)
}

// setApart has the company's requests read alone for some time.
func (j *jointReads) setApart(companyID string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.apart.Add(companyID, misfit{time.Now().Add(jointPause), true})
}

// suspect sets those of the companies apart that were suspected before, of being what a flight waited for. One may be slow
// because the machine is.
func (j *jointReads) suspect(companies []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	for _, companyID := range companies {
		known, isKnown := j.apart.Get(companyID)
		j.apart.Add(companyID, misfit{now.Add(jointPause), isKnown && now.Before(known.until)})
	}
}

// before orders reads by company, first those of the company that the connection is bound to.
func before(bound string) func(a, b *jointRead) int {
	return func(a, b *jointRead) int {
		if isBound, isToo := a.companyID == bound, b.companyID == bound; isBound != isToo {
			if isBound {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.companyID, b.companyID)
	}
}
