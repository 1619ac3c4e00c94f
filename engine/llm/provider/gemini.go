package provider

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/agentgraph/agentgraph/engine/llm"
)

var contents = &format{
	baseURL: "https://generativelanguage.googleapis.com/v1beta",
	path: func(model string) string {
		return "models/" + url.PathEscape(strings.TrimPrefix(model, "models/")) + ":streamGenerateContent?alt=sse"
	},
	sign:   func(header http.Header, key string) { header.Set("X-Goog-Api-Key", key) },
	encode: func(c *Config, req llm.Request) any { return contentsOf(c, req) },
	read:   readContent,
}

// anySignature is the signature that Google documents for calls that another model made.
const anySignature = "skip_thought_signature_validator"

// contentRequest is the body of a request. Nil pointers are omitted, and pointers to 0 are sent. MaxOutputTokens is
// omitted if it is 0.
type contentRequest struct {
	SystemInstruction *content         `json:"systemInstruction,omitempty"`
	Contents          []content        `json:"contents"`
	Tools             []object         `json:"tools,omitempty"`
	GenerationConfig  generationConfig `json:"generationConfig"`
}

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

// part is a text, a call or the result of a call.
type part struct {
	Text             string            `json:"text,omitempty"`
	Thought          bool              `json:"thought,omitempty"`
	FunctionCall     *calledFunction   `json:"functionCall,omitempty"`
	FunctionResponse *functionResponse `json:"functionResponse,omitempty"`
	ThoughtSignature string            `json:"thoughtSignature,omitempty"`
}

type calledFunction struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type functionResponse struct {
	ID       string          `json:"id,omitempty"`
	Name     string          `json:"name"`
	Response json.RawMessage `json:"response"`
}

type functionDeclaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parametersJsonSchema,omitempty"`
}

type generationConfig struct {
	MaxOutputTokens    int             `json:"maxOutputTokens,omitempty"`
	Temperature        *float64        `json:"temperature,omitempty"`
	TopP               *float64        `json:"topP,omitempty"`
	PresencePenalty    *float64        `json:"presencePenalty,omitempty"`
	FrequencyPenalty   *float64        `json:"frequencyPenalty,omitempty"`
	ResponseMimeType   string          `json:"responseMimeType,omitempty"`
	ResponseJSONSchema json.RawMessage `json:"responseJsonSchema,omitempty"`
}

func contentsOf(c *Config, req llm.Request) *contentRequest {
	body := &contentRequest{GenerationConfig: generationConfig{
		MaxOutputTokens: c.MaxOutputTokens, Temperature: req.Temperature, TopP: req.TopP,
		PresencePenalty: req.PresencePenalty, FrequencyPenalty: req.FrequencyPenalty,
	}}
	if req.System != "" {
		body.SystemInstruction = &content{Parts: []part{{Text: req.System}}}
	}
	names := map[string]string{}
	for _, turn := range turns(req.Messages) {
		body.Contents = append(body.Contents, contentOf(c, turn, names))
	}
	if len(req.Tools) > 0 {
		var offered []functionDeclaration
		for _, t := range req.Tools {
			offered = append(offered, functionDeclaration(t))
		}
		body.Tools = []object{{"functionDeclarations": offered}}
	}
	if len(req.Schema) > 0 {
		body.GenerationConfig.ResponseMimeType, body.GenerationConfig.ResponseJSONSchema = "application/json", req.Schema
	}
	return body
}

// contentOf converts a turn. names has the names of the calls so far by their ids, because results name their tools.
func contentOf(c *Config, turn []llm.Message, names map[string]string) content {
	converted := content{Role: "user"}
	for _, said := range turn {
		switch said.Role {
		case llm.RoleTool:
			converted.Parts = append(converted.Parts, part{FunctionResponse: &functionResponse{ID: said.ToolCallID,
				Name: names[said.ToolCallID], Response: objectOf(said.Text)}})
			continue
		case llm.RoleAssistant:
			converted.Role = "model"
		}
		if said.Text != "" || len(said.ToolCalls) == 0 {
			converted.Parts = append(converted.Parts, part{Text: text(said.Text)})
		}
		for i, call := range said.ToolCalls {
			names[call.ID] = call.Name
			made := part{FunctionCall: &calledFunction{ID: call.ID, Name: call.Name, Args: objectOf(call.Arguments)},
				ThoughtSignature: stateOf(c, call)}
			if i == 0 {
				made.ThoughtSignature = cmp.Or(made.ThoughtSignature, anySignature)
			}
			converted.Parts = append(converted.Parts, made)
		}
	}
	return converted
}

type contentEvent struct {
	failing
	Candidates []struct {
		Content      content `json:"content"`
		FinishReason string  `json:"finishReason"`
	} `json:"candidates"`
	PromptFeedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	UsageMetadata *struct {
		PromptTokenCount        int `json:"promptTokenCount"`
		CachedContentTokenCount int `json:"cachedContentTokenCount"`
		CandidatesTokenCount    int `json:"candidatesTokenCount"`
		ThoughtsTokenCount      int `json:"thoughtsTokenCount"`
	} `json:"usageMetadata"`
}

func readContent(a *answer, data []byte) (string, error) {
	var event contentEvent
	if err := decode(data, &event); err != nil {
		return "", err
	}
	if used := event.UsageMetadata; used != nil {
		a.usage = llm.Usage{InputTokens: used.PromptTokenCount, CachedTokens: used.CachedContentTokenCount,
			OutputTokens: used.CandidatesTokenCount + used.ThoughtsTokenCount}
	}
	if event.PromptFeedback.BlockReason != "" {
		a.finish = "SAFETY"
	}
	if len(event.Candidates) == 0 {
		return "", nil
	}
	candidate := event.Candidates[0]
	a.finish = cmp.Or(candidate.FinishReason, a.finish)
	var said strings.Builder
	for _, each := range candidate.Content.Parts {
		switch made := each.FunctionCall; {
		case made != nil:
			// Calls arrive whole.
			a.addCall(len(a.calls), made.ID, made.Name, string(made.Args))
			a.calls[len(a.calls)-1].state = each.ThoughtSignature
			a.bytes += len(each.ThoughtSignature)
		case !each.Thought:
			said.WriteString(each.Text)
		}
	}
	return said.String(), nil
}
