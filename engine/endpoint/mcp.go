package endpoint

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	// isListChanged is set once the server has said that its list of tools changed.
	isListChanged atomic.Bool

	mutex sync.Mutex
	// lastFailure is the latest failure of the HTTP exchange. The error of the MCP client does not always wrap it.
	lastFailure error
	// listed has the tools in the pages of the server's list that have arrived.
	listed []json.RawMessage
}

// connect begins a session. There is no stream for messages of the server, because a session ends with its call.
func (c *Caller) connect(ctx context.Context, e model.ToolEndpoint, headers map[string]string,
	limit int64) (s *mcpSession, err error) {
	s = &mcpSession{address: e.URL, headers: headers, maxResponseBytes: limit,
		exchange: exchange{callee: "the MCP server", maxResponse: c.maxResponse, secrets: newSecrets(headers)}}
	sender := &http.Client{Transport: mcpTransport{s, c.tools.Transport}, CheckRedirect: s.checkRedirect}
	client := mcp.NewClient(&mcp.Implementation{Name: userAgent, Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{}, MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	s.ClientSession, err = client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: s.address, HTTPClient: sender, MaxRetries: -1, DisableStandaloneSSE: true,
		MaxEventSize: int(s.maxResponseBytes),
	}, nil)
	return s, s.failureOf(ctx, err)
}

// leave ends the session in the background, which takes at most five seconds.
func (s *mcpSession) leave() {
	go func() { _ = s.Close() }()
}

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
			if piece.Resource != nil && piece.Resource.Text != "" {
				parts = append(parts, piece.Resource.Text)
			}
		case *mcp.ResourceLink:
			parts = append(parts, piece.URI)
		default:
			parts = append(parts, "[content that is not text]")
		}
	}
	text := strings.Join(parts, "\n")
	if len(parts) == 0 && result.StructuredContent != nil {
		structured, _ := json.Marshal(result.StructuredContent) // came from JSON
		text = string(structured)
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
		failure.Message = "the MCP server did not finish its answer, or its answer is not the Model Context Protocol: " +
			"check the address"
	}
	return failure
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
		if !model.IsReservedHeader(name) {
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
	body := &listBody{ReadCloser: &boundedBody{res.Body, s, s.maxResponseBytes}, session: s}
	if mediaType, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); mediaType == "text/event-stream" {
		body.lines = bufio.NewReader(body.ReadCloser)
	}
	res.Body, res.ContentLength = body, -1
	return res, nil
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
