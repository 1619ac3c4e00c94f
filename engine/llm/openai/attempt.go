package openai

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"regexp"
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
	errIdle    = errors.New("the stream fell silent")
)

type attempt struct {
	model *Model
	yield func(llm.Chunk, error) bool
	// status is the provider's HTTP status, or 0 before the response.
	status int
	// delivered is set when a chunk has reached the caller. left is set when the caller stopped reading after that.
	delivered, left bool
}

// run sends one request and streams the answer to the caller. It returns nil if the answer was complete or the caller
// left.
func (a *attempt) run(ctx context.Context, body *completion) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(a.model.config.IdleTimeout, func() { cancel(errIdle) })
	defer idle.Stop()

	stream, err := a.open(ctx, body)
	if err != nil {
		return a.failure(ctx, err)
	}
	defer func() { _ = stream.Close() }()
	var answer answer
	for event, err := range events(stream) {
		if err != nil {
			// Only usage and the end mark follow the finish reason, so the answer is complete.
			if answer.finish == "" {
				return a.failure(ctx, err)
			}
			break
		}
		// The caller's time for a chunk does not count as silence of the provider.
		idle.Stop()
		text := answer.add(event)
		if answer.bytes > maxAnswerBytes {
			return a.model.fail(llm.TooLong, a.status, "the provider answered %d with more than %d bytes", a.status,
				maxAnswerBytes)
		}
		if text != "" && !a.deliver(llm.Chunk{Text: text}) {
			return nil
		}
		idle.Reset(a.model.config.IdleTimeout)
	}
	if answer.finish == "" {
		return a.failure(ctx, io.ErrUnexpectedEOF)
	}
	last, err := answer.last(a.model, a.status)
	if err != nil {
		return err
	}
	a.deliver(last)
	return nil
}

func (a *attempt) deliver(chunk llm.Chunk) bool {
	a.delivered = true
	a.left = !a.yield(chunk, nil)
	return !a.left
}

// open sends the request and returns the stream of the answer. It records the status. If the response is not a stream,
// open returns a failure. It reads a bounded part of the body, and does not quote it.
func (a *attempt) open(ctx context.Context, body *completion) (io.ReadCloser, error) {
	res, err := a.model.client.post(ctx, "chat/completions", "text/event-stream", body)
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
		return nil, a.model.fail(llm.Malformed, a.status, "the provider answered 200 OK, but not with a stream")
	}
	return nil, a.refusal(res)
}

// reported is an error event within a stream.
type reported struct{ data []byte }

func (reported) Error() string { return "the provider reported an error" }

// errNotJSON is returned for an event that is not a JSON object.
var errNotJSON = errors.New("an event is not a JSON object")

// events reads a stream up to its end mark or its end.
func events(stream io.Reader) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		for framed, err := range sse.Read(stream, &sse.ReadConfig{MaxEventSize: maxEventBytes}) {
			if err != nil {
				yield(event{}, err)
				return
			}
			if framed.Data == "" {
				continue
			}
			if strings.HasPrefix(framed.Data, "[DONE]") {
				return
			}
			read, err := readEvent([]byte(framed.Data))
			if !yield(read, err) || err != nil {
				return
			}
		}
	}
}

// readEvent ignores members of a wrong type, because some OpenAI-compatible servers send them.
func readEvent(data []byte) (event, error) {
	var read event
	var odd *json.UnmarshalTypeError
	if err := json.Unmarshal(data, &read); err != nil && (!errors.As(err, &odd) || odd.Field == "") {
		return event{}, errNotJSON
	}
	if read.Error != nil {
		return event{}, reported{data}
	}
	return read, nil
}

// refusal returns the failure for a status other than 200.
func (a *attempt) refusal(res *http.Response) *llm.Error {
	// A truncated body reveals no code, but the status is enough.
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBytes))
	code := a.errorCode(body)
	failure := a.model.fail(causeOf(a.status), a.status, "the provider answered %s%s",
		strings.TrimSpace(strconv.Itoa(a.status)+" "+http.StatusText(a.status)), code)
	failure.RetryAfter = retryAfter(res.Header)
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

// failure returns the error of an incomplete answer.
func (a *attempt) failure(ctx context.Context, err error) error {
	var known *llm.Error
	var within reported
	model, status := a.model, a.status
	switch cause := context.Cause(ctx); {
	case errors.As(err, &known):
		return known
	case cause != nil && status == 0:
		return model.fail(llm.TimedOut, 0, "the provider did not answer in time")
	case errors.Is(cause, errIdle):
		return model.fail(llm.TimedOut, status, "the provider answered %d and then fell silent for more than %s", status,
			model.config.IdleTimeout)
	case cause != nil:
		return model.fail(llm.TimedOut, status, "the provider answered %d, but did not finish within %s", status,
			model.config.Timeout)
	case errors.As(err, &within):
		return model.fail(llm.Unavailable, status, "the provider answered %d and then reported an error%s", status,
			a.errorCode(within.data))
	case errors.Is(err, errNotJSON), errors.Is(err, bufio.ErrTooLong):
		return model.fail(llm.Malformed, status, "the provider answered %d with a stream of something else than JSON events",
			status)
	case status == 0:
		return a.unreached(err)
	}
	return model.fail(llm.CutOff, status, "the provider answered %d, but the connection ended before the answer "+
		"did", status)
}

// unreached returns the failure when the provider did not respond.
func (a *attempt) unreached(err error) *llm.Error {
	network, ok := errors.AsType[*url.Error](err)
	if !ok {
		return a.model.fail(llm.Unavailable, 0, "the request to the provider failed")
	}
	failure := a.model.fail(llm.Unavailable, 0, "the provider could not be reached")
	failure.Err = network.Err // without the request's address, which may hold a password
	return failure
}

// codePattern matches the error codes of providers. Messages of providers are not repeated, because they quote keys and
// prompts.
var codePattern = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

// errorCode returns the code of the provider's error as " (invalid_api_key)", or "".
func (a *attempt) errorCode(body []byte) string {
	var refusal struct {
		Error struct{ Code, Type any }
	}
	if json.NewDecoder(bytes.NewReader(body)).Decode(&refusal) != nil {
		return ""
	}
	code, _ := refusal.Error.Code.(string)
	kind, _ := refusal.Error.Type.(string)
	code = cmp.Or(code, kind)
	if len(code) > 40 || !codePattern.MatchString(code) || code == a.model.config.Key {
		return ""
	}
	return " (" + code + ")"
}

// retryAfter parses Retry-After, as seconds or a date. It returns 0 if the header is missing, invalid or in the past.
func retryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(seconds, 0), int((24*time.Hour).Seconds()))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}
