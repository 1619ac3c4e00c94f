package offline

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/engine/slot"
	"github.com/agentgraph/agentgraph/model/ordered"
)

const (
	// maxFields and maxOptions bound the part of a result in a reply. maxFieldText bounds each of its texts, in
	// characters.
	maxFields, maxOptions, maxFieldText = 6, 5, 200
	// maxResult bounds a reply that repeats a text result, in characters.
	maxResult = 1000
)

// failed matches the beginning of an error message.
var failed = lazyregexp.New(
	`(?i)^\s*(the call (failed|did not)|(the )?(tool|call|request|sub-agent|transfer)\b[^.]*\b(failed|not|refused|error)|error\b|failed\b|failure\b|no telephony|erreur\b|échec)`)

// errorWord matches parts of an error message that mean nothing to the contact.
var errorWord = lazyregexp.New(
	`(?i)^\s*(error|erreur|the call failed)\s*:\s*|\s*Correct the call; do not repeat what you said\.\s*$`)

// option is an object of a result that contains a value for a property.
type option struct {
	value  any
	object ordered.Object
	// turn is the number of messages that the contact had sent when the result came.
	turn int
}

func (o option) as(p slot.Property) (any, bool) {
	switch p.Kind {
	case "array":
		return []any{o.value}, true
	case "string", "":
		text := fmt.Sprint(o.value)
		return text, p.Pattern == nil || p.Pattern.MatchString(text)
	}
	return o.value, true
}

// options returns the values for a property in the latest result that has any. They are under the property's name. In
// results of the tools that produce the property, they may also be under "id".
func (c *conversation) options(p slot.Property) []option {
	for _, call := range slices.Backward(c.calls) {
		names := []string{p.Name}
		if p.Kind == "array" {
			names = append(names, singular(p.Name))
		}
		isProducer := slices.Contains(p.Producers, call.Name)
		if isProducer {
			names = append(names, "id")
		}
		if len(p.Producers) > 0 && !isProducer || call.failure() != "" {
			continue
		}
		if found := collect(nil, call.value(), names); len(found) > 0 {
			for i := range found {
				found[i].turn = call.turn
			}
			return found
		}
	}
	return nil
}

func collect(found []option, value any, names []string) []option {
	switch value := value.(type) {
	case ordered.Object:
		members := map[string]any{}
		for _, m := range value {
			members[m.Name] = m.Value
		}
		for _, name := range names {
			switch held := members[name].(type) {
			case string, float64:
				if !slices.ContainsFunc(found, func(o option) bool { return isSameJSON(o.value, held) }) {
					found = append(found, option{value: held, object: value})
				}
				return found
			}
		}
		for _, key := range slices.Sorted(maps.Keys(members)) {
			found = collect(found, members[key], names)
		}
	case []any:
		for _, item := range value {
			found = collect(found, item, names)
		}
	}
	return found
}

// chosen returns the option that the contact chooses by its value, its place in the list or its words.
func chosen(p slot.Property, options []option, text string) (any, bool) {
	if len(options) < 2 {
		return nil, false
	}
	said := read.Words(text)
	for _, o := range options {
		if strings.Contains(strings.ToLower(text), strings.ToLower(fmt.Sprint(o.value))) {
			return o.as(p)
		}
	}
	if len(said) <= maxChoosing {
		if i := read.OrdinalIndex(said, len(options)); i >= 0 {
			return options[i].as(p)
		}
	}
	best, most, tied := 0, 0, false
	for i, o := range options {
		score := 0
		object, _ := o.object.MarshalJSON() // came from JSON
		meanings := read.Meanings(read.Words(string(object)))
		for _, word := range said {
			if (read.HasDigits(word) || len(read.Content([]string{word})) > 0) &&
				read.ContainsForm(meanings, read.ConceptOf(word)) {
				score++
			}
		}
		if score > most {
			best, most, tied = i, score, false
		} else if score == most {
			tied = true
		}
	}
	if most == 0 || tied {
		return nil, false
	}
	return options[best].as(p)
}

// errorIn returns the error that a result reports, or "".
func errorIn(result string) string {
	var object map[string]any
	if json.Unmarshal([]byte(result), &object) != nil {
		if failed().MatchString(result) {
			return strings.TrimSpace(errorWord().ReplaceAllString(result, ""))
		}
		return ""
	}
	text := func(keys ...string) string {
		for _, key := range keys {
			switch value := object[key].(type) {
			case string:
				if value != "" {
					return value
				}
			case map[string]any:
				if message, ok := value["message"].(string); ok {
					return message
				}
			}
		}
		return ""
	}
	if said := text("error", "errorMessage", "error_message"); said != "" {
		if detail := text("message", "detail"); detail != "" && detail != said {
			return said + ": " + detail
		}
		return said
	}
	if status, _ := object["status"].(string); slices.Contains([]string{"error", "failed", "failure"},
		strings.ToLower(status)) {
		if said := text("message", "detail", "reason"); said != "" {
			return said
		}
		return status
	}
	return ""
}

// fieldOf returns the value of a field from the first object of a result that has it, in depth-first order. Of a list,
// it searches only the first item.
func fieldOf(value any, name string) (any, bool) {
	switch value := value.(type) {
	case ordered.Object:
		for _, m := range value {
			if m.Name == name && m.Value != nil {
				return m.Value, true
			}
		}
		for _, m := range value {
			if held, ok := fieldOf(m.Value, name); ok {
				return held, true
			}
		}
	case []any:
		for _, item := range value[:min(len(value), 1)] {
			return fieldOf(item, name)
		}
	}
	return nil, false
}

// formatResult writes a result for the contact: text as it is, an object as names and values, a list with numbers.
func formatResult(result string, phrases *phrasebook) string {
	value, err := ordered.Decode([]byte(result), ordered.AsSpelled)
	if err != nil {
		return read.Shorten(result, maxResult)
	}
	fields, options := describeFields(value, "", phrases)
	fields = fields[:min(len(fields), maxFields)]
	if len(options) > 0 {
		return strings.Join(append([]string{strings.Join(fields, ", ")}, options...), "\n")
	}
	return strings.Join(fields, ", ")
}

// describeFields returns a text for each field of a value, including nested ones, and for each item of its lists.
func describeFields(value any, label string, phrases *phrasebook) (fields, options []string) {
	switch value := value.(type) {
	case ordered.Object:
		for _, m := range value {
			if text, isText := m.Value.(string); isText && m.Name == "status" && isFine(text) && len(value) > 1 {
				continue
			}
			name := strings.Join(read.NameWords(m.Name), " ")
			if m.Name == "message" || m.Name == "result" {
				name = ""
			}
			more, listed := describeFields(m.Value, name, phrases)
			fields, options = append(fields, more...), append(options, listed...)
		}
		return fields, options
	case []any:
		var texts []string
		for i, item := range value[:min(len(value), maxOptions)] {
			texts = append(texts, itemInWords(item, phrases))
			options = append(options, fmt.Sprintf("%d) %s", i+1, texts[i]))
		}
		if len(value) == 0 {
			return labelled(label, "–"), nil
		}
		if object, _ := value[0].(ordered.Object); len(object) > 0 {
			return nil, options
		}
		return labelled(label, strings.Join(texts, ", ")), nil
	case nil:
		return nil, nil
	case bool:
		// "signature no" would not be a sentence.
		answer := map[bool]string{true: phrases.yes, false: phrases.no}[value]
		return []string{strings.TrimPrefix(label+": "+answer, ": ")}, nil
	case string:
		return labelled(label, value), nil
	}
	number, _ := json.Marshal(value) // came from JSON
	return labelled(label, string(number)), nil
}

func labelled(label, text string) []string {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	return []string{read.Shorten(strings.TrimSpace(label+" "+text), maxFieldText)}
}

// itemInWords writes an item of a list in one line, in the order of its members. Numbers are written before their
// names, texts without their names, and other values after their names. The identifier is omitted if there is anything
// else.
func itemInWords(item any, phrases *phrasebook) string {
	object, _ := item.(ordered.Object)
	var parts, ids []string
	for _, m := range object {
		name := read.NameWords(m.Name)
		switch value := m.Value.(type) {
		case string:
			if slices.Contains(name, "id") {
				ids = append(ids, value)
			} else if value != "" {
				parts = append(parts, phrases.formatValue(value))
			}
		case float64, json.Number:
			number, _ := json.Marshal(value) // came from JSON
			parts = append(parts, string(number)+" "+strings.Join(name, " "))
		default:
			fields, _ := describeFields(value, strings.Join(name, " "), phrases)
			parts = append(parts, fields...)
		}
	}
	switch {
	case len(parts) > 0:
		return read.Shorten(strings.Join(parts, ", "), maxFieldText)
	case len(ids) > 0:
		return strings.Join(ids, ", ")
	}
	fields, _ := describeFields(item, "", phrases)
	return strings.Join(fields, ", ")
}

func isFine(status string) bool {
	return slices.Contains([]string{"success", "ok", "succeeded", "done"}, strings.ToLower(status))
}
