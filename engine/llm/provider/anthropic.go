package provider

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/agentgraph/agentgraph/engine/llm"
)

const (
	anthropicVersion = "2023-06-01"
	// defaultMaxTokens bounds the answers of Messages, whose requests must have a bound.
	defaultMaxTokens = 16_384
)

var messages = &format{
	baseURL: "https://api.anthropic.com/v1",
	path:    func(string) string { return "messages" },
	sign:    func(header http.Header, key string) { header.Set("X-Api-Key", key) },
	header:  http.Header{"Anthropic-Version": {anthropicVersion}},
	encode:  func(c *Config, req llm.Request) any { return messagesOf(c, req) },
	read:    readMessage,
}

// messageRequest is the body of a request. Nil fields are omitted, zeros are sent.
type messageRequest struct {
	Model        string        `json:"model"`
	MaxTokens    int           `json:"max_tokens"`
	System       []block       `json:"system,omitempty"`
	Messages     []blocks      `json:"messages"`
	Tools        []messageTool `json:"tools,omitempty"`
	OutputConfig object        `json:"output_config,omitempty"`
	CacheControl object        `json:"cache_control,omitempty"`
	Temperature  *float64      `json:"temperature,omitempty"`
	TopP         *float64      `json:"top_p,omitempty"`
	Stream       bool          `json:"stream"`
}

type blocks struct {
	Role    string `json:"role"`
	Content []any  `json:"content"`
}

// block is a text, a call or the result of a call.
type block struct {
	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	ToolUseID    string          `json:"tool_use_id,omitempty"`
	Content      string          `json:"content,omitempty"`
	CacheControl object          `json:"cache_control,omitempty"`
}

// thought is a block of thinking. The provider wants it back unchanged, before the calls that follow it.
type thought struct {
	Type      string  `json:"type"`
	Thinking  *string `json:"thinking,omitempty"`
	Signature string  `json:"signature,omitempty"`
	Data      string  `json:"data,omitempty"`
	index     int
}

type messageTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

func messagesOf(c *Config, req llm.Request) *messageRequest {
	body := &messageRequest{
		Model: c.Model, MaxTokens: cmp.Or(c.MaxOutputTokens, defaultMaxTokens), Stream: true, TopP: req.TopP,
	}
	// The highest temperature is 1. Recent models refuse a temperature together with top_p.
	if req.Temperature != nil {
		body.Temperature, body.TopP = new(min(*req.Temperature, 1)), nil
	}
	// Later requests of a conversation have the same beginning. Requests without tools rarely belong to a conversation,
	// and would pay for a cache that nobody reads.
	if len(req.Tools) > 0 {
		body.CacheControl = object{"type": "ephemeral"}
	}
	if req.System != "" {
		// A mark here also caches the tools, which come first.
		body.System = []block{{Type: "text", Text: req.System, CacheControl: body.CacheControl}}
	}
	for _, turn := range turns(req.Messages) {
		body.Messages = append(body.Messages, blocksOf(c, turn))
	}
	for _, offered := range req.Tools {
		body.Tools = append(body.Tools, messageTool{Name: offered.Name, Description: offered.Description,
			InputSchema: parametersOf(offered)})
	}
	if len(req.Schema) > 0 {
		body.OutputConfig = object{"format": object{"type": "json_schema", "schema": req.Schema}}
	}
	return body
}

func blocksOf(c *Config, turn []llm.Message) blocks {
	converted := blocks{Role: "user"}
	for _, said := range turn {
		switch said.Role {
		case llm.RoleTool:
			converted.Content = append(converted.Content, block{Type: "tool_result", ToolUseID: said.ToolCallID,
				Content: said.Text})
			continue
		case llm.RoleAssistant:
			converted.Role = "assistant"
		}
		for _, call := range said.ToolCalls {
			var thoughts []json.RawMessage
			_ = json.Unmarshal([]byte(stateOf(c, call)), &thoughts) // no state, no thoughts
			for _, each := range thoughts {
				converted.Content = append(converted.Content, each)
			}
		}
		if said.Text != "" || len(said.ToolCalls) == 0 {
			converted.Content = append(converted.Content, block{Type: "text", Text: text(said.Text)})
		}
		for _, call := range said.ToolCalls {
			converted.Content = append(converted.Content, block{Type: "tool_use", ID: call.ID, Name: call.Name,
				Input: objectOf(call.Arguments)})
		}
	}
	return converted
}

type messageEvent struct {
	failing
	Index   int `json:"index"`
	Message struct {
		Usage messageUsage `json:"usage"`
	} `json:"message"`
	ContentBlock struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
		Text  string          `json:"text"`
		Data  string          `json:"data"`
	} `json:"content_block"`
	Delta struct {
		Text        string `json:"text"`
		PartialJSON string `json:"partial_json"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage messageUsage `json:"usage"`
}

type messageUsage struct {
	InputTokens              int `json:"input_tokens"`
	CacheCreationInputTokens int `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     int `json:"cache_read_input_tokens"`
	OutputTokens             int `json:"output_tokens"`
}

// addTo replaces the usage so far. The input tokens of this format do not include the cached ones.
func (u messageUsage) addTo(usage *llm.Usage) {
	if input := u.InputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens; input > 0 {
		usage.InputTokens, usage.CachedTokens = input, u.CacheReadInputTokens
	}
	usage.OutputTokens = max(u.OutputTokens, usage.OutputTokens)
}

func readMessage(a *answer, data []byte) (string, error) {
	var event messageEvent
	if err := decode(data, &event); err != nil {
		return "", err
	}
	switch event.Type {
	case "message_start":
		event.Message.Usage.addTo(&a.usage)
	case "content_block_start":
		switch started := event.ContentBlock; started.Type {
		case "text":
			return started.Text, nil
		case "tool_use":
			a.addCall(event.Index, started.ID, started.Name, "").input = argumentsOf(started.Input)
			a.bytes += len(started.Input)
		case "thinking":
			a.thoughts = append(a.thoughts, thought{Type: started.Type, Thinking: new(string), index: event.Index})
		case "redacted_thinking":
			a.thoughts = append(a.thoughts, thought{Type: started.Type, Data: started.Data, index: event.Index})
			a.bytes += len(started.Data)
		}
	case "content_block_delta":
		return a.continueBlock(event), nil
	case "message_delta":
		event.Usage.addTo(&a.usage)
		a.finish = cmp.Or(event.Delta.StopReason, a.finish)
		if len(a.thoughts) > 0 && len(a.calls) > 0 {
			state, _ := json.Marshal(a.thoughts) // texts always encode
			a.calls[0].state = string(state)
		}
	}
	return "", nil
}

// continueBlock adds the next piece of a block and returns its text.
func (a *answer) continueBlock(event messageEvent) string {
	delta := event.Delta
	if delta.PartialJSON != "" {
		a.addCall(event.Index, "", "", delta.PartialJSON)
	}
	for i := range a.thoughts {
		if each := &a.thoughts[i]; each.index == event.Index && each.Thinking != nil {
			*each.Thinking += delta.Thinking
			each.Signature += delta.Signature
			a.bytes += len(delta.Thinking) + len(delta.Signature)
		}
	}
	return delta.Text
}
