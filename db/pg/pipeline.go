package pg

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentgraph/agentgraph/model"
)

const (
	// pipelineDepth bounds the requests in flight on one connection. pipelineShare bounds the requests of one company on
	// it while other companies wait.
	pipelineDepth = 16
	pipelineShare = 4
	// maxQueued bounds the requests that wait for a pipeline. Further requests read on their own connections.
	maxQueued = 16 * pipelineDepth
	// pipelinePatience is how long a request waits for its rows before it reads on a connection of its own.
	pipelinePatience = 100 * time.Millisecond
	// pipelineStalls is how long all pipelines must receive nothing before another one may be opened.
	pipelineStalls = time.Millisecond
	// pipelineRequests and pipelineTimeout bound how much a pipeline sends before it acquires a connection again.
	pipelineRequests = 256
	pipelineTimeout  = 2 * time.Second
	// maxKeyBytes bounds the keys of one request, and maxPipelinedBytes its rows, in bytes.
	maxKeyBytes       = 16 << 10
	maxPipelinedBytes = 256 << 10
)

// MaxPipelinedReads bounds the reads that one request may send through a pipeline.
const MaxPipelinedReads = 12

// ErrUnshared is returned when reads must be repeated by a Reader, on a connection of its own.
var ErrUnshared = errors.New("the query needs its own connection")

// pipelines send the reads of many requests on a few connections, without waiting for one response before sending the
// next request. Each request ends with its own Sync and is therefore its own transaction: an error or a cancellation
// affects that request alone.
type pipelines struct {
	db        *DB
	maxActive int
	patience  time.Duration

	mu     sync.Mutex
	queue  []*pipelineRequest
	active []*pipeline
	// unpipelined counts the requests that read on their own connections because no pipeline was active.
	unpipelined int
}

type pipelineRequest struct {
	ctx     context.Context
	scope   Scope
	reads   []Read
	receive Receive
	// isTaken is set when rows arrive or when the caller gives up, whichever happens first.
	isTaken atomic.Bool
	traced  func(error)
	// done receives the outcome.
	done chan error
}

// ReadShared is Read on a connection that other requests may use at the same time, for at most MaxPipelinedReads
// reads. It returns ErrUnshared if no pipeline can take the reads, or none answers in time. After an error, do not
// reuse the memory of reads, nor what receive writes to: the pipeline may still use them. The caller counts the
// statement against the context's budget.
func (r Reads) ReadShared(ctx context.Context, reads []Read, receive Receive) error {
	p := r.scope.db.pipelines
	if p == nil || len(reads) > MaxPipelinedReads || lengthOf(reads) > maxKeyBytes {
		return ErrUnshared
	}
	q := &pipelineRequest{ctx: ctx, scope: r.scope, reads: reads, receive: receive, done: make(chan error, 1)}
	p.mu.Lock()
	switch {
	case len(p.active) == 0 && p.unpipelined < runtime.GOMAXPROCS(0):
		p.unpipelined++
		p.mu.Unlock()
		defer func() { p.mu.Lock(); p.unpipelined--; p.mu.Unlock() }()
		return r.Read(model.WithMemoryBudget(ctx, nil), reads, receive)
	case len(p.queue) >= maxQueued:
		p.mu.Unlock()
		return ErrUnshared
	}
	if p.queue = append(p.queue, q); p.mayOpen() {
		line := &pipeline{owner: p, movedAt: time.Now()}
		p.active = append(p.active, line)
		go line.run()
	}
	patience := time.NewTimer(p.patience)
	defer patience.Stop()
	p.mu.Unlock()
	err := ErrUnshared
	select {
	case err = <-q.done:
		return err
	case <-patience.C:
	case <-q.ctx.Done():
		err = q.ctx.Err()
	}
	if !q.isTaken.CompareAndSwap(false, true) {
		return <-q.done // its rows are arriving
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = slices.DeleteFunc(p.queue, func(other *pipelineRequest) bool { return other == q })
	return err
}

// lengthOf returns the length of the keys of all reads, in bytes.
func lengthOf(reads []Read) (bytes int) {
	for i := range reads {
		for _, key := range reads[i].Keys {
			bytes += len(key)
		}
	}
	return bytes
}

// mayOpen reports whether another pipeline may be opened. There is one for each processor, and more while none of
// them receives anything: the database may be far away, or one request slow. The caller holds mu.
func (p *pipelines) mayOpen() bool {
	if len(p.active) < min(p.maxActive, runtime.GOMAXPROCS(0)) {
		return true
	}
	now := time.Now()
	moves := func(line *pipeline) bool { return now.Sub(line.movedAt) < pipelineStalls }
	return len(p.active) < p.maxActive && !slices.ContainsFunc(p.active, moves)
}

// Pipelines returns the maximum number of pipelines, the number of active ones, and how many requests wait for one.
func (d *DB) Pipelines() (limit, active, waiting int) {
	if d.pipelines == nil {
		return 0, 0, 0
	}
	d.pipelines.mu.Lock()
	defer d.pipelines.mu.Unlock()
	return d.pipelines.maxActive, len(d.pipelines.active), len(d.pipelines.queue)
}

// LimitPipelines sets the maximum number of pipelines and how long a request waits for its rows. From then on, every
// request goes through a pipeline.
func (d *DB) LimitPipelines(limit int, patience time.Duration) {
	d.pipelines.mu.Lock()
	defer d.pipelines.mu.Unlock()
	d.pipelines.maxActive, d.pipelines.patience, d.pipelines.unpipelined = limit, patience, math.MaxInt32
}

// next removes the next request to send from the queue, or returns nil. A company with pipelineShare requests in
// flight waits while other companies have requests. The caller holds mu.
func (p *pipelines) next(sent []*pipelineRequest) *pipelineRequest {
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
