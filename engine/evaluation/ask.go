package evaluation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// Limits of quotes of answers in errors, and of errors themselves, in bytes.
const (
	maxQuoted  = 100
	maxMessage = 4_000
)

// errNoAnswer is the cause when an answer takes longer than the role's timeout.
var errNoAnswer = errors.New("the answer takes too long")

// modelRole is a role that a language model plays in a test run, other than the agent's.
type modelRole struct {
	llm.Model
	// missing is the error if this server no longer has the model. Model is then nil.
	missing error
	// name is the role's name in errors, such as "the judge".
	name string
	// cause is the cause of a run's error when this role fails.
	cause model.RunErrorCause
	// timeout bounds one answer.
	timeout time.Duration
	// votes is the number of the judge's votes on a criterion; 0 means one.
	votes int
}

// fault returns the failure of the role. Clients may read the formatted text, but not err.
func (p modelRole) fault(err error, format string, args ...any) *rules.Fault {
	return rules.NewFault(p.cause, err, content.Cut(p.name+": "+fmt.Sprintf(format, args...), maxMessage))
}

// unusable says why an answer cannot be used. It completes "Your answer cannot be used: ".
type unusable string

func (u unusable) Error() string { return string(u) }

func unusablef(format string, args ...any) error { return unusable(fmt.Sprintf(format, args...)) }

// requestFor returns the request for an answer with the schema. The model gets the input as JSON.
func requestFor(system string, schema json.RawMessage, input any) llm.Request {
	return llm.Request{System: system, Schema: schema,
		Messages: []llm.Message{{Role: llm.RoleUser, Text: content.Encode(input)}}}
}

// requestAnswer asks a model for an answer that the function read accepts. If read rejects the answer, the model sees
// the reason and gets one more try. The error is a *rules.Fault, or ctx's error once ctx has ended.
func requestAnswer[T any](
	ctx context.Context, p modelRole, req llm.Request, read func(llm.Answer) (T, error),
) (T, error) {
	var none T
	for again := false; ; again = true {
		answer, err := p.answer(ctx, req)
		if err == nil {
			var value T
			if value, err = read(answer); err == nil {
				return value, nil
			}
		}
		var wrong unusable
		switch {
		case !errors.As(err, &wrong):
			return none, err
		case again:
			return none, p.fault(nil, "two of its answers in a row cannot be used: %s", wrong)
		}
		req.Messages = req.Messages[:len(req.Messages):len(req.Messages)]
		if answer.Text != "" {
			req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Text: answer.Text})
		}
		req.Messages = append(req.Messages, llm.Message{
			Role: llm.RoleUser, Text: "Your answer cannot be used: " + content.Cut(string(wrong), rules.MaxFault) +
				". Answer again, in the form that you were given.",
		})
	}
}

const (
	// maxCut bounds the retries after an incomplete answer. cutBackoff is the wait before the first of them.
	maxCut     = 2
	cutBackoff = 500 * time.Millisecond
)

// collect returns a complete answer. It retries after a temporary failure in the middle of one, at most maxCut times.
// Adapters retry only before the first chunk, because they cannot take chunks back. Here no chunk has been shown.
func (p modelRole) collect(ctx context.Context, req llm.Request) (llm.Answer, error) {
	for cuts := 0; ; cuts++ {
		answer, err := llm.Collect(p.Chat(ctx, req))
		var failure *llm.Error
		if answer.Text == "" || cuts == maxCut || !errors.As(err, &failure) || !failure.Retryable() {
			return answer, err
		}
		if engine.Wait(ctx, cutBackoff<<cuts) != nil {
			return answer, err
		}
	}
}

// answer asks for one answer. An empty answer, or one that reached a length limit, is unusable. Other failures are a
// *rules.Fault, or ctx's error once ctx has ended.
func (p modelRole) answer(ctx context.Context, req llm.Request) (llm.Answer, error) {
	if p.missing != nil {
		return llm.Answer{}, p.fault(p.missing, "%s", p.missing)
	}
	limited, cancel := context.WithTimeoutCause(ctx, p.timeout, errNoAnswer)
	defer cancel()
	answer, err := p.collect(limited, req)
	if err == nil {
		return answer, nil
	}
	if ctx.Err() != nil {
		return answer, ctx.Err()
	}
	if errors.Is(context.Cause(limited), errNoAnswer) {
		return answer, p.fault(err, "the language model did not answer within %s", p.timeout)
	}
	var failure *llm.Error
	switch {
	case !errors.As(err, &failure):
		return answer, p.fault(err, "the language model failed")
	case failure.Cause == llm.Empty:
		return answer, unusable("it is empty")
	case failure.Cause == llm.TooLong:
		return answer, unusable("it is too long")
	}
	return answer, p.fault(failure.Err, "%s", failure.Message)
}
