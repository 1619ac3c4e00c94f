package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/model"
)

const (
	traceHeader   = "X-Trace-Id"
	versionHeader = "X-Api-Version"
	originHeader  = "Origin"
	version       = "v1"
)

// Header values that all responses share. Nothing writes to them.
var (
	headerVersion = []string{version}
	headerNoSniff = []string{"nosniff"}
	headerNoStore = []string{"no-store"}
	headerVary    = []string{apiKeyHeader + ", " + authorizationHeader}
)

type traceKey struct{}

type trace struct {
	id string
	// parent is the request's traceparent header if it is valid, or "".
	parent string
}

// TraceID returns the trace ID of the request. It comes from the traceparent header, or the gateway generates it. The
// response's X-Trace-Id header and every log record carry it.
func TraceID(ctx context.Context) string {
	t, _ := ctx.Value(traceKey{}).(trace)
	return t.id
}

// TraceParent returns the traceparent header of the request, or of the request that opened the socket. It may be "".
func TraceParent(ctx context.Context) string {
	t, _ := ctx.Value(traceKey{}).(trace)
	return t.parent
}

// ServeHTTP serves /healthz, /readyz, public pages and Path, and passes other paths to Options.Transports.
func (s *Server) ServeHTTP(response http.ResponseWriter, r *http.Request) {
	r = withoutToken(s.stripBasePath(r))
	remote := s.remoteOf(r)
	rec := &record{begin: time.Now(), remote: remote, method: r.Method, path: r.URL.Path, header: response.Header()}
	trace := traceOf(r.Header)
	ctx := context.WithValue(r.Context(), traceKey{}, trace)
	ctx = context.WithValue(ctx, recordKey{}, rec)
	if !isHealthCheck(r.URL.Path) {
		ctx = s.observe(ctx, rec)
	}
	r = r.WithContext(ctx)
	r.RemoteAddr = remote

	w := &statusWriter{ResponseWriter: response}
	w.conn, _ = r.Context().Value(connKey{}).(*clientConn)
	if w.conn != nil && w.conn.isBroken {
		panic(http.ErrAbortHandler) // a part of an earlier response was sent, so no other response may follow
	}
	h := w.Header()
	h.Set(traceHeader, trace.id)
	h[versionHeader], h["X-Content-Type-Options"] = headerVersion, headerNoSniff
	// Caches must not store responses. Caches that do so anyway must store one for each credential.
	h["Cache-Control"], h["Vary"] = headerNoStore, headerVary
	if s.traffic.retiring.Load() {
		// A proxy then opens a connection for its next request. Once connections are refused, it uses another replica.
		h.Set("Connection", "close")
	}
	control := http.NewResponseController(w)
	// An earlier request on this connection may have left a deadline.
	_ = control.SetWriteDeadline(time.Time{})
	if r.ContentLength != 0 {
		// Code that reads the body clears this deadline. Forms replace it.
		_ = control.SetReadDeadline(rec.begin.Add(s.settings.RequestTimeout))
	}

	defer func() {
		s.logEnd(ctx, rec, w.status, "request")
	}()
	defer s.recoverRequest(w, r)
	if !s.browse(w, r) {
		s.entrance.ServeHTTP(w, r)
	}
}

// stripBasePath returns the request without the base path, if its path has one. A trailing slash after Path is ignored.
func (s *Server) stripBasePath(r *http.Request) *http.Request {
	rest, has := strings.CutPrefix(r.URL.Path, s.settings.BasePath)
	if !has || rest != "" && rest[0] != '/' {
		rest = r.URL.Path
	}
	if rest == Path+"/" {
		rest = Path
	}
	if rest == r.URL.Path {
		return r
	}
	within, address := *r, *r.URL
	address.Path, address.RawPath = cmp.Or(rest, "/"), strings.TrimPrefix(r.URL.RawPath, s.settings.BasePath)
	within.URL = &address
	return &within
}

// admit answers health checks and requests for public pages. It routes other requests if the server is not draining,
// the credential is valid and the rate limit is not reached.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/healthz":
		health(w, r, http.StatusOK, "ok")
		return
	case "/readyz":
		s.serveReadiness(w, r)
		return
	}
	if page := s.pages.at(r.URL.Path); page != nil {
		page.ServeHTTP(w, r)
		return
	}
	if !s.traffic.acquire() {
		w.Header().Set("Connection", "close")
		s.refuse(w, r, model.Errorf(model.Unavailable, "the server is shutting down; try again"))
		return
	}
	defer s.traffic.release()
	if asked := r.Header.Get(versionHeader); asked != "" && !strings.EqualFold(asked, version) {
		s.refuse(w, r, model.Errorf(model.BadInput, "version %q does not exist: this server only has %s", asked, version))
		return
	}
	r, isInURL, err := withTokenInURL(r)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	// A browser cannot set headers on a socket, so a socket sends its credential in connection_init.
	if (socketTransport{}).Supports(r) && r.URL.Path == Path {
		s.route(w, r)
		return
	}
	if len(r.Header.Values(apiKeyHeader)) > 1 {
		s.refuse(w, r, model.Errorf(model.BadInput, "%s is given more than once: send it once", apiKeyHeader))
		return
	}
	principal, err := s.checkCaller(r.Context(), credentialOf(r.Header), r.RemoteAddr, r.Header.Values(originHeader))
	if err == nil {
		err = checkCredentialUse(principal, r.URL.Path, isInURL)
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	if rec, ok := r.Context().Value(recordKey{}).(*record); ok {
		rec.caller = principal
	}
	if err := s.takeRequest(w.Header(), principal, time.Now()); err != nil {
		s.refuse(w, r, err)
		return
	}
	ctx := model.WithPrincipal(r.Context(), principal)
	out := s.memory.open(principal.CompanyID, func() {
		s.logSlowClient(ctx, "", r.RemoteAddr)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now())
	})
	defer out.close()
	if w, ok := w.(*statusWriter); ok {
		w.timeout = s.settings.WriteTimeout
	}
	s.compress(w, r.WithContext(withOutgoing(ctx, out)), s.serveIdempotent)
}

// checkCredentialUse returns FORBIDDEN for a credential that may not be used here. A token for one subscription may
// only be used at Path. Any other credential must not be in a URL.
func checkCredentialUse(principal model.Principal, path string, isInURL bool) error {
	switch {
	case principal.Subscription != "" && path != Path:
		return model.Errorf(model.Forbidden, "the access token is valid only for the subscription %s", principal.Subscription)
	case principal.Subscription == "" && isInURL:
		return model.Errorf(model.Forbidden,
			"only an access token for one subscription may be in a URL, because URLs are logged. Revoke this credential, "+
				"and send the new one in a header")
	}
	return nil
}

// checkCaller returns the principal of a credential. remote is the client's address. origins are the Origin
// headers of the request. After too many refused credentials from an address, the next bad one gets RATE_LIMITED. Valid
// credentials still pass, because many clients can share an address. Unverified credentials do not; see IsUnverified.
func (s *Server) checkCaller(
	ctx context.Context, credential, remote string, origins []string,
) (model.Principal, error) {
	principal, err := s.limitedPrincipal(ctx, credential, remote)
	if credential != "" && isUnauthenticated(err) {
		if slow := s.failures.check(remote); slow != nil {
			return model.Principal{}, slow
		}
		s.failures.count(remote)
	}
	if err != nil {
		return model.Principal{}, err
	}
	if len(principal.Origins) > 0 && (len(origins) != 1 || !slices.Contains(principal.Origins, origins[0])) {
		return model.Principal{}, model.Errorf(model.Forbidden, "the access token is valid only for pages of the "+
			"origins that it names")
	}
	if address := addressOf(remote); address.IsValid() {
		principal.Address = address.String()
	}
	return principal, nil
}

// limitedPrincipal does the same as principal, but limits guessing: an unverified credential gets RATE_LIMITED after
// too many unverified ones were refused.
func (s *Server) limitedPrincipal(ctx context.Context, credential, remote string) (principal model.Principal,
	err error,
) {
	if s.isUnverified == nil || !s.isUnverified(credential) {
		return s.principal(ctx, credential)
	}
	ctx, cancel := context.WithTimeout(ctx, s.settings.RequestTimeout)
	defer cancel()
	slow := s.failures.limitLookup(ctx, remote, func() bool {
		principal, err = s.principal(ctx, credential)
		return isUnauthenticated(err)
	})
	if slow != nil {
		return model.Principal{}, slow
	}
	return principal, err
}

func isUnauthenticated(err error) bool {
	var known *model.Error
	return errors.As(err, &known) && known.Code == model.Unauthenticated
}

func (s *Server) principal(ctx context.Context, credential string) (model.Principal, error) {
	if credential == "" {
		return model.Principal{}, model.Errorf(model.Unauthenticated,
			"the request has no credential: send an API key as %s, or an access token as %s: "+
				"Bearer", apiKeyHeader, authorizationHeader)
	}
	return s.authenticate(ctx, credential)
}

// isRevoked reports whether a credential is no longer valid. It is false if the check itself fails.
func (s *Server) isRevoked(ctx context.Context, credential string) bool {
	_, err := s.principal(ctx, credential)
	return isUnauthenticated(err)
}

// logSlowClient logs that a client was dropped because it received too slowly.
func (s *Server) logSlowClient(ctx context.Context, operation, remote string) {
	principal, _ := model.PrincipalOf(ctx)
	s.log.LogAttrs(ctx, slog.LevelWarn, "closed the connection of a slow client", slog.String("operation", operation),
		slog.String("keyId", principal.KeyID), slog.String("company", principal.CompanyID), slog.String("remote", remote),
		slog.String("traceId", TraceID(ctx)))
}

// recoverRequest turns a panic outside of a resolver into a masked error.
func (s *Server) recoverRequest(w *statusWriter, r *http.Request) {
	value := recover()
	if value == nil {
		return
	}
	if err, ok := value.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(value)
	}
	cause := recovered(r.Context(), value)
	if w.status != 0 {
		_ = s.presenter.present(r.Context(), cause) // too late for the client, but the log needs it
		panic(http.ErrAbortHandler)
	}
	s.refuse(w, r, cause)
}

// traceOf returns the trace of a W3C traceparent header, or a new one.
func traceOf(h http.Header) trace {
	parent := h.Get("Traceparent")
	parts := strings.Split(parent, "-")
	if len(parts) >= 4 && len(parts[0]) == 2 && parts[0] != "ff" && len(parts[1]) == 32 &&
		strings.Trim(parts[1], "0123456789abcdef") == "" && strings.Trim(parts[1], "0") != "" {
		return trace{id: parts[1], parent: parent}
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id)
	return trace{id: hex.EncodeToString(id)}
}

// statusWriter records the status that was sent; 0 means none yet. A small body that is written in one call is sent in
// one piece.
type statusWriter struct {
	http.ResponseWriter
	status int
	// conn is nil if another listener accepted the connection.
	conn *clientConn
	// timeout is how long the client may take to receive a response with a Content-Length; 0 means no limit.
	timeout time.Duration
}

func (w *statusWriter) WriteHeader(status int) {
	w.begin(status)
	w.ResponseWriter.WriteHeader(status)
}

// begin records the status, limits the time for writing, and joins the lines of Vary. CORS and compression add lines,
// but nginx before 1.23 reads only the last, and would serve one credential's response to another.
func (w *statusWriter) begin(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	if lines := w.Header().Values("Vary"); len(lines) > 1 {
		w.Header().Set("Vary", strings.Join(lines, ", "))
	}
	if w.timeout > 0 && w.Header().Get("Content-Length") != "" {
		_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.timeout))
	}
}

func (w *statusWriter) Write(p []byte) (int, error) {
	w.begin(http.StatusOK)
	if w.conn != nil && len(p) <= maxBuffered && w.Header().Get("Content-Length") == strconv.Itoa(len(p)) {
		return w.conn.writeWhole(w.ResponseWriter, p)
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController and the WebSocket handshake reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
