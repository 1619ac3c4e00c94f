// Package openai is the llm.Model for any server that speaks OpenAI's chat completions: OpenAI itself, its equals in
// the cloud, and local servers.
package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/agentgraph/agentgraph/engine/llm"
)

const (
	defaultBaseURL     = "https://api.openai.com/v1"
	defaultTimeout     = 2 * time.Minute
	defaultIdleTimeout = 30 * time.Second

	// maxRetries bounds the retries of an answer before any of it reached the caller.
	maxRetries = 2
	// maxRetryAfter is the longest wait that a provider may ask for. A longer one is reported as a failure at once, with
	// the wait, because a contact is waiting for the reply.
	maxRetryAfter = 10 * time.Second
	// firstBackoff is the wait before the first retry if the provider names none. It doubles each time.
	firstBackoff = 500 * time.Millisecond
	// maxAnswerBytes bounds one answer, text and tool calls together.
	maxAnswerBytes = 1 << 20
)

// Config says which model to ask, and where.
type Config struct {
	// BaseURL is the address before /chat/completions. Empty means OpenAI's own.
	BaseURL string
	// Key is sent as a bearer token, unless it is empty. Local servers often need none.
	Key string
	// Model is the model's name as the provider spells it. Required.
	Model string
	// Timeout bounds a whole answer, retries included. Zero means two minutes.
	Timeout time.Duration
	// IdleTimeout bounds the silence before the first piece of an answer and between two pieces. Zero means thirty
	// seconds.
	IdleTimeout time.Duration
	// Around wraps the transport of requests. It may be nil.
	Around func(http.RoundTripper) http.RoundTripper
}

// Model asks one model of one provider. It reads nothing from the environment but the usual proxy settings.
type Model struct {
	config Config
	client *client
}

// New returns the model that config describes, or an error that names the fault of config. It does not call the
// provider.
func New(config Config) (*Model, error) {
	if config.Model == "" {
		return nil, errors.New("the model's name is missing")
	}
	config.BaseURL = cmp.Or(config.BaseURL, defaultBaseURL)
	// The error does not repeat the address, because people put passwords into addresses.
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
	return &Model{config: config, client: newClient(address, config)}, nil
}

// Name is the model's name as the provider spells it.
func (m *Model) Name() string { return m.config.Model }

// Chat implements llm.Model. A temporary failure is retried at most twice, and only while nothing of the answer has
// reached the caller.
func (m *Model) Chat(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		body, err := m.completion(req)
		if err != nil {
			yield(llm.Chunk{}, err)
			return
		}
		whole, cancel := context.WithTimeoutCause(ctx, m.config.Timeout, errTimeout)
		defer cancel()
		for retries := 0; ; retries++ {
			a := attempt{model: m, yield: yield}
			err := a.run(whole, body)
			if err == nil || a.left {
				return
			}
			if ctx.Err() != nil {
				yield(llm.Chunk{}, ctx.Err())
				return
			}
			delay, again := backoff(err, retries)
			if !again || a.delivered || !sleep(whole, delay) {
				yield(llm.Chunk{}, err)
				return
			}
		}
	}
}

// backoff returns how long to wait before trying again, and whether to try again at all.
func backoff(err error, retries int) (time.Duration, bool) {
	var failure *llm.Error
	if retries >= maxRetries || !errors.As(err, &failure) || !failure.Retryable() || failure.RetryAfter > maxRetryAfter {
		return 0, false
	}
	if failure.RetryAfter > 0 {
		return failure.RetryAfter, true
	}
	// Up to a quarter less keeps conversations that failed together from retrying together.
	delay := firstBackoff << retries
	return delay - rand.N(delay/4), true
}

// sleep waits and returns true. It returns false if ctx ends first, or would.
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

// fail returns an error whose text is for clients: it does not say which model it is.
func (m *Model) fail(cause llm.Cause, status int, format string, args ...any) *llm.Error {
	return &llm.Error{
		Cause:   cause,
		Status:  status,
		Message: "the language model: " + fmt.Sprintf(format, args...),
	}
}
