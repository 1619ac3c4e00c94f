// Package notify wakes the replicas that share a database. A signal says that something changed, but not what: the
// receiver reads the rows. It also reads them on a slow timer, because a signal may be lost. Text that is being
// generated travels the same way and may be lost as well.
package notify

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/agentgraph/agentgraph/model"
)

// Key names what a signal is about within a company. Only subscriptions to the same key receive it.
type Key struct{ CompanyID, ID string }

// Bus carries signals between the hubs of all replicas. What one hub sends arrives in that order, or is lost.
type Bus interface {
	// send carries the signals to all hubs that follow their keys, its own as well. After an error some have not arrived.
	send(ctx context.Context, h *Hub, signals []signal) error
	// listen delivers what is sent to the hub until ctx ends.
	listen(ctx context.Context, h *Hub)
	// follow and leave say which keys' signals the hub wants. They are called with the hub's lock, and do not wait.
	follow(h *Hub, key Key)
	leave(key Key)
	isListening() bool
	// close lets go of what the bus itself opened.
	close()
}

// Hub carries signals between replicas: everything that this one sends and hears goes through it. It is safe for
// concurrent use.
type Hub struct {
	bus    Bus
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

// New returns a Hub on the bus, which it closes. It listens from the first subscription on.
func New(bus Bus) *Hub {
	ctx, cancel := context.WithCancel(context.Background())
	h := &Hub{
		bus: bus, ctx: ctx, cancel: cancel, outbox: newOutbox(), heard: make(chan struct{}),
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
	h.bus.close()
}

// Wake signals all subscriptions to the key, on every replica, and returns at once. Call it after the commit: a signal
// within a transaction would make all commits wait for each other.
func (h *Hub) Wake(key Key) { h.outbox.wake(key) }

// Write streams the next piece of the message being generated under the key to all its subscriptions, and returns at
// once. Consecutive pieces may arrive merged or split.
func (h *Hub) Write(key Key, piece model.MessageDelta) { h.outbox.write(key, piece) }

// Announce sends a model.TurnStarted, model.ToolCallStarted, model.ToolCallFinished or model.TurnFailed, in order with
// the text of the message with the sequence. Large arguments are left out, large results and reasons are cut.
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
	// This turn's text has not arrived completely.
	started model.TurnStarted
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
		h.bus.follow(h, key)
	}
	h.subscriptions[key][s] = struct{}{}
	if !h.listening && h.ctx.Err() == nil {
		h.listening = true
		h.work.Go(func() { h.bus.listen(h.ctx, h) })
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
		if turn.TurnID == s.started.TurnID {
			turn.Text = s.started.Text + turn.Text
		}
		s.started = model.TurnStarted{}
		if hasMore {
			s.started = turn
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
	if _, ok := s.hub.subscriptions[s.key][s]; !ok {
		return
	}
	delete(s.hub.subscriptions[s.key], s)
	if len(s.hub.subscriptions[s.key]) == 0 {
		delete(s.hub.subscriptions, s.key)
		s.hub.bus.leave(s.key)
	}
}

// hears is called by the bus whenever it begins to listen: what was sent before that may have been missed.
func (h *Hub) hears() {
	h.hearsOnce.Do(func() { close(h.heard) })
	h.wakeAll()
}

// wake makes up for signals of the key that may have been missed.
func (h *Hub) wake(key Key) { h.deliver(signal{CompanyID: key.CompanyID, ID: key.ID}) }

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

// deliver passes a signal to the subscribers of its key.
func (h *Hub) deliver(sig signal) {
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

func (h *Hub) deliverPayload(payload []byte) {
	var sig signal
	if err := json.Unmarshal(payload, &sig); err != nil {
		return // not ours: others may send there too
	}
	h.counts.received.Add(1)
	h.deliver(sig)
}
