package gateway

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentgraph/agentgraph/model"
)

// responseMemory counts the bytes of responses from their start until a client has taken them. The budget has a
// soft and a hard bound, and one key reaches the hard bound before all keys together do. Above the soft bound no
// response may become large; above the hard bound none may become larger than smallResponse.
type responseMemory struct {
	// budget is the soft bound of all responses.
	budget int64
	held   atomic.Int64

	mu   sync.Mutex
	keys map[model.KeyRef]*keyMemory
}

// keyMemory is what responses to one API key hold.
type keyMemory struct {
	held atomic.Int64
	// The mutex of responseMemory guards the fields below. users counts the open outgoing of the key.
	users   int
	waiting map[*outgoing]time.Time
	// large has the bytes that responses to queries took to make, by the documents' hashes, at most mostLargeKnown of
	// them. Small responses are left out.
	large map[uint64]int64
}

const (
	// keyShare and hardBound are parts of the budget, in quarters.
	keyShare  = 3
	hardBound = 6
	// smallResponse is the size, in bytes, up to which responses are made at any time. Larger ones that wait for their
	// client may be dropped.
	smallResponse = 64 << 10
	// slowAfter is how long a response waits for its client before the client may be dropped in favor of others.
	slowAfter = 5 * time.Second
	// mostLargeKnown bounds the documents that a key is known to have large responses for.
	mostLargeKnown = 64
)

// documentHashes is the seed of the hashes of documents.
var documentHashes = maphash.MakeSeed()

func newResponseMemory(s Settings) *responseMemory {
	return &responseMemory{budget: mostLarge * s.ResponseBytes, keys: map[model.KeyRef]*keyMemory{}}
}

// outgoing counts the responses to one HTTP request, or to one operation of a socket. Responses of an operation may be
// made at the same time, but only one goroutine writes them.
type outgoing struct {
	memory *responseMemory
	of     model.KeyRef
	key    *keyMemory
	// drop ends the connection without waiting for the client. It may be nil.
	drop func()
	// unwritten is the number of bytes that were made and that the client has not taken.
	unwritten atomic.Int64
}

type outgoingKey struct{}

func withOutgoing(ctx context.Context, o *outgoing) context.Context {
	return context.WithValue(ctx, outgoingKey{}, o)
}

// outgoingOf returns the outgoing of the context; nil if there is none.
func outgoingOf(ctx context.Context) *outgoing {
	o, _ := ctx.Value(outgoingKey{}).(*outgoing)
	return o
}

// open begins to count the responses to a caller. The caller of open must call close once.
func (m *responseMemory) open(of model.KeyRef, drop func()) *outgoing {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := m.keys[of]
	if key == nil {
		key = &keyMemory{waiting: map[*outgoing]time.Time{}, large: map[uint64]int64{}}
		m.keys[of] = key
	}
	key.users++
	return &outgoing{memory: m, of: of, key: key, drop: drop}
}

// close gives back what was not written.
func (o *outgoing) close() {
	o.written()
	o.memory.mu.Lock()
	defer o.memory.mu.Unlock()
	if o.key.users--; o.key.users == 0 {
		delete(o.memory.keys, o.of)
	}
}

// add counts bytes, or gives them back when they are negative.
func (o *outgoing) add(bytes int64) {
	o.key.held.Add(bytes)
	o.memory.held.Add(bytes)
}

// hasRoom reports whether the bytes still fit below the soft bound, above which responses stay small.
func (o *outgoing) hasRoom(bytes int64) bool {
	m := o.memory
	return o.key.held.Load()+bytes <= m.budget/4*keyShare && m.held.Load()+bytes <= m.budget/4*hardBound
}

// most returns how large a response may become now, if it may have limit bytes while there is enough memory.
func (o *outgoing) most(limit int64) int64 {
	switch {
	case !o.hasRoom(0):
		return min(smallResponse, limit/largeShare)
	case o.memory.held.Load() > o.memory.budget:
		return limit / largeShare
	}
	return limit
}

// noteLarge remembers how many bytes a response took to make, or had taken when it was given up.
func (o *outgoing) noteLarge(document string, bytes int64) {
	if bytes < smallResponse || document == "" {
		return
	}
	hash := maphash.String(documentHashes, document)
	o.memory.mu.Lock()
	defer o.memory.mu.Unlock()
	if len(o.key.large) >= mostLargeKnown {
		clear(o.key.large)
	}
	o.key.large[hash] = max(o.key.large[hash], bytes)
}

// isHopeless reports whether the response to a document is likely to need more than there is room for. Postgres then
// need not be asked first.
func (o *outgoing) isHopeless(document string) bool {
	if document == "" || o.hasRoom(o.memory.budget/mostLarge) {
		return false
	}
	o.memory.mu.Lock()
	bytes := o.key.large[maphash.String(documentHashes, document)]
	o.memory.mu.Unlock()
	return bytes > 0 && !o.hasRoom(bytes)
}

// made records a response that is about to be written. Its bytes are counted already. When too much waits, the
// client that has let its response wait longest is dropped.
func (o *outgoing) made(bytes int64) {
	o.unwritten.Add(bytes)
	if bytes < smallResponse || o.drop == nil {
		return
	}
	m := o.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, waits := o.key.waiting[o]; !waits {
		o.key.waiting[o] = time.Now()
	}
	heaviest := o.key
	if m.held.Load() > m.budget {
		for _, key := range m.keys {
			if key.held.Load() > heaviest.held.Load() {
				heaviest = key
			}
		}
	} else if o.key.held.Load() <= m.budget/4*keyShare {
		return
	}
	if slowest := heaviest.slowest(time.Now().Add(-slowAfter)); slowest != nil {
		delete(heaviest.waiting, slowest)
		go slowest.drop()
	}
}

// slowest returns what has waited for its client longest, and since before the given time. It may be nil.
func (k *keyMemory) slowest(before time.Time) (slowest *outgoing) {
	for o, since := range k.waiting {
		if since.Before(before) {
			slowest, before = o, since
		}
	}
	return slowest
}

// written notes that the client has taken everything that was made.
func (o *outgoing) written() {
	bytes := o.unwritten.Swap(0)
	o.add(-bytes)
	if bytes < smallResponse {
		return
	}
	o.memory.mu.Lock()
	defer o.memory.mu.Unlock()
	delete(o.key.waiting, o)
}
