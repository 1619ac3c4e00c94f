package notify

import (
	"context"
	"encoding/json"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/model"
)

const (
	// textInterval is how long text is collected, so that many turns that stream word by word need few commits.
	textInterval = 40 * time.Millisecond
	// sendInterval is the minimum time between two sends. Signals that arrive in this time are sent together, so that many
	// writers need few commits.
	sendInterval = 10 * time.Millisecond
	// maxPiece is the maximum length of a piece of text, in characters. A character takes at most six bytes in a payload,
	// which must stay below Postgres's limit of 8,000 bytes.
	maxPiece = 1_000
	// maxArguments is the maximum size of announced arguments, in bytes.
	maxArguments = 1_000
	// maxWaiting bounds the waiting text and events, in bytes. Text and events beyond it are dropped.
	maxWaiting = 1 << 20

	notifyTimeout = 2 * time.Second
	// retryDelay is the wait before a retry, and maxPutBack the maximum number of keys that are retried.
	retryDelay = time.Second
	maxPutBack = 10_000
)

// signal is the payload of a notification. Without an event it only wakes subscriptions.
type signal struct {
	CompanyID string `json:"company"`
	ID        string `json:"id"`
	// Number makes signals of one statement different: Postgres would deliver only one of several equal ones.
	Number   uint64 `json:"number"`
	Sequence int32  `json:"sequence,omitempty"`
	// At most one of these is set.
	Delta    *model.MessageDelta        `json:"delta,omitempty"`
	Started  *model.ToolCallStarted     `json:"started,omitempty"`
	Finished *model.ToolCallFinished    `json:"finished,omitempty"`
	Approval *model.ToolApprovalChanged `json:"approval,omitempty"`
	Failed   *model.TurnFailed          `json:"failed,omitempty"`
	Begun    *model.TurnStarted         `json:"begun,omitempty"`
	// HasMore is set if the text of this turn continues in the next signal.
	HasMore bool `json:"hasMore,omitempty"`
	// isDelivered is set if the signal was delivered to its own hub.
	isDelivered bool
}

// piece returns the event of the signal, or nil.
func (s signal) piece() model.SimulationChatEvent {
	switch {
	case s.Started != nil:
		return *s.Started
	case s.Finished != nil:
		return *s.Finished
	case s.Approval != nil:
		return *s.Approval
	case s.Failed != nil:
		return *s.Failed
	case s.Begun != nil:
		return *s.Begun
	case s.Delta != nil:
		return *s.Delta
	}
	return nil
}

// outbox has the waiting signals, in order. It does not use group.Group, because no caller waits for the commit, text
// is merged with waiting text, and text beyond the limit is dropped.
type outbox struct {
	// wakes has a token while signals wait, and texts while text or events wait.
	wakes, texts chan struct{}

	mu      sync.Mutex
	waiting []signal
	// open maps a key to the index in waiting at which its text can continue.
	open   map[Key]int
	bytes  int
	number uint64
}

func newOutbox() outbox {
	return outbox{wakes: make(chan struct{}, 1), texts: make(chan struct{}, 1), open: map[Key]int{}}
}

func (o *outbox) wake(key Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.addSignal(key, signal{})
	delete(o.open, key)
	trySend(o.wakes)
}

func (o *outbox) write(key Key, piece model.MessageDelta) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.bytes += len(piece.Text); o.bytes > maxWaiting {
		return
	}
	for piece.Text != "" {
		room := 0
		at, ok := o.open[key]
		if ok {
			room = roomFor(o.waiting[at].Delta, piece)
		}
		if room == 0 {
			at, room = len(o.waiting), maxPiece
			first := piece
			first.Text = ""
			o.addSignal(key, signal{Sequence: piece.Sequence, Delta: &first})
			o.open[key] = at
		}
		end := 0
		for ; room > 0 && end < len(piece.Text); room-- {
			_, size := utf8.DecodeRuneInString(piece.Text[end:])
			end += size
			piece.Offset++
		}
		o.waiting[at].Delta.Text += piece.Text[:end]
		piece.Text = piece.Text[end:]
	}
	trySend(o.texts)
}

// roomFor returns how many characters of the piece can be appended to the waiting one. It returns 0 if the piece does
// not continue it.
func roomFor(waiting *model.MessageDelta, piece model.MessageDelta) int {
	length := utf8.RuneCountInString(waiting.Text)
	if waiting.Sequence != piece.Sequence || waiting.TurnID != piece.TurnID ||
		waiting.Offset+int32(length) != piece.Offset {
		return 0
	}
	return max(0, maxPiece-length)
}

// announce adds an event, cut to fit a payload, unless too much waits. The contact's text is not cut, but split over
// several signals. Arguments that are too long are left out.
func (o *outbox) announce(key Key, sequence int32, event model.SimulationChatEvent) {
	s := signal{Sequence: sequence}
	var before []signal
	switch e := event.(type) {
	case model.ToolCallStarted:
		if len(e.Arguments) > maxArguments {
			e.Arguments = nil
		}
		s.Started = &e
	case model.ToolCallFinished:
		e.Result, e.Error = shorten(e.Result), shorten(e.Error)
		s.Finished = &e
	case model.ToolApprovalChanged:
		if len(e.Arguments) > maxArguments {
			e.Arguments = nil
		}
		e.ApprovalNote = shorten(e.ApprovalNote)
		s.Approval = &e
	case model.TurnFailed:
		e.Reason = *shorten(&e.Reason)
		s.Failed = &e
	case model.TurnStarted:
		text := []rune(e.Text)
		for ; len(text) > maxPiece; text = text[maxPiece:] {
			before = append(before, signal{Sequence: sequence, HasMore: true, Begun: &model.TurnStarted{TurnID: e.TurnID,
				Text: string(text[:maxPiece])}})
		}
		e.Text = string(text)
		s.Begun = &e
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.bytes += maxArguments * (1 + len(before)); o.bytes > maxWaiting {
		return
	}
	for _, s := range append(before, s) {
		o.addSignal(key, s)
	}
	delete(o.open, key)
	trySend(o.texts)
}

// shorten shortens a text that is too long to announce.
func shorten(text *string) *string {
	if text == nil || utf8.RuneCountInString(*text) <= maxPiece/2 {
		return text
	}
	short := string([]rune(*text)[:maxPiece/2])
	return &short
}

func (o *outbox) addSignal(key Key, s signal) {
	o.number++
	s.CompanyID, s.ID, s.Number = key.CompanyID, key.ID, o.number
	o.waiting = append(o.waiting, s)
}

func trySend(token chan struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}

func (o *outbox) takeSignals() []signal {
	o.mu.Lock()
	defer o.mu.Unlock()
	waiting := o.waiting
	o.waiting, o.bytes = nil, 0
	clear(o.open)
	return waiting
}

// putBack puts signals back after a failure. It drops events, which would be too late. It returns how many signals are
// lost.
func (o *outbox) putBack(signals []signal) (lost int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	lost = len(signals)
	waiting := map[Key]bool{}
	for _, s := range o.waiting {
		if s.piece() == nil {
			waiting[Key{s.CompanyID, s.ID}] = true
		}
	}
	for _, s := range signals {
		key := Key{s.CompanyID, s.ID}
		if s.piece() != nil || len(waiting) >= maxPutBack {
			continue
		}
		lost--
		if !waiting[key] {
			waiting[key] = true
			o.waiting = append(o.waiting, s)
		}
	}
	return lost
}

func payloads(signals []signal) []string {
	texts := make([]string, 0, len(signals))
	for _, s := range signals {
		payload, err := json.Marshal(s)
		if err != nil {
			continue // strings and numbers can always be encoded
		}
		texts = append(texts, string(payload))
	}
	return texts
}

// notify sends until the Hub closes. After each send, new signals wait for at most sendInterval, new text for at most
// textInterval, and failed signals for at most retryDelay.
func (h *Hub) notify() {
	wakes, texts := h.outbox.wakes, h.outbox.texts
	var signalTimer, textTimer, retryTimer <-chan time.Time
	for {
		select {
		case <-wakes:
		case <-texts:
		case <-retryTimer:
		case <-signalTimer:
			wakes, signalTimer = h.outbox.wakes, nil
			continue
		case <-textTimer:
			texts, textTimer = h.outbox.texts, nil
			continue
		case <-h.ctx.Done():
			h.send()
			return
		}
		retryTimer = nil
		if !h.send() {
			retryTimer = time.After(retryDelay)
		}
		wakes, signalTimer = nil, time.After(sendInterval)
		texts, textTimer = nil, time.After(textInterval)
	}
}

// send sends all waiting signals together, even while the Hub closes. It returns false if that failed.
func (h *Hub) send() bool {
	signals := h.outbox.takeSignals()
	if len(signals) == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), notifyTimeout)
	defer cancel()
	if err := h.bus.send(ctx, h, signals); err != nil {
		h.counts.lost.Add(uint64(h.outbox.putBack(signals)))
		return false
	}
	h.counts.sent.Add(uint64(len(signals)))
	return true
}
