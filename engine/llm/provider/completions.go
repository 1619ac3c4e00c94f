package provider

import (
	"cmp"
	"encoding/json"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// completion is the body of a request in OpenAI's protocol. Nil pointers are omitted, and pointers to 0 are sent.
// MaxTokens is omitted if it is 0.
type completion struct {
	Model            string    `json:"model"`
	Messages         []message `json:"messages"`
	Tools            []object  `json:"tools,omitempty"`
	ResponseFormat   object    `json:"response_format,omitempty"`
	MaxTokens        int       `json:"max_completion_tokens,omitempty"`
	Temperature      *float64  `json:"temperature,omitempty"`
	TopP             *float64  `json:"top_p,omitempty"`
	PresencePenalty  *float64  `json:"presence_penalty,omitempty"`
	FrequencyPenalty *float64  `json:"frequency_penalty,omitempty"`
	Stream           bool      `json:"stream"`
	StreamOptions    object    `json:"stream_options"`
}

type message struct {
	Role       string     `json:"role"`
	Content    *string    `json:"content,omitempty"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	reasoning
}

// reasoning is the thinking of a model before its calls. DeepSeek and OpenRouter want it back with the calls.
type reasoning struct {
	ReasoningContent *string           `json:"reasoning_content,omitempty"`
	ReasoningDetails []reasoningDetail `json:"reasoning_details,omitempty"`
}

// reasoningDetail is a text, a summary or encrypted data of OpenRouter.
type reasoningDetail struct {
	Type      string `json:"type"`
	ID        string `json:"id,omitempty"`
	Format    string `json:"format,omitempty"`
	Index     *int   `json:"index,omitempty"`
	Text      string `json:"text,omitempty"`
	Summary   string `json:"summary,omitempty"`
	Data      string `json:"data,omitempty"`
	Signature string `json:"signature,omitempty"`
}

func (d *reasoningDetail) length() int {
	return len(d.Text) + len(d.Summary) + len(d.Data) + len(d.Signature)
}

// continueWith adds the next piece of the same text or summary. It returns false if the piece is a detail of its own.
func (d *reasoningDetail) continueWith(piece reasoningDetail) bool {
	isSame := d.Index == piece.Index || d.Index != nil && piece.Index != nil && *d.Index == *piece.Index
	if !isSame || d.Type != piece.Type || d.Type != "reasoning.text" && d.Type != "reasoning.summary" {
		return false
	}
	d.Text, d.Summary = d.Text+piece.Text, d.Summary+piece.Summary
	d.ID, d.Format = cmp.Or(piece.ID, d.ID), cmp.Or(piece.Format, d.Format)
	d.Signature = cmp.Or(piece.Signature, d.Signature)
	return true
}

type toolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function object `json:"function"`
	// ExtraContent has the signature of Gemini's thinking.
	ExtraContent json.RawMessage `json:"extra_content,omitempty"`
}

// callState is the state of a call. The first call of a message has its reasoning.
type callState struct {
	reasoning
	ExtraContent json.RawMessage `json:"extra_content,omitempty"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
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
		StreamOptions:    object{"include_usage": true},
	}
	if req.System != "" {
		body.Messages = append(body.Messages, message{Role: "system", Content: &req.System})
	}
	for _, said := range req.Messages {
		body.Messages = append(body.Messages, messageOf(c, said))
	}
	for _, offered := range req.Tools {
		body.Tools = append(body.Tools, object{"type": "function", "function": function(offered)})
	}
	if len(req.Schema) > 0 {
		body.ResponseFormat = object{"type": "json_schema",
			"json_schema": object{"name": "answer", "strict": true, "schema": req.Schema}}
	}
	return body
}

func messageOf(c *Config, said llm.Message) message {
	converted := message{Role: string(said.Role), Content: &said.Text, ToolCallID: said.ToolCallID}
	for i, call := range said.ToolCalls {
		var state callState
		_ = json.Unmarshal([]byte(stateOf(c, call)), &state) // no state, no reasoning
		if i == 0 {
			converted.reasoning = state.reasoning
		}
		converted.ToolCalls = append(converted.ToolCalls, toolCall{
			ID: call.ID, Type: "function", Function: object{"name": call.Name, "arguments": call.Arguments},
			ExtraContent: state.ExtraContent,
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
		Index int   `json:"index"`
		Delta delta `json:"delta"`
		// Message is the whole answer of servers that do not stream.
		Message      *delta `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		PromptTokens        int `json:"prompt_tokens"`
		CompletionTokens    int `json:"completion_tokens"`
		PromptTokensDetails struct {
			CachedTokens int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		PromptCacheHitTokens int `json:"prompt_cache_hit_tokens"` // DeepSeek's cached tokens
	} `json:"usage"`
}

type delta struct {
	Content   string      `json:"content"`
	Refusal   string      `json:"refusal"`
	ToolCalls []callDelta `json:"tool_calls"`
	reasoning
}

type callDelta struct {
	Index    int    `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
	ExtraContent json.RawMessage `json:"extra_content"`
}

func readCompletion(a *answer, data []byte) (string, error) {
	var event completionEvent
	if err := decode(data, &event); err != nil {
		return "", err
	}
	if used := event.Usage; used != nil {
		a.usage = llm.Usage{InputTokens: used.PromptTokens, OutputTokens: used.CompletionTokens,
			CachedTokens: cmp.Or(used.PromptTokensDetails.CachedTokens, used.PromptCacheHitTokens)}
	}
	// The last event has usage and no choices. Requests ask for one choice, but some servers give more.
	if len(event.Choices) == 0 {
		return "", nil
	}
	choice := event.Choices[0]
	for _, other := range event.Choices {
		if other.Index < choice.Index {
			choice = other
		}
	}
	a.finish = cmp.Or(choice.FinishReason, a.finish)
	said := choice.Delta
	hasDeltas := a.spoken || len(a.calls) > 0 || said.Content != "" || len(said.ToolCalls) > 0
	if choice.Message != nil && !hasDeltas {
		said = *choice.Message
		for i := range said.ToolCalls {
			said.ToolCalls[i].Index = i
		}
	}
	return a.addDelta(said), nil
}

// addDelta adds the next piece and returns its text.
func (a *answer) addDelta(said delta) string {
	a.addReasoning(said.reasoning)
	for _, delta := range said.ToolCalls {
		made := a.addCall(delta.Index, delta.ID, delta.Function.Name, argumentsOf(delta.Function.Arguments))
		if len(delta.ExtraContent) > 0 {
			made.extra = delta.ExtraContent
			a.bytes += len(made.extra)
		}
	}
	// A refusal is text of the model in another field.
	return said.Content + said.Refusal
}

// addReasoning continues the reasoning of an answer.
func (a *answer) addReasoning(next reasoning) {
	if next.ReasoningContent != nil {
		if a.reasoning.ReasoningContent == nil {
			a.reasoning.ReasoningContent = new(string)
		}
		*a.reasoning.ReasoningContent += *next.ReasoningContent
		a.bytes += len(*next.ReasoningContent)
	}
	for _, piece := range next.ReasoningDetails {
		a.bytes += piece.length()
		last := len(a.reasoning.ReasoningDetails) - 1
		if last < 0 || !a.reasoning.ReasoningDetails[last].continueWith(piece) {
			a.reasoning.ReasoningDetails = append(a.reasoning.ReasoningDetails, piece)
		}
	}
}

// stateOfCompletion returns the state of the call with an index in the answer, or "".
func (a *answer) stateOfCompletion(at int) string {
	state := callState{ExtraContent: a.calls[at].extra}
	if at == 0 {
		state.reasoning = a.reasoning
	}
	encoded, _ := json.Marshal(state) // texts and JSON always encode
	if string(encoded) == "{}" {
		return ""
	}
	return string(encoded)
}
