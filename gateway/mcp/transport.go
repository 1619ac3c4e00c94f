// Package mcp serves the Model Context Protocol at /mcp, for assistants. Each tool of the table runs a stored GraphQL
// operation through the gateway's executor, so the rules for any other request hold. Requests are independent of each
// other: there are no sessions, and any replica answers. Start reading at Transport and tools.
package mcp

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/cors"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/gateway/form"
	"github.com/agentgraph/agentgraph/gateway/stored"
	"github.com/agentgraph/agentgraph/model"
)

// Path is where the protocol is served, over streamable HTTP.
const Path = "/mcp"

//go:embed operations/*.graphql
var operations embed.FS

// Options configures a Transport. Status, Explain, Closing, MaxBody and WriteTimeout are required.
type Options struct {
	Version string
	// Explain returns the executor's errors for the caller's operation, or clearer ones about its variables.
	Explain func(schema *ast.Schema, o *graphql.OperationContext, variables map[string]any,
		errs gqlerror.List) gqlerror.List
	// Unrecorded returns a context for operations that the caller did not ask for, so that the log and the metrics do not
	// take them for the request.
	Unrecorded func(ctx context.Context) context.Context
	// Status returns the HTTP status of an error code.
	Status func(code string) int
	// Closing returns a channel that is closed when the server drains. Tools that wait then answer immediately.
	Closing func() <-chan struct{}
	// Console is the path of the web console below the server's address, or "" without a console.
	Console string
	// Origins are the origins whose pages may call the server, as in CORS. Other pages may not, unless they and the server
	// are on the same machine.
	Origins []string
	// IsReadOnly omits every tool that changes something.
	IsReadOnly bool
	// HasSchema offers the tools that search the schema and check documents. HasQuery offers the tool that runs the
	// caller's queries.
	HasSchema, HasQuery bool
	// MaxBody bounds a request body, in bytes.
	MaxBody int64
	// WaitToDecode waits until a body of that many bytes may be decoded. The Transport calls leave afterwards, before it
	// executes an operation. If nil, nothing waits.
	WaitToDecode func(w http.ResponseWriter, r *http.Request, bytes int) (leave func(), err *model.Error)
	// WriteTimeout is how long the client may take to receive one message.
	WriteTimeout time.Duration
	// Log receives internal errors. Nil discards them.
	Log *slog.Logger
}

// Transport serves the protocol. It is safe for concurrent use.
type Transport struct {
	Options
	schema *ast.Schema
	tools  map[string]*readyTool
	// resources are the operations that read resources, by the template of their addresses.
	resources map[string]*stored.Operation
	// agents lists the agents, and waiting the chats in which a call waits for a person.
	agents, waiting *stored.Operation
	names           []string
	server          *sdk.Server
	http            http.Handler
	cors            *cors.Cors
}

var _ graphql.Transport = (*Transport)(nil)

// New returns a Transport. It returns an error if a tool or a resource does not match the schema.
func New(schema *ast.Schema, o Options) (*Transport, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	t := &Transport{Options: o, schema: schema, tools: map[string]*readyTool{},
		resources: map[string]*stored.Operation{}}
	if len(o.Origins) > 0 {
		t.cors = cors.New(cors.Options{AllowedOrigins: o.Origins})
	}
	t.server = sdk.NewServer(&sdk.Implementation{Name: "agentgraph", Version: o.Version}, &sdk.ServerOptions{
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Prompts: &sdk.PromptCapabilities{},
			Resources: &sdk.ResourceCapabilities{}},
		// The scopes of the credential decide what a list contains.
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = cacheScope },
	})
	all, err := stored.Read(operations)
	if err != nil {
		return nil, fmt.Errorf("read the stored operations: %w", err)
	}
	for _, operation := range all.Operations {
		t.names = append(t.names, operation.Name)
	}
	if err := t.addTools(all); err != nil {
		return nil, err
	}
	if err := t.addResources(all); err != nil {
		return nil, err
	}
	t.addPrompts()
	t.server.AddReceivingMiddleware(t.filterByScope)
	t.http = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return t.server }, &sdk.StreamableHTTPOptions{
		// A session would live in one process, but another replica may get the next request.
		Stateless: true,
		// checkOrigin checks the origin. The library's check would refuse a proxy on the same machine.
		DisableLocalhostProtection: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: o.MaxBody,
	})
	return t, nil
}

// Operations returns the names of the stored operations.
func (t *Transport) Operations() []string { return t.names }

// Supports is true for Path.
func (t *Transport) Supports(r *http.Request) bool {
	return strings.TrimSuffix(r.URL.Path, "/") == Path
}

// callKey is the key of the context's *httpCall.
type callKey struct{}

// httpCall is the HTTP request of a message, and the executor that answers it.
type httpCall struct {
	request *http.Request
	exec    graphql.GraphExecutor
	// decoded is called once the message is decoded, and may be called again.
	decoded func()
}

// Do answers the request.
func (t *Transport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	if fault := t.checkOrigin(r); fault != nil {
		t.refuse(w, http.StatusForbidden, fault)
		return
	}
	if r.Header.Get("Idempotency-Key") != "" {
		// The gateway would hold back the stream until the end.
		t.refuse(w, http.StatusBadRequest, model.Errorf(model.BadInput, "Idempotency-Key does not work here: leave it out"))
		return
	}
	out, leave := &writer{ResponseWriter: w, timeout: t.WriteTimeout}, func() {}
	if r.Method == http.MethodPost {
		body, status, fault := form.ReadBody(w, r, t.MaxBody)
		if fault != nil {
			t.refuse(w, status, fault)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if t.WaitToDecode != nil {
			if leave, fault = t.WaitToDecode(w, r, len(body)); fault != nil {
				t.refuse(w, http.StatusServiceUnavailable, fault)
				return
			}
			defer leave()
		}
		var malformed *rpcError
		if out.id, malformed = checkMessage(body); malformed != nil {
			malformed.write(w, http.StatusBadRequest, out.id)
			return
		}
	}
	// A deadline of r ends the message's operation, which is then answered with an error. Only a client that disconnects
	// ends the response.
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	defer context.AfterFunc(r.Context(), func() {
		if errors.Is(r.Context().Err(), context.Canceled) {
			cancel()
		}
	})()
	ctx = context.WithValue(ctx, callKey{}, &httpCall{request: r, exec: exec, decoded: leave})
	t.http.ServeHTTP(out, r.WithContext(ctx))
}

// checkOrigin refuses pages of origins that are not allowed. A malicious page can let its host name resolve to this
// server's address (DNS rebinding), so other origins are allowed only if they and the request's host are loopback
// addresses.
func (t *Transport) checkOrigin(r *http.Request) *model.Error {
	given := r.Header.Get("Origin")
	if given == "" || t.cors != nil && t.cors.OriginAllowed(r) {
		return nil
	}
	origin, err := url.Parse(given)
	host, _, splitErr := net.SplitHostPort(r.Host)
	if splitErr != nil {
		host = r.Host
	}
	if err == nil && isLoopback(origin.Hostname()) && isLoopback(strings.Trim(host, "[]")) {
		return nil
	}
	return model.Errorf(model.Forbidden, "pages of this origin may not call the server, unless its operator adds the "+
		"origin to AGENTGRAPH_CORS_ORIGINS")
}

func isLoopback(host string) bool {
	address := net.ParseIP(host)
	return host == "localhost" || address != nil && address.IsLoopback()
}

// cacheScope lets a client keep an answer only for its own credential.
const cacheScope = "private"

// filterByScope is a middleware. It shows a credential only what its scopes allow, ends with the HTTP request, and
// turns a panic into an error.
func (t *Transport) filterByScope(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, request sdk.Request) (result sdk.Result, err error) {
		defer func() {
			if value := recover(); value != nil {
				t.Log.ErrorContext(ctx, "internal error", "error", fmt.Sprint(value), "method", method,
					"stack", string(debug.Stack()))
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
			}
		}()
		call, ok := ctx.Value(callKey{}).(*httpCall)
		if !ok {
			return next(ctx, method, request)
		}
		if _, isCall := request.(*sdk.CallToolRequest); !isCall {
			call.decoded() // a tool decodes its arguments
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(call.request.Context(), cancel)()
		if list, ok := request.(*sdk.ListResourcesRequest); ok {
			return t.listResources(ctx, list)
		}
		if result, err = next(ctx, method, request); err != nil {
			return nil, err // a result beside an error may be a nil pointer
		}
		principal, _ := model.PrincipalOf(ctx)
		switch list := result.(type) {
		case *sdk.InitializeResult:
			list.Instructions = t.instructionsFor(principal)
		case *sdk.DiscoverResult:
			list.Instructions = t.instructionsFor(principal)
		case *sdk.ListPromptsResult:
			list.Prompts = slices.DeleteFunc(slices.Clone(list.Prompts), func(one *sdk.Prompt) bool {
				i := slices.IndexFunc(prompts, func(own prompt) bool { return own.name == one.Name })
				return i >= 0 && !t.lists(principal, prompts[i].text)
			})
		case *sdk.ListToolsResult:
			list.Tools = slices.DeleteFunc(slices.Clone(list.Tools), func(one *sdk.Tool) bool {
				own := t.tools[one.Name]
				return own != nil && missingScope(principal, own.scopes) != ""
			})
			for i, one := range list.Tools {
				if own := t.tools[one.Name]; own != nil && own.mutateTool != nil && principal.Can(model.APIKeyScopeMutate) {
					list.Tools[i] = own.mutateTool
				}
			}
		case *sdk.ListResourceTemplatesResult:
			list.ResourceTemplates = slices.DeleteFunc(slices.Clone(list.ResourceTemplates),
				func(one *sdk.ResourceTemplate) bool {
					own := t.resources[one.URITemplate]
					return own != nil && missingScope(principal, own.Scopes()) != ""
				})
		}
		return result, nil
	}
}

// missingScope returns the first of the scopes that the principal does not have, or "".
func missingScope(principal model.Principal, scopes []model.APIKeyScope) model.APIKeyScope {
	for _, scope := range scopes {
		if !principal.Can(scope) {
			return scope
		}
	}
	return ""
}
