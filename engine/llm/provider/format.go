package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// Format is a protocol of model providers.
type Format string

const (
	// Completions is OpenAI's Chat Completions, which most providers and local servers speak.
	Completions Format = "openai"
	// Responses is OpenAI's Responses. Nothing is stored at the provider.
	Responses Format = "openai-responses"
	// Messages is Anthropic's Messages.
	Messages Format = "anthropic"
	// Contents is Google's Gemini API, streamGenerateContent.
	Contents Format = "gemini"
)

// Formats returns the names of all formats.
func Formats() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(formats)) {
		names = append(names, string(name))
	}
	return names
}

// object is a part of a request whose members are always the same.
type object map[string]any

// format is how a protocol differs from the others.
type format struct {
	baseURL string
	// path returns the path for an answer of a model, with its query.
	path func(model string) string
	// sign adds the headers with which a caller identifies itself.
	sign func(http.Header, string)
	// header is sent with each request. It may be nil.
	header http.Header
	// encode returns the body for a request that check accepts.
	encode func(*Config, llm.Request) any
	// read adds an event to the answer and returns its text.
	read func(*answer, []byte) (string, error)
}

var formats = map[Format]*format{
	Completions: completions, Responses: responses, Messages: messages, Contents: contents,
}

func bearer(header http.Header, key string) { header.Set("Authorization", "Bearer "+key) }

// check returns an error if the caller made a mistake in the request.
func check(req llm.Request) error {
	for _, said := range req.Messages {
		switch said.Role {
		case llm.RoleUser, llm.RoleAssistant, llm.RoleTool:
		default:
			return fmt.Errorf("a message has the unknown role %q", said.Role)
		}
	}
	for _, offered := range req.Tools {
		var parameters map[string]json.RawMessage
		if len(offered.Parameters) > 0 {
			if err := json.Unmarshal(offered.Parameters, &parameters); err != nil {
				return fmt.Errorf("parameters of tool %s are not a JSON object: %w", offered.Name, err)
			}
		}
	}
	if len(req.Schema) > 0 && !json.Valid(req.Schema) {
		return errors.New("the schema of the answer is not JSON")
	}
	return nil
}

// noParameters is the schema of a tool without arguments, for formats that require one.
var noParameters = json.RawMessage(`{"type":"object","properties":{}}`)

func parametersOf(t llm.Tool) json.RawMessage {
	if len(t.Parameters) == 0 {
		return noParameters
	}
	return t.Parameters
}

// withProperties returns tools whose schemas have the keyword properties, because some providers refuse a schema of
// type object without it. check accepts the tools.
func withProperties(tools []llm.Tool) []llm.Tool {
	tools = slices.Clone(tools)
	for i, t := range tools {
		var members map[string]json.RawMessage
		_ = json.Unmarshal(t.Parameters, &members) // only no parameters are no object
		if _, isGiven := members["properties"]; len(members) > 0 && !isGiven {
			begin, rest, _ := strings.Cut(string(t.Parameters), "{")
			tools[i].Parameters = json.RawMessage(begin + `{"properties":{},` + rest)
		}
	}
	return tools
}

// objectOf returns a text as a JSON object: the text itself if it is one, otherwise an object whose only member is the
// text.
func objectOf(text string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) == nil && object != nil {
		return json.RawMessage(text)
	}
	wrapped, _ := json.Marshal(map[string]string{"value": text}) // texts always encode
	return wrapped
}

// turns groups messages into turns of the user, with tool results, and turns of the model. The first is the user's,
// because some formats refuse a conversation that the model begins.
func turns(said []llm.Message) [][]llm.Message {
	var grouped [][]llm.Message
	if len(said) == 0 || said[0].Role == llm.RoleAssistant {
		grouped = append(grouped, []llm.Message{{Role: llm.RoleUser, Text: "(The conversation begins.)"}})
	}
	for _, m := range said {
		isModel := m.Role == llm.RoleAssistant
		if last := len(grouped) - 1; last >= 0 && (grouped[last][0].Role == llm.RoleAssistant) == isModel {
			grouped[last] = append(grouped[last], m)
			continue
		}
		grouped = append(grouped, []llm.Message{m})
	}
	return grouped
}

// stateKey begins the states of a model's calls. A fallback may refuse the state of another model.
func (c *Config) stateKey() string { return string(c.Format) + ":" + c.Model + ":" }

// stateOf returns the state that the model left with a call, or "".
func stateOf(c *Config, call llm.ToolCall) string {
	state, isOurs := strings.CutPrefix(call.State, c.stateKey())
	if !isOurs {
		return ""
	}
	return state
}

// text returns what a message says. Formats refuse a blank text where there is nothing else.
func text(said string) string {
	if strings.TrimSpace(said) == "" {
		return "-"
	}
	return said
}
