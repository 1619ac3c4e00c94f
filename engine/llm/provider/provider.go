// Package provider implements llm.Model for the protocols of OpenAI, Anthropic and Google, which compatible providers
// and local servers also speak. It implements llm.Embedder for OpenAI's protocol. All protocols share requests,
// retries, streams, bounds and failures. A [Format] only adds what it sends and how it reads an event. Start reading at
// [New] and [NewEmbedder].
package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/agentgraph/agentgraph/engine/llm"
)

const (
	defaultTimeout     = 2 * time.Minute
	defaultIdleTimeout = 30 * time.Second

	// maxRetries bounds the retries of an answer. After its first chunk has reached the caller, there are none.
	maxRetries = 2
	// maxRetryAfter is the longest Retry-After that is waited for. A longer one fails immediately, because a contact is
	// waiting for the reply.
	maxRetryAfter = 10 * time.Second
	// maxAnswerBytes bounds one answer, text and tool calls together.
	maxAnswerBytes = 1 << 20
)

// firstBackoff is the wait before the first retry without a Retry-After. The wait doubles each time. Only tests change
// firstBackoff.
var firstBackoff = 500 * time.Millisecond

// Config selects a model and its provider.
type Config struct {
	// Format is the provider's protocol. Empty means Completions.
	Format Format
	// BaseURL is the URL before the path of the format, such as /chat/completions. Empty means the URL of the company
	// that published the format.
	BaseURL string
	// Key identifies the caller. Empty sends none, because local servers often need none.
	Key string
	// Model is the model's name as the provider spells it. Required.
	Model string
	// MaxOutputTokens bounds one answer. Zero means the provider's bound, or 16,384 for Messages, which requires one.
	MaxOutputTokens int
	// Timeout bounds a whole answer, retries included. Zero means two minutes.
	Timeout time.Duration
	// IdleTimeout bounds the time before the first chunk of an answer and between chunks. Zero means thirty seconds.
	IdleTimeout time.Duration
	// Around wraps the transport of requests. It may be nil.
	Around func(http.RoundTripper) http.RoundTripper
}

// Model is an llm.Model of one provider. From the environment it reads only the usual proxy settings.
type Model struct {
	config Config
	format *format
	client *client
	// role begins the messages of errors: "the language model".
	role string
	// refused is the set of optional fields that the provider has refused. It answered without them.
	refused sync.Map
}

// New returns the model of config, or an error that names the invalid setting. It does not call the provider.
func New(config Config) (*Model, error) {
	if config.Model == "" {
		return nil, errors.New("the model's name is missing")
	}
	config.Format = cmp.Or(config.Format, Completions)
	spoken, ok := formats[config.Format]
	if !ok {
		return nil, fmt.Errorf("the format of the model's provider must be one of %s, not %s",
			strings.Join(Formats(), ", "), config.Format)
	}
	config.BaseURL = cmp.Or(config.BaseURL, spoken.baseURL)
	// The error does not repeat the URL, because URLs may contain passwords.
	address, err := url.Parse(config.BaseURL)
	if err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return nil, errors.New("the model provider's address is not an http or https URL")
	}
	if config.Timeout <= 0 {
		config.Timeout = defaultTimeout
	}
	if config.IdleTimeout <= 0 {
		config.IdleTimeout = defaultIdleTimeout
	}
	m := &Model{config: config, format: spoken, client: newClient(address, config), role: "the language model"}
	maps.Copy(m.client.header, spoken.header)
	if config.Key != "" {
		spoken.sign(m.client.header, config.Key)
	}
	return m, nil
}

// Name returns the model's name as the provider spells it.
func (m *Model) Name() string { return m.config.Model }

// Chat implements llm.Model. It retries a temporary failure at most twice, and only before the first chunk. If the
// provider refuses optional fields by name, Chat repeats the request without them.
func (m *Model) Chat(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		if err := check(req); err != nil {
			yield(llm.Chunk{}, err)
			return
		}
		req.Tools = withProperties(req.Tools)
		without := m.refusedFields()
		whole, cancel := context.WithTimeoutCause(ctx, m.config.Timeout, errTimeout)
		defer cancel()
		for retries := 0; ; {
			a := attempt{model: m, yield: yield}
			body := m.bodyOf(req, without)
			err := a.run(whole, body)
			if a.status == http.StatusOK {
				// A refusal may name fields for another reason, so only a success without them shows that they were refused.
				for _, name := range without {
					m.refused.Store(name, true)
				}
			}
			if err == nil || a.hasCallerLeft {
				return
			}
			if ctx.Err() != nil {
				yield(llm.Chunk{}, ctx.Err())
				return
			}
			if named := a.refusedFieldsOf(body); len(named) > 0 {
				without = append(without, named...)
				continue
			}
			delay, again := backoff(err, retries)
			if !again || a.delivered || !sleep(whole, delay) {
				yield(llm.Chunk{}, err)
				return
			}
			retries++
		}
	}
}

// backoff returns the wait before the next try, and whether to try again at all.
func backoff(err error, retries int) (time.Duration, bool) {
	var failure *llm.Error
	if retries >= maxRetries || !errors.As(err, &failure) || !failure.Retryable() || failure.RetryAfter > maxRetryAfter {
		return 0, false
	}
	if failure.RetryAfter > 0 {
		return failure.RetryAfter, true
	}
	// The delay is shortened at random by up to a quarter, so that concurrent failures do not retry together.
	delay := firstBackoff << retries
	return delay - rand.N(delay/4), true
}

// sleep waits and returns true. It returns false if ctx ends first. If the deadline of ctx is before the end of the
// wait, sleep returns at once.
func sleep(ctx context.Context, delay time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= delay {
		return false
	}
	select {
	case <-time.After(delay):
		return true
	case <-ctx.Done():
		return false
	}
}

// newError returns an error for clients: its text does not name the model.
func (m *Model) newError(cause llm.Cause, status int, format string, args ...any) *llm.Error {
	return &llm.Error{
		Cause:   cause,
		Status:  status,
		Message: m.role + ": " + fmt.Sprintf(format, args...),
	}
}
