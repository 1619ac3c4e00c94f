// Package notify sends signals between the replicas that share a database. A signal says that something changed, but
// not what: the receiver reads the rows. A signal may be lost, so receivers also read the rows on a slow timer. Text
// that is being generated is sent in the same way, and may be lost too. Start reading at Hub.
package notify

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/agentgraph/agentgraph/model"
)

// Key is the subject of a signal within a company. Only subscriptions to the same key receive it.
type Key struct{ CompanyID, ID string }

// Bus carries signals between the hubs of all replicas. Signals of one hub arrive in order, or are lost.
type Bus interface {
	// send sends the signals of the hub to all hubs that are subscribed to their keys, including this hub. After an error,
	// some signals may be lost.
	send(ctx context.Context, h *Hub, signals []signal) error
	// listen delivers signals to the hub until ctx ends.
	listen(ctx context.Context, h *Hub)
	// subscribe and unsubscribe add and remove a key whose signals the hub receives. They are called with the hub's lock
	// held, and must not wait.
	subscribe(h *Hub, key Key)
	unsubscribe(key Key)
	isListening() bool
	// close closes the connections that the bus has opened.
	close()
}

// Hub sends and receives the signals of this replica. It is safe for concurrent use.
type Hub struct {
	bus    Bus
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	outbox outbox
	counts counts
	// The channel firstListen is closed when the replica first listens.
	firstListen chan struct{}
	hearsOnce   sync.Once

	mu            sync.Mutex
	listening     bool
	subscriptions map[Key]map[*Subscription]struct{}
}

// New returns a Hub on the bus. It listens from the first subscription on. Close closes the Hub and the bus.
func New(bus Bus) *Hub {
	ctx, cancel := context.WithCancel(context.Background())
	h := &Hub{
		bus: bus, ctx: ctx, cancel: cancel, outbox: newOutbox(), firstListen: make(chan struct{}),
		subscriptions: map[Key]map[*Subscription]struct{}{},
	}
	h.work.Go(h.notify)
	return h
}

// Close sends waiting signals and stops the Hub. Subscriptions receive nothing afterwards.
func (h *Hub) Close() {
	h.mu.Lock()
	h.cancel()
	h.mu.Unlock()
	h.work.Wait()
	h.bus.close()
}

// Wake signals all subscriptions to the key, on every replica, and returns immediately. Call it after the commit: a
// signal within a transaction would make all commits wait for each other.
func (h *Hub) Wake(key Key) { h.outbox.wake(key) }

// Write sends the next piece of the message that is being generated under the key to all subscriptions, and returns at
// once. Consecutive pieces may arrive merged or split.
func (h *Hub) Write(key Key, piece model.MessageDelta) { h.outbox.write(key, piece) }

// Announce sends an event of the message with the given sequence number. Events and text keep their order. The event is
// a model.TurnStarted, model.ToolCallStarted, model.ToolApprovalChanged, model.ToolCallFinished or model.TurnFailed. It
// omits large arguments, and cuts large results and reasons.
func (h *Hub) Announce(key Key, sequence int32, event model.SimulationChatEvent) {
	h.outbox.announce(key, sequence, event)
}

// Piece is an event during the generation of the message with the given sequence number: a model.TurnStarted,
// model.MessageDelta, model.ToolCallStarted, model.ToolApprovalChanged, model.ToolCallFinished or model.TurnFailed.
type Piece struct {
	Sequence int32
	Event    model.SimulationChatEvent
}

// Subscription receives the signals of one key.
type Subscription struct {
	hub   *Hub
	key   Key
	woken chan struct{}
	// The channel arrived has a token while there are pieces.
	arrived chan struct{}
	// alert is called for each signal and piece, and when signals may have been missed. It may be nil.
	alert  func(isMissed bool)
	mu     sync.Mutex
	pieces []Piece
	// started is the turn whose first part has arrived, until the rest of its text has arrived too.
	started model.TurnStarted
}

const (
	// A subscription stores pieces for a slow reader. From heldPieces on, it drops text. From maxPieces on, it drops all
	// pieces.
	heldPieces = 256
	maxPieces  = 16_384
)

// Subscribe returns a subscription that receives the signals of the key until Close.
func (h *Hub) Subscribe(key Key) *Subscription { return h.Watch(key, nil) }

// Watch is like Subscribe, but calls alert after each signal or piece, so that no goroutine has to wait. When signals
// may have been missed, it calls every subscription's alert with true. alert must neither block nor use the Hub.
func (h *Hub) Watch(key Key, alert func(isMissed bool)) *Subscription {
	s := &Subscription{hub: h, key: key, woken: make(chan struct{}, 1), arrived: make(chan struct{}, 1), alert: alert}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.subscriptions[key] == nil {
		h.subscriptions[key] = map[*Subscription]struct{}{}
		h.bus.subscribe(h, key)
	}
	h.subscriptions[key][s] = struct{}{}
	if !h.listening && h.ctx.Err() == nil {
		h.listening = true
		h.work.Go(func() { h.bus.listen(h.ctx, h) })
	}
	return s
}

// Listening waits until the replica listens, or ctx ends. Signals and text sent earlier do not arrive here.
func (h *Hub) Listening(ctx context.Context) {
	select {
	case <-h.firstListen:
	case <-ctx.Done():
	}
}

// Woken returns a channel that receives once after any number of signals, and when signals may have been missed.
func (s *Subscription) Woken() <-chan struct{} { return s.woken }

// Arrived returns a channel that receives once after any number of pieces.
func (s *Subscription) Arrived() <-chan struct{} { return s.arrived }

// Pieces removes and returns the pieces that have arrived, in order. They include everything sent before the last
// received signal. A slow reader misses text, but hardly ever a call.
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
	if len(s.pieces) >= maxPieces || isText && len(s.pieces) >= heldPieces {
		return
	}
	s.pieces = append(s.pieces, p)
	trySend(s.arrived)
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
		s.hub.bus.unsubscribe(s.key)
	}
}

// onListening must be called by the bus each time it starts to listen, because earlier signals may have been missed.
func (h *Hub) onListening() {
	h.hearsOnce.Do(func() { close(h.firstListen) })
	h.wakeAll()
}

// wake wakes the subscriptions to the key. The bus calls it if signals of the key may have been missed.
func (h *Hub) wake(key Key) { h.deliver(signal{CompanyID: key.CompanyID, ID: key.ID}) }

// wakeAll wakes all subscriptions, because signals may have been missed.
func (h *Hub) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, subscriptions := range h.subscriptions {
		for s := range subscriptions {
			if s.alert != nil {
				s.alert(true)
				continue
			}
			trySend(s.woken)
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
			trySend(s.woken)
		}
		if s.alert != nil {
			s.alert(false)
		}
	}
}

func (h *Hub) deliverPayload(payload []byte) {
	var sig signal
	if err := json.Unmarshal(payload, &sig); err != nil {
		return // not a signal: other programs may use the channel too
	}
	h.counts.received.Add(1)
	h.deliver(sig)
}
