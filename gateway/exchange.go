package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/model"
)

// exchange is a GraphQL request over HTTP with its response, single or streamed.
type exchange struct {
	*Server
	w      http.ResponseWriter
	r      *http.Request
	exec   graphql.GraphExecutor
	accept accept
	// isSafe is set if the request's method is safe: it must change nothing.
	isSafe bool
}

// decode decodes a request. A large one waits for a slot of the company.
func (x exchange) decode(text []byte) (request, *fault) {
	leave, err := x.WaitToDecode(x.w, x.r, len(text))
	if err != nil {
		return request{}, &fault{http.StatusServiceUnavailable, err}
	}
	defer leave()
	return decodeParams(text)
}

func (x exchange) run(params request) {
	params.Headers = x.r.Header
	ctx := x.r.Context()
	operation, errs := x.operationOf(ctx, x.exec, params)
	if len(errs) > 0 {
		x.reject(x.exec.DispatchError(graphql.WithOperationContext(ctx, operation), errs))
		return
	}
	switch kind := operation.Operation.Operation; {
	case kind == ast.Mutation && x.isSafe:
		x.w.Header().Set("Allow", "POST")
		x.deny(refusal(http.StatusMethodNotAllowed, "mutations must use POST"))
	case kind == ast.Subscription && !x.accept.stream && !x.accept.parts:
		x.deny(refusal(http.StatusNotAcceptable, "a subscription needs the header Accept: %s, or a WebSocket", eventType))
	case kind == ast.Subscription:
		x.stream(ctx, operation)
	default:
		if x.accept.first {
			x.stream(ctx, operation)
			return
		}
		buffer := buffers.Get().(*[]byte)
		defer putBuffer(buffer) // after the response is sent
		*buffer = append((*buffer)[:0], dataHead...)
		ctx = model.WithBuffer(ctx, buffer)
		for response := range x.begin(ctx, x.exec, operation).responses() {
			if body, ok := completeInPlace(*buffer, response); ok {
				writeBody(x.w, http.StatusOK, x.accept.single, body)
				continue
			}
			x.respondExecuted(operation.Operation, response)
		}
	}
}

// recoverPanic runs a step of an execution, and turns a panic that gqlgen does not catch into an error.
func (s *Server) recoverPanic(ctx context.Context, step func()) (broken *gqlerror.Error) {
	defer func() {
		if value := recover(); value != nil {
			broken = s.presenter.present(ctx, recovered(ctx, value))
		}
	}()
	step()
	return nil
}

func (x exchange) reject(response *graphql.Response) {
	if x.accept.first {
		events := x.openEvents("")
		events.next(appendResponse(nil, response))
		if !lacksService(response) { // without complete, clients connect again
			events.complete()
		}
		return
	}
	status := StatusOf(codeOf(response.Errors[0]))
	// Clients of the older media type expect 200 from a GraphQL server, and treat other statuses as a proxy's.
	if x.accept.single == jsonType && isGraphQL(response.Errors[0]) {
		status = http.StatusOK
	}
	writeResponse(x.w, status, x.accept.single, response)
}

// respondExecuted sends the response of an operation. If it was not executed and has no data, the first error
// determines the status. Otherwise it is 200 even with errors, or 503 if isUnavailable.
func (x exchange) respondExecuted(operation *ast.OperationDefinition, response *graphql.Response) {
	status := http.StatusOK
	switch {
	case len(response.Data) == 0 && len(response.Errors) > 0:
		status = StatusOf(codeOf(response.Errors[0]))
	case isUnavailable(operation, response):
		status = http.StatusServiceUnavailable
	}
	if status == http.StatusServiceUnavailable {
		x.w.Header().Set("Retry-After", retryAfter)
	}
	writeResponse(x.w, status, x.accept.single, response)
}

// retryAfter is the Retry-After header of a 503, in seconds.
const retryAfter = "5"

// isUnavailable reports whether an executed operation has no data and only UNAVAILABLE errors. Load balancers and
// monitors read the status. It is false for several mutations: a null does not show whether one of them succeeded.
func isUnavailable(operation *ast.OperationDefinition, response *graphql.Response) bool {
	isOther := func(err *gqlerror.Error) bool { return codeOf(err) != string(model.Unavailable) }
	if len(response.Errors) == 0 || slices.ContainsFunc(response.Errors, isOther) ||
		operation.Operation == ast.Mutation && len(operation.SelectionSet) > 1 {
		return false
	}
	var data map[string]json.RawMessage
	if json.Unmarshal(response.Data, &data) != nil {
		return false
	}
	for _, value := range data {
		if string(value) != "null" {
			return false
		}
	}
	return true
}

func (x exchange) notAcceptable() {
	x.deny(refusal(http.StatusNotAcceptable, "Accept must allow %s, %s or %s", graphqlType, jsonType, eventType))
}

// writeResponse sends a response. Its data is copied unchanged.
func writeResponse(w http.ResponseWriter, status int, mediaType string, response *graphql.Response) {
	buffer := buffers.Get().(*[]byte)
	defer putBuffer(buffer)
	*buffer = appendResponse((*buffer)[:0], response)
	writeBody(w, status, mediaType, *buffer)
}

func writeBody(w http.ResponseWriter, status int, mediaType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", mediaType+utf8Suffix)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // one write takes the fewest system calls; its failure is harmless
}

// buffers reuses response buffers of up to maxBuffer bytes.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const maxBuffer = 256 << 10

func putBuffer(buffer *[]byte) {
	if cap(*buffer) <= maxBuffer {
		buffers.Put(buffer)
	}
}
