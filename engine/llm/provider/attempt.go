package provider

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
)

const (
	// maxErrorBytes bounds how much of an error response is read to find its code.
	maxErrorBytes = 64 << 10
	// maxEventBytes bounds one event of a stream. It has room for a whole answer, with each of its bytes escaped.
	maxEventBytes = 8 * maxAnswerBytes
)

// These are the causes of an attempt's end that do not come from its caller.
var (
	errTimeout = errors.New("the answer took too long")
	errIdle    = errors.New("the stream sent nothing for too long")
)

type attempt struct {
	model *Model
	yield func(llm.Chunk, error) bool
	// status is the provider's HTTP status, or 0 before the response.
	status int
	// delivered is set when a chunk has reached the caller. hasCallerLeft is set when the caller stopped reading after
	// that.
	delivered, hasCallerLeft bool
	// isWhole is set if the provider answered with one JSON object instead of a stream.
	isWhole bool
	// named are the optional fields that a refusal names.
	named []string
}

// run sends one request and streams the answer to the caller. It returns nil if the answer was complete or the caller
// left.
func (a *attempt) run(ctx context.Context, body any) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(a.model.config.IdleTimeout, func() { cancel(errIdle) })
	defer idle.Stop()

	stream, err := a.open(ctx, body)
	if err != nil {
		return a.translateError(ctx, err)
	}
	defer func() { _ = stream.Close() }()
	var answer answer
	for data, err := range events(stream, &answer.isMarked) {
		text := ""
		if err == nil {
			text, err = a.model.format.read(&answer, data)
		}
		if err != nil {
			// Only usage and the end mark follow the finish reason, so the answer is complete.
			if answer.finish == "" {
				return a.translateError(ctx, err)
			}
			break
		}
		// The caller's time for a chunk does not count as silence of the provider.
		idle.Stop()
		if answer.bytes += len(text); answer.bytes > maxAnswerBytes {
			return a.answered(llm.TooLong, " with more than %d bytes", maxAnswerBytes)
		}
		if text = answer.say(answer.think.add(text)); text != "" && !a.deliver(llm.Chunk{Text: text}) {
			return nil
		}
		idle.Reset(a.model.config.IdleTimeout)
	}
	rest := answer.say(answer.think.flush())
	// Some servers end a stream without a finish reason.
	if answer.isMarked && (answer.spoken || len(answer.calls) > 0) {
		answer.finish = cmp.Or(answer.finish, "stop")
	}
	switch {
	case answer.finish == "" && a.isWhole:
		return a.notStreamed()
	case answer.finish == "":
		return a.translateError(ctx, io.ErrUnexpectedEOF)
	}
	if rest != "" && !a.deliver(llm.Chunk{Text: rest}) {
		return nil
	}
	last, err := answer.last(a)
	if err != nil {
		return err
	}
	a.deliver(last)
	return nil
}

func (a *attempt) deliver(chunk llm.Chunk) bool {
	a.delivered = true
	a.hasCallerLeft = !a.yield(chunk, nil)
	return !a.hasCallerLeft
}

// open sends the request and returns the stream of the answer. It records the status. If the response is not a stream,
// open returns a failure. It reads a bounded part of the body, and does not quote it.
func (a *attempt) open(ctx context.Context, body any) (io.ReadCloser, error) {
	res, err := a.model.client.post(ctx, a.model.format.path(a.model.config.Model), "text/event-stream", body)
	if err != nil {
		return nil, err
	}
	a.status = res.StatusCode
	if res.StatusCode != http.StatusOK {
		defer func() { _ = res.Body.Close() }()
		return nil, a.refusal(res)
	}
	if mediaType, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); mediaType == "text/event-stream" {
		return res.Body, nil
	}
	stream, err := a.streamOf(res.Body)
	if err != nil {
		_ = res.Body.Close()
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{stream, res.Body}, nil
}

// streamOf returns the stream in a body of another type. A whole answer becomes a stream of one event.
func (a *attempt) streamOf(body io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(body)
	start, _ := buffered.Peek(len("data:")) // an error comes again when the body is read
	switch {
	case string(start) == "data:" || string(start) == "event":
		return buffered, nil
	case !bytes.HasPrefix(bytes.TrimSpace(start), []byte("{")):
		return nil, a.notStreamed()
	}
	a.isWhole = true
	whole, err := io.ReadAll(io.LimitReader(buffered, maxEventBytes))
	if err != nil {
		return nil, err
	}
	stream := bytes.NewBufferString("data:")
	if json.Compact(stream, whole) != nil {
		return nil, a.notStreamed()
	}
	return stream, nil
}

func (a *attempt) notStreamed() error {
	return a.model.newError(llm.Malformed, a.status, "the provider answered 200 OK, but not with a stream")
}

// refusal returns the failure for a status other than 200.
func (a *attempt) refusal(res *http.Response) *llm.Error {
	// A truncated body reveals no code, but the status is enough.
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBytes))
	a.named = optionalFieldsIn(a.status, body)
	refused := errorOf(body)
	cause := causeOf(a.status)
	if refused.isOfKey() {
		cause = llm.Unauthorized
	}
	failure := a.model.newError(cause, a.status, "the provider answered %s%s",
		strings.TrimSpace(strconv.Itoa(a.status)+" "+http.StatusText(a.status)), a.code(refused))
	failure.Final, failure.Err = refused.isSpent() || a.status == http.StatusPaymentRequired, a.detail(refused)
	failure.RetryAfter = max(read.RetryAfter(res.Header), refused.retryAfter())
	return failure
}

func causeOf(status int) llm.Cause {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return llm.Unauthorized
	case status == http.StatusTooManyRequests || status == http.StatusPaymentRequired:
		return llm.RateLimited
	case status == http.StatusRequestTimeout || status >= http.StatusInternalServerError:
		return llm.Unavailable
	case status >= http.StatusBadRequest:
		return llm.Rejected
	}
	return llm.Malformed
}

// translateError returns the error of an incomplete answer.
func (a *attempt) translateError(ctx context.Context, err error) error {
	var known *llm.Error
	var within eventError
	switch cause := context.Cause(ctx); {
	case errors.As(err, &known):
		return known
	case cause != nil && a.status == 0:
		return a.model.newError(llm.TimedOut, 0, "the provider did not answer in time")
	case errors.Is(cause, errIdle):
		return a.answered(llm.TimedOut, " and then sent nothing for %s", a.model.config.IdleTimeout)
	case cause != nil:
		return a.answered(llm.TimedOut, ", but did not finish within %s", a.model.config.Timeout)
	case errors.As(err, &within):
		reported := errorOf(within.data)
		failure := a.answered(reported.cause(), " and then reported an error%s", a.code(reported))
		failure.Final, failure.Err = reported.isSpent(), a.detail(reported)
		return failure
	case errors.Is(err, errNotJSON), errors.Is(err, bufio.ErrTooLong):
		return a.answered(llm.Malformed, " with a stream whose events are not JSON")
	case a.status == 0:
		return a.unreached(err)
	}
	return a.answered(llm.CutOff, ", but the connection ended before the answer did")
}

// answered returns the error of an answer. The text continues "the provider answered 200".
func (a *attempt) answered(cause llm.Cause, format string, args ...any) *llm.Error {
	return a.model.newError(cause, a.status, "the provider answered %d"+format, append([]any{a.status}, args...)...)
}

// unreached returns the failure when the provider did not respond.
func (a *attempt) unreached(err error) *llm.Error {
	network, ok := errors.AsType[*url.Error](err)
	if !ok {
		return a.model.newError(llm.Unavailable, 0, "the request to the provider failed")
	}
	if redirect, ok := errors.AsType[redirectError](network.Err); ok {
		failure := a.model.newError(llm.Unavailable, 0, "%s", redirect)
		failure.Final = true
		return failure
	}
	failure := a.model.newError(llm.Unavailable, 0, "the provider could not be reached")
	failure.Err = network.Err // without the request's address, which may hold a password
	return failure
}
