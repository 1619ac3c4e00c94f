package gateway

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/model"
)

const (
	traceHeader   = "X-Trace-Id"
	versionHeader = "X-Api-Version"
	version       = "v1"
)

type (
	traceKey  struct{}
	recordKey struct{}
)

// record gathers what the access log says of a request. Only the goroutine that serves the request
// writes to it.
type record struct {
	operation string
	company   string
	// header is that of the response; nil on a socket.
	header http.Header
}

// TraceID returns the identifier of the request: the trace of its traceparent header, or one that
// the gateway made. It is in the X-Trace-Id header of the response and in every line of the log.
func TraceID(ctx context.Context) string {
	id, _ := ctx.Value(traceKey{}).(string)
	return id
}

// ServeHTTP serves /healthz, /readyz, Path, and by the other transports everything else.
func (s *Server) ServeHTTP(response http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	trace := traceOf(r.Header)
	rec := &record{header: response.Header()}
	ctx := context.WithValue(r.Context(), traceKey{}, trace)
	ctx = context.WithValue(ctx, recordKey{}, rec)
	r = r.WithContext(ctx)

	w := &statusWriter{ResponseWriter: response}
	w.outlet, _ = r.Context().Value(outletKey{}).(*outlet)
	if w.outlet != nil && w.outlet.isBroken {
		panic(http.ErrAbortHandler) // a request that came behind the one whose response the client did not take
	}
	w.Header().Set(traceHeader, trace)
	w.Header().Set(versionHeader, version)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	// Whoever stores responses must not, and whoever does all the same must tell credentials apart.
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Vary", apiKeyHeader+", "+authorizationHeader)
	// A deadline that an earlier request on this connection left behind must not end this one.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})

	defer func() {
		s.log.LogAttrs(ctx, slog.LevelInfo, "request",
			slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", w.status),
			slog.Duration("duration", time.Since(begin)), slog.String("operation", rec.operation),
			slog.String("company", rec.company), slog.String("traceId", trace))
	}()
	defer s.survive(w, r)
	if !s.browse(w, r) {
		s.entrance.ServeHTTP(w, r)
	}
}

// admit answers health checks, and lets a request in when the server is not draining, the credential is
// good and its rate limit not reached.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/healthz":
		health(w, r, "ok", http.StatusOK)
		return
	case "/readyz":
		s.readiness(w, r)
		return
	}
	if !s.traffic.enter() {
		w.Header().Set("Connection", "close")
		s.refuse(w, r, model.Errorf(model.Unavailable, "the gateway is shutting down; try again"))
		return
	}
	defer s.traffic.leave()

	if asked := r.Header.Get(versionHeader); asked != "" && !strings.EqualFold(asked, version) {
		s.refuse(w, r, model.Errorf(model.BadInput, "version %q does not exist; this is %s", asked, version))
		return
	}
	// A browser cannot set headers on a socket, so a socket shows its credential in connection_init.
	if (socketTransport{}).Supports(r) && r.URL.Path == Path {
		s.route(w, r)
		return
	}
	principal, err := s.principal(r.Context(), credentialOf(r.Header))
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	if rec, ok := r.Context().Value(recordKey{}).(*record); ok {
		rec.company = principal.CompanyID
	}
	if err := s.requests.take(w.Header(), principal.KeyID, 1, time.Now()); err != nil {
		s.refuse(w, r, err)
		return
	}
	s.once(w, r.WithContext(model.WithPrincipal(r.Context(), principal)))
}

func (s *Server) principal(ctx context.Context, credential string) (model.Principal, error) {
	if credential == "" {
		return model.Principal{}, model.Errorf(model.Unauthenticated,
			"a credential is needed: send an API key as %s, or an access token as %s: Bearer", apiKeyHeader, authorizationHeader)
	}
	ctx, cancel := context.WithTimeout(ctx, s.settings.RequestTimeout)
	defer cancel()
	return s.authenticate(ctx, credential)
}

// revoked reports whether a credential that was good is no longer so. A failure to find out is not a no.
func (s *Server) revoked(ctx context.Context, credential string) bool {
	_, err := s.principal(ctx, credential)
	var known *model.Error
	return errors.As(err, &known) && known.Code == model.Unauthenticated
}

// slow names a client that was dropped because it did not take in time what was sent to it.
func (s *Server) slow(ctx context.Context, operation, remote string) {
	principal, _ := model.PrincipalOf(ctx)
	s.log.LogAttrs(ctx, slog.LevelWarn, "slow client dropped", slog.String("operation", operation),
		slog.String("keyId", principal.KeyID), slog.String("company", principal.CompanyID), slog.String("remote", remote),
		slog.String("traceId", TraceID(ctx)))
}

// survive turns a panic outside of a resolver into one masked error.
func (s *Server) survive(w *statusWriter, r *http.Request) {
	value := recover()
	if value == nil {
		return
	}
	if err, ok := value.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(value)
	}
	cause := recovered(r.Context(), value)
	if w.status != 0 {
		_ = s.presenter.present(r.Context(), cause) // Too late to tell the client, not the log.
		panic(http.ErrAbortHandler)
	}
	s.refuse(w, r, cause)
}

func (s *Server) readiness(w http.ResponseWriter, r *http.Request) {
	if s.traffic.closing.Err() != nil {
		health(w, r, "draining", http.StatusServiceUnavailable)
		return
	}
	if err := s.ready(r.Context()); err != nil {
		s.log.WarnContext(r.Context(), "not ready", "error", err, "traceId", TraceID(r.Context()))
		health(w, r, "not ready", http.StatusServiceUnavailable)
		return
	}
	health(w, r, "ready", http.StatusOK)
}

func health(w http.ResponseWriter, r *http.Request, state string, status int) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", jsonType+utf8Suffix)
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`{"status":"` + state + `"}`))
}

// traceOf returns the trace id of a W3C traceparent header, or a new one.
func traceOf(h http.Header) string {
	parts := strings.Split(h.Get("Traceparent"), "-")
	if len(parts) >= 4 && len(parts[0]) == 2 && parts[0] != "ff" && len(parts[1]) == 32 &&
		strings.Trim(parts[1], "0123456789abcdef") == "" && strings.Trim(parts[1], "0") != "" {
		return parts[1]
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id)
	return hex.EncodeToString(id)
}

// statusWriter remembers the status that was sent; 0 as long as none was. A body that is written at once is sent at once,
// where there is an outlet.
type statusWriter struct {
	http.ResponseWriter
	status int
	outlet *outlet
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	if w.outlet != nil && len(p) <= mostHeld && w.Header().Get("Content-Length") == strconv.Itoa(len(p)) {
		return w.outlet.writeWhole(w.ResponseWriter, p)
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController and the WebSocket handshake reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// operationName is an extension that notes the operation's name for the access log.
type operationName struct{}

func (operationName) ExtensionName() string                   { return "OperationName" }
func (operationName) Validate(graphql.ExecutableSchema) error { return nil }

// longestName keeps a client from filling the log.
const longestName = 64

func (operationName) InterceptOperation(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
	if rec, ok := ctx.Value(recordKey{}).(*record); ok {
		rec.operation = shortName(graphql.GetOperationContext(ctx).Operation)
	}
	return next(ctx)
}

func shortName(operation *ast.OperationDefinition) string {
	return operation.Name[:min(len(operation.Name), longestName)]
}
