package provider

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/agentgraph/agentgraph/engine/llm"
)

var responses = &format{
	baseURL: "https://api.openai.com/v1",
	path:    func(string) string { return "responses" },
	sign:    bearer,
	encode:  func(c *Config, req llm.Request) any { return responseOf(c, req) },
	read:    readResponse,
}

// response is the body of a request that creates a response. Nil pointers are omitted, and pointers to 0 are sent.
// MaxOutputTokens is omitted if it is 0.
type response struct {
	Model           string         `json:"model"`
	Instructions    string         `json:"instructions,omitempty"`
	Input           []inputItem    `json:"input"`
	Tools           []responseTool `json:"tools,omitempty"`
	Text            object         `json:"text,omitempty"`
	MaxOutputTokens int            `json:"max_output_tokens,omitempty"`
	Temperature     *float64       `json:"temperature,omitempty"`
	TopP            *float64       `json:"top_p,omitempty"`
	PromptCacheKey  string         `json:"prompt_cache_key,omitempty"`
	Include         []string       `json:"include,omitempty"`
	Store           bool           `json:"store"`
	Stream          bool           `json:"stream"`
}

// inputItem is a message, reasoning, a call or the result of a call.
type inputItem struct {
	Type      string  `json:"type"`
	Role      string  `json:"role,omitempty"`
	Content   string  `json:"content,omitempty"`
	CallID    string  `json:"call_id,omitempty"`
	Name      string  `json:"name,omitempty"`
	Arguments string  `json:"arguments,omitempty"`
	Output    *string `json:"output,omitempty"`
	// These are only in reasoning. The provider stores nothing, so reasoning returns in its encrypted form.
	ID               string          `json:"id,omitempty"`
	Summary          json.RawMessage `json:"summary,omitempty"`
	EncryptedContent string          `json:"encrypted_content,omitempty"`
}

type responseTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

func responseOf(c *Config, req llm.Request) *response {
	body := &response{
		Model: c.Model, Instructions: req.System, Input: []inputItem{}, MaxOutputTokens: c.MaxOutputTokens,
		Temperature: req.Temperature, TopP: req.TopP, Stream: true,
	}
	for _, said := range req.Messages {
		if said.Role == llm.RoleTool {
			body.Input = append(body.Input, inputItem{Type: "function_call_output", CallID: said.ToolCallID,
				Output: &said.Text})
			continue
		}
		if said.Text != "" || len(said.ToolCalls) == 0 {
			body.Input = append(body.Input, inputItem{Type: "message", Role: string(said.Role), Content: text(said.Text)})
		}
		for _, call := range said.ToolCalls {
			var reasoned []inputItem
			_ = json.Unmarshal([]byte(stateOf(c, call)), &reasoned) // no state, no reasoning
			body.Input = append(body.Input, reasoned...)
			body.Input = append(body.Input, inputItem{Type: "function_call", CallID: call.ID, Name: call.Name,
				Arguments: call.Arguments})
		}
	}
	for _, offered := range req.Tools {
		body.Tools = append(body.Tools, responseTool{Type: "function", Name: offered.Name,
			Description: offered.Description, Parameters: parametersOf(offered)})
	}
	if len(req.Schema) > 0 {
		body.Text = object{"format": object{"type": "json_schema", "name": "answer", "strict": true, "schema": req.Schema}}
	}
	if len(req.Tools) > 0 {
		body.Include = []string{"reasoning.encrypted_content"}
		// Requests with the same beginning reach the same cache.
		sum := sha256.Sum256([]byte(req.System))
		body.PromptCacheKey = hex.EncodeToString(sum[:8])
	}
	return body
}

// outputItem is a message, a call or reasoning.
type outputItem struct {
	Type      string          `json:"type"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`

	ID               string          `json:"id"`
	Summary          json.RawMessage `json:"summary"`
	EncryptedContent string          `json:"encrypted_content"`

	Content []struct {
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
}

type responseEvent struct {
	failing
	Delta    json.RawMessage `json:"delta"`
	Index    int             `json:"output_index"`
	Item     outputItem      `json:"item"`
	Response struct {
		Status            string       `json:"status"`
		Output            []outputItem `json:"output"`
		IncompleteDetails struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
		Usage struct {
			InputTokens        int `json:"input_tokens"`
			OutputTokens       int `json:"output_tokens"`
			InputTokensDetails struct {
				CachedTokens int `json:"cached_tokens"`
			} `json:"input_tokens_details"`
		} `json:"usage"`
	} `json:"response"`
}

// readResponse leaves out reasoning, which has events of its own.
func readResponse(a *answer, data []byte) (string, error) {
	var event responseEvent
	if err := decode(data, &event); err != nil {
		return "", err
	}
	switch event.Type {
	case "response.output_text.delta", "response.refusal.delta":
		var said string
		_ = json.Unmarshal(event.Delta, &said) // a delta that is not a string is ignored
		return said, nil
	case "response.output_item.done":
		a.addItem(event.Index, event.Item)
	case "response.failed":
		return "", eventError{data}
	case "response.completed", "response.incomplete":
		a.finish = "stop"
		if event.Response.Status == "incomplete" {
			a.finish = cmp.Or(event.Response.IncompleteDetails.Reason, "max_output_tokens")
			if _, isKnown := incompleteReasons[a.finish]; !isKnown {
				a.finish = "OTHER"
			}
		}
		used := event.Response.Usage
		a.usage = llm.Usage{InputTokens: used.InputTokens, CachedTokens: used.InputTokensDetails.CachedTokens,
			OutputTokens: used.OutputTokens}
		if !a.spoken && len(a.calls) == 0 {
			return a.addOutput(event.Response.Output), nil
		}
	}
	return "", nil
}

// addOutput adds the output of servers that send it only with the end of the answer, and returns its text.
func (a *answer) addOutput(output []outputItem) string {
	var said strings.Builder
	a.reasoned = nil
	for i, item := range output {
		a.addItem(i, item)
		if item.Type == "message" {
			for _, part := range item.Content {
				said.WriteString(part.Text + part.Refusal)
			}
		}
	}
	return said.String()
}

// addItem adds a complete item of the output. Reasoning belongs to the call after it.
func (a *answer) addItem(index int, item outputItem) {
	switch item.Type {
	case "reasoning":
		if item.EncryptedContent == "" {
			return
		}
		a.bytes += len(item.Summary) + len(item.EncryptedContent)
		a.reasoned = append(a.reasoned, inputItem{Type: item.Type, ID: item.ID, Summary: item.Summary,
			EncryptedContent: item.EncryptedContent})
	case "function_call":
		made := a.addCall(index, item.CallID, item.Name, argumentsOf(item.Arguments))
		if len(a.reasoned) > 0 {
			state, _ := json.Marshal(a.reasoned) // texts and JSON always encode
			made.state, a.reasoned = string(state), nil
		}
	}
}
