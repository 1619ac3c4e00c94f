package provider

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"strings"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// answer collects one answer from the events of its stream.
type answer struct {
	calls []*call
	// finish is the provider's reason for the end, or "" before the end.
	finish string
	// isMarked is set if the stream ended with its end mark.
	isMarked bool
	usage    llm.Usage
	// thoughts are the thinking of the model, which the provider wants back with the calls.
	thoughts []thought
	// reasoning is the thinking in the format Chat Completions. In the format Responses, reasoned is the thinking before
	// the next call.
	reasoning reasoning
	reasoned  []inputItem
	// bytes counts the text, the thoughts and the arguments of tool calls. spoken is set if the text is not blank.
	bytes  int
	spoken bool
	think  thinkFilter
}

// say records text of the answer and returns it.
func (a *answer) say(text string) string {
	a.spoken = a.spoken || strings.TrimSpace(text) != ""
	return text
}

type call struct {
	index     int
	id, name  string
	arguments strings.Builder
	// input are the arguments that came with the start of the call, in case no others follow.
	input string
	// state is data that the provider wants back with the call. extra is a part of it in Chat Completions.
	state string
	extra json.RawMessage
}

// addCall continues the call with the index and returns it. It starts a call if the id differs: some servers number all
// their calls 0.
func (a *answer) addCall(index int, id, name, arguments string) *call {
	var current *call
	for _, c := range a.calls {
		if c.index == index && (id == "" || c.id == "" || c.id == id) {
			current = c
		}
	}
	if current == nil {
		current = &call{index: index}
		a.calls = append(a.calls, current)
	}
	current.id, current.name = cmp.Or(id, current.id), cmp.Or(name, current.name)
	current.arguments.WriteString(arguments)
	a.bytes += len(arguments)
	return current
}

// argumentsOf returns the arguments of a call as text. Some servers send them as an object instead of its text.
func argumentsOf(sent json.RawMessage) string {
	var text *string
	if len(sent) == 0 || json.Unmarshal(sent, &text) != nil {
		return string(sent)
	}
	if text == nil {
		return ""
	}
	return *text
}

// plausible returns the usage, or none if it cannot be true. Callers estimate a usage that is missing.
func plausible(used llm.Usage) llm.Usage {
	const maxTokens = 100_000_000 // more than any model reads
	if min(used.InputTokens, used.OutputTokens) < 0 || max(used.InputTokens, used.OutputTokens) > maxTokens {
		return llm.Usage{}
	}
	used.CachedTokens = min(max(used.CachedTokens, 0), used.InputTokens)
	return used
}

// incompleteReasons has the finish reasons of all formats that mean an incomplete answer. No reason has different
// meanings in two formats.
var incompleteReasons = map[string]llm.Cause{
	"content_filter": llm.Filtered, "length": llm.TooLong, "max_output_tokens": llm.TooLong,
	"refusal": llm.Filtered, "max_tokens": llm.TooLong, "model_context_window_exceeded": llm.TooLong,
	"MAX_TOKENS": llm.TooLong, "SAFETY": llm.Filtered, "RECITATION": llm.Filtered, "BLOCKLIST": llm.Filtered,
	"PROHIBITED_CONTENT": llm.Filtered, "SPII": llm.Filtered, "LANGUAGE": llm.Filtered, "OTHER": llm.CutOff,
	"MALFORMED_FUNCTION_CALL": llm.CutOff, "UNEXPECTED_TOOL_CALL": llm.Malformed, "TOO_MANY_TOOL_CALLS": llm.Malformed,
	"MALFORMED_RESPONSE": llm.CutOff, "MISSING_THOUGHT_SIGNATURE": llm.Malformed,
}

var cutMessages = map[llm.Cause]string{
	llm.Filtered:  ", but its content filter stopped the answer",
	llm.TooLong:   ", but the answer reached its length limit",
	llm.Malformed: " with a tool call that it cannot read itself",
	llm.CutOff:    ", but stopped before the end of the answer",
}

// last returns the chunk that ends a complete answer, or the failure of an incomplete one.
func (a *answer) last(current *attempt) (llm.Chunk, error) {
	if cause, isCut := incompleteReasons[a.finish]; isCut {
		return llm.Chunk{}, current.answered(cause, cutMessages[cause])
	}
	config, chunk := &current.model.config, llm.Chunk{Finish: llm.FinishStop, Usage: plausible(a.usage)}
	seen := map[string]bool{"": true}
	for i, c := range a.calls {
		if c.name == "" {
			return llm.Chunk{}, current.answered(llm.Malformed, " with a tool call that names no tool")
		}
		if config.Format == Completions {
			c.state = a.stateOfCompletion(i)
		}
		if c.state != "" {
			c.state = config.stateKey() + c.state
		}
		// Gemini gives no ids. Other formats refuse a conversation in which two calls have the same id.
		if seen[c.id] {
			c.id = "call_" + rand.Text()
		}
		seen[c.id] = true
		chunk.Finish = llm.FinishToolCalls
		chunk.ToolCalls = append(chunk.ToolCalls, llm.ToolCall{
			ID: c.id, Name: c.name, Arguments: cmp.Or(c.arguments.String(), c.input, "{}"), State: c.state,
		})
	}
	if !a.spoken && len(a.calls) == 0 {
		return llm.Chunk{}, current.answered(llm.Empty, " with an empty answer")
	}
	return chunk, nil
}
