package openai

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/agentgraph/agentgraph/engine/llm"
)

type answer struct {
	calls  []*call
	finish string
	usage  llm.Usage
	// bytes counts text and tool calls. spoken is set if the text is not blank.
	bytes  int
	spoken bool
}

type call struct {
	index     int
	id, name  string
	arguments strings.Builder
}

type event struct {
	Choices []struct {
		Delta struct {
			Content   string      `json:"content"`
			Refusal   string      `json:"refusal"`
			ToolCalls []callDelta `json:"tool_calls"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
	} `json:"usage"`
	Error *json.RawMessage `json:"error"`
}

type callDelta struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// add takes one event of the stream and returns its text.
func (a *answer) add(event event) string {
	if event.Usage != nil {
		a.usage = llm.Usage{InputTokens: event.Usage.PromptTokens, OutputTokens: event.Usage.CompletionTokens}
	}
	// The last event has usage and no choices. Requests ask for one choice.
	if len(event.Choices) == 0 {
		return ""
	}
	choice := event.Choices[0]
	a.finish = cmp.Or(choice.FinishReason, a.finish)
	for _, delta := range choice.Delta.ToolCalls {
		a.addCall(delta)
	}
	// A refusal is text of the model in another field.
	text := choice.Delta.Content + choice.Delta.Refusal
	a.bytes += len(text)
	a.spoken = a.spoken || strings.TrimSpace(text) != ""
	return text
}

// addCall appends to the call with the index of delta, unless its id differs: some servers number all their calls 0.
func (a *answer) addCall(delta callDelta) {
	var current *call
	for _, c := range a.calls {
		if c.index == delta.Index && (delta.ID == "" || c.id == "" || c.id == delta.ID) {
			current = c
		}
	}
	if current == nil {
		current = &call{index: delta.Index}
		a.calls = append(a.calls, current)
	}
	current.id, current.name = cmp.Or(delta.ID, current.id), cmp.Or(delta.Function.Name, current.name)
	current.arguments.WriteString(delta.Function.Arguments)
	a.bytes += len(delta.Function.Arguments)
}

// last returns the chunk that ends a complete answer, or the failure of an incomplete one.
func (a *answer) last(m *Model, status int) (llm.Chunk, error) {
	switch a.finish {
	case "content_filter":
		return llm.Chunk{}, m.fail(llm.Filtered, status, "the provider answered %d, but its content filter stopped the "+
			"answer",
			status)
	case "length":
		return llm.Chunk{}, m.fail(llm.TooLong, status, "the provider answered %d, but the answer reached its length limit",
			status)
	}
	chunk := llm.Chunk{Finish: llm.FinishStop, Usage: a.usage}
	for i, c := range a.calls {
		if c.name == "" {
			return llm.Chunk{}, m.fail(llm.Malformed, status, "the provider answered %d with a tool call that names no tool",
				status)
		}
		chunk.Finish = llm.FinishToolCalls
		chunk.ToolCalls = append(chunk.ToolCalls, llm.ToolCall{
			ID: cmp.Or(c.id, "call_"+strconv.Itoa(i+1)), Name: c.name, Arguments: cmp.Or(c.arguments.String(), "{}"),
		})
	}
	if !a.spoken && len(a.calls) == 0 {
		return llm.Chunk{}, m.fail(llm.Empty, status, "the provider answered %d with an empty answer", status)
	}
	return chunk, nil
}
