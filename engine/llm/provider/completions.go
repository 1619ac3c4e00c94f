package provider

import (
	"cmp"
	"encoding/json"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// completion is the body of a request in OpenAI's protocol. Nil pointers are omitted, and pointers to 0 are sent.
// MaxTokens is omitted if it is 0.
type completion struct {
	Model            string          `json:"model"`
	Messages         []message       `json:"messages"`
	Tools            []tool          `json:"tools,omitempty"`
	ResponseFormat   *responseFormat `json:"response_format,omitempty"`
	MaxTokens        int             `json:"max_completion_tokens,omitempty"`
	Temperature      *float64        `json:"temperature,omitempty"`
	TopP             *float64        `json:"top_p,omitempty"`
	PresencePenalty  *float64        `json:"presence_penalty,omitempty"`
	FrequencyPenalty *float64        `json:"frequency_penalty,omitempty"`
	Stream           bool            `json:"stream"`
	StreamOptions    streamOptions   `json:"stream_options"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type message struct {
	Role       string     `json:"role"`
	Content    *string    `json:"content,omitempty"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

type responseFormat struct {
	Type       string     `json:"type"`
	JSONSchema jsonSchema `json:"json_schema"`
}

type jsonSchema struct {
	Name   string          `json:"name"`
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

var completions = &format{
	baseURL: "https://api.openai.com/v1",
	path:    func(string) string { return "chat/completions" },
	sign:    bearer,
	encode:  func(c *Config, req llm.Request) any { return completionOf(c, req) },
	read:    readCompletion,
}

func completionOf(c *Config, req llm.Request) *completion {
	body := &completion{
		Model:            c.Model,
		MaxTokens:        c.MaxOutputTokens,
		Temperature:      req.Temperature,
		TopP:             req.TopP,
		PresencePenalty:  req.PresencePenalty,
		FrequencyPenalty: req.FrequencyPenalty,
		Stream:           true,
		StreamOptions:    streamOptions{IncludeUsage: true},
	}
	if req.System != "" {
		body.Messages = append(body.Messages, message{Role: "system", Content: &req.System})
	}
	for _, said := range req.Messages {
		body.Messages = append(body.Messages, messageOf(said))
	}
	for _, offered := range req.Tools {
		body.Tools = append(body.Tools, tool{Type: "function", Function: function{Name: offered.Name,
			Description: offered.Description, Parameters: offered.Parameters}})
	}
	if len(req.Schema) > 0 {
		body.ResponseFormat = &responseFormat{Type: "json_schema", JSONSchema: jsonSchema{Name: "answer", Strict: true,
			Schema: req.Schema}}
	}
	return body
}

func messageOf(said llm.Message) message {
	converted := message{Role: string(said.Role), Content: &said.Text, ToolCallID: said.ToolCallID}
	for _, call := range said.ToolCalls {
		converted.ToolCalls = append(converted.ToolCalls, toolCall{
			ID: call.ID, Type: "function", Function: functionCall{Name: call.Name, Arguments: call.Arguments},
		})
	}
	// Only messages with tool calls may omit the content.
	if said.Text == "" && len(said.ToolCalls) > 0 {
		converted.Content = nil
	}
	return converted
}

type completionEvent struct {
	failing
	Choices []struct {
		Delta struct {
			Content   string      `json:"content"`
			Refusal   string      `json:"refusal"`
			ToolCalls []callDelta `json:"tool_calls"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		PromptTokens        int `json:"prompt_tokens"`
		CompletionTokens    int `json:"completion_tokens"`
		PromptTokensDetails struct {
			CachedTokens int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
}

type callDelta struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

func readCompletion(a *answer, data []byte) (string, error) {
	var event completionEvent
	if err := decode(data, &event); err != nil {
		return "", err
	}
	if used := event.Usage; used != nil {
		a.usage = llm.Usage{InputTokens: used.PromptTokens, CachedTokens: used.PromptTokensDetails.CachedTokens,
			OutputTokens: used.CompletionTokens}
	}
	// The last event has usage and no choices. Requests ask for one choice.
	if len(event.Choices) == 0 {
		return "", nil
	}
	choice := event.Choices[0]
	a.finish = cmp.Or(choice.FinishReason, a.finish)
	for _, delta := range choice.Delta.ToolCalls {
		a.addCall(delta.Index, delta.ID, delta.Function.Name, argumentsOf(delta.Function.Arguments))
	}
	// A refusal is text of the model in another field.
	return choice.Delta.Content + choice.Delta.Refusal, nil
}
