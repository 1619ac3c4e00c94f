package gateway

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/agentgraph/agentgraph/model"
)

// responseMemory counts the bytes of responses from the moment when they are begun until a client has taken them. The
// budget has a soft and a hard bound, and one key reaches the hard bound before all keys together do. Above the soft
// bound no response may become large; above the hard bound none may become larger than smallResponse.
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
	// users counts the open outgoing of the key. The mutex of responseMemory guards it.
	users int
}

const (
	// keyShare and hardBound are parts of the budget, in quarters.
	keyShare  = 3
	hardBound = 6
	// smallResponse is the size, in bytes, up to which responses are made at any time.
	smallResponse = 64 << 10
)

func newResponseMemory(s Settings) *responseMemory {
	return &responseMemory{budget: mostLarge * s.ResponseBytes, keys: map[model.KeyRef]*keyMemory{}}
}

// outgoing counts the responses to one HTTP request, or to one operation of a socket. Responses of an operation may be
// made at the same time, but only one goroutine writes them.
type outgoing struct {
	memory *responseMemory
	of     model.KeyRef
	key    *keyMemory
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
func (m *responseMemory) open(of model.KeyRef) *outgoing {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := m.keys[of]
	if key == nil {
		key = &keyMemory{}
		m.keys[of] = key
	}
	key.users++
	return &outgoing{memory: m, of: of, key: key}
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

// hasRoom reports whether so many bytes may be added before only small responses may be made.
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

// made notes that a response of so many bytes, which are counted already, is to be written.
func (o *outgoing) made(bytes int64) { o.unwritten.Add(bytes) }

// written notes that the client has taken everything that was made, or will take nothing more.
func (o *outgoing) written() { o.add(-o.unwritten.Swap(0)) }
