package engine

import (
	"errors"
	"time"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/endpoint"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// maxCalls bounds the calls of one answer.
	maxCalls = 64
	// maxCallsAtOnce bounds the calls that run concurrently.
	maxCallsAtOnce = 8
	// maxName bounds the name of an invalid call in an error message, in bytes.
	maxName = 100
	// maxTechnicalName bounds the recorded name of a call whose target does not exist, in characters.
	maxTechnicalName = 64
	// maxResult bounds the stored and returned result of one call, in bytes.
	maxResult = 64 << 10
	// maxAllCalls bounds the arguments and results of all calls in a turn, in bytes. The calls that reach it are the last
	// ones.
	maxAllCalls = 1 << 20
	// maxError bounds the reason of a failed call, in bytes.
	maxError = 4_000
)

type call struct {
	requested llm.ToolCall
	// target is nil if the model called a name that it was not offered.
	target    *target
	arguments content.Values
	// argumentsJSON has the arguments as JSON, the text that is sent and stored.
	argumentsJSON model.JSONObject
	// number is the index of this call among the calls of the same mocked target in the chat, from 0.
	number int32
	// validationErr has the model's mistake in the call, which the model can correct. The call is carried out only if
	// validationErr is nil.
	validationErr error

	record model.ToolCall
	// answer is the result of the call that the model sees.
	answer   string
	failed   bool
	cause    error
	warnings []string
	// delay is the mock's delay, even if the turn did not wait for it.
	delay time.Duration
}

// failureMessage returns the text that tells the model about a failure.
func failureMessage(failure string) string { return "The call failed: " + failure + "." }

type callError string

func (r callError) Error() string { return string(r) }

const (
	errAllCalls    callError = "the calls of this answer have too much data together, so nothing was done"
	errDenied      callError = "side effects are denied in this simulation, so nothing was done"
	errToolDenied  callError = "this tool must not be called, so nothing was done"
	errToolGone    callError = "the MCP server no longer offers the tool, so it cannot be called"
	errToolChanged callError = "the tool was changed or removed from the agent after a person was asked, so nothing was " +
		"done"
	errNoApprover callError = "a person must approve the call, and a test has nobody to ask, so nothing was done: mock " +
		"the tool"
)

// messageForModel returns the text of an error for the model, without internal details.
func messageForModel(err error) string {
	var refused callError
	var known *model.Error
	var failed *endpoint.Error
	switch {
	case errors.As(err, &refused):
		return refused.Error()
	case errors.As(err, &known):
		return known.Error()
	case errors.As(err, &failed):
		return failed.Error()
	}
	return "something went wrong that is not the agent's fault"
}
