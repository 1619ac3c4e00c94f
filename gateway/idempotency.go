package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/model"
)

const (
	idempotencyHeader = "Idempotency-Key"
	replayedHeader    = "Idempotent-Replayed"
	longestKey        = 255
	// maxSaved bounds the kept body of a response, in bytes. A response with a longer body is kept without it.
	maxSaved = 1 << 20
)

// keptHeaders are the headers that belong to a response rather than to its transmission.
var keptHeaders = []string{"Content-Type", "Location"}

// keptStatuses are the statuses of failures that a retry cannot avoid.
var keptStatuses = []int{http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity}

// finalCodes are the codes of errors that a retry cannot avoid.
var finalCodes = []string{string(model.BadInput), string(model.NotFound), string(model.Unprocessable),
	string(model.LimitExceeded)}

// ClaimRequest ensures that a company's request is carried out once, whichever process receives it. Requests with the
// same id are one request and must have the same fingerprint; both are SHA-256 hashes. It returns the kept response to
// an earlier attempt, or a claim by which the caller carries out the request. Errors for the client are CONFLICT and
// UNPROCESSABLE.
type ClaimRequest func(ctx context.Context, companyID string, id, fingerprint []byte) (
	kept *model.StoredResponse, claim RequestClaim, err error)

// RequestClaim is the right to carry out a request. End must be called once.
type RequestClaim interface {
	// CarryOut calls the function do in one transaction, which also records that the request was carried out.
	CarryOut(ctx context.Context, do func(context.Context) error) error
	// End ends the claim and saves the response. Nil saves none.
	End(ctx context.Context, kept *model.StoredResponse) error
}

type keyedKey struct{}

// idempotentWriter is the ResponseWriter of a request with an Idempotency-Key. It passes the response to the client
// until a mutation starts. From then on it buffers the response until the response is saved.
type idempotentWriter struct {
	http.ResponseWriter
	id   []byte
	url  string
	body *digest

	// stored has the response to an earlier attempt. claim is set while this request is carried out.
	stored *model.StoredResponse
	claim  RequestClaim
	// isSingleMutation is set if the request is a single mutation, which runs in one transaction.
	isSingleMutation bool
	// isFinal is set if a retry gets this response instead of being executed. isSecret is set if the response's body must
	// not be saved.
	isFinal, isSecret bool

	status   int
	response bytes.Buffer
}

// serveIdempotent routes the request. It carries out a mutation with an Idempotency-Key once, and answers retries with
// the same response.
func (s *Server) serveIdempotent(w http.ResponseWriter, r *http.Request) {
	defer s.countBody(w, r)()
	keys, given := r.Header[idempotencyHeader]
	if !given || r.Method != http.MethodPost || s.claim == nil {
		s.route(w, r)
		return
	}
	if !isKey(keys) {
		s.refuse(w, r, model.Errorf(model.BadInput, "%s must be given once, with 1 to %d printable ASCII characters",
			idempotencyHeader, longestKey))
		return
	}
	if r.URL.Path == Path && negotiate(r.Header).first {
		s.refuse(w, r, model.Errorf(model.BadInput, "a response of type %s cannot be saved and repeated: leave out "+
			"%s", eventType,
			idempotencyHeader))
		return
	}
	k := &idempotentWriter{ResponseWriter: w, id: s.requestID(r, keys[0]), url: r.URL.RawQuery, body: digestOf(r)}
	r = r.WithContext(context.WithValue(r.Context(), keyedKey{}, k))
	r.Body = k.body
	answered := false
	defer func() {
		if k.claim != nil {
			s.endClaim(r.Context(), k, answered)
		}
	}()
	s.route(k, r)
	answered = true
	if k.stored != nil {
		k.replay()
	}
}

// requestID returns the id of a request with the key. The same key on another path is another request.
func (s *Server) requestID(r *http.Request, key string) []byte {
	path := r.URL.EscapedPath()
	if t, ok := transportOf(s.otherTransports, r).(Canonicalizer); ok {
		path = t.CanonicalPath(r)
	}
	id := sha256.Sum256([]byte(r.Method + "\x00" + path + "\x00" + key))
	return id[:]
}

func isKey(keys []string) bool {
	return len(keys) == 1 && keys[0] != "" && len(keys[0]) <= longestKey &&
		!strings.ContainsFunc(keys[0], func(c rune) bool { return c < ' ' || c > '~' })
}

// endClaim ends the request's claim and then sends the response. The argument answered is false after a panic.
func (s *Server) endClaim(ctx context.Context, k *idempotentWriter, answered bool) {
	var kept *model.StoredResponse
	if answered {
		kept = k.keepable()
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.settings.RequestTimeout)
	defer cancel()
	if err := k.claim.End(ending, kept); err != nil {
		s.log.ErrorContext(ctx, "could not save the response to a request with an idempotency key", "error", err,
			"traceId", TraceID(ctx))
	}
	if answered && k.status != 0 {
		k.ResponseWriter.WriteHeader(k.status)
		_, _ = k.ResponseWriter.Write(k.response.Bytes())
	}
}

// keepable returns the response to save for retries, or nil if a retry must be carried out again.
func (k *idempotentWriter) keepable() *model.StoredResponse {
	if isSuccess := k.status >= 200 && k.status < 300; !k.isFinal || !isSuccess &&
		!slices.Contains(keptStatuses, k.status) {
		return nil
	}
	kept := &model.StoredResponse{Status: k.status, Headers: map[string]string{}}
	for _, name := range keptHeaders {
		if value := k.Header().Get(name); value != "" {
			kept.Headers[name] = value
		}
	}
	if !k.isSecret && k.response.Len() <= maxSaved {
		kept.Body = append([]byte{}, k.response.Bytes()...)
	}
	return kept
}

func (k *idempotentWriter) replay() {
	h := k.Header()
	for _, name := range keptHeaders {
		h.Del(name)
		if value, given := k.stored.Headers[name]; given {
			h.Set(name, value)
		}
	}
	h.Del("Content-Length")
	if len(k.stored.Body) > 0 {
		h.Set("Content-Length", strconv.Itoa(len(k.stored.Body)))
	}
	h.Set(replayedHeader, "true")
	k.ResponseWriter.WriteHeader(k.stored.Status)
	_, _ = k.ResponseWriter.Write(k.stored.Body)
}

// isBuffered reports whether the response is buffered or replaced rather than passed to the client.
func (k *idempotentWriter) isBuffered() bool { return k.claim != nil || k.stored != nil }

func (k *idempotentWriter) WriteHeader(status int) {
	switch {
	case !k.isBuffered():
		k.ResponseWriter.WriteHeader(status)
	case k.status == 0:
		k.status = status
	}
}

func (k *idempotentWriter) Write(p []byte) (int, error) {
	if !k.isBuffered() {
		return k.ResponseWriter.Write(p)
	}
	if k.status == 0 {
		k.status = http.StatusOK
	}
	return k.response.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (k *idempotentWriter) Unwrap() http.ResponseWriter { return k.ResponseWriter }

// idOf returns the request's id in the principal's company. It depends on the holder of a page's token, because pages
// choose their keys independently.
func (k *idempotentWriter) idOf(p model.Principal) []byte {
	if p.Reach == nil {
		return k.id
	}
	sum := sha256.Sum256(slices.Concat(k.id, p.Reach.Holder))
	return sum[:]
}

// fingerprint hashes everything else that must be equal in a retry. Call it after the body was read.
func (k *idempotentWriter) fingerprint(p model.Principal) []byte {
	scopes := slices.Sorted(slices.Values(p.Scopes))
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %x", k.body.mediaType, k.url, scopes, k.body.hash.Sum(nil)))
	return sum[:]
}

// idempotency is an extension that claims requests with an Idempotency-Key before their mutations run.
type idempotency struct {
	extensionBase
	*Server
}

func (i idempotency) InterceptOperation(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	k, given := ctx.Value(keyedKey{}).(*idempotentWriter)
	if !given || graphql.GetOperationContext(ctx).Operation.Operation != ast.Mutation {
		return next(ctx)
	}
	principal, _ := model.PrincipalOf(ctx)
	// A client that disconnects will retry, and must get the response then.
	ctx = context.WithoutCancel(ctx)
	claiming, cancel := context.WithTimeout(ctx, i.settings.RequestTimeout)
	defer cancel()
	var err error
	switch k.stored, k.claim, err = i.claim(claiming, principal.CompanyID, k.idOf(principal), k.fingerprint(principal)); {
	case err != nil:
		shown := i.presenter.present(ctx, err)
		if codeOf(shown) == string(model.Conflict) {
			k.Header().Set("Retry-After", "1")
		}
		return graphql.OneShot(&graphql.Response{Errors: gqlerror.List{shown}})
	case k.stored != nil:
		return graphql.OneShot(&graphql.Response{Data: []byte("null")}) // the kept response replaces it
	}
	fields := mutations(ctx)
	for _, field := range fields {
		k.isSecret = k.isSecret || slices.Contains(i.settings.SecretFields, field.Name)
	}
	if len(fields) == 1 {
		// A field that waits for a language model commits before and after the wait, in its own transactions.
		_, isSlow := i.settings.SlowFields[fields[0].Name]
		k.isSingleMutation = !isSlow
	}
	return next(ctx)
}

// InterceptField carries out a mutation and records that in one transaction. A retry then does not repeat the mutation,
// even if this process ends before it saves the response.
func (i idempotency) InterceptField(ctx context.Context, next graphql.Resolver) (value any, err error) {
	k, given := ctx.Value(keyedKey{}).(*idempotentWriter)
	if !given || !k.isSingleMutation || graphql.GetFieldContext(ctx).Object != "Mutation" {
		return next(ctx)
	}
	err = k.claim.CarryOut(ctx, func(ctx context.Context) error {
		value, err = next(ctx)
		return err
	})
	return value, err
}

// InterceptResponse sets isFinal if a mutation succeeded, or if a retry could only fail in the same way.
func (i idempotency) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	response := next(ctx)
	if k, given := ctx.Value(keyedKey{}).(*idempotentWriter); given && k.claim != nil && response != nil {
		k.isFinal = isFinal(response.Errors, len(mutations(ctx)))
	}
	return response
}

// isFinal reports whether a retry must not repeat the operation. count is the number of its mutations, and errs are the
// errors of its response.
func isFinal(errs gqlerror.List, count int) bool {
	final, failed := true, map[string]bool{}
	for _, err := range errs {
		final = final && slices.Contains(finalCodes, codeOf(err))
		switch len(err.Path) {
		case 0: // the error concerns the whole operation
			count = 0
		case 1:
			failed[err.Path.String()] = true
		}
	}
	return final || len(failed) < count
}

// mutations returns the operation's root fields except __typename.
func mutations(ctx context.Context) []*ast.Field {
	var fields []*ast.Field
	for field := range rootFields(graphql.GetOperationContext(ctx)) {
		if !strings.HasPrefix(field.Name, "__") {
			fields = append(fields, field)
		}
	}
	return fields
}
