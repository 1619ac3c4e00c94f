// Package notify wakes the replicas that share a database. A signal says that something changed, never what: whoever is
// woken reads the rows, and also does so on a slow timer, because a signal may be lost. Text that is being generated
// travels the same way and may be lost too.
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

// Key names what a signal is about within a company. Only subscriptions to the same key receive it.
type Key struct{ CompanyID, ID string }

// Hub carries signals between replicas. A replica listens on one connection, however many subscribe, and sends one
// statement at a time, however many signal. It is safe for concurrent use.
type Hub struct {
	pool   *pgxpool.Pool
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	outbox outbox
	counts counts
	// heard is closed when the replica first listens.
	heard     chan struct{}
	hearsOnce sync.Once

	mu            sync.Mutex
	listening     bool
	subscriptions map[Key]map[*Subscription]struct{}
}

// New returns a Hub on the pool. From the first subscription on it listens on a connection of its own. Close it before
// the pool.
func New(pool *pgxpool.Pool) *Hub {
	ctx, cancel := context.WithCancel(context.Background())
	h := &Hub{
		pool: pool, ctx: ctx, cancel: cancel, outbox: newOutbox(), heard: make(chan struct{}),
		subscriptions: map[Key]map[*Subscription]struct{}{},
	}
	h.work.Go(h.notify)
	return h
}

// Close sends what is waiting and stops the Hub. Subscriptions stay silent afterwards.
func (h *Hub) Close() {
	h.mu.Lock()
	h.cancel()
	h.mu.Unlock()
	h.work.Wait()
}

// Wake signals all subscriptions to the key, on every replica, and returns at once. Call it after the commit: a signal
// within a transaction would make all commits wait for each other.
func (h *Hub) Wake(key Key) { h.outbox.wake(key) }

// Write streams the next piece of the message being generated under the key to all its subscriptions, and returns at
// once. Consecutive pieces may arrive merged or split.
func (h *Hub) Write(key Key, piece model.MessageDelta) { h.outbox.write(key, piece) }

// Announce sends a model.TurnStarted, model.ToolCallStarted, model.ToolCallFinished or model.TurnFailed, in order with the
// text of the message with the sequence. Large arguments are left out, large results and reasons are cut.
func (h *Hub) Announce(key Key, sequence int32, event model.SimulationChatEvent) {
	h.outbox.announce(key, sequence, event)
}

// Piece is one event while the message with the sequence is being generated: a model.TurnStarted, model.MessageDelta,
// model.ToolCallStarted, model.ToolCallFinished or model.TurnFailed.
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
	// alert is called for everything that arrives; nil for nobody.
	alert  func(isMissed bool)
	mu     sync.Mutex
	pieces []Piece
	// begun is a turn whose text has not arrived whole.
	begun model.TurnStarted
}

const (
	// A subscription holds heldPieces for a slow reader before it drops text, and mostPieces before it drops calls too.
	heldPieces = 256
	mostPieces = 16_384
)

// Subscribe receives the signals of the key until Close.
func (h *Hub) Subscribe(key Key) *Subscription { return h.Watch(key, nil) }

// Watch is Subscribe without a waiting goroutine: it calls alert after each signal or piece. When signals may have been
// missed, every subscription's alert is called with true. alert must neither block nor use the Hub.
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

// Listening returns when the replica listens, or ctx ends. Earlier signals wake nobody here, and earlier text is lost.
func (h *Hub) Listening(ctx context.Context) {
	select {
	case <-h.heard:
	case <-ctx.Done():
	}
}

// Woken receives once after any number of signals, and when signals may have been missed.
func (s *Subscription) Woken() <-chan struct{} { return s.woken }

// Arrived receives once after any number of pieces.
func (s *Subscription) Arrived() <-chan struct{} { return s.arrived }

// Pieces takes what has arrived, in order, including everything sent before the last received signal. A reader that
// falls behind misses text, and hardly ever a call.
func (s *Subscription) Pieces() []Piece {
	s.mu.Lock()
	defer s.mu.Unlock()
	pieces := s.pieces
	s.pieces = nil
	return pieces
}

func (s *Subscription) hold(p Piece, hasMore bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if turn, ok := p.Event.(model.TurnStarted); ok {
		if turn.TurnID == s.begun.TurnID {
			turn.Text = s.begun.Text + turn.Text
		}
		s.begun = model.TurnStarted{}
		if hasMore {
			s.begun = turn
			return
		}
		p.Event = turn
	}
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

// listen receives until the Hub closes, and reconnects whenever the connection breaks.
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

// receive listens on one connection until it breaks, and reports whether it ever listened.
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
	h.counts.isListening.Store(true)
	defer h.counts.isListening.Store(false)
	h.wakeAll()
	for {
		notification, err := conn.WaitForNotification(h.ctx)
		if err != nil {
			return true
		}
		h.deliver(notification.Payload)
	}
}

// wakeAll makes up for signals that were missed while nobody listened.
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
	h.counts.received.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subscriptions[Key{sig.CompanyID, sig.ID}] {
		if event := sig.piece(); event != nil {
			s.hold(Piece{sig.Sequence, event}, sig.HasMore)
		} else {
			raise(s.woken)
		}
		if s.alert != nil {
			s.alert(false)
		}
	}
}
