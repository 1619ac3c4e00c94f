package gateway

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"
)

// responseMemory counts the bytes of responses from their start until a client has taken them. All responses together
// have a soft and a hard bound; the responses to one company have a lower hard bound. Above the soft bound no response
// may become large. Above a hard bound none may exceed smallResponse.
type responseMemory struct {
	// budget is the soft bound of all responses.
	budget int64
	held   atomic.Int64

	mu        sync.Mutex
	companies map[string]*companyMemory
}

// companyMemory counts the responses to one company.
type companyMemory struct {
	held atomic.Int64
	// The mutex of responseMemory guards the fields below. users counts the company's open outgoing values.
	users   int
	waiting map[*outgoing]time.Time
	// large maps the hashes of documents to the bytes that their responses took to make. It has at most maxLargeKnown
	// entries, and no entries for small responses.
	large map[uint64]int64
}

const (
	// companyShare bounds the responses to one company, and hardBound all responses, in quarters of the budget.
	companyShare = 3
	hardBound    = 6
	// smallResponse is the size in bytes up to which a response is always made. The client of a larger response may be
	// dropped if it is slow.
	smallResponse = 64 << 10
	// slowAfter is how long a response waits for its client before the client may be dropped in favor of others.
	slowAfter = 5 * time.Second
	// maxLargeKnown bounds the entries of companyMemory.large.
	maxLargeKnown = 64
)

var documentHashes = maphash.MakeSeed()

func newResponseMemory(s Settings) *responseMemory {
	return &responseMemory{budget: maxLarge * s.ResponseBytes, companies: map[string]*companyMemory{}}
}

// outgoing counts the responses to one HTTP request, or to one operation of a socket. Responses of an operation may be
// made at the same time, but only one goroutine writes them.
type outgoing struct {
	memory    *responseMemory
	companyID string
	company   *companyMemory
	// The function drop ends the connection without waiting for the client. It may be nil.
	drop func()
	// unwritten is the number of bytes made and not yet taken by the client.
	unwritten atomic.Int64
}

type outgoingKey struct{}

func withOutgoing(ctx context.Context, o *outgoing) context.Context {
	return context.WithValue(ctx, outgoingKey{}, o)
}

// outgoingOf returns the context's outgoing, or nil.
func outgoingOf(ctx context.Context) *outgoing {
	o, _ := ctx.Value(outgoingKey{}).(*outgoing)
	return o
}

// open starts to count the responses to a caller. The caller of open must call close once.
func (m *responseMemory) open(companyID string, drop func()) *outgoing {
	// Allocations can wait for the garbage collector, so they are made before the lock that all requests need.
	o, unknown := &outgoing{memory: m, companyID: companyID, drop: drop}, &companyMemory{}
	m.mu.Lock()
	defer m.mu.Unlock()
	if o.company = m.companies[companyID]; o.company == nil {
		o.company, m.companies[companyID] = unknown, unknown
	}
	o.company.users++
	return o
}

// close releases the unwritten bytes.
func (o *outgoing) close() {
	o.release()
	o.memory.mu.Lock()
	defer o.memory.mu.Unlock()
	if o.company.users--; o.company.users == 0 {
		delete(o.memory.companies, o.companyID)
	}
}

// addBytes counts bytes, or releases them if the number is negative.
func (o *outgoing) addBytes(bytes int64) {
	o.company.held.Add(bytes)
	o.memory.held.Add(bytes)
}

// hasRoom reports whether the bytes stay within the hard bounds. Above these, responses stay small.
func (o *outgoing) hasRoom(bytes int64) bool {
	m := o.memory
	return o.company.held.Load()+bytes <= m.budget/4*companyShare && m.held.Load()+bytes <= m.budget/4*hardBound
}

// limitNow returns how many bytes a response may have now. limit is its bound while there is enough memory.
func (o *outgoing) limitNow(limit int64) int64 {
	switch {
	case !o.hasRoom(0):
		return min(smallResponse, limit/largeShare)
	case o.memory.held.Load() > o.memory.budget:
		return limit / largeShare
	}
	return limit
}

// noteLarge records how many bytes a response took to make, or had taken when it was abandoned.
func (o *outgoing) noteLarge(document string, bytes int64) {
	if bytes < smallResponse || document == "" {
		return
	}
	hash := maphash.String(documentHashes, document)
	o.memory.mu.Lock()
	defer o.memory.mu.Unlock()
	if len(o.company.large) >= maxLargeKnown || o.company.large == nil {
		o.company.large = map[uint64]int64{}
	}
	o.company.large[hash] = max(o.company.large[hash], bytes)
}

// isHopeless reports whether the response to a document is likely to exceed the memory that is available. Such a
// document is refused before it queries Postgres.
func (o *outgoing) isHopeless(document string) bool {
	if document == "" || o.hasRoom(o.memory.budget/maxLarge) {
		return false
	}
	o.memory.mu.Lock()
	bytes := o.company.large[maphash.String(documentHashes, document)]
	o.memory.mu.Unlock()
	return bytes > 0 && !o.hasRoom(bytes)
}

// startWrite records a response that is about to be written. Its bytes are counted already. If too many bytes are
// unwritten, startWrite drops a client of the company that has the most: the one whose response has waited longest, if
// that is longer than slowAfter.
func (o *outgoing) startWrite(bytes int64) {
	o.unwritten.Add(bytes)
	if bytes < smallResponse || o.drop == nil {
		return
	}
	m := o.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if o.company.waiting == nil {
		o.company.waiting = map[*outgoing]time.Time{}
	}
	if _, waits := o.company.waiting[o]; !waits {
		o.company.waiting[o] = time.Now()
	}
	heaviest := o.company
	if m.held.Load() > m.budget {
		for _, company := range m.companies {
			if company.held.Load() > heaviest.held.Load() {
				heaviest = company
			}
		}
	} else if o.company.held.Load() <= m.budget/4*companyShare {
		return
	}
	if slowest := heaviest.slowest(time.Now().Add(-slowAfter)); slowest != nil {
		delete(heaviest.waiting, slowest)
		go slowest.drop()
	}
}

// slowest returns the response that has waited longest for its client, or nil if none has waited since before the given
// time.
func (c *companyMemory) slowest(before time.Time) (slowest *outgoing) {
	for o, since := range c.waiting {
		if since.Before(before) {
			slowest, before = o, since
		}
	}
	return slowest
}

// release releases all bytes made so far: the client has taken them.
func (o *outgoing) release() {
	bytes := o.unwritten.Swap(0)
	o.addBytes(-bytes)
	if bytes < smallResponse {
		return
	}
	o.memory.mu.Lock()
	defer o.memory.mu.Unlock()
	delete(o.company.waiting, o)
}
