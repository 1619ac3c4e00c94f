package openai

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// params writes the request in the provider's terms. Its errors are faults of the caller.
func (m *Model) params(req llm.Request) (openai.ChatCompletionNewParams, error) {
	params := openai.ChatCompletionNewParams{
		Model:            m.config.Model,
		Temperature:      optional(req.Temperature),
		TopP:             optional(req.TopP),
		PresencePenalty:  optional(req.PresencePenalty),
		FrequencyPenalty: optional(req.FrequencyPenalty),
		StreamOptions:    openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	if req.System != "" {
		params.Messages = append(params.Messages, openai.SystemMessage(req.System))
	}
	for _, message := range req.Messages {
		converted, err := messageParam(message)
		if err != nil {
			return params, err
		}
		params.Messages = append(params.Messages, converted)
	}
	for _, tool := range req.Tools {
		function := shared.FunctionDefinitionParam{Name: tool.Name}
		if tool.Description != "" {
			function.Description = openai.String(tool.Description)
		}
		if len(tool.Parameters) > 0 {
			if err := json.Unmarshal(tool.Parameters, &function.Parameters); err != nil {
				return params, fmt.Errorf("parameters of tool %s are not a JSON object: %w", tool.Name, err)
			}
		}
		params.Tools = append(params.Tools, openai.ChatCompletionFunctionTool(function))
	}
	if len(req.Schema) > 0 {
		if !json.Valid(req.Schema) {
			return params, errors.New("the schema of the answer is not JSON")
		}
		params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "answer", Strict: openai.Bool(true), Schema: req.Schema},
		}
	}
	return params, nil
}

func messageParam(message llm.Message) (openai.ChatCompletionMessageParamUnion, error) {
	switch message.Role {
	case llm.RoleUser:
		return openai.UserMessage(message.Text), nil
	case llm.RoleTool:
		return openai.ToolMessage(message.Text, message.ToolCallID), nil
	case llm.RoleAssistant:
		assistant := openai.ChatCompletionAssistantMessageParam{}
		// Content may be missing only beside tool calls.
		if message.Text != "" || len(message.ToolCalls) == 0 {
			assistant.Content.OfString = openai.String(message.Text)
		}
		for _, call := range message.ToolCalls {
			assistant.ToolCalls = append(assistant.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
				OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
					ID: call.ID,
					Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{
						Name:      call.Name,
						Arguments: call.Arguments,
					},
				},
			})
		}
		return openai.ChatCompletionMessageParamUnion{OfAssistant: &assistant}, nil
	}
	return openai.ChatCompletionMessageParamUnion{}, fmt.Errorf("a message has the unknown role %q", message.Role)
}

func optional(value *float64) param.Opt[float64] {
	if value == nil {
		return param.Opt[float64]{}
	}
	return openai.Float(*value)
}
