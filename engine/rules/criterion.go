package rules

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/model"
)

// Decide returns the verdict on a criterion by what it mentions: names of targets, quotations, transfers and ends, with
// arguments, counts, negations and order. It returns nil for a criterion that needs a judge.
func Decide(c *Conversation, criterion string) *model.CriterionResult {
	var decided truth
	var verdict *model.CriterionResult
	for _, claims := range parse(criterion, c.targets()) {
		is, found := c.decideClaims(claims)
		if is == undecided || decided != undecided && is != decided {
			return nil
		}
		decided = is
		verdict = &model.CriterionResult{
			Criterion: criterion, Passed: found.Passed, Rationale: found.Observed, ByProgram: true,
			Evidence: append([]model.Evidence{}, found.Evidence...),
		}
	}
	return verdict
}

// targets returns what the agent can call and has called, with the arguments that it has used.
func (c *Conversation) targets() []Target {
	all := slices.Clone(c.Targets)
	for _, call := range c.calls {
		given, _, _ := content.ParseArguments(string(call.Arguments))
		all = append(all, Target{call.TechnicalName, slices.Collect(maps.Keys(given))})
	}
	return all
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

// hasArgumentValue reports whether an argument of a call has a value, ignoring case. Dots in its name select members of
// objects.
func hasArgumentValue(arguments json.RawMessage, name, want string) bool {
	var given map[string]json.RawMessage
	if json.Unmarshal(arguments, &given) != nil {
		return false
	}
	outer, inner, dotted := strings.Cut(name, ".")
	for argument, value := range given {
		if isSameName(argument, name) && isSameValue(value, want) {
			return true
		}
		if dotted && strings.EqualFold(argument, outer) && hasArgumentValue(value, inner, want) {
			return true
		}
	}
	return false
}

// hasValue reports whether an argument, or a member within one, has a value.
func hasValue(arguments json.RawMessage, want string) bool {
	var members map[string]json.RawMessage
	var items []json.RawMessage
	switch {
	case json.Unmarshal(arguments, &members) == nil:
		items = slices.Collect(maps.Values(members))
	case json.Unmarshal(arguments, &items) != nil:
		return isSameValue(arguments, want)
	}
	return slices.ContainsFunc(items, func(item json.RawMessage) bool { return hasValue(item, want) })
}

// isSameValue compares a JSON value with a text, ignoring case. Numbers are compared as numbers.
func isSameValue(value json.RawMessage, want string) bool {
	text := valueText(value)
	if strings.EqualFold(text, strings.TrimSpace(want)) {
		return true
	}
	one, err := strconv.ParseFloat(text, 64)
	other, err2 := strconv.ParseFloat(want, 64)
	return err == nil && err2 == nil && one == other
}

// valueText returns a string unchanged, and any other JSON value as JSON.
func valueText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return strings.TrimSpace(text)
	}
	return string(value)
}

func inWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// IsUnconditional reports whether a criterion begins with the agent and has no word that can introduce a condition, in
// any of the languages. Other criteria may be conditional or not.
func IsUnconditional(criterion string) bool {
	beginsWithAgent := false
	for _, l := range languages() {
		p := &parser{lexicon: l}
		isFirst := true
		for _, t := range p.classify(p.cutUnspaced(lex(criterion))) {
			switch {
			case t.class == agentWord && isFirst:
				beginsWithAgent = true
			case slices.Contains([]class{hedge, before, after, once, then, anything}, t.class), isComma(t):
				return false
			}
			isFirst = isFirst && t.class == filler
		}
	}
	return beginsWithAgent
}

func isComma(t token) bool {
	return t.class == markToken && strings.ContainsAny(t.text, ",;:，；：、")
}
