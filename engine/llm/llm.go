// Package llm defines the interface to language models. A [Model] answers a [Request] with a stream of [Chunk] values,
// or fails with an [*Error]. The packages below this one implement it.
package llm

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
)

// EndConversation is the technical name of the tool with which a model ends a conversation. Its arguments are
// {"reason": string}, the reason in the model's own words.
const EndConversation = "end_conversation"

// TransferCall is the technical name of the tool with which a model hands the contact over to a
// human. Its arguments are {"reason": string}, the reason in the model's own words.
const TransferCall = "transfer_call"

// ReasonSchema is the JSON Schema of the arguments of EndConversation and TransferCall.
const ReasonSchema = `{"type":"object","properties":{"reason":{"type":"string","description":"Why, in your own words."}},` +
	`"required":["reason"],"additionalProperties":false}`

// Model answers conversations. Implementations are safe for concurrent use.
type Model interface {
	// Name is the model's name as its provider spells it, for records and logs.
	Name() string

	// Chat asks for one answer and streams it. Nothing is sent until the sequence is ranged over. Each range sends a
	// new request.
	//
	// The sequence ends either with a Chunk whose Finish is set, or with an error. An *Error says how the model failed,
	// possibly after some chunks. An answer that a length limit or a content filter cuts is an error, so Finish means
	// that the answer is complete. If ctx ends first, the error is ctx.Err(). Leaving the range early abandons the
	// answer and releases its resources.
	Chat(ctx context.Context, req Request) iter.Seq2[Chunk, error]
}

// Request is a conversation so far, with the tools and settings for the next answer.
type Request struct {
	// System is the agent's instructions, with placeholders filled.
	System string
	// Messages are in the order of the conversation. Messages of RoleTool answer every tool call of an assistant's
	// message before the next message of another role.
	Messages []Message
	// Tools are the tools that the model may call. There may be none.
	Tools []Tool
	// Schema is a JSON Schema of type object for the answer's text. Nil means free text. All properties must be
	// required and no others allowed, because providers insist on it. Some providers ignore schemas, so readers of the
	// answer must check it.
	Schema json.RawMessage
	Settings
}

// Settings tune the model's sampling. Nil means the provider's default.
type Settings struct {
	Temperature      *float64 // 0 to 2
	TopP             *float64 // 0 to 1
	PresencePenalty  *float64 // -2 to 2
	FrequencyPenalty *float64 // -2 to 2
}

// Role is the speaker of a message.
type Role string

const (
	// RoleUser is the contact.
	RoleUser Role = "user"
	// RoleAssistant is the model.
	RoleAssistant Role = "assistant"
	// RoleTool is the result of a tool call.
	RoleTool Role = "tool"
)

// Message is one message of a conversation.
type Message struct {
	Role Role
	Text string
	// ToolCalls are the calls of an assistant's message, in the model's order.
	ToolCalls []ToolCall
	// ToolCallID identifies the call that a RoleTool message answers.
	ToolCallID string
}

// Tool is a function that the model may call.
type Tool struct {
	// Name identifies the tool to the model: at most 64 letters, digits, _ and -.
	Name        string
	Description string
	// Parameters is a JSON Schema of type object, nil for a tool without arguments.
	Parameters json.RawMessage
}

// ToolCall is a call that the model makes.
type ToolCall struct {
	// ID is unique among the calls of one answer and never empty.
	ID string
	// Name is as the model wrote it. The request may have no such tool.
	Name string
	// Arguments are as the model wrote them, possibly invalid JSON. They are "{}" if the model wrote none.
	Arguments string
	// State is data that the provider wants back with the call, such as a signature of the model's thinking. It is
	// opaque, and matters only within a turn. Other models ignore it.
	State string
}

// Finish is why an answer ended.
type Finish string

const (
	// FinishStop ends an answer that has text and no tool calls.
	FinishStop Finish = "stop"
	// FinishToolCalls ends an answer that has tool calls, with or without text.
	FinishToolCalls Finish = "tool_calls"
)

// Chunk is a piece of an answer.
type Chunk struct {
	// Text continues the text of the chunks before it.
	Text string
	// Finish is set on the last chunk only.
	Finish Finish
	// ToolCalls are on the last chunk only, complete and in the model's order.
	ToolCalls []ToolCall
	// Usage is on the last chunk only.
	Usage Usage
	// Model names the model that answered, on the last chunk, if it is not the model that was asked.
	Model string
}

// Usage counts the tokens of one answer. It is zero if the provider does not report them.
type Usage struct {
	InputTokens int
	// CachedTokens are the input tokens that the provider read from its cache of prompts.
	CachedTokens int
	// OutputTokens include the model's thinking.
	OutputTokens int
}

// Plus returns the sum of two counts.
func (u Usage) Plus(other Usage) Usage {
	return Usage{u.InputTokens + other.InputTokens, u.CachedTokens + other.CachedTokens,
		u.OutputTokens + other.OutputTokens}
}

// bytesPerToken is roughly the length of a token in most languages and tokenizers.
const bytesPerToken = 4

// EstimateUsage estimates the tokens of an answer from the lengths of the texts, for providers that do not report them.
func EstimateUsage(req Request, answer Answer) Usage {
	input := len(req.System) + len(req.Schema)
	for _, m := range req.Messages {
		input += len(m.Text) + lengthOf(m.ToolCalls)
	}
	for _, t := range req.Tools {
		input += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	output := len(answer.Text) + lengthOf(answer.ToolCalls)
	return Usage{InputTokens: (input + bytesPerToken - 1) / bytesPerToken,
		OutputTokens: (output + bytesPerToken - 1) / bytesPerToken}
}

func lengthOf(calls []ToolCall) int {
	length := 0
	for _, c := range calls {
		length += len(c.Name) + len(c.Arguments)
	}
	return length
}

// Answer is a complete answer, assembled from a stream.
type Answer struct {
	Text      string
	Finish    Finish
	ToolCalls []ToolCall
	Usage     Usage
}

// Collect ranges over a Chat to its end. If Chat fails, Collect returns the text so far with the error.
func Collect(chunks iter.Seq2[Chunk, error]) (Answer, error) {
	var answer Answer
	var text strings.Builder
	for chunk, err := range chunks {
		if err != nil {
			answer.Text = text.String()
			return answer, err
		}
		text.WriteString(chunk.Text)
		if chunk.Finish != "" {
			answer.Finish, answer.ToolCalls, answer.Usage = chunk.Finish, chunk.ToolCalls, chunk.Usage
		}
	}
	answer.Text = text.String()
	return answer, nil
}
