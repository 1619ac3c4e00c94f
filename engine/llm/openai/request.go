package openai

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// completion is the body of a request in OpenAI's protocol. Nil fields are omitted, zeros are sent.
type completion struct {
	Model            string          `json:"model"`
	Messages         []message       `json:"messages"`
	Tools            []tool          `json:"tools,omitempty"`
	ResponseFormat   *responseFormat `json:"response_format,omitempty"`
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
	Name        string                     `json:"name"`
	Description string                     `json:"description,omitempty"`
	Parameters  map[string]json.RawMessage `json:"parameters,omitzero"`
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

// completion converts the request to OpenAI's protocol. Its errors are mistakes of the caller.
func (m *Model) completion(req llm.Request) (*completion, error) {
	body := &completion{
		Model:            m.config.Model,
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
		converted, err := messageOf(said)
		if err != nil {
			return nil, err
		}
		body.Messages = append(body.Messages, converted)
	}
	for _, offered := range req.Tools {
		converted := tool{Type: "function", Function: function{Name: offered.Name, Description: offered.Description}}
		if len(offered.Parameters) > 0 {
			if err := json.Unmarshal(offered.Parameters, &converted.Function.Parameters); err != nil {
				return nil, fmt.Errorf("parameters of tool %s are not a JSON object: %w", offered.Name, err)
			}
		}
		body.Tools = append(body.Tools, converted)
	}
	if len(req.Schema) > 0 {
		if !json.Valid(req.Schema) {
			return nil, errors.New("the schema of the answer is not JSON")
		}
		body.ResponseFormat = &responseFormat{Type: "json_schema", JSONSchema: jsonSchema{Name: "answer", Strict: true,
			Schema: req.Schema}}
	}
	return body, nil
}

func messageOf(said llm.Message) (message, error) {
	converted := message{Role: string(said.Role), Content: &said.Text}
	switch said.Role {
	case llm.RoleUser:
	case llm.RoleTool:
		converted.ToolCallID = said.ToolCallID
	case llm.RoleAssistant:
		for _, call := range said.ToolCalls {
			converted.ToolCalls = append(converted.ToolCalls, toolCall{
				ID: call.ID, Type: "function", Function: functionCall{Name: call.Name, Arguments: call.Arguments},
			})
		}
		// Only messages with tool calls may omit the content.
		if said.Text == "" && len(said.ToolCalls) > 0 {
			converted.Content = nil
		}
	default:
		return message{}, fmt.Errorf("a message has the unknown role %q", said.Role)
	}
	return converted, nil
}
