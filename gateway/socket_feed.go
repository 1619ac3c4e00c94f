package gateway

import (
	"errors"
	"io"

	"github.com/vektah/gqlparser/v2/gqlerror"
)

const (
	// turn is how many events of one operation are sent before the socket's next operation gets its turn.
	turn = 64
	// maxAtOnce and bytesAtOnce bound the messages of one write.
	maxAtOnce   = 16
	bytesAtOnce = 64 << 10
)

// startFeed starts sending the events of the operation's feed. It calls the function onEnd when the operation has ended
// for the client.
func (s *socket) startFeed(op *operation, x *execution, onEnd func()) {
	s.mu.Lock()
	isGone := s.closed || s.operations[op.id] != op
	if !isGone {
		op.execution, op.onEnd = x, onEnd
	}
	s.mu.Unlock()
	if isGone {
		onEnd()
		return
	}
	x.feed.OnWake(func() { s.wake(op) })
	s.wake(op)
}

// wake signals that the operation may have an event. At most one goroutine sends events for all operations of the
// socket, so that events are read no faster than the client receives them.
func (s *socket) wake(op *operation) {
	s.queueMu.Lock()
	defer s.queueMu.Unlock()
	if s.hasEnded {
		return
	}
	s.ready = append(s.ready, op)
	if !s.isPumping {
		s.isPumping = true
		s.running.Go(s.pump)
	}
}

func (s *socket) pump() {
	for op := s.nextReady(); op != nil; op = s.nextReady() {
		if s.sendEvents(op) {
			s.wake(op)
		}
	}
}

func (s *socket) nextReady() *operation {
	s.queueMu.Lock()
	defer s.queueMu.Unlock()
	if len(s.ready) == 0 {
		s.isPumping, s.ready = false, nil
		return nil
	}
	op := s.ready[0]
	s.ready = s.ready[1:]
	return op
}

// sendEvents sends an operation's events, and reports whether more may be available now. After its turn it continues
// while the feed holds rows that were read for this operation alone.
func (s *socket) sendEvents(op *operation) bool {
	x := op.execution
	for sent := 0; sent < turn || x.feed.HasPrivateEvents(); {
		messages, err := x.gather(op)
		isOpen := len(messages) == 0 || s.sendMessages(op, false, messages...)
		if op.out.release(); !isOpen {
			return false
		}
		sent += len(messages)
		switch {
		case errors.Is(err, io.EOF):
			s.sendLast(op, "complete", nil)
		case x.broken != nil:
			s.sendLast(op, "error", errorsJSON(gqlerror.List{x.broken}))
		case err == nil && len(messages) > 0:
			continue
		}
		return false
	}
	return true
}

// gather returns messages for the available events, possibly none. After an error, or if the execution is broken, there
// are no more events.
func (x *execution) gather(op *operation) (messages [][][]byte, err error) {
	for bytes := 0; len(messages) < maxAtOnce && bytes < bytesAtOnce; {
		event, err := x.feed.Next(x.ctx)
		if err != nil || event == nil {
			return messages, err
		}
		result := x.responseTo(event)
		if result == nil {
			return messages, x.ctx.Err()
		}
		messages, bytes = append(messages, op.message(result)), bytes+len(result)
	}
	return messages, nil
}
