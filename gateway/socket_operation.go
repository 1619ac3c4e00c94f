package gateway

import (
	"context"
	"encoding/json"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/model"
)

// operation is an operation on a socket, from "subscribe" until "complete" or "error".
type operation struct {
	id     string
	name   string
	cancel context.CancelFunc
	// opening is the start of a "next" message, up to its payload.
	opening []byte
	// out counts the bytes of the operation's responses.
	out *outgoing
	// execution and onEnd are set for a subscription with a feed. Such a subscription has no goroutine while it is idle.
	execution *execution
	onEnd     func()
}

// subscribe starts an operation. Its id is taken until the operation has ended for the client.
func (s *socket) subscribe(id string, payload json.RawMessage) *closure {
	if !s.acknowledged.Load() {
		return closeNotInit
	}
	params, fault := decodeParams(payload)
	if fault != nil {
		return closeInvalid
	}

	ctx, cancel := context.WithCancel(s.ctx)
	op := &operation{id: id, cancel: cancel, opening: append(opening(id, "next"), `,"payload":`...)}
	s.mu.Lock()
	_, taken := s.operations[id]
	full := len(s.operations) >= s.settings.SocketOperations
	if !taken {
		s.operations[id] = op
	}
	s.mu.Unlock()
	if taken {
		cancel()
		return closeDuplicate
	}
	if full {
		defer cancel()
		err := model.Errorf(model.LimitExceeded, "the socket already runs %d operations, the limit: complete one before you "+
			"start another", s.settings.SocketOperations)
		s.sendLast(op, "error", errorsJSON(gqlerror.List{s.presenter.present(ctx, err)}))
		return nil
	}
	s.spawn(func() { s.run(ctx, op, params) })
	return nil
}

// removeOperation frees the id of an operation that has ended for the client. The caller holds mu.
func (s *socket) removeOperation(id string) {
	op := s.operations[id]
	delete(s.operations, id)
	op.cancel()
	if op.onEnd != nil {
		op.onEnd()
	}
}

// complete ends an operation at the client's request. An unknown id belongs to an operation that has just ended.
func (s *socket) complete(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, found := s.operations[id]; found {
		s.removeOperation(id)
	}
}

// run executes an operation and sends its results. For a subscription with a feed, it calls startFeed and returns.
func (s *socket) run(ctx context.Context, op *operation, params request) {
	rec := &record{begin: time.Now(), remote: s.remote, caller: s.caller()}
	ctx = graphql.StartOperationTrace(s.observe(context.WithValue(ctx, recordKey{}, rec), rec))
	op.out = s.memory.open(rec.caller.CompanyID, func() { s.drop(op.name) })
	ctx = withOutgoing(ctx, op.out)
	ended := func() {
		op.cancel()
		op.out.close()
		s.logEnd(ctx, rec, 0, "operation")
	}
	if s.isRevoked(ctx, s.credential) {
		ended()
		s.close(closeForbidden)
		return
	}
	x := s.start(ctx, op, params, rec.begin)
	if x != nil {
		op.name = rec.operation
		if x.feed.IsOpen() {
			s.startFeed(op, x, ended)
			return
		}
		s.sendResults(ctx, op, x)
	}
	ended()
}

// start begins an operation. If it refuses the operation, it sends the error and returns nil.
func (s *socket) start(ctx context.Context, op *operation, params request, at time.Time) *execution {
	if err := s.takeRequest(nil, s.caller(), at); err != nil {
		s.sendLast(op, "error", errorsJSON(gqlerror.List{s.presenter.present(ctx, err)}))
		return nil
	}
	var operation *graphql.OperationContext
	var errs gqlerror.List
	if broken := s.recoverPanic(ctx, func() {
		operation, errs = s.operationOf(ctx, s.exec, params)
	}); broken != nil {
		s.sendLast(op, "error", errorsJSON(gqlerror.List{broken}))
		return nil
	}
	if len(errs) > 0 {
		response := s.exec.DispatchError(graphql.WithOperationContext(ctx, operation), errs)
		s.sendLast(op, "error", errorsJSON(response.Errors))
		return nil
	}
	return s.begin(ctx, s.exec, operation)
}

// sendResults sends the results of an operation as they arrive. A query waits while the client does not receive earlier
// results.
func (s *socket) sendResults(ctx context.Context, op *operation, x *execution) {
	isQuery := x.operation.Operation.Operation == ast.Query
	if isQuery {
		if !s.backlog.acquire(ctx) {
			return
		}
		defer s.backlog.release()
	}
	for response := range x.responses() {
		if isQuery {
			s.backlog.startWrite()
		}
		// Without data, nothing was executed or a subscription's source could not be opened.
		if len(response.Data) == 0 && len(response.Errors) > 0 {
			s.sendLast(op, "error", errorsJSON(response.Errors))
			return
		}
		head, tail := envelope(response)
		isOpen := s.sendMessages(op, false, op.message(head, response.Data, tail))
		if op.out.release(); !isOpen {
			return
		}
	}
	s.sendLast(op, "complete", nil)
}

// message returns the parts of a message that carries a result.
func (op *operation) message(result ...[]byte) [][]byte {
	return append(append([][]byte{op.opening}, result...), closing)
}

// sendLast sends the message that ends an operation, and frees its id.
func (s *socket) sendLast(op *operation, kind string, payload []byte) {
	text := opening(op.id, kind)
	if payload != nil {
		text = append(text, `,"payload":`...)
		text = append(text, payload...)
	}
	s.sendMessages(op, true, [][]byte{append(text, '}')})
}

// sendMessages sends messages of an operation unless it has ended. It reports false if the operation had ended before
// for the client, or the socket is closed.
func (s *socket) sendMessages(op *operation, isLast bool, messages ...[][]byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.operations[op.id] != op {
		return false
	}
	if isLast {
		s.removeOperation(op.id)
	}
	s.send(op.name, messages...)
	return !s.closed
}

var closing = []byte{'}'}

// opening returns a message up to its payload.
func opening(id, kind string) []byte {
	quoted, _ := json.Marshal(id) // Encoding a string cannot fail.
	return append(append([]byte(`{"id":`), quoted...), `,"type":"`+kind+`"`...)
}
