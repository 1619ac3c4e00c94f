package endpoint

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// Cause is the class of a failure. The set is closed.
type Cause string

const (
	// Arguments: the URL cannot be built from these arguments. Other arguments can work.
	Arguments Cause = "ARGUMENTS"
	// Refused: the address, or one that it redirects to, may not be reached.
	Refused Cause = "REFUSED"
	// Unreachable: no connection could be made.
	Unreachable Cause = "UNREACHABLE"
	// TimedOut: the complete response did not arrive in time.
	TimedOut Cause = "TIMED_OUT"
	// Status: the status of the response is not 2xx.
	Status Cause = "STATUS"
	// TooLarge: the response is larger than the limit.
	TooLarge Cause = "TOO_LARGE"
	// Malformed: the response is cut off, is not HTTP, or is not the JSON that it claims to be.
	Malformed Cause = "MALFORMED"
	// Cancelled: the caller's context was cancelled.
	Cancelled Cause = "CANCELLED"
)

// Error is the failure of a call. Its text is for the language model and may be shown to clients. It contains no header
// values and no addresses.
type Error struct {
	Cause Cause
	// Message is the failure as a sentence without a period.
	Message string
	// excerpt is the end of Message that quotes the response, or "".
	excerpt string
	// Err is the underlying error, only for the log because it may contain addresses. It may be nil.
	Err error
	// retryAfter is how long the server wants no further request, at most a day, or 0.
	retryAfter time.Duration
}

// RetryAfter returns how long the server wants no further request, at most a day, or 0.
func (e *Error) RetryAfter() time.Duration { return e.retryAfter }

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }

// LogText returns the message without the excerpt of the response, which can have data of a contact.
func (e *Error) LogText() string { return strings.TrimSuffix(e.Message, e.excerpt) }

// quoting appends an excerpt of the response to the message.
func (e *Error) quoting(excerpt string) *Error {
	e.Message, e.excerpt = e.Message+excerpt, excerpt
	return e
}

// translateError translates an error of net/http. It drops texts from the server, which could echo the request.
func (x *exchange) translateError(ctx context.Context, err error) *Error {
	var (
		known   *Error
		dial    *net.OpError
		host    *net.DNSError
		network net.Error
		trust   *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(ctx.Err(), context.Canceled):
		return x.newError(Cancelled, ctx.Err(), "the call was cancelled")
	case ctx.Err() != nil, errors.As(err, &network) && network.Timeout():
		return x.newError(TimedOut, context.DeadlineExceeded, "%s did not answer in time", x.callee)
	case errors.Is(err, ssrf.ErrProhibitedIP):
		return x.newError(Refused, errors.Unwrap(err), "the address of %s is in a network that may not be reached", x.callee)
	case errors.As(err, &host):
		return x.newError(Unreachable, host, "the host of %s cannot be found", x.callee)
	case errors.Is(err, syscall.ECONNREFUSED):
		return x.newError(Unreachable, errors.Unwrap(err), "the host of %s refuses connections", x.callee)
	case errors.As(err, &dial) && dial.Op == "dial":
		return x.newError(Unreachable, dial, "the host of %s cannot be reached", x.callee)
	case errors.As(err, &trust):
		return x.newError(Unreachable, trust, "the certificate of %s cannot be trusted", x.callee)
	case errors.Is(err, http.ErrSchemeMismatch):
		return x.newError(Unreachable, nil, "%s does not speak HTTPS at its address", x.callee)
	}
	return x.newError(Malformed, nil, "%s did not finish its answer, or did not answer in HTTP", x.callee)
}
