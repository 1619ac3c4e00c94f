package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/model"
)

func isBatch(body []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) }

// batch carries out a list of requests in order, and answers with the list of their responses. Each request counts for
// the rate limits and has its own bounds. The list has the longest time limit of any operation. Once the responses
// together exceed the size limit of one response, the remaining requests are refused. The whole list is refused if an
// element is not a request.
func (x exchange) batch(body []byte) {
	requests, f := x.decodeBatch(body)
	if f != nil {
		x.deny(f)
		return
	}
	ctx, cancel := context.WithTimeout(x.r.Context(), x.settings.longestTimeout())
	defer cancel()
	answer := []byte{'['}
	for i, params := range requests {
		if i > 0 {
			answer = append(answer, ',')
		}
		answer = x.appendBatchResponse(ctx, answer, params, i == 0)
	}
	writeBody(x.w, http.StatusOK, x.accept.single, append(answer, ']'))
}

func (x exchange) decodeBatch(body []byte) ([]request, *fault) {
	if x.settings.Batch == 0 {
		return nil, refusal(http.StatusBadRequest, "the body must be one request: this server refuses lists of requests "+
			"unless its operator sets AGENTGRAPH_MAX_BATCH")
	}
	leave, err := x.WaitToDecode(x.w, x.r, len(body))
	if err != nil {
		return nil, &fault{http.StatusServiceUnavailable, err}
	}
	defer leave()
	var texts []json.RawMessage
	if unmarshal(body, &texts) != nil {
		return nil, refusal(http.StatusBadRequest, "the list of requests is not valid JSON")
	}
	switch {
	case x.accept.single == "":
		return nil, refusal(http.StatusNotAcceptable, "Accept must allow %s or %s for a list of requests", jsonType,
			graphqlType)
	case x.r.Header.Get(idempotencyHeader) != "":
		return nil, refusal(http.StatusBadRequest, "%s works only with one operation, not with a list: leave it out, or "+
			"send the operations one by one", idempotencyHeader)
	case len(texts) == 0:
		return nil, refusal(http.StatusBadRequest, "the list of requests is empty")
	case len(texts) > x.settings.Batch:
		return nil, &fault{http.StatusBadRequest,
			model.Errorf(model.LimitExceeded, "the list has %d requests, more than the limit of %d (AGENTGRAPH_MAX_BATCH)",
				len(texts), x.settings.Batch)}
	}
	requests := make([]request, len(texts))
	for i, text := range texts {
		params, f := decodeParams(text)
		if f != nil {
			return nil, refusal(f.status, "request %d of the list: %s", i+1, f.err.Message)
		}
		requests[i] = params
	}
	return requests, nil
}

// appendBatchResponse appends the response to one request of a list. The first request was counted for the rate limits
// on arrival.
func (x exchange) appendBatchResponse(ctx context.Context, answer []byte, params request, isFirst bool) []byte {
	principal, _ := model.PrincipalOf(ctx)
	rec := &record{begin: time.Now(), remote: x.r.RemoteAddr, caller: principal}
	ctx = graphql.StartOperationTrace(x.observe(context.WithValue(ctx, recordKey{}, rec), rec))
	defer x.logEnd(ctx, rec, 0, "operation")
	refuse := func(err error) []byte {
		return appendResponse(answer, &graphql.Response{Errors: gqlerror.List{x.presenter.present(ctx, err)}})
	}
	if !isFirst {
		if err := x.takeRequest(nil, principal, rec.begin); err != nil {
			return refuse(err)
		}
	}
	if int64(len(answer)) > x.settings.ResponseBytes {
		return refuse(model.Errorf(model.LimitExceeded, "the earlier responses of this batch exceed the limit of %d "+
			"bytes in total: send this request alone", x.settings.ResponseBytes))
	}
	params.Headers = x.r.Header
	var operation *graphql.OperationContext
	var errs gqlerror.List
	if broken := x.recoverPanic(ctx, func() { operation, errs = x.operationOf(ctx, x.exec, params) }); broken != nil {
		return appendResponse(answer, &graphql.Response{Errors: gqlerror.List{broken}})
	}
	if len(errs) > 0 {
		return appendResponse(answer, x.exec.DispatchError(graphql.WithOperationContext(ctx, operation), errs))
	}
	if operation.Operation.Operation == ast.Subscription {
		return refuse(model.Errorf(model.BadInput, "a subscription cannot be in a list of requests: send it alone"))
	}
	for response := range x.begin(ctx, x.exec, operation).responses() {
		answer = appendResponse(answer, response)
	}
	return answer
}
