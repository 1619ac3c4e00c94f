package endpoint

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/model"
)

// OffersOf asks an MCP server for its tools. headers are the endpoint's headers with decrypted values. Every error is
// an *Error, as in Call.
func (c *Caller) OffersOf(ctx context.Context, e model.ToolEndpoint, headers map[string]string) ([]model.McpOffer,
	error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(e.TimeoutSeconds*float64(time.Second)))
	defer cancel()
	s, err := c.connect(ctx, e, headers, maxOfferBytes)
	if err != nil {
		return nil, err
	}
	defer s.leave()
	return s.offers(ctx)
}

// CallMcp calls a tool of an MCP server and returns the text of its result, as Call does. Line breaks separate several
// pieces of content. If there are none, the text is the JSON of the structured content.
//
// CallMcp also returns the tools that the server offers now, or nil if they cannot be listed. It lists them only if the
// list is outdated, the server says during the call that it changed, or the call fails although the server answered.
func (c *Caller) CallMcp(ctx context.Context, e model.ToolEndpoint, headers map[string]string, name string,
	arguments model.JSONObject, isOutdated bool) (text string, offers []model.McpOffer, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(e.TimeoutSeconds*float64(time.Second)))
	defer cancel()
	// The text of a result is a JSON string, in which one byte can take six.
	s, err := c.connect(ctx, e, headers, max(maxOfferBytes, 6*c.maxResponse))
	if err != nil {
		return "", nil, err
	}
	defer s.leave()
	text, err = s.call(ctx, name, arguments)
	failed := (*Error)(nil)
	if err == nil && (isOutdated || s.isListChanged.Load()) || errors.As(err, &failed) && failed.Cause == Status {
		offers, _ = s.offers(ctx)
	}
	return text, offers, err
}

// mcpSession is one connection to an MCP server. It sends the endpoint's headers to the endpoint's origin only.
type mcpSession struct {
	exchange
	address string
	headers map[string]string
	// maxResponseBytes bounds the bytes of one response.
	maxResponseBytes int64
	*mcp.ClientSession
	// isSilent is set if the server did not answer server/discover in time.
	isSilent bool
	// isListChanged is set once the server has said that its list of tools changed.
	isListChanged atomic.Bool

	mutex sync.Mutex
	// lastFailure is the latest failure of the HTTP exchange. The error of the MCP client does not always wrap it.
	lastFailure error
	// oddType is the Content-Type of the latest response if the MCP client cannot read it.
	oddType *string
	// listed has the tools in the pages of the server's list that have arrived.
	listed []json.RawMessage
}

const (
	// discoverTimeout bounds the wait for the answer to server/discover, which older servers do not know. Most refuse it
	// at once, but some never answer unknown methods.
	discoverTimeout = 3 * time.Second
	// silentFor is how long a server that did not answer server/discover is not asked again.
	silentFor = time.Hour
	// olderVersion is the newest version of the protocol without server/discover.
	olderVersion = "2025-11-25"
)

// connect begins a session. There is no stream for messages of the server, because a session ends with its call.
func (c *Caller) connect(ctx context.Context, e model.ToolEndpoint, headers map[string]string,
	limit int64) (*mcpSession, error) {
	version := ""
	if since, isKnown := c.silent.Get(e.URL); isKnown && time.Since(since) < silentFor {
		version = olderVersion
	}
	s, err := c.connectBy(ctx, e, headers, limit, version)
	if err != nil && version != "" && ctx.Err() == nil { // the server may know only newer versions now
		c.silent.Put(e.URL, time.Time{})
		s, err = c.connectBy(ctx, e, headers, limit, "")
	}
	if err != nil && s.isSilent && ctx.Err() == nil {
		if s, err = c.connectBy(ctx, e, headers, limit, olderVersion); err == nil {
			c.silent.Put(e.URL, time.Now())
		} else if ctx.Err() == nil { // a server that was starting may know only newer versions
			s, err = c.connectBy(ctx, e, headers, limit, "")
		}
	}
	return s, err
}

// connectBy begins a session with a version of the protocol, or the newest version that the server supports if the
// version is "".
func (c *Caller) connectBy(ctx context.Context, e model.ToolEndpoint, headers map[string]string, limit int64,
	version string) (s *mcpSession, err error) {
	s = &mcpSession{address: e.URL, headers: headers, maxResponseBytes: limit,
		exchange: exchange{callee: "the MCP server", maxResponse: c.maxResponse, secrets: newSecrets(headers)}}
	sender := &http.Client{Transport: mcpTransport{s, c.tools.Transport}, CheckRedirect: s.checkRedirect}
	client := mcp.NewClient(&mcp.Implementation{Name: userAgent, Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{}, MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	client.AddSendingMiddleware(s.boundDiscover(time.Duration(e.TimeoutSeconds * float64(time.Second) / 2)))
	s.ClientSession, err = client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: s.address, HTTPClient: sender, MaxRetries: -1, DisableStandaloneSSE: true,
		MaxEventSize: int(s.maxResponseBytes),
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	return s, s.failureOf(ctx, err)
}

// boundDiscover bounds the wait for server/discover. If the server does not answer it, the session fails with isSilent
// set.
func (s *mcpSession) boundDiscover(limit time.Duration) mcp.Middleware {
	return func(send mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if s.isSilent {
				return nil, context.DeadlineExceeded
			}
			if method != "server/discover" {
				return send(ctx, method, req)
			}
			bounded, cancel := context.WithTimeout(ctx, min(limit, discoverTimeout))
			defer cancel()
			result, err := send(bounded, method, req)
			s.isSilent = bounded.Err() != nil && ctx.Err() == nil
			return result, err
		}
	}
}

// leave ends the session in the background, which takes at most five seconds.
func (s *mcpSession) leave() {
	go func() { _ = s.Close() }()
}

// notText replaces content of a result that is not text.
const notText = "[content that is not text]"

func (s *mcpSession) call(ctx context.Context, name string, arguments model.JSONObject) (string, error) {
	result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return "", s.failureOf(ctx, err)
	}
	if result.NeedsInput() {
		return "", s.newError(Malformed, nil, "the tool asks for more input, which agents cannot give")
	}
	var parts []string
	for _, piece := range result.Content {
		switch piece := piece.(type) {
		case *mcp.TextContent:
			parts = append(parts, piece.Text)
		case *mcp.EmbeddedResource:
			if piece.Resource != nil && len(piece.Resource.Blob) > 0 {
				parts = append(parts, notText)
			} else if piece.Resource != nil && piece.Resource.Text != "" {
				parts = append(parts, piece.Resource.Text)
			}
		case *mcp.ResourceLink:
			parts = append(parts, piece.URI)
		default:
			parts = append(parts, notText)
		}
	}
	text := strings.Join(parts, "\n")
	if structured, isJSON := result.StructuredContent.(string); isJSON && len(parts) == 0 {
		text = structured
	}
	if result.IsError {
		return "", s.newError(Status, nil, "the tool failed").quoting(s.excerpt([]byte(text), false))
	}
	if int64(len(text)) > s.maxResponse {
		return "", s.newError(TooLarge, nil, "the tool answered with more than %d bytes", s.maxResponse)
	}
	return s.secrets.redact(content.Clean(text)), nil
}

// failureOf translates an error of the MCP client or of the HTTP exchange.
func (s *mcpSession) failureOf(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	s.mutex.Lock()
	below := s.lastFailure
	s.mutex.Unlock()
	if answered := (*jsonrpc.Error)(nil); errors.As(err, &answered) && ctx.Err() == nil && below == nil {
		return s.newError(Status, nil, "the MCP server refused").quoting(s.excerpt([]byte(answered.Message), false))
	}
	if below != nil {
		return s.translateError(ctx, below)
	}
	// The exchange succeeded, so the MCP client could not read what arrived.
	failure := s.translateError(ctx, err)
	if failure.Cause == Malformed && !errors.Is(err, failure) {
		failure.Message = s.misunderstanding(err)
	}
	return failure
}

// misunderstanding says why the MCP client could not read what arrived.
func (s *mcpSession) misunderstanding(err error) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if _, version, isOdd := strings.Cut(err.Error(), "unsupported protocol version: "); isOdd {
		return "the MCP server speaks a version of the protocol that agentgraph does not know" +
			s.excerpt([]byte(version), false)
	}
	if s.oddType != nil {
		return fmt.Sprintf("the MCP server answered with the Content-Type %q, which must be application/json or "+
			"text/event-stream: check the address", s.secrets.redact(content.Clean(content.Cut(*s.oddType, maxExcerpt))))
	}
	return "the MCP server did not finish its answer, or its answer is not the Model Context Protocol: check the address"
}

// checkRedirect follows redirects within the endpoint's origin, because the headers are secrets of that origin.
func (s *mcpSession) checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return s.recordFailure(s.newError(Malformed, nil, "the MCP server redirects more than %d times", maxRedirects))
	}
	if origin(req.URL) != origin(via[0].URL) {
		return s.recordFailure(s.newError(Refused, nil, "the MCP server redirects to another origin"))
	}
	return nil
}

// mcpTransport adds the endpoint's headers to requests of a session, and bounds the responses.
type mcpTransport struct {
	session *mcpSession
	sender  http.RoundTripper
}

func (t mcpTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	s := t.session
	req = req.Clone(req.Context())
	req.Header.Set("User-Agent", userAgent)
	if address, err := url.Parse(s.address); err != nil || origin(address) != origin(req.URL) {
		return nil, s.recordFailure(s.newError(Refused, nil, "the MCP server leads to another origin"))
	}
	for name, value := range s.headers {
		if !model.IsReservedHeader(name) && !model.IsProtocolHeader(name) {
			req.Header.Set(name, value)
		}
	}
	res, err := t.sender.RoundTrip(req)
	if err != nil {
		return nil, s.recordFailure(err)
	}
	s.forgetFailure()
	if res.StatusCode >= http.StatusBadRequest && req.Method == http.MethodPost {
		most := int64(maxExcerptBytes + s.secrets.longest())
		body, _ := io.ReadAll(io.LimitReader(res.Body, most))
		_ = res.Body.Close()
		res.Body = io.NopCloser(bytes.NewReader(body))
		// If the body is an error of the protocol, the MCP client returns it.
		message, _ := jsonrpc.DecodeMessage(body)
		if _, isResponse := message.(*jsonrpc.Response); !isResponse {
			_ = s.recordFailure(s.newError(Status, nil, "the MCP server answered %d %s", res.StatusCode,
				http.StatusText(res.StatusCode)).quoting(s.excerpt(body, int64(len(body)) == most)))
		}
		return res, nil
	}
	s.noteType(res)
	body := &rewrittenBody{ReadCloser: &boundedBody{res.Body, s, s.maxResponseBytes}, session: s}
	if mediaType, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); mediaType == "text/event-stream" {
		body.lines = bufio.NewReader(body.ReadCloser)
	}
	res.Body, res.ContentLength = body, -1
	return res, nil
}

// noteType records the Content-Type of a response to a call if it is neither JSON nor a stream of events.
func (s *mcpSession) noteType(res *http.Response) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	given := res.Header.Get("Content-Type")
	mediaType, _, _ := mime.ParseMediaType(given)
	s.oddType = nil
	if res.StatusCode == http.StatusOK && !isJSON(mediaType) && mediaType != "text/event-stream" {
		s.oddType = &given
	}
}

// forgetFailure forgets the latest failure after a success. It keeps that an answer was too large, because the MCP
// client reports to the server that it stopped reading.
func (s *mcpSession) forgetFailure() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if failure, _ := errors.AsType[*Error](s.lastFailure); failure == nil || failure.Cause != TooLarge {
		s.lastFailure = nil
	}
}

// recordFailure records the latest failure of the HTTP exchange, and returns it.
func (s *mcpSession) recordFailure(err error) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.lastFailure = err
	return err
}

// boundedBody fails when more than remaining bytes are read.
type boundedBody struct {
	io.ReadCloser
	session   *mcpSession
	remaining int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.remaining -= int64(n); b.remaining < 0 {
		return 0, b.session.recordFailure(b.session.newError(TooLarge, nil, "the MCP server answered with more than %d bytes",
			b.session.maxResponseBytes))
	}
	return n, err
}
