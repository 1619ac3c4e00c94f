package rules

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/model"
)

// Decide returns the verdict on a criterion in one of the forms of docs/reference/offline-model.md. It returns nil for
// every other criterion.
func Decide(c *Conversation, criterion string) *model.CriterionResult {
	for _, f := range forms {
		if parts := f.expression.FindStringSubmatch(strings.TrimSpace(criterion)); parts != nil {
			found := f.decide(c, parts[1:])
			return &model.CriterionResult{
				Criterion: criterion, Passed: found.Passed, Rationale: found.Observed, ByProgram: true,
				Evidence: append([]model.Evidence{}, found.Evidence...),
			}
		}
	}
	return nil
}

// form is a kind of criterion that rules can decide.
type form struct {
	expression *regexp.Regexp
	decide     func(c *Conversation, parts []string) Finding
}

var forms = []form{
	{formOf(`says ["“”„«]([^"“”„«»]+)["“”»]`), func(c *Conversation, parts []string) Finding {
		cited := c.quoting(parts[0])
		if len(cited) > 0 {
			return Finding{true, fmt.Sprintf("The agent said %q.", parts[0]), cited}
		}
		if nearest := c.nearest(parts[0]); len(nearest) > 0 {
			return Finding{false, fmt.Sprintf("The agent never said %q; the nearest to it is quoted.", parts[0]), nearest}
		}
		return Finding{false, fmt.Sprintf("The agent never said %q.", parts[0]), nil}
	}},
	{formOf(`never says ["“”„«]([^"“”„«»]+)["“”»]`), func(c *Conversation, parts []string) Finding {
		cited := c.quoting(parts[0])
		if len(cited) == 0 {
			return Finding{true, fmt.Sprintf("The agent never said %q.", parts[0]), nil}
		}
		return Finding{false, fmt.Sprintf("The agent said %q.", parts[0]), cited}
	}},
	{formOf(`calls ([a-z0-9_]+)`), func(c *Conversation, parts []string) Finding {
		made := c.calling(parts[0])
		return Finding{len(made) > 0, count(made, parts[0]), c.citeCalls(made)}
	}},
	{formOf(`calls ([a-z0-9_]+) with ([^\s=]+)\s*=\s*(.+?)`), func(c *Conversation, parts []string) Finding {
		want := strings.TrimSpace(strings.Trim(parts[2], `"“”„«»`))
		made := c.calling(parts[0])
		fitting := slices.DeleteFunc(slices.Clone(made), func(call *model.ToolCall) bool {
			return !has([]byte(content.Encode(call.Arguments)), parts[1], want)
		})
		if len(fitting) > 0 {
			said := fmt.Sprintf("The agent called %s with %s = %s.", parts[0], parts[1], want)
			return Finding{true, said, c.citeCalls(fitting)}
		}
		said := fmt.Sprintf("%s None was with %s = %s.", count(made, parts[0]), parts[1], want)
		return Finding{false, said, c.citeCalls(made)}
	}},
	{formOf(`does not call ([a-z0-9_]+)`), func(c *Conversation, parts []string) Finding {
		made := c.calling(parts[0])
		return Finding{len(made) == 0, count(made, parts[0]), c.citeCalls(made)}
	}},
	{formOf(`transfers the call`), func(c *Conversation, _ []string) Finding {
		tried := c.calling(llm.TransferCall)
		made := slices.DeleteFunc(slices.Clone(tried), func(call *model.ToolCall) bool { return call.Error != nil })
		switch {
		case len(made) > 0:
			return Finding{true, "The agent transferred the call.", c.citeCalls(made)}
		case len(tried) > 0:
			return Finding{false, "The agent tried to transfer the call, and the transfer failed.", c.citeCalls(tried)}
		}
		return Finding{false, "The agent did not transfer the call.", nil}
	}},
	{formOf(`ends the conversation`), func(c *Conversation, _ []string) Finding {
		if c.endedBy == Agent {
			return Finding{true, "The agent ended the conversation.", c.lastWords()}
		}
		return Finding{false, "The agent did not end the conversation.", c.lastWords()}
	}},
}

// formOf matches a whole criterion, ignoring case, with or without its subject and its full stop.
func formOf(expression string) *regexp.Regexp {
	return regexp.MustCompile(`(?is)^(?:the agent )?` + expression + `\s*\.?$`)
}

func count(made []*model.ToolCall, name string) string {
	if len(made) == 0 {
		return fmt.Sprintf("The agent did not call %s.", name)
	}
	return fmt.Sprintf("The agent called %s.", name)
}

// quoting quotes the agent's messages that contain a text as whole words.
func (c *Conversation) quoting(text string) []model.Evidence {
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil
	}
	expression := inAnySpelling(words)
	cited, _ := c.where(model.MessageRoleAssistant, nil, func(said string) (string, bool, error) {
		found := wholeWords(said, expression)
		return found, found != "", nil
	})
	return cited
}

// nearest quotes the agent's sentence that shares the most words with a text, if it has at least half of the text's
// content words.
func (c *Conversation) nearest(text string) (best []model.Evidence) {
	said := read.Words(text)
	wanted := read.Content(said)
	if len(wanted) == 0 {
		wanted = said
	}
	most := max(1, (len(wanted)+1)/2) - 1
	for i, m := range c.messages {
		if m.Role != model.MessageRoleAssistant || !c.isIn(i, nil) {
			continue
		}
		for _, sentence := range read.Sentences(m.Text) {
			words, shared := read.Words(sentence), 0
			for _, word := range wanted {
				if slices.Contains(words, word) {
					shared++
				}
			}
			if shared > most {
				best, most = []model.Evidence{c.quote(i, strings.TrimSpace(sentence))}, shared
			}
		}
	}
	return best
}

func (c *Conversation) lastWords() []model.Evidence {
	for i, m := range slices.Backward(c.messages) {
		if len(read.Words(m.Text)) > 0 {
			return []model.Evidence{c.quote(i, strings.TrimSpace(m.Text))}
		}
	}
	return nil
}

// calling returns the calls with a name, ignoring case.
func (c *Conversation) calling(name string) (made []*model.ToolCall) {
	for _, call := range c.calls {
		if strings.EqualFold(call.TechnicalName, name) {
			made = append(made, call)
		}
	}
	return made
}

// has reports whether an argument of a call has a value, ignoring case. Dots in its name select members of objects.
func has(arguments json.RawMessage, name, want string) bool {
	var given map[string]json.RawMessage
	if json.Unmarshal(arguments, &given) != nil {
		return false
	}
	outer, inner, dotted := strings.Cut(name, ".")
	for argument, value := range given {
		if strings.EqualFold(argument, name) && strings.EqualFold(valueText(value), want) {
			return true
		}
		if dotted && strings.EqualFold(argument, outer) && has(value, inner, want) {
			return true
		}
	}
	return false
}

// valueText returns a string unchanged, and any other JSON value as JSON.
func valueText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return strings.TrimSpace(text)
	}
	return string(value)
}

// inAnySpelling returns an expression for words, ignoring case, with any apostrophes and any white space between them.
func inAnySpelling(words []string) *regexp.Regexp {
	marks := strings.NewReplacer("’", "['’‘]", "‘", "['’‘]", "'", "['’‘]")
	spelled := make([]string, len(words))
	for i, word := range words {
		spelled[i] = marks.Replace(regexp.QuoteMeta(word))
	}
	return regexp.MustCompile(`(?i)` + strings.Join(spelled, `[\s\p{Z}]+`))
}

// wholeWords returns the part of a text that matches words, or "" if they are absent or only part of longer words.
func wholeWords(text string, words *regexp.Regexp) string {
	for from := 0; from <= len(text); {
		at := words.FindStringIndex(text[from:])
		if at == nil {
			return ""
		}
		start, end := from+at[0], from+at[1]
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		first, width := utf8.DecodeRuneInString(text[start:])
		last, _ := utf8.DecodeLastRuneInString(text[:end])
		after, _ := utf8.DecodeRuneInString(text[end:])
		within := inWord(before) && inWord(first) || inWord(last) && inWord(after)
		if !within {
			return text[start:end]
		}
		from = start + width
	}
	return ""
}

func inWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
