package rest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/gateway/form"
	"github.com/agentgraph/agentgraph/gateway/stored"
	"github.com/agentgraph/agentgraph/model"
)

// Options configures a Transport. Status and TraceID are required, and MaxBody for requests with a body.
type Options struct {
	// Status returns the HTTP status of an error code.
	Status func(code string) int
	// TraceID returns the trace ID of the context's request.
	TraceID func(ctx context.Context) string
	// Ledger reads the rows of GET /Consumption/export. If nil, the path does not exist.
	Ledger Ledger
	// AuditLog reads the rows of GET /AuditEvent/export. If nil, the path does not exist.
	AuditLog AuditLog
	// BasePath is the path at which clients find the gateway, or "". Paths in responses begin with it.
	BasePath string
	// MaxBody bounds a request body, in bytes.
	MaxBody int64
	// WaitToDecode waits until a body of that many bytes may be decoded. The Transport calls leave afterwards, before it
	// executes an operation. If nil, nothing waits.
	WaitToDecode func(w http.ResponseWriter, r *http.Request, bytes int) (leave func(), err *model.Error)
	// MaxUpload bounds the file of a form, in bytes. MaxBody bounds the rest of the form.
	MaxUpload int64
	// RequestTimeout is the time in which each part of a form must arrive; see form.Limits.
	RequestTimeout time.Duration
}

// Transport serves v1 REST. It is safe for concurrent use.
type Transport struct {
	Options
	endpoints []*endpoint
	types     map[string]*ast.Definition
	exports   []export
}

var _ graphql.Transport = (*Transport)(nil)

// New returns a Transport. If an operation does not match the schema, it returns an error that names the route.
func New(schema *ast.Schema, o Options) (*Transport, error) {
	if o.Status == nil || o.TraceID == nil {
		return nil, errors.New("rest needs Status and TraceID")
	}
	all, err := stored.Read(operations)
	if err != nil {
		return nil, fmt.Errorf("read the stored operations: %w", err)
	}
	endpoints, err := newEndpoints(schema, all, routes)
	if err != nil {
		return nil, err
	}
	var exports []export
	if o.Ledger != nil {
		exports = append(exports, ledgerExport(o.Ledger))
	}
	if o.AuditLog != nil {
		exports = append(exports, auditExport(o.AuditLog))
	}
	return &Transport{Options: o, endpoints: endpoints, types: schema.Types, exports: exports}, nil
}

// Operations returns the names of the stored operations.
func (t *Transport) Operations() []string {
	return model.Map(t.endpoints, func(e *endpoint) string { return e.operation.Name })
}

func newEndpoints(schema *ast.Schema, all *ast.QueryDocument, table []route) ([]*endpoint, error) {
	var endpoints []*endpoint
	used := map[string]bool{}
	for _, r := range table {
		e, err := newEndpoint(schema, all, r)
		if err == nil {
			err = e.deprecate()
		}
		if err != nil {
			return nil, fmt.Errorf("route %s %s: %w", r.method, r.path, err)
		}
		used[r.operation], used[r.state.revision] = true, true
		endpoints = append(endpoints, e)
	}
	for _, o := range all.Operations {
		if !used[o.Name] {
			return nil, fmt.Errorf("no route uses the operation %q", o.Name)
		}
	}
	return endpoints, nil
}

// Supports is true for every path except /graphql and the health checks. Unknown paths get v1's 404.
func (t *Transport) Supports(r *http.Request) bool {
	switch r.URL.Path {
	case "/graphql", "/healthz", "/readyz":
		return false
	default:
		return true
	}
}

// Do answers the request: with the result of its route's operation, or with problem details.
func (t *Transport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	if fault := t.serve(w, r, exec); fault != nil {
		t.refuse(w, r, fault)
	}
}

// serve answers the request unless it returns a problem.
//
//nolint:funlen // the steps of a request
func (t *Transport) serve(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) *problem {
	if e := t.exportAt(r.URL.Path); e != nil {
		return t.export(w, r, e)
	}
	start := graphql.Now()
	e, variables, fault := t.find(w, r)
	if fault != nil {
		return fault
	}
	maps.Copy(w.Header(), e.notice)
	if !acceptsJSON(r.Header) {
		return problemf(http.StatusNotAcceptable, model.BadInput, "responses are application/json: the Accept header "+
			"must allow it")
	}
	given, fault := t.query(r, e)
	if fault != nil {
		return fault
	}
	var list page
	if e.paged {
		if list, fault = t.readPage(given, variables); fault != nil {
			return fault
		}
	}
	var spelled map[string]string
	switch {
	case e.upload != "" && form.Is(r.Header):
		var sent *form.Form
		if sent, fault = t.readForm(w, r, e, variables); sent != nil {
			defer sent.Close()
		}
	case len(e.members) > 0 && e.takesBody():
		spelled, fault = t.readBody(w, r, e, variables)
	case len(e.members) > 0:
		fault = t.readQuery(given, e, variables)
	}
	if fault != nil {
		return fault
	}
	if fault := t.checkIfMatch(r, exec, e, variables); fault != nil {
		return fault
	}
	params := e.params(r, variables)
	params.ReadTime = graphql.TraceTiming{Start: start, End: graphql.Now()}
	// v1 has no cursors, so every page from 1 on must work. A request has only one list, and counting its total reads the
	// skipped rows anyway.
	result, fault := t.execute(model.WithNumberedPages(r.Context()), exec, e, spelled, params)
	if fault == nil && e.hasTag() {
		tag := entityTag(result)
		w.Header().Set("ETag", tag)
		if e.method == http.MethodGet && matchesNoneMatch(r.Header, tag) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	switch {
	case fault != nil:
		return fault
	case e.paged:
		t.respond(w, e, result[:len(result)-1], list.close())
	default:
		t.respond(w, e, result)
	}
	return nil
}

func (e *endpoint) params(r *http.Request, variables map[string]any) *graphql.RawParams {
	return &graphql.RawParams{Query: e.operation.Text, OperationName: e.operation.Name, Variables: variables,
		Headers: r.Header}
}

// hasTag reports whether the response is the single resource that a GET at the same path returns.
func (e *endpoint) hasTag() bool {
	return e.method == http.MethodGet && !e.paged || e.current != nil &&
		slices.Equal(e.operation.Members, e.current.operation.Members)
}

// execute runs the operation and returns the bytes of its result. It returns a problem for a null result, and for any
// error, because v1 has no partial responses. Faults of members have the names that the caller used.
func (t *Transport) execute(ctx context.Context, exec graphql.GraphExecutor, e *endpoint, spelled map[string]string,
	params *graphql.RawParams) ([]byte, *problem) {
	response := stored.Execute(ctx, exec, params)
	if response == nil {
		return nil, t.problem(model.Errorf(model.Unavailable, "the request was cancelled or took too long; try again, "+
			"or request less"))
	}
	if len(response.Errors) > 0 {
		return nil, t.failure(e, spelled, response.Errors)
	}
	result, found := e.operation.Extract(response.Data)
	if !found {
		return nil, t.problem(model.Errorf(model.NotFound, "%s", cmp.Or(e.nullMessage, "the path names no resource")))
	}
	return result, nil
}

// respond writes a success whose body is the concatenated parts.
func (t *Transport) respond(w http.ResponseWriter, e *endpoint, parts ...[]byte) {
	if e.status == http.StatusNoContent {
		w.WriteHeader(e.status)
		return
	}
	length := 0
	for _, part := range parts {
		length += len(part)
	}
	h := w.Header()
	if e.location != "" {
		h.Set("Location", t.BasePath+fillLocation(e.location, parts[0]))
	}
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(length))
	w.WriteHeader(e.status)
	for _, part := range parts {
		_, _ = w.Write(part)
	}
}

// fillLocation replaces the {member} segments of a path with members of a JSON object.
func fillLocation(location string, result []byte) string {
	var members map[string]any
	if err := json.Unmarshal(result, &members); err != nil {
		return ""
	}
	return fillPath(location, members)
}

// fillPath replaces the {name} segments of a path with the escaped values.
func fillPath(path string, values map[string]any) string {
	parts := segments(path)
	for i, segment := range parts {
		if name, ok := parameter(segment); ok {
			parts[i] = url.PathEscape(fmt.Sprint(values[name]))
		}
	}
	return "/" + strings.Join(parts, "/")
}
