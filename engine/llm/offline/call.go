package offline

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model/ordered"
)

// call is an answered tool call. Each of its functions reads the arguments or the result at most once.
type call struct {
	llm.ToolCall
	result string
	// turn is the number of messages that the contact had sent before the call.
	turn int
	// arguments returns the call's arguments, or nil if they are not a JSON object.
	arguments func() map[string]any
	// value returns the result, decoded by the package ordered, or nil if it is not JSON.
	value func() any
	// failure returns the error that the result reports, or "".
	failure func() string
}

func newCall(toolCall llm.ToolCall, result string, turn int) call {
	return call{
		ToolCall: toolCall, result: result, turn: turn,
		arguments: sync.OnceValue(func() (arguments map[string]any) {
			_ = json.Unmarshal([]byte(toolCall.Arguments), &arguments)
			return arguments
		}),
		value: sync.OnceValue(func() any {
			value, _ := ordered.Decode([]byte(result), func(n json.Number) (any, error) { return n.Float64() })
			return value
		}),
		failure: sync.OnceValue(func() string { return errorIn(result) }),
	}
}

// saysNothing reports whether the result is a mock that only confirms the call.
func (c call) saysNothing() bool {
	return strings.Contains(c.result, `"The call to `+c.Name+` succeeded."`)
}
