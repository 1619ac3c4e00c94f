// Package notify wakes the replicas that share a database. A signal says that something changed,
// never what: who is woken reads it from the rows, and does so on a slow timer besides, because a
// signal may be lost. Text that is being generated travels the same way, and may be lost as well.
package notify

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/agentgraph/agentgraph/model"
)

const (
	channel = "agentgraph"

	connectTimeout = 10 * time.Second
	closeTimeout   = time.Second
	firstBackoff   = 50 * time.Millisecond
	lastBackoff    = 5 * time.Second
)

// Key is what a signal is about: something of one company. Only subscriptions to the very same key
// see the signal.
type Key struct{ CompanyID, ID string }

// Hub carries signals between the replicas. However many subscribe, a replica listens on one
// connection, and however many signal, it notifies in one statement at a time. It is safe for
// concurrent use.
type Hub struct {
	pool   *pgxpool.Pool
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	outbox outbox
	// heard is closed when the replica begins to listen for the first time.
	heard     chan struct{}
	hearsOnce sync.Once

	mu            sync.Mutex
	listening     bool
	subscriptions map[Key]map[*Subscription]struct{}
}

// New returns a Hub on the pool. It connects to listen at the first subscription, outside of the pool's bounds.
// Close ends it, before the pool is closed.
func New(pool *pgxpool.Pool) *Hub {
	ctx, cancel := context.WithCancel(context.Background())
	h := &Hub{
		pool: pool, ctx: ctx, cancel: cancel, outbox: newOutbox(), heard: make(chan struct{}),
		subscriptions: map[Key]map[*Subscription]struct{}{},
	}
	h.work.Go(h.notify)
	return h
}

// Close sends what waits to be sent and ends everything that the Hub runs. Subscriptions stay silent from then on.
func (h *Hub) Close() {
	h.mu.Lock()
	h.cancel()
	h.mu.Unlock()
	h.work.Wait()
}

// Wake signals everyone who subscribed to the key, on every replica. It returns at once, and is to be
// called after the commit: a signal within a transaction would make all commits wait for each other.
func (h *Hub) Wake(key Key) { h.outbox.wake(key) }

// Write streams the next piece of the message that is being generated under the key to everyone who
// subscribed. It returns at once. Pieces that follow one another arrive as one, or as several.
func (h *Hub) Write(key Key, piece model.MessageDelta) { h.outbox.write(key, piece) }

// Announce sends a model.ToolCallStarted, model.ToolCallFinished or model.TurnFailed in order with the text
// of the message of the sequence. Arguments, results and reasons that are too large are left out or cut.
func (h *Hub) Announce(key Key, sequence int32, event model.SimulationChatEvent) {
	h.outbox.announce(key, sequence, event)
}

// Piece is something that happens while the message of the sequence is being generated: a
// model.MessageDelta, model.ToolCallStarted, model.ToolCallFinished or model.TurnFailed.
type Piece struct {
	Sequence int32
	Event    model.SimulationChatEvent
}

// Subscription receives the signals of one key.
type Subscription struct {
	hub   *Hub
	key   Key
	woken chan struct{}
	// arrived holds a token while pieces are held.
	arrived chan struct{}
	// alert is told of all that comes; nil when nobody wants that.
	alert  func(isMissed bool)
	mu     sync.Mutex
	pieces []Piece
}

const (
	// heldPieces is how many pieces a subscription holds for a slow reader before text is dropped, and
	// mostPieces before calls are dropped as well.
	heldPieces = 256
	mostPieces = 16_384
)

// Subscribe begins to receive the signals of the key. Close ends it.
func (h *Hub) Subscribe(key Key) *Subscription { return h.Watch(key, nil) }

// Watch is Subscribe for one that has no goroutine waiting. alert is called after a signal or a piece, and, with true,
// when signals may have been missed, for every subscription at the same time. It must not wait, nor use the Hub.
func (h *Hub) Watch(key Key, alert func(isMissed bool)) *Subscription {
	s := &Subscription{hub: h, key: key, woken: make(chan struct{}, 1), arrived: make(chan struct{}, 1), alert: alert}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.subscriptions[key] == nil {
		h.subscriptions[key] = map[*Subscription]struct{}{}
	}
	h.subscriptions[key][s] = struct{}{}
	if !h.listening && h.ctx.Err() == nil {
		h.listening = true
		h.work.Go(h.listen)
	}
	return s
}

// Listening returns when the replica listens, or ctx ends. What is signalled before that wakes nobody
// here, and pieces of text are lost.
func (h *Hub) Listening(ctx context.Context) {
	select {
	case <-h.heard:
	case <-ctx.Done():
	}
}

// Woken receives once after any number of signals. It also receives when signals may have been missed.
func (s *Subscription) Woken() <-chan struct{} { return s.woken }

// Arrived receives once after any number of pieces.
func (s *Subscription) Arrived() <-chan struct{} { return s.arrived }

// Pieces takes what has happened so far, in order; what came before a signal is there when the signal
// is received. A reader that falls behind misses text, and hardly ever a call.
func (s *Subscription) Pieces() []Piece {
	s.mu.Lock()
	defer s.mu.Unlock()
	pieces := s.pieces
	s.pieces = nil
	return pieces
}

func (s *Subscription) hold(p Piece) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, isText := p.Event.(model.MessageDelta)
	if len(s.pieces) >= mostPieces || isText && len(s.pieces) >= heldPieces {
		return
	}
	s.pieces = append(s.pieces, p)
	raise(s.arrived)
}

// Close ends the subscription. Its channels stay open and silent.
func (s *Subscription) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	delete(s.hub.subscriptions[s.key], s)
	if len(s.hub.subscriptions[s.key]) == 0 {
		delete(s.hub.subscriptions, s.key)
	}
}

// listen receives until the Hub closes, on a new connection whenever one breaks.
func (h *Hub) listen() {
	backoff := firstBackoff
	for {
		if h.receive() {
			backoff = firstBackoff
		}
		select {
		case <-h.ctx.Done():
			return
		case <-time.After(backoff/2 + rand.N(backoff)):
		}
		backoff = min(2*backoff, lastBackoff)
	}
}

// receive listens on one connection until it breaks, and reports whether it ever could.
func (h *Hub) receive() bool {
	connecting, cancel := context.WithTimeout(h.ctx, connectTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(connecting, h.pool.Config().ConnConfig)
	if err != nil {
		return false
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), closeTimeout)
		defer cancel()
		_ = conn.Close(closing)
	}()
	if _, err := conn.Exec(connecting, "LISTEN "+channel); err != nil {
		return false
	}
	h.hearsOnce.Do(func() { close(h.heard) })
	h.wakeAll()
	for {
		notification, err := conn.WaitForNotification(h.ctx)
		if err != nil {
			return true
		}
		h.deliver(notification.Payload)
	}
}

// wakeAll stands for the signals that were missed while nobody listened.
func (h *Hub) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, subscriptions := range h.subscriptions {
		for s := range subscriptions {
			if s.alert != nil {
				s.alert(true)
				continue
			}
			raise(s.woken)
		}
	}
}

func (h *Hub) deliver(payload string) {
	var sig signal
	if err := json.Unmarshal([]byte(payload), &sig); err != nil {
		return // not ours: anybody may notify on a channel
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subscriptions[Key{sig.CompanyID, sig.ID}] {
		if event := sig.piece(); event != nil {
			s.hold(Piece{sig.Sequence, event})
		} else {
			raise(s.woken)
		}
		if s.alert != nil {
			s.alert(false)
		}
	}
}
