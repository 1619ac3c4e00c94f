package slot

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/model/ordered"
)

// Tool is an offered tool, or a sub-agent offered as one, as the rules read it.
type Tool struct {
	Name string
	// Title is the name in words.
	Title       string
	Description string
	Properties  []Property
	// Wanted are the names of the properties that a call must have, in the order in which the contact is asked for them.
	Wanted []string
	// Alternatives are sets of properties. A call must also have one of the sets.
	Alternatives [][]string
	// Least is the minimum number of properties in a call.
	Least int
	// Delegate is set if the only argument is a request in words, as for sub-agents.
	Delegate bool
	// Confirm is set if the contact must say yes before the tool is called.
	Confirm bool
}

// Property is a property of a tool's schema, as the rules read it.
type Property struct {
	Name, Description, Format string
	// Kind is the type in the schema, "" if there is none, or several.
	Kind    string
	Pattern *regexp.Regexp
	Enum    []any
	// Fixed is the schema's const. It may be nil.
	Fixed           any
	least, most     *float64
	above           *float64
	longest         int
	Item            *Property
	Title, keywords []string
	// Question is the title of the schema if that is a question.
	Question string
	// Language is the language of the tool.
	Language read.Language
	traits
	// Producers are the names of the tools whose results hold the value.
	Producers []string
}

// schema has the parts of a JSON Schema that the rules use.
type schema struct {
	Type             any             `json:"type"`
	Title            string          `json:"title"`
	Description      string          `json:"description"`
	Examples         []any           `json:"examples"`
	Format           string          `json:"format"`
	Pattern          string          `json:"pattern"`
	Enum             []any           `json:"enum"`
	Const            any             `json:"const"`
	Minimum          *float64        `json:"minimum"`
	Maximum          *float64        `json:"maximum"`
	ExclusiveMinimum *float64        `json:"exclusiveMinimum"`
	MaxLength        int             `json:"maxLength"`
	Items            json.RawMessage `json:"items"`
	Properties       json.RawMessage `json:"properties"`
	Required         []string        `json:"required"`
	AnyOf            []struct {
		Required []string `json:"required"`
	} `json:"anyOf"`
	MinProperties int `json:"minProperties"`
}

// anySentence is a sentence that patterns of codes, such as order numbers, do not match.
const anySentence = "I said so."

// yesWanted matches descriptions that require the contact's yes before a call.
var yesWanted = lazyregexp.New(`(?i)\b(clear|said) yes\b|\boui clair\b|\bconfirmed by the \w+ first\b`)

// ReadTools reads the tools that may be called for a contact. It leaves out the transfer and the end of the
// conversation, and tools whose schema the rules cannot fill.
func ReadTools(offered []llm.Tool) []Tool {
	var tools []Tool
	for _, o := range offered {
		if o.Name == llm.EndConversation || o.Name == llm.TransferCall {
			continue
		}
		if t, ok := readTool(o); ok {
			tools = append(tools, t)
		}
	}
	return tools
}

func readTool(offered llm.Tool) (Tool, bool) {
	t := Tool{
		Name: offered.Name, Title: strings.Join(read.NameWords(offered.Name), " "),
		Description: offered.Description, Confirm: yesWanted().MatchString(offered.Description),
	}
	if len(offered.Parameters) == 0 {
		return t, true
	}
	var s schema
	if json.Unmarshal(offered.Parameters, &s) != nil {
		return t, false
	}
	properties, _ := ordered.Members(s.Properties)
	for _, given := range properties {
		p, ok := ReadProperty(given.Name, given.Value.(json.RawMessage))
		if !ok && slices.Contains(s.Required, given.Name) {
			return t, false
		}
		if ok {
			t.Properties = append(t.Properties, p)
		}
	}
	t.Wanted, t.Least = s.Required, s.MinProperties
	for _, branch := range s.AnyOf {
		if len(branch.Required) > 0 {
			t.Alternatives = append(t.Alternatives, branch.Required)
		}
	}
	t.Delegate = len(t.Properties) == 1 && t.Properties[0].Name == "request" && slices.Equal(t.Wanted, []string{"request"})
	return t, true
}

// ReadProperty reads a property's schema. It returns false if no rule can fill it.
func ReadProperty(name string, raw json.RawMessage) (Property, bool) {
	var s schema
	if json.Unmarshal(raw, &s) != nil {
		return Property{}, false
	}
	p := Property{
		Name: name, Description: s.Description, Format: s.Format, Enum: s.Enum, Fixed: s.Const,
		least: s.Minimum, most: s.Maximum, above: s.ExclusiveMinimum, longest: s.MaxLength,
	}
	p.Kind, _ = s.Type.(string)
	if s.Pattern != "" {
		// The gateway checks patterns that Go does not support.
		p.Pattern, _ = regexp.Compile(s.Pattern)
		// A pattern that matches anySentence accepts any text.
		if p.Pattern != nil && p.Pattern.MatchString(anySentence) {
			p.Pattern = nil
		}
	}
	p.Title = read.NameWords(name)
	if strings.HasSuffix(s.Title, "?") {
		p.Question = s.Title
	}
	p.keywords = read.Concepts(name + " " + strings.Join(p.Title, " ") + " " + read.FirstSentence(s.Description))
	p.traits = traitsOf(p)
	if len(s.Examples) > 0 {
		p.Example = fmt.Sprint(s.Examples[0])
	}
	switch p.Kind {
	case "object":
		return p, false
	case "array":
		item, ok := ReadProperty(strings.TrimSuffix(name, "s"), s.Items)
		item.Description, item.keywords = p.Description, p.keywords
		item.traits = traitsOf(item)
		p.Item = &item
		return p, ok && item.Kind != "array"
	}
	return p, true
}

// Property returns the property with a name, and whether the tool has one.
func (t Tool) Property(name string) (Property, bool) {
	if i := slices.IndexFunc(t.Properties, func(p Property) bool { return p.Name == name }); i >= 0 {
		return t.Properties[i], true
	}
	return Property{}, false
}

// Mentions reports whether a text has a name as a whole word.
func Mentions(text, name string) bool {
	within := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	for name != "" {
		before, after, found := strings.Cut(text, name)
		if !found {
			break
		}
		last, _ := utf8.DecodeLastRuneInString(before)
		first, _ := utf8.DecodeRuneInString(after)
		if !within(last) && !within(first) {
			return true
		}
		text = after
	}
	return false
}

// Language returns the language in which the tool is described.
func (t Tool) Language() read.Language {
	text := t.Description
	for _, p := range t.Properties {
		text += " " + p.Description
	}
	language, _ := read.Detect(text)
	return language
}
