package provider

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tmaxmax/go-sse"

	"github.com/agentgraph/agentgraph/engine/llm"
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
	answer := answer{format: a.model.config.Format}
	for data, err := range events(stream) {
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
		answer.bytes += len(text)
		answer.spoken = answer.spoken || strings.TrimSpace(text) != ""
		if answer.bytes > maxAnswerBytes {
			return a.answered(llm.TooLong, " with more than %d bytes", maxAnswerBytes)
		}
		if text != "" && !a.deliver(llm.Chunk{Text: text}) {
			return nil
		}
		idle.Reset(a.model.config.IdleTimeout)
	}
	if answer.finish == "" {
		return a.translateError(ctx, io.ErrUnexpectedEOF)
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
	mediaType, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if res.StatusCode == http.StatusOK && mediaType == "text/event-stream" {
		return res.Body, nil
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode == http.StatusOK {
		return nil, a.model.newError(llm.Malformed, a.status, "the provider answered 200 OK, but not with a stream")
	}
	return nil, a.refusal(res)
}

// eventError is an error event within a stream.
type eventError struct{ data []byte }

func (eventError) Error() string { return "the provider reported an error" }

// errNotJSON is returned for an event that is not a JSON object.
var errNotJSON = errors.New("an event is not a JSON object")

// events reads the data of a stream's events up to its end mark or its end.
func events(stream io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for framed, err := range sse.Read(stream, &sse.ReadConfig{MaxEventSize: maxEventBytes}) {
			if err != nil {
				yield(nil, err)
				return
			}
			if framed.Data == "" {
				continue
			}
			if strings.HasPrefix(framed.Data, "[DONE]") || !yield([]byte(framed.Data), nil) {
				return
			}
		}
	}
}

// failing has the members by which an event reports a failure. The events of all formats contain it.
type failing struct {
	Type  string           `json:"type"`
	Error *json.RawMessage `json:"error"`
}

func (f *failing) hasFailed() bool { return f.Error != nil || f.Type == "error" }

// decode reads an event. It ignores members of a wrong type, because some compatible servers send them. It returns an
// eventError for an event that reports a failure of the provider.
func decode(data []byte, event interface{ hasFailed() bool }) error {
	var odd *json.UnmarshalTypeError
	if err := json.Unmarshal(data, event); err != nil && (!errors.As(err, &odd) || odd.Field == "") {
		return errNotJSON
	}
	if event.hasFailed() {
		return eventError{data}
	}
	return nil
}

// refusal returns the failure for a status other than 200.
func (a *attempt) refusal(res *http.Response) *llm.Error {
	// A truncated body reveals no code, but the status is enough.
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBytes))
	refused := errorOf(body)
	cause := causeOf(a.status)
	if refused.isOfKey() {
		cause = llm.Unauthorized
	}
	failure := a.model.newError(cause, a.status, "the provider answered %s%s",
		strings.TrimSpace(strconv.Itoa(a.status)+" "+http.StatusText(a.status)), a.code(refused))
	failure.Err = a.detail(refused)
	failure.RetryAfter = max(retryAfter(res.Header), refused.retryAfter())
	return failure
}

func causeOf(status int) llm.Cause {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return llm.Unauthorized
	case status == http.StatusTooManyRequests:
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
		failure := a.answered(llm.Unavailable, " and then reported an error%s", a.code(reported))
		failure.Err = a.detail(reported)
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
	failure := a.model.newError(llm.Unavailable, 0, "the provider could not be reached")
	failure.Err = network.Err // without the request's address, which may hold a password
	return failure
}

// codePattern matches the error codes of providers. Messages of providers are not repeated, because they quote keys and
// prompts.
var codePattern = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

// providerError is the error of a provider. OpenAI has a code or a type, and a parameter, Anthropic a type, Google a
// status and details.
type providerError struct {
	Code, Type, Status, Param any
	Details                   []struct{ Reason, RetryDelay string }
}

// errorOf returns the error in a response or an event. It is zero if there is none.
func errorOf(body []byte) providerError {
	var within struct {
		Object      any // "error" if the whole body is the error, as of vLLM
		Error       providerError
		Code        any // also in error events of the format Responses
		Type, Param any
		Response    struct{ Error providerError }
	}
	body = bytes.TrimLeft(body, " \t\r\n[")                    // Google may send a list with one error
	_ = json.NewDecoder(bytes.NewReader(body)).Decode(&within) // members of other types are skipped
	if within.Object == "error" {
		return providerError{Code: within.Code, Type: within.Type, Param: within.Param}
	}
	if within.Response.Error.Code != nil {
		return within.Response.Error
	}
	if within.Error.Code == nil {
		within.Error.Code = within.Code
	}
	return within.Error
}

// isOfKey reports whether Google refuses the key. The status of that refusal is 400.
func (r providerError) isOfKey() bool {
	return slices.ContainsFunc(r.Details, func(d struct{ Reason, RetryDelay string }) bool {
		return d.Reason == "API_KEY_INVALID"
	})
}

// retryAfter returns the wait that Google asks for, at most a day, or 0.
func (r providerError) retryAfter() time.Duration {
	for _, detail := range r.Details {
		if delay, err := time.ParseDuration(detail.RetryDelay); err == nil {
			return min(max(delay, 0), 24*time.Hour)
		}
	}
	return 0
}

// code returns the code of the provider's error as " (invalid_api_key)", or "".
func (a *attempt) code(r providerError) string {
	for _, each := range []any{r.Code, r.Type, r.Status} {
		code, _ := each.(string)
		code = strings.ToLower(code)
		if code == "" {
			continue
		}
		if len(code) > 40 || !codePattern.MatchString(code) || strings.EqualFold(code, a.model.config.Key) {
			return ""
		}
		return " (" + code + ")"
	}
	return ""
}

// retryAfter parses Retry-After, as seconds or a date. It returns at most a day. It returns 0 if the header is missing,
// invalid or in the past.
func retryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(seconds, 0), int((24*time.Hour).Seconds()))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(time.Until(at), 0), 24*time.Hour)
	}
	return 0
}
