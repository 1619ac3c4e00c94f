// Package endpoint makes the HTTP calls of agents: to tool endpoints, to the telephony provider, and to webhooks. It
// connects only to public addresses, and to others that are explicitly allowed. Start reading at [Caller].
package endpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/agentgraph/agentgraph/cache"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// maxResponse bounds a decompressed answer, in bytes. It is more than a conversation should carry.
	maxResponse = 64 << 10
	// transferTimeout is how long the telephony provider may take to accept a call.
	transferTimeout = 10 * time.Second
	userAgent       = "agentgraph"
	mediaType       = "application/json"
)

// Options are the settings of a Caller.
type Options struct {
	// Allow lists private destinations that may be reached: host names, IP addresses and CIDRs. A host may be at a
	// private, shared or loopback address, but not at a link-local one. The address of a cloud's metadata service is
	// allowed only by an entry of exactly that address.
	Allow []string
	// Around wraps the transport of requests. It may be nil.
	Around func(http.RoundTripper) http.RoundTripper
}

// Caller calls endpoints. It is safe for concurrent use and reuses connections. It ignores the proxy settings of the
// environment.
type Caller struct {
	guard     *guard
	transport *http.Transport
	// The client for tools follows redirects. The other two do not. operators sends to webhooks that the operator
	// configured, which may be at private addresses.
	tools, webhooks, operators http.Client
	maxResponse                int64
	// silent has the addresses of MCP servers that did not answer server/discover, and when that was.
	silent *cache.Cache[string, time.Time]
}

// maxSilentBytes bounds Caller.silent.
const maxSilentBytes = 64 << 10

// New returns a Caller. The error names the invalid entry of Options.Allow.
func New(o Options) (*Caller, error) {
	guard, err := newGuard(o.Allow)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		DialContext:            guard.dial,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    32,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
	sender := http.RoundTripper(transport)
	if o.Around != nil {
		sender = o.Around(transport)
	}
	noRedirects := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Caller{
		guard:       guard,
		transport:   transport,
		tools:       http.Client{Transport: sender, CheckRedirect: checkRedirect},
		webhooks:    http.Client{Transport: sender, CheckRedirect: noRedirects},
		operators:   http.Client{Transport: &http.Transport{}, CheckRedirect: noRedirects},
		maxResponse: maxResponse,
		silent:      cache.New(maxSilentBytes, func(address string, _ time.Time) int { return len(address) + 100 }),
	}, nil
}

// Refuses reports whether calls to the host of the address are always refused. It does not resolve names, and returns
// false for an invalid address.
func (c *Caller) Refuses(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Hostname() != "" && c.guard.refuses(u.Hostname())
}

// Close closes idle connections.
func (c *Caller) Close() {
	c.transport.CloseIdleConnections()
	c.operators.CloseIdleConnections()
}

// Call sends a call to the endpoint of a tool and returns the text of the response. headers are the endpoint's headers
// with decrypted values.
//
// The arguments fill the placeholders of the endpoint's URL. The other arguments become query parameters of GET and
// DELETE, or a JSON object as the body of POST, PUT and PATCH. Call follows up to three redirects. After a redirect to
// another origin it no longer sends the headers. It does not retry.
//
// The text is valid UTF-8 without U+0000, and may be empty. In the text and in errors, "[hidden]" replaces header
// values and their parts, ignoring case, if they have at least 4 characters. Values of Accept, Accept-Language,
// Content-Type and User-Agent are not secret. Every error is an *Error, which wraps ctx.Err() if ctx ended.
func (c *Caller) Call(ctx context.Context, e model.ToolEndpoint, headers map[string]string,
	arguments model.JSONObject) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(e.TimeoutSeconds*float64(time.Second)))
	defer cancel()
	x := &exchange{callee: "the tool", client: &c.tools, maxResponse: c.maxResponse, secrets: newSecrets(headers)}
	req, err := newRequest(ctx, e, arguments)
	if err != nil {
		return "", x.newError(Arguments, nil, "%s", err)
	}
	for name, value := range headers {
		if !model.IsReservedHeader(name) {
			req.Header.Set(name, value)
		}
	}
	return x.run(req)
}

// Transfer describes a call that an agent hands over to a human.
type Transfer struct {
	ConversationID string `json:"conversationId"`
	AgentID        string `json:"agentId"`
	// Reason is in the agent's own words.
	Reason string `json:"reason"`
}

// Transfer posts the transfer as JSON to the webhook of the telephony provider. The provider accepts it with a status
// 2xx within 10 seconds. Redirects are not followed. Every error is an *Error, which wraps ctx.Err() if ctx ended.
func (c *Caller) Transfer(ctx context.Context, webhook string, t Transfer) error {
	ctx, cancel := context.WithTimeout(ctx, transferTimeout)
	defer cancel()
	x := &exchange{callee: "the telephony provider", client: &c.webhooks, maxResponse: c.maxResponse}
	body, _ := json.Marshal(t) // strings cannot fail to marshal
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, webhook, bytes.NewReader(body))
	if err != nil || !isWeb(req.URL) {
		return x.newError(Refused, nil, "the address of %s is not valid", x.callee)
	}
	req.Header = newHeader(true)
	_, err = x.run(req)
	return err
}

// newRequest returns the HTTP request of a call. Its errors are about the arguments.
func newRequest(ctx context.Context, e model.ToolEndpoint, text model.JSONObject) (*http.Request, error) {
	arguments, err := parseArguments(text)
	if err != nil {
		return nil, err
	}
	u, unused, err := buildURL(e.URL, arguments)
	if err != nil {
		return nil, err
	}
	var body []byte
	hasBody := e.Method != model.HTTPMethodGet && e.Method != model.HTTPMethodDelete
	if hasBody {
		body, err = json.Marshal(unused)
	} else {
		err = addQuery(u, unused)
	}
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, string(e.Method), u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = newHeader(hasBody)
	return req, nil
}

// newHeader returns the header common to all requests.
func newHeader(hasBody bool) http.Header {
	header := http.Header{"User-Agent": {userAgent}, "Accept": {mediaType + ", text/*;q=0.9"}}
	if hasBody {
		header.Set("Content-Type", mediaType)
	}
	return header
}
