package slot

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/engine/read"
)

// parseBoolean takes a yes or a no as an answer. If the contact was not asked, a mention of the property counts as
// true, or as false in a text with a word such as "no" or "without".
func (p Property) parseBoolean(text string, asked bool) (any, bool) {
	var value bool
	switch {
	case asked && read.YesOrNo(read.Words(text)) != 0:
		value = read.SaysYes(text)
	case !asked && p.Fixed == nil && p.isNamed(text):
		value = !slices.ContainsFunc(read.Words(text), func(word string) bool {
			return read.IsNo(word) || word == "without" || word == "sans"
		})
	default:
		return nil, false
	}
	return value, p.Fixed == nil || p.Fixed == value
}

// isNamed reports whether a text has all significant words of the property's name.
func (p Property) isNamed(text string) bool {
	said := read.Concepts(text)
	return len(p.named) > 0 && !slices.ContainsFunc(p.named, func(word string) bool {
		return !read.ContainsForm(said, word)
	})
}

// telling returns the first significant word of an enum's value.
func telling(parts []string) string {
	if content := read.Content(parts); len(parts) > 1 && len(content) > 0 {
		return content[0]
	}
	return parts[0]
}

// choice returns the value of an enum that shares the most words with the text. If two values share as many words, the
// earlier one wins.
func (p Property) choice(text string, asked bool) (any, bool) {
	words := read.Words(text)
	if !asked {
		words = read.CutGreeting(words) // "good morning" chooses no morning
	}
	said := append(read.ConceptsOf(words), words...)
	best, most := any(nil), 0.0
	for _, value := range p.Enum {
		score := 0.0
		switch value := value.(type) {
		case string:
			parts := read.Words(strings.Join(read.NameWords(value), " "))
			if len(parts) == 0 || !asked && read.LeavesOpen(parts[0]) {
				continue
			}
			isChosen := false
			for _, part := range parts {
				if slices.Contains(said, part) || read.ContainsForm(said, read.ConceptOf(part)) {
					score += 1 / float64(len(parts))
					isChosen = isChosen || asked || part == telling(parts)
				}
			}
			// In an answer, any word of the value is enough. Otherwise, the significant word is needed.
			if !isChosen {
				score = 0
			}
		case float64:
			if number, ok := p.number(text, asked); ok && number == value {
				score = 1
			}
		}
		if score > most {
			best, most = value, score
		}
	}
	if best == nil && asked && slices.ContainsFunc(said, read.LeavesOpen) {
		for _, value := range p.Enum {
			if value == "any" || value == "general" || value == "other" {
				return value, true
			}
		}
	}
	return best, best != nil
}

// tens matches a number in two words, such as "twenty five".
var tens = lazyregexp.New(`\b((?:twen|thir|for|fif|six|seven|eigh|nine)ty) (one|two|three|four|five|six|seven|eight|nine)\b`)

// number takes the first number if the text is an answer, and otherwise a number near a word of the property.
func (p Property) number(text string, asked bool) (any, bool) {
	tokens := strings.Fields(tens().ReplaceAllString(read.Fold(text), "$1-$2"))
	for i, token := range tokens {
		token = strings.Trim(token, ".,;:!?()")
		value, ok := read.Number(token)
		if !ok {
			continue
		}
		beside := tokens[max(0, i-3):min(len(tokens), i+3)]
		if !asked && !slices.ContainsFunc(read.Concepts(strings.Join(beside, " ")),
			func(word string) bool { return read.ContainsForm(p.keywords, word) }) {
			continue
		}
		if p.least != nil && value < *p.least || p.most != nil && value > *p.most || p.above != nil && value <= *p.above ||
			p.Kind == "integer" && value != float64(int64(value)) {
			continue
		}
		return value, true
	}
	return nil, false
}

func (p Property) items(text string, asked bool, today time.Time) (any, bool) {
	var values []any
	if len(p.Item.Enum) > 0 {
		for _, value := range p.Item.Enum {
			one := *p.Item
			one.Enum = []any{value}
			if _, ok := one.choice(text, asked); ok {
				values = append(values, value)
			}
		}
		return values, len(values) > 0
	}
	if !asked {
		return nil, false
	}
	for _, part := range read.Items(read.Answer(text)) {
		if value, ok := p.Item.ValueIn(part, true, today); ok {
			values = append(values, value)
		}
	}
	return values, len(values) > 0
}

// matching looks for a word that matches the property's pattern, in capitals if necessary.
func (p Property) matching(text string, asked bool) (string, bool) {
	tokens := strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(`,;:!?"'’“”«»()`, r)
	})
	var candidates []string
	for i, token := range tokens {
		candidates = append(candidates, strings.Trim(token, "."))
		// Codes may also have two parts: "MM 20417733", but not "at 10am".
		if i+1 < len(tokens) && (asked || strings.ContainsFunc(tokens[i+1], unicode.IsDigit) && !read.IsSmall(token)) {
			candidates = append(candidates, token+strings.Trim(tokens[i+1], "."))
		}
	}
	if asked {
		candidates = append(candidates, strings.Join(tokens, ""))
	}
	for _, candidate := range candidates {
		if isCoded := strings.ContainsFunc(candidate, unicode.IsDigit) || candidate == strings.ToUpper(candidate) ||
			asked && len(tokens) <= 2; !isCoded {
			continue
		}
		if !asked && len(candidate) < 6 && !p.isNearLabel(text, candidate) {
			continue
		}
		for _, spelling := range []string{candidate, strings.ToUpper(candidate)} {
			if p.Pattern.MatchString(spelling) {
				return spelling, true
			}
		}
	}
	return "", false
}

// code looks for a word with digits: in the shape of the description's example, or near a word of the property.
func (p Property) code(text string, asked bool) (string, bool) {
	for _, token := range strings.Fields(text) {
		token = strings.Trim(token, `.,;:!?"'’“”«»()#`)
		if !strings.ContainsFunc(token, unicode.IsDigit) || read.Email(token) != "" {
			continue
		}
		if p.shape != "" && read.ShapeOf(strings.ToUpper(token)) == p.shape {
			return strings.ToUpper(token), true
		}
		if asked || p.shape == "" && len(token) >= 4 && !read.IsDate(token) && p.isNearLabel(text, token) {
			return token, true
		}
	}
	// A code without digits is recognized only if it is the whole answer.
	alone := read.Answer(text)
	if !asked || p.shape != "" || len(strings.Fields(alone)) > 1 && alone != strings.ToUpper(alone) ||
		!read.MaybeName(alone) {
		return "", false
	}
	return p.words(text, true)
}

// isNearLabel reports whether a word of the property is among the five words before a value in a text.
func (p Property) isNearLabel(text, value string) bool {
	before, _, found := strings.Cut(text, value)
	if !found {
		return false
	}
	words := strings.Fields(before)
	nearby := read.Concepts(strings.Join(words[max(0, len(words)-5):], " "))
	return slices.ContainsFunc(nearby, func(word string) bool { return read.ContainsForm(p.keywords, word) })
}

// Choices returns the texts in the enum of the property, or of its items, each as words.
func (p Property) Choices() []string {
	values := p.Enum
	if p.Item != nil {
		values = p.Item.Enum
	}
	var texts []string
	for _, value := range values {
		if text, ok := value.(string); ok {
			texts = append(texts, strings.Join(read.NameWords(text), " "))
		}
	}
	return texts
}
