package offline

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model/ordered"
)

// call is an answered call of a tool. Many rules need its arguments and its result, so each is read only once.
type call struct {
	llm.ToolCall
	// at is the index of the message that makes the call.
	at     int
	result string
	// arguments returns nil, false unless they are a JSON object.
	arguments func() (map[string]any, bool)
	// value is the result as package ordered decodes it, nil if it is no JSON.
	value func() any
	// failure is what went wrong according to the result. It is "" if nothing did.
	failure func() string
}

func newCall(made llm.ToolCall, at int, result string) call {
	return call{
		ToolCall: made, at: at, result: result,
		arguments: sync.OnceValues(func() (arguments map[string]any, ok bool) {
			err := json.Unmarshal([]byte(made.Arguments), &arguments)
			return arguments, err == nil
		}),
		value: sync.OnceValue(func() any {
			value, _ := ordered.Decode([]byte(result), func(n json.Number) (any, error) { return n.Float64() })
			return value
		}),
		failure: sync.OnceValue(func() string { return errorIn(result) }),
	}
}

func (c call) argument(name string) (any, bool) {
	arguments, ok := c.arguments()
	if !ok {
		return nil, false
	}
	value, ok := arguments[name]
	return value, ok
}

// hasArguments reports whether the call was made with exactly these arguments.
func (c call) hasArguments(arguments map[string]any) bool {
	used, ok := c.arguments()
	return ok && same(used, arguments)
}

// saysNothing reports whether the result is a mock's, which says only that the call worked.
func (c call) saysNothing() bool {
	return strings.TrimSpace(inWords(c.result)) == "The call to "+c.Name+" succeeded."
}
