package offline

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// call is a call of a tool that was answered. Many rules ask for its arguments and its result, so each is read once.
type call struct {
	llm.ToolCall
	// at is the index of the message that makes it.
	at     int
	result string
	// arguments are nil, false when they are not an object's JSON, as value is for a result that is no JSON.
	arguments func() (map[string]any, bool)
	value     func() (any, bool)
	// failure is what the result says went wrong; "" when nothing did.
	failure func() string
}

func newCall(made llm.ToolCall, at int, result string) call {
	return call{
		ToolCall: made, at: at, result: result,
		arguments: sync.OnceValues(func() (map[string]any, bool) { return parse[map[string]any](made.Arguments) }),
		value:     sync.OnceValues(func() (any, bool) { return parse[any](result) }),
		failure:   sync.OnceValue(func() string { return errorIn(result) }),
	}
}

func parse[V any](text string) (V, bool) {
	var value V
	err := json.Unmarshal([]byte(text), &value)
	return value, err == nil
}

// argument is the value with which a property was set.
func (c call) argument(name string) (any, bool) {
	arguments, ok := c.arguments()
	if !ok {
		return nil, false
	}
	value, ok := arguments[name]
	return value, ok
}

// hasArguments reports whether the call was made with just these.
func (c call) hasArguments(arguments map[string]any) bool {
	used, ok := c.arguments()
	return ok && same(used, arguments)
}

// saysNothing reports whether the result is a mock's that says no more than that the call worked.
func (c call) saysNothing() bool {
	return strings.TrimSpace(inWords(c.result)) == "The call to "+c.Name+" succeeded."
}
