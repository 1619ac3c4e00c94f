// Package gateway serves an executable GraphQL schema over HTTP, server-sent events and WebSocket. It checks
// credentials and bounds, and hides internal errors from clients. It works with any schema. Start reading at New.
package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/rs/cors"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/agentgraph/agentgraph/cache"
	"github.com/agentgraph/agentgraph/gateway/console"
	"github.com/agentgraph/agentgraph/model"
)

// Path is where GraphQL is served, over every transport.
const Path = "/graphql"

// Authenticate returns the principal of an API key or access token. It returns an UNAUTHENTICATED *model.Error if the
// credential is malformed, unknown, revoked or expired. Any other error means that the check failed. It must limit its
// own time.
type Authenticate func(ctx context.Context, credential string) (model.Principal, error)

// IsUnverified reports whether a credential has the right form but might be invented. It must not query the database.
type IsUnverified func(credential string) bool

// Options configures a Server. Schema, Authenticate, Ready and Log are required.
type Options struct {
	Schema       graphql.ExecutableSchema
	Authenticate Authenticate
	// IsUnverified selects the credentials whose refusals are limited for all addresses together. Nil selects none.
	IsUnverified IsUnverified
	// Ready returns nil if the process can serve requests.
	Ready func(ctx context.Context) error
	// Remarks returns what /readyz adds to its answer when the process is ready. It may be nil.
	Remarks func(ctx context.Context) []string
	Log     *slog.Logger
	// Extensions are installed in the given order, after the gateway's own.
	Extensions []graphql.HandlerExtension
	// Transports serve the paths that the gateway does not serve itself. The first that supports the request gets it, with
	// the principal in its context. A Refuser also writes the gateway's refusals on its paths.
	Transports []graphql.Transport
	// Revocations ends sockets and streams whose credential is revoked. If nil, they end after the next PingInterval.
	Revocations Revocations
	// Claim lets clients retry POST requests with an Idempotency-Key. If nil, the header is ignored.
	Claim ClaimRequest
	// HeavySlots bounds the heavy operations that run, and the large bodies that are decoded, at the same time. If nil,
	// they are not bounded.
	HeavySlots Slots
	// ModelSlots bounds the operations that use a model and run at the same time. If nil, they are not bounded.
	ModelSlots Slots
	// Console serves the web console to browsers. Nil means no console.
	Console *console.Handler
	// Pages are public documents by path, without a trailing slash.
	Pages map[string]Page
	// Observer watches requests. It may be nil.
	Observer Observer
	Settings Settings
}

// Refuser is a transport that writes the gateway's refusals in its own format: for a missing or bad credential, a rate
// limit, draining, or a panic. The client may see the error, and StatusOf returns the status of its code. The headers
// WWW-Authenticate and Retry-After are already set.
type Refuser interface {
	graphql.Transport
	Refuse(w http.ResponseWriter, r *http.Request, err *gqlerror.Error)
}

// Canonicalizer is a transport whose paths have several spellings. Requests of the same operation with the same
// parameters have the same canonical path.
type Canonicalizer interface {
	graphql.Transport
	CanonicalPath(r *http.Request) string
}

// Server serves GraphQL and the other paths of Options. It is an http.Handler, made by New.
type Server struct {
	settings          Settings
	exec              namingExecutor
	graphqlTransports []graphql.Transport
	otherTransports   []graphql.Transport
	authenticate      Authenticate
	isUnverified      IsUnverified
	claim             ClaimRequest
	console           *console.Handler
	pages             pages
	readiness         readiness
	failures          failures
	presenter         presenter
	log               *slog.Logger
	observer          Observer
	traffic           *traffic
	sockets           atomic.Int64
	// entrance handles every request that browse does not answer.
	entrance  http.Handler
	cors      *cors.Cors
	requests  keyLimit
	sessions  *sessions
	persisted *cache.Cache[string, string]
	schema    *ast.Schema
	sdl       func() []byte
	memory    *responseMemory
	bodies    *requestMemory
	slots     Slots
}

// New returns a Server. It panics if an extension does not match the schema.
func New(o Options) *Server { //nolint:funlen // it names each part once
	Prepare(o.Schema.Schema())

	s := &Server{
		settings:        o.Settings,
		exec:            namingExecutor{executor.New(o.Schema)},
		otherTransports: o.Transports,
		authenticate:    o.Authenticate,
		isUnverified:    o.IsUnverified,
		claim:           o.Claim,
		console:         o.Console,
		pages:           newPages(o.Pages),
		readiness:       readiness{ready: o.Ready, remarks: o.Remarks, log: o.Log},
		failures:        newFailures(),
		presenter:       presenter{log: o.Log, settings: o.Settings},
		log:             o.Log,
		observer:        o.Observer,
		traffic:         newTraffic(),
		cors:            newCORS(o.Settings.CORSOrigins),
		requests:        newKeyLimit("requests", o.Settings.RateLimit, o.Settings.CompanyRateLimit),
		sdl:             sync.OnceValue(func() []byte { return []byte(SDL(o.Schema.Schema())) }),
		schema:          o.Schema.Schema(),
		persisted:       newPersisted(o.Settings.PersistedBytes),
		memory:          newResponseMemory(o.Settings),
		bodies:          newRequestMemory(o.Settings),
		slots:           o.HeavySlots,
		sessions:        newSessions(o.Revocations, o.Settings.SessionsPerKey, o.Log),
	}
	s.entrance = http.HandlerFunc(s.admit)
	if s.cors != nil {
		s.entrance = s.cors.Handler(s.entrance)
	}
	documents := newDocuments(o.Settings.CachedBytes)
	s.exec.SetErrorPresenter(s.presenter.present)
	s.exec.SetRecoverFunc(recovered)
	s.exec.SetQueryCache(documents)
	s.exec.Use(noteOperation{})
	s.exec.Use(guard{settings: o.Settings, documents: documents, schema: o.Schema.Schema()})
	s.exec.Use(modelDriven{limit: newModelLimit(o.Settings)})
	s.exec.Use(deadline{settings: o.Settings, slow: newSessions(o.Revocations, 0, o.Log)})
	s.exec.Use(heavy{slots: o.HeavySlots, models: o.ModelSlots, patience: o.Settings.RequestTimeout})
	s.exec.Use(idempotency{Server: s})
	s.exec.Use(resume{})
	s.exec.Use(responseLimit{settings: o.Settings, memory: s.memory})
	s.exec.SetDisableSuggestion(!o.Settings.Introspection)
	s.exec.SetDefaultRulesFn(func() *rules.Rules { return validation(o.Settings.Introspection) })
	if o.Settings.Introspection {
		s.exec.Use(extension.Introspection{})
		s.exec.Use(newExactIntrospection())
	}
	for _, e := range o.Extensions {
		s.exec.Use(e)
	}
	s.graphqlTransports = []graphql.Transport{socketTransport{s}, postTransport{s}, getTransport{s}, otherMethods{s}}
	return s
}

// Retire makes /readyz answer 503 from now on, so that load balancers send requests elsewhere. The server accepts
// requests until Drain.
func (s *Server) Retire() { s.traffic.retiring.Store(true) }

// Drain stops the server. From now on the server refuses requests with UNAVAILABLE, /readyz answers 503, and open
// subscriptions are closed, so that their clients reconnect elsewhere. Running requests may finish until ctx ends.
// Drain returns nil if no request is left. Call it before http.Server.Shutdown, which does not wait for sockets.
func (s *Server) Drain(ctx context.Context) error {
	if left := s.traffic.drain(ctx); left > 0 {
		return fmt.Errorf("drain the gateway: %d requests did not end in time: %w", left, ctx.Err())
	}
	return nil
}

// Closing returns a channel that is closed when Drain begins.
func (s *Server) Closing() <-chan struct{} { return s.traffic.closing.Done() }

func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	ctx := graphql.StartOperationTrace(r.Context())
	if r.URL.Path == Path {
		transportOf(s.graphqlTransports, r).Do(w, r.WithContext(ctx), s.exec)
		return
	}
	if r.URL.Path == SDLPath {
		s.serveSDL(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.settings.longestTimeout())
	defer cancel()
	if t := transportOf(s.otherTransports, r); t != nil {
		buffer := buffers.Get().(*[]byte)
		defer putBuffer(buffer) // after the response is sent
		*buffer = (*buffer)[:0]
		t.Do(w, r.WithContext(model.WithBuffer(ctx, buffer)), s.exec)
		return
	}
	s.refuse(w, r, model.Errorf(model.NotFound, "there is nothing at this path"))
}

// restOfBody is how long a client may take to send the rest of a refused request's body.
const restOfBody = 2 * time.Second

// refuse answers a rejected request in the format of its path's transport.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, cause error) {
	if r.ContentLength != 0 {
		// net/http reads the rest of the body before it sends a response, and must not wait long for it.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(restOfBody))
	}
	err := s.presenter.present(r.Context(), cause)
	switch status := StatusOf(codeOf(err)); status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", challenge(r.Header))
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", retryAfter)
	}
	if r.URL.Path != Path {
		if t, ok := transportOf(s.otherTransports, r).(Refuser); ok {
			t.Refuse(w, r, err)
			return
		}
	}
	writeResponse(w, StatusOf(codeOf(err)), negotiate(r.Header).errorType(), &graphql.Response{Errors: gqlerror.List{err}})
}

func transportOf(transports []graphql.Transport, r *http.Request) graphql.Transport {
	for _, t := range transports {
		if t.Supports(r) {
			return t
		}
	}
	return nil
}

// otherMethods answers methods that no transport of Path serves.
type otherMethods struct{ *Server }

func (otherMethods) Supports(*http.Request) bool { return true }

func (otherMethods) Do(w http.ResponseWriter, r *http.Request, _ graphql.GraphExecutor) {
	w.Header().Set("Allow", "GET, HEAD, POST")
	fault := refusal(http.StatusMethodNotAllowed, "the method %s is not allowed here; use POST or GET", r.Method)
	fault.write(r.Context(), w, negotiate(r.Header))
}
