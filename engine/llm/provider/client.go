package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// idleConnections is the number of idle connections to keep, so that concurrent turns need no new handshakes.
	idleConnections = 128
	maxRedirects    = 10
)

type client struct {
	http    http.Client
	address *url.URL
	header  http.Header
}

// newClient returns the client for a base URL. It sends no key yet.
func newClient(address *url.URL, config Config) *client {
	sender := http.RoundTripper(&http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: idleConnections,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
	})
	if config.Around != nil {
		sender = config.Around(sender)
	}
	return &client{
		http:    http.Client{Transport: sender, CheckRedirect: staysAtHome},
		address: address,
		header:  http.Header{"Content-Type": {"application/json"}, "User-Agent": {"agentgraph"}},
	}
}

// redirectError is a redirect that is not followed. Its text names no address.
type redirectError string

func (e redirectError) Error() string { return string(e) }

// staysAtHome rejects redirects to another origin, which must not get the key or the messages.
func staysAtHome(req *http.Request, via []*http.Request) error {
	if home := via[0].URL; req.URL.Scheme != home.Scheme || req.URL.Host != home.Host {
		return redirectError("the provider redirected to another host")
	}
	if len(via) >= maxRedirects {
		return redirectError("the provider redirected too often")
	}
	return nil
}

// post sends body as JSON to a path of the provider and returns the response, whatever the status.
func (c *client) post(ctx context.Context, path, accept string, body any) (*http.Response, error) {
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return nil, err
	}
	return c.send(ctx, http.MethodPost, path, accept, &encoded)
}

// send sends a request to a path of the provider and returns the response, whatever the status. The path may have a
// query.
func (c *client) send(ctx context.Context, method, path, accept string, body io.Reader) (*http.Response, error) {
	path, query, _ := strings.Cut(path, "?")
	address := c.address.JoinPath(path)
	address.RawQuery = strings.Trim(address.RawQuery+"&"+query, "&")
	req, err := http.NewRequestWithContext(ctx, method, address.String(), body)
	if err != nil {
		return nil, err
	}
	req.Header = c.header.Clone()
	req.Header.Set("Accept", accept)
	return c.http.Do(req)
}
