package gateway

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/model"
)

// operation is one that runs on a socket, from subscribe until complete or error.
type operation struct {
	id     string
	cancel context.CancelFunc
}

// subscribe starts an operation. Its id is taken until the operation has ended for the client.
func (s *socket) subscribe(id string, payload json.RawMessage) *closure {
	if !s.acknowledged {
		return closeNotInit
	}
	params, fault := decodeParams(payload)
	if fault != nil {
		return closeInvalid
	}
	params.Headers = s.header

	ctx, cancel := context.WithCancel(s.ctx)
	op := &operation{id: id, cancel: cancel}
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
		err := model.Errorf(model.LimitExceeded, "the socket runs more operations than the limit of %d", s.settings.SocketOperations)
		s.last(op, "error", errorsJSON(gqlerror.List{s.presenter.present(ctx, err)}))
		return nil
	}
	s.running.Go(func() {
		defer cancel()
		s.run(ctx, op, params)
	})
	return nil
}

// complete ends an operation for a client that wants no more of it. An unknown id belongs to one
// that has just ended by itself.
func (s *socket) complete(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if op, found := s.operations[id]; found {
		delete(s.operations, id)
		op.cancel()
	}
}

// run executes an operation and sends its results.
func (s *socket) run(ctx context.Context, op *operation, params request) {
	begin, rec := time.Now(), &record{}
	ctx = graphql.StartOperationTrace(context.WithValue(ctx, recordKey{}, rec))
	principal, _ := model.PrincipalOf(ctx)
	defer func() {
		s.log.LogAttrs(ctx, slog.LevelInfo, "operation", slog.String("operation", rec.operation),
			slog.Duration("duration", time.Since(begin)), slog.String("company", principal.CompanyID),
			slog.String("traceId", TraceID(ctx)))
	}()

	if err := s.requests.take(nil, principal.KeyID, 1, begin); err != nil {
		s.last(op, "error", errorsJSON(gqlerror.List{s.presenter.present(ctx, err)}))
		return
	}
	var operation *graphql.OperationContext
	var errs gqlerror.List
	if broken := s.guarded(ctx, func() {
		operation, errs = s.exec.CreateOperationContext(withVariableTexts(ctx, params.variables), params.RawParams)
	}); broken != nil {
		s.last(op, "error", errorsJSON(gqlerror.List{broken}))
		return
	}
	if len(errs) > 0 {
		response := s.exec.DispatchError(graphql.WithOperationContext(ctx, operation), errs)
		s.last(op, "error", errorsJSON(response.Errors))
		return
	}
	for response := range s.results(ctx, s.exec, operation) {
		// Without data nothing was executed, or a subscription's source could not be opened.
		if len(response.Data) == 0 && len(response.Errors) > 0 {
			s.last(op, "error", errorsJSON(response.Errors))
			return
		}
		if !s.next(op, response) {
			return
		}
	}
	s.last(op, "complete", nil)
}

// next sends a result, and reports false when the operation has ended for the client.
func (s *socket) next(op *operation, response *graphql.Response) bool {
	text := opening(op.id, "next")
	text = append(text, `,"payload":`...)
	text = appendResponse(text, response)
	return s.sendOf(op, append(text, '}'), false)
}

// last sends the message that ends an operation and frees its id.
func (s *socket) last(op *operation, kind string, payload []byte) {
	text := opening(op.id, kind)
	if payload != nil {
		text = append(text, `,"payload":`...)
		text = append(text, payload...)
	}
	s.sendOf(op, append(text, '}'), true)
}

// sendOf sends a message of an operation unless it has ended.
func (s *socket) sendOf(op *operation, text []byte, last bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.operations[op.id] != op {
		return false
	}
	if last {
		delete(s.operations, op.id)
	}
	s.send(text)
	return !s.closed
}

// opening is the beginning of a message up to its payload.
func opening(id, kind string) []byte {
	quoted, err := json.Marshal(id)
	if err != nil {
		quoted = []byte(`""`) // A string can always be encoded.
	}
	return append(append([]byte(`{"id":`), quoted...), `,"type":"`+kind+`"`...)
}
