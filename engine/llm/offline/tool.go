package offline

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

// tool is an offered tool, or a sub-agent offered as one, as the rules read it.
type tool struct {
	name string
	// title is the name in words.
	title       string
	description string
	properties  []property
	// wanted are the names of the properties that a call must have, in the order of asking.
	wanted []string
	// alternatives are sets of properties. A call must also have one of the sets.
	alternatives [][]string
	// least is how many properties a call must have.
	least int
	// delegate: it takes a request in words and nothing else, as sub-agents do.
	delegate bool
	// confirm: the contact must say yes before it is called.
	confirm bool
}

type property struct {
	name, description, format string
	// kind is the type in the schema, "" if there is none, or several.
	kind    string
	pattern *regexp.Regexp
	enum    []any
	// fixed is the schema's const. It may be nil.
	fixed            any
	least, most      *float64
	above            *float64
	longest          int
	item             *property
	title, searching []string
	// question is the title of the schema if that is a question.
	question string
	// language is the language of the tool.
	language read.Language
	traits
	// producers are the names of the tools whose results hold the value.
	producers []string
}

// schema is what the rules read of a JSON Schema.
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

// anySentence is a text that no pattern of a code matches.
const anySentence = "I said so."

// yesWanted matches in a description that the contact has to agree first.
var yesWanted = lazyregexp.New(`(?i)\b(clear|said) yes\b|\boui clair\b|\bconfirmed by the \w+ first\b`)

// readTools reads the tools that may be called for a contact. It leaves out the two that end the agent's part, and
// those whose schema the rules cannot fill.
func readTools(offered []llm.Tool) []tool {
	var tools []tool
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

func readTool(offered llm.Tool) (tool, bool) {
	t := tool{
		name: offered.Name, title: strings.Join(read.NameWords(offered.Name), " "),
		description: offered.Description, confirm: yesWanted().MatchString(offered.Description),
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
		p, ok := readProperty(given.Name, given.Value.(json.RawMessage))
		if !ok && slices.Contains(s.Required, given.Name) {
			return t, false
		}
		if ok {
			t.properties = append(t.properties, p)
		}
	}
	t.wanted, t.least = s.Required, s.MinProperties
	for _, branch := range s.AnyOf {
		if len(branch.Required) > 0 {
			t.alternatives = append(t.alternatives, branch.Required)
		}
	}
	t.delegate = len(t.properties) == 1 && t.properties[0].name == "request" && slices.Equal(t.wanted, []string{"request"})
	return t, true
}

// readProperty reads a property's schema. It returns false if no rule can fill it.
func readProperty(name string, raw json.RawMessage) (property, bool) {
	var s schema
	if json.Unmarshal(raw, &s) != nil {
		return property{}, false
	}
	p := property{
		name: name, description: s.Description, format: s.Format, enum: s.Enum, fixed: s.Const,
		least: s.Minimum, most: s.Maximum, above: s.ExclusiveMinimum, longest: s.MaxLength,
	}
	p.kind, _ = s.Type.(string)
	if s.Pattern != "" {
		// The gateway checks patterns that Go does not support.
		p.pattern, _ = regexp.Compile(s.Pattern)
		// A pattern that any sentence matches only asks for some text.
		if p.pattern != nil && p.pattern.MatchString(anySentence) {
			p.pattern = nil
		}
	}
	p.title = read.NameWords(name)
	if strings.HasSuffix(s.Title, "?") {
		p.question = s.Title
	}
	p.searching = read.Concepts(name + " " + strings.Join(p.title, " ") + " " + read.FirstSentence(s.Description))
	p.traits = traitsOf(p)
	if len(s.Examples) > 0 {
		p.example = fmt.Sprint(s.Examples[0])
	}
	switch p.kind {
	case "object":
		return p, false
	case "array":
		item, ok := readProperty(strings.TrimSuffix(name, "s"), s.Items)
		item.description, item.searching = p.description, p.searching
		item.traits = traitsOf(item)
		p.item = &item
		return p, ok && item.kind != "array"
	}
	return p, true
}

func (t tool) property(name string) (property, bool) {
	if i := slices.IndexFunc(t.properties, func(p property) bool { return p.name == name }); i >= 0 {
		return t.properties[i], true
	}
	return property{}, false
}

func mentions(text, name string) bool {
	within := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	for {
		before, after, found := strings.Cut(text, name)
		if !found {
			return false
		}
		last, _ := utf8.DecodeLastRuneInString(before)
		first, _ := utf8.DecodeRuneInString(after)
		if !within(last) && !within(first) {
			return true
		}
		text = after
	}
}

// language returns the language in which the tool is described.
func (t tool) language() read.Language {
	text := t.description
	for _, p := range t.properties {
		text += " " + p.description
	}
	language, _ := read.Detect(text)
	return language
}
