package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/agentgraph/agentgraph/model"
)

const (
	// Patience is how long requests are retried by default.
	Patience = 30 * time.Second
	// The wait before a retry doubles, from firstWait to lastWait.
	firstWait, lastWait = 250 * time.Millisecond, 5 * time.Second
	// silentWait is how long requests are retried before a line says so.
	silentWait = 3 * time.Second
)

// refusal is an error in a response of the server.
type refusal struct {
	status int
	// code is empty if the response did not come from a gateway.
	code    model.Code
	message string
	// wait is the response's Retry-After, or 0.
	wait time.Duration
}

func (r *refusal) Error() string { return r.message }

// NotFound returns an error for an object that does not exist.
func NotFound(message string) error { return &refusal{code: model.NotFound, message: message} }

// IsTemporary reports whether the same request can succeed if it is sent again later. It is also true for every error
// that is not a response, unless the server does not speak TLS or its certificate is not accepted.
func IsTemporary(err error) bool {
	var r *refusal
	if !errors.As(err, &r) {
		return !isTLS(err)
	}
	switch r.code {
	case model.RateLimited, model.Unavailable, model.Internal, model.UpstreamFailed:
		return true
	case "":
		return r.status == http.StatusTooManyRequests || r.status >= http.StatusInternalServerError
	}
	return false
}

func isTLS(err error) bool {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	return errors.As(err, &certificate) || errors.As(err, &record) || errors.Is(err, http.ErrSchemeMismatch)
}

// isUnconnected reports whether there was no connection to the server or the proxy.
func isUnconnected(err error) bool {
	op, isOp := errors.AsType[*net.OpError](err)
	return isOp && (op.Op == "dial" || op.Op == "proxyconnect")
}

// CodeOf returns the code of an error in the server's response, or "" for any other error.
func CodeOf(err error) model.Code {
	if r, isRefusal := errors.AsType[*refusal](err); isRefusal {
		return r.code
	}
	return ""
}

// RetryFor sets how long Query and Mutate retry a request, even while the server cannot be reached.
func (c *Client) RetryFor(patience time.Duration) { c.patience, c.awaitsServer = patience, true }

// Retry calls do again after temporary errors, until it has retried for the client's patience or ctx ends. Unless
// RetryFor was called, it returns at once if there is no connection: the address may be wrong. It waits at least as
// long as the server's Retry-After. Once it has retried for some seconds, it logs why, once for each client.
func (c *Client) Retry(ctx context.Context, do func() error) error {
	began := time.Now()
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		err := do()
		if err == nil || !IsTemporary(err) || ctx.Err() != nil || !c.awaitsServer && isUnconnected(err) {
			return err
		}
		spent, after := time.Since(began), time.Duration(0)
		if refused, isRefused := errors.AsType[*refusal](err); isRefused {
			after = refused.wait
		}
		left := c.patience - spent
		if left <= 0 || after > left {
			return err
		}
		pause := min(max(wait, after), left)
		if spent+pause > silentWait {
			c.isRetried.Do(func() { _, _ = fmt.Fprintf(c.log, "Retrying for up to %s: %v\n", c.patience, err) })
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// unreachable wraps an error with the address of the server.
func (c *Client) unreachable(err error) error {
	if refused, isRefused := errors.AsType[*refusal](err); isRefused {
		return refused // by a proxy
	}
	var sent *url.Error
	if errors.As(err, &sent) {
		err = sent.Err
	}
	advice := ""
	var op *net.OpError
	switch {
	case errors.Is(err, errNoAnswer):
		return fmt.Errorf("the server at %s did not answer within %s", c.address, answerTimeout)
	case errors.As(err, &op) && op.Op == "proxyconnect":
		advice = ": check the proxy in HTTPS_PROXY or HTTP_PROXY"
	case errors.Is(err, http.ErrSchemeMismatch):
		advice = ": its address may begin with http:// instead"
	case isTLS(err):
		advice = ": SSL_CERT_FILE can name a file with the certificate of its authority"
	}
	return fmt.Errorf("the server at %s cannot be reached: %w%s", c.address, err, advice)
}

// errNoAnswer ends a request after answerTimeout.
var errNoAnswer = errors.New("no answer")

// checkProxy refuses the response of a proxy that does not open a connection to the server.
func checkProxy(_ context.Context, proxy *url.URL, _ *http.Request, response *http.Response) error {
	if response.StatusCode == http.StatusOK {
		return nil
	}
	return &refusal{status: response.StatusCode, wait: retryAfter(response.Header),
		message: fmt.Sprintf("the proxy %s in HTTPS_PROXY does not connect to the server: it answered %s", proxy.Host,
			response.Status)}
}

// retryAfter returns the seconds of the header Retry-After, or 0.
func retryAfter(header http.Header) time.Duration {
	seconds, _ := strconv.Atoi(header.Get("Retry-After"))
	return time.Duration(max(seconds, 0)) * time.Second
}

// result returns the data of a GraphQL response, or its error.
func result(status int, header http.Header, text []byte) (json.RawMessage, error) {
	var response struct {
		Data   json.RawMessage
		Errors []struct {
			Message    string
			Extensions struct {
				Code   model.Code
				Fields map[string][]string
			}
		}
	}
	err := json.Unmarshal(text, &response)
	if err == nil && len(response.Errors) > 0 {
		first := response.Errors[0]
		return nil, &refusal{status, first.Extensions.Code, withFields(first.Message, first.Extensions.Fields),
			retryAfter(header)}
	}
	if err != nil || status != http.StatusOK || len(response.Data) == 0 || bytes.Equal(response.Data, []byte("null")) {
		return nil, &refusal{status: status, message: notGraphQL(status, header), wait: retryAfter(header)}
	}
	return response.Data, nil
}

func decode(data json.RawMessage, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return &refusal{status: http.StatusOK, message: "the server's response does not fit this version of the program: " +
			err.Error()}
	}
	return nil
}

// notGraphQL describes a response that is not GraphQL.
func notGraphQL(status int, header http.Header) string {
	answered := fmt.Sprintf("the server answered %d %s", status, http.StatusText(status))
	switch {
	case status == http.StatusTooManyRequests:
		return answered + ": wait, then try again"
	case status == http.StatusProxyAuthRequired:
		return answered + ": check the proxy in HTTP_PROXY"
	case status >= http.StatusInternalServerError:
		return answered + ", perhaps from a proxy before it: check that the server runs, then try again"
	case status == http.StatusOK:
		return fmt.Sprintf("%s with %s instead of GraphQL: check its address", answered,
			cmp.Or(Printable(header.Get("Content-Type")), "no content type"))
	}
	return answered + " instead of GraphQL: check its address"
}

// Exit codes of all commands. ExitCodes documents them.
const (
	ExitDone = iota
	ExitFailed
	ExitUsage
	ExitServer
	ExitCancelled
	ExitInconclusive
	ExitDiffers
)

// ExitCodes documents each exit code in Markdown.
var ExitCodes = [...]string{
	ExitDone:   "Success; tests passed. `dev` and `serve` also end with 0 after SIGTERM or SIGINT.",
	ExitFailed: "The command failed, or tests failed.",
	ExitUsage:  "The command line or the request is invalid, or it names an object that does not exist.",
	ExitServer: "The server cannot be reached, refuses the key, or failed.",
	ExitCancelled: "Cancelled by Ctrl-C, SIGTERM, `--timeout` or on the server, or interrupted a second time; or " +
		"`--require-mocked` found tools that would be called for real.",
	ExitInconclusive: "Tests are inconclusive, `--corrected` has too few labels, or `knowledge evaluate` has no questions.",
	ExitDiffers:      "`diff` or `--dry-run` found that the server differs from the files.",
}

// ExitError is an error that determines the exit code of the program.
type ExitError struct {
	Code int
	err  error
}

func (e *ExitError) Error() string { return e.err.Error() }
func (e *ExitError) Unwrap() error { return e.err }

// Exit returns err with an exit code.
func Exit(code int, err error) error { return &ExitError{code, err} }

// Cancelled returns ExitCancelled with a sentence about what holds now, if ctx has ended. Otherwise, and if err has a
// code, it returns err unchanged.
func Cancelled(ctx context.Context, err error, holds string) error {
	var coded *ExitError
	if err == nil || ctx.Err() == nil || errors.As(err, &coded) {
		return err
	}
	return Exit(ExitCancelled, errors.New("cancelled: "+holds))
}

// ExitWith returns an error of a Client with an exit code: ExitUsage if the request is wrong, ExitCancelled if ctx has
// ended, otherwise ExitServer. An error that already has a code is returned unchanged.
func ExitWith(ctx context.Context, err error) error {
	var coded *ExitError
	if err == nil || errors.As(err, &coded) {
		return err
	}
	if ctx.Err() != nil {
		return Exit(ExitCancelled, errors.New("cancelled"))
	}
	switch CodeOf(err) {
	case model.NotFound, model.BadInput, model.Unprocessable, "GRAPHQL_PARSE_FAILED", "GRAPHQL_VALIDATION_FAILED":
		return Exit(ExitUsage, err)
	}
	return Exit(ExitServer, err)
}
