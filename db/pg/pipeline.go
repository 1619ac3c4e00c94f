package pg

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// pipelineDepth is how many requests are on their way on one connection, and pipelineShare how many of one company
	// while others wait.
	pipelineDepth = 16
	pipelineShare = 4
	// mostQueued is how many requests wait for a pipeline. Those beyond read on connections of their own.
	mostQueued = 16 * pipelineDepth
	// pipelinePatience is how long a request waits for its rows before it reads on a connection of its own.
	pipelinePatience = 100 * time.Millisecond
	// pipelineStalls is how long a pipeline receives nothing before nobody waits for it if there may be another one.
	pipelineStalls = time.Millisecond
	// pipelineRequests and pipelineTime are how many requests a pipeline sends, and how long it lasts at most, before it
	// is begun anew.
	pipelineRequests = 256
	pipelineTime     = 2 * time.Second
	// mostKeyBytes is how long the keys of one request are together, and mostPipelinedBytes what is received for it.
	mostKeyBytes       = 16 << 10
	mostPipelinedBytes = 256 << 10
)

// MostPipelinedReads is how many reads one request may send by a pipeline.
const MostPipelinedReads = 12

// ErrUnshared says that reads have to be made again by a Reader, on a connection of their own.
var ErrUnshared = errors.New("to be read on a connection of its own")

// pipelines send the reads of many requests on few connections, without waiting for one response before the next request is
// sent. Each request ends with a Sync of its own, which makes it a transaction of its own: what fails, or is given up,
// concerns that request alone.
type pipelines struct {
	db       *DB
	most     int
	patience time.Duration

	mu     sync.Mutex
	queue  []*pipelined
	active []*pipeline
}

// pipelined is what one request reads.
type pipelined struct {
	ctx     context.Context
	scope   Scope
	reads   []Read
	receive Receive
	// isTaken: rows have come, or the request was given up. Only one of both happens.
	isTaken atomic.Bool
	// bind binds the connection to the company for the request alone; empty if it is bound.
	bind   Statement
	traced func(error)
	// done gets one value when err and panicked are what came of it.
	done     chan struct{}
	err      error
	panicked any
}

// ReadShared is Read of at most MostPipelinedReads on a connection that others use at the same time. It returns ErrUnshared if
// that cannot be done now, or was not done in time. It asks no budget. After an error nobody else may use the memory of
// reads or what receive writes to: they may still be in use.
func (r Reads) ReadShared(ctx context.Context, reads []Read, receive Receive) error {
	p := r.scope.db.pipelines
	if p == nil || len(reads) > MostPipelinedReads || lengthOf(reads) > mostKeyBytes {
		return ErrUnshared
	}
	return p.read(&pipelined{ctx: ctx, scope: r.scope, reads: reads, receive: receive, done: make(chan struct{}, 1)})
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

// read sends a request by a new pipeline if there may be another one, and else waits for one.
func (p *pipelines) read(r *pipelined) error {
	p.mu.Lock()
	if p.mayOpen() {
		line := p.add()
		if len(p.queue) == 0 {
			p.mu.Unlock()
			line.begin(r)
			<-r.done
			return r.result()
		}
		go line.run()
	}
	if len(p.queue) >= mostQueued {
		p.mu.Unlock()
		return ErrUnshared
	}
	p.queue = append(p.queue, r)
	patience := time.NewTimer(p.patience)
	defer patience.Stop()
	p.mu.Unlock()
	err := ErrUnshared
	select {
	case <-r.done:
		return r.result()
	case <-patience.C:
	case <-r.ctx.Done():
		err = r.ctx.Err()
	}
	if r.isTaken.CompareAndSwap(false, true) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.queue = slices.DeleteFunc(p.queue, func(other *pipelined) bool { return other == r })
		return err
	}
	<-r.done // its rows have come
	return r.result()
}

func (r *pipelined) result() error {
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.err
}

// mayOpen reports whether there may be another pipeline: one for each processor, and more while none of them receives
// anything, since the database is far away or one request takes long. The caller holds mu.
func (p *pipelines) mayOpen() bool {
	if len(p.active) < min(p.most, runtime.GOMAXPROCS(0)) {
		return true
	}
	now := time.Now()
	moves := func(line *pipeline) bool { return now.Sub(line.movedAt) < pipelineStalls }
	return len(p.active) < p.most && !slices.ContainsFunc(p.active, moves)
}

// Pipelines returns how many pipelines there may be and how many there are, and how many requests wait for one.
func (d *DB) Pipelines() (most, active, waiting int) {
	if d.pipelines == nil {
		return 0, 0, 0
	}
	d.pipelines.mu.Lock()
	defer d.pipelines.mu.Unlock()
	return d.pipelines.most, len(d.pipelines.active), len(d.pipelines.queue)
}

// LimitPipelines sets how many pipelines there may be, and how long a request waits for its rows.
func (d *DB) LimitPipelines(most int, patience time.Duration) {
	d.pipelines.mu.Lock()
	defer d.pipelines.mu.Unlock()
	d.pipelines.most, d.pipelines.patience = most, patience
}

// add adds a pipeline to the active ones. The caller holds mu.
func (p *pipelines) add() *pipeline {
	line := &pipeline{of: p, movedAt: time.Now()}
	p.active = append(p.active, line)
	return line
}

// next returns the request that a pipeline sends next, of a company with few on their way by it, or nil. The caller holds mu.
func (p *pipelines) next(sent []*pipelined) *pipelined {
	for _, share := range []int{pipelineShare, pipelineDepth} {
		for i, r := range p.queue {
			own := 0
			for _, other := range sent {
				if other.scope.companyID == r.scope.companyID {
					own++
				}
			}
			if own < share {
				p.queue = slices.Delete(p.queue, i, i+1)
				return r
			}
		}
	}
	return nil
}
