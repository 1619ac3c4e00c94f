package llm

import (
	"errors"
	"log/slog"
	"time"
)

// Cause is the class of a model's failure. The set is closed.
type Cause string

const (
	// Unauthorized: the provider refused the key (401, 403).
	Unauthorized Cause = "UNAUTHORIZED"
	// RateLimited: the provider takes no more requests for now (429), or the balance is used up (402).
	RateLimited Cause = "RATE_LIMITED"
	// Rejected: the provider rejected the request (any other 4xx).
	Rejected Cause = "REJECTED"
	// Unavailable: the provider could not be reached, or failed (408, 5xx, an error within the stream).
	Unavailable Cause = "UNAVAILABLE"
	// TimedOut: the answer, or its next piece, took too long.
	TimedOut Cause = "TIMED_OUT"
	// CutOff: the stream broke or ended before the answer did.
	CutOff Cause = "CUT_OFF"
	// Malformed: the answer violates the protocol.
	Malformed Cause = "MALFORMED"
	// Empty: the answer has neither text nor tool calls.
	Empty Cause = "EMPTY"
	// Filtered: the provider's content filter stopped the answer.
	Filtered Cause = "FILTERED"
	// TooLong: the answer reached a length limit before its end.
	TooLong Cause = "TOO_LONG"
)

// Error is the failure of a model. Its text may be shown to a client: it never contains a key, an address or the
// provider's message.
type Error struct {
	Cause Cause
	// Status is the provider's HTTP status, or 0 if there was no response.
	Status int
	// Message is the failure as a sentence.
	Message string
	// Final is set if a retry is useless although another provider may answer, as after the quota is used up.
	Final bool
	// RetryAfter is the wait that the provider asked for, or 0.
	RetryAfter time.Duration
	// Err is the underlying error, for the log only: it may contain addresses or names from the provider's error, but
	// never a key or the provider's message. It may be nil.
	Err error
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same request can succeed a little later.
func (e *Error) Retryable() bool {
	return !e.Final && e.IsUnavailable() && e.Cause != TimedOut
}

// IsUnavailable reports whether the provider is unavailable, busy or too slow. Another provider might answer the same
// request.
func (e *Error) IsUnavailable() bool {
	return e.Cause == RateLimited || e.Cause == Unavailable || e.Cause == CutOff || e.Cause == TimedOut
}

// ErrorAttr returns the details of a model's failure that clients must not see, for the log. It is empty for other
// errors.
func ErrorAttr(err error) slog.Attr {
	if failure, ok := errors.AsType[*Error](err); ok {
		return slog.Group("provider", "cause", failure.Cause, "status", failure.Status, "error", failure.Err)
	}
	return slog.Attr{}
}
