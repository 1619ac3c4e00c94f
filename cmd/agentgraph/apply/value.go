package apply

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// A value is what YAML and JSON have in common: nil, bool, int64, float64, string, list, object, and, where something
// else is named, *thing.
type (
	list []any
	// object keeps the order of its members.
	object []member
	member struct {
		name  string
		value any
	}
)

// get returns the value of a member. known is false if there is none.
func (o object) get(name string) (value any, known bool) {
	for _, m := range o {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

func (o object) text(name string) string {
	value, _ := o.get(name)
	text, _ := value.(string)
	return text
}

func (o object) list(name string) list {
	value, _ := o.get(name)
	values, _ := value.(list)
	return values
}

// with returns the object with a member set.
func (o object) with(name string, value any) object {
	for i, m := range o {
		if m.name == name {
			changed := slices.Clone(o)
			changed[i].value = value
			return changed
		}
	}
	return append(slices.Clip(o), member{name, value})
}

func (o object) without(name string) object {
	return slices.DeleteFunc(slices.Clone(o), func(m member) bool { return m.name == name })
}

// sorted returns the object with its members in the order of their names.
func (o object) sorted() object {
	return slices.SortedFunc(slices.Values(o), func(a, b member) int { return strings.Compare(a.name, b.name) })
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// isEqual reports whether two values are the same. What is named is the same if it is the same thing.
func isEqual(a, b any) bool {
	switch a := a.(type) {
	case list:
		b, ok := b.(list)
		return ok && slices.EqualFunc(a, b, isEqual)
	case object:
		b, ok := b.(object)
		return ok && slices.EqualFunc(a, b, func(x, y member) bool { return x.name == y.name && isEqual(x.value, y.value) })
	case int64:
		if b, ok := b.(float64); ok {
			return float64(a) == b
		}
	case float64:
		if b, ok := b.(int64); ok {
			return a == float64(b)
		}
	}
	switch b.(type) {
	case list, object:
		return false
	}
	return a == b
}

// fromYAML returns what goccy/go-yaml decoded with ordered maps as a value.
func fromYAML(decoded any) any {
	switch d := decoded.(type) {
	case yaml.MapSlice:
		o := make(object, len(d))
		for i, item := range d {
			o[i] = member{keyOf(item.Key), fromYAML(item.Value)}
		}
		return o
	case []any:
		l := make(list, len(d))
		for i, v := range d {
			l[i] = fromYAML(v)
		}
		return l
	case uint64:
		if d > 1<<62 {
			return float64(d)
		}
		return int64(d)
	case int:
		return int64(d)
	}
	return decoded
}

// keyOf returns the name of a member; YAML has keys that are no texts.
func keyOf(key any) string {
	if text, ok := key.(string); ok {
		return text
	}
	text, err := yaml.MarshalWithOptions(key, yaml.JSON())
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// toYAML returns a value as goccy/go-yaml encodes it.
func toYAML(value any) any {
	switch v := value.(type) {
	case object:
		m := make(yaml.MapSlice, len(v))
		for i, one := range v {
			m[i] = yaml.MapItem{Key: one.name, Value: toYAML(one.value)}
		}
		return m
	case list:
		l := make([]any, len(v))
		for i, one := range v {
			l[i] = toYAML(one)
		}
		return l
	case string:
		if !isReadAsWritten(v) {
			return quoted(v)
		}
	}
	return value
}

// yamlOptions are how files are written.
var yamlOptions = []yaml.EncodeOption{yaml.IndentSequence(true), yaml.UseLiteralStyleIfMultiline(true)}

// isReadAsWritten reports whether a text survives YAML in its usual style, which some with white space at an end do not.
func isReadAsWritten(text string) bool {
	encoded, err := yaml.MarshalWithOptions(yaml.MapSlice{{Key: "k", Value: []any{text}}}, yamlOptions...)
	if err != nil {
		return false
	}
	var read struct{ K []any }
	return yaml.Unmarshal(encoded, &read) == nil && len(read.K) == 1 && read.K[0] == text
}

// quoted is a text that is written as JSON has it, which YAML reads too.
type quoted string

// MarshalYAML writes the text in double quotes.
func (q quoted) MarshalYAML() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(string(q))
	return bytes.TrimSpace(out.Bytes()), err
}

// plain returns a value as encoding/json would decode it, for the JSON Schema.
func plain(value any) any {
	switch v := value.(type) {
	case object:
		m := make(map[string]any, len(v))
		for _, one := range v {
			m[one.name] = plain(one.value)
		}
		return m
	case list:
		l := make([]any, len(v))
		for i, one := range v {
			l[i] = plain(one)
		}
		return l
	}
	return value
}

// decodeJSON returns the value that a JSON text holds.
func decodeJSON(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	value, err := nextJSON(decoder, 0)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something behind the JSON")
	}
	return value, nil
}

// maxJSONDepth bounds how deep lists and objects of a JSON text are nested.
const maxJSONDepth = 1000

func nextJSON(decoder *json.Decoder, depth int) (any, error) {
	if depth > maxJSONDepth {
		return nil, fmt.Errorf("is nested deeper than %d levels", maxJSONDepth)
	}
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '[' {
			return listJSON(decoder, depth+1)
		}
		return objectJSON(decoder, depth+1)
	case json.Number:
		if whole, err := t.Int64(); err == nil {
			return whole, nil
		}
		return t.Float64()
	}
	return token, nil
}

func listJSON(decoder *json.Decoder, depth int) (any, error) {
	l := list{}
	for decoder.More() {
		value, err := nextJSON(decoder, depth)
		if err != nil {
			return nil, err
		}
		l = append(l, value)
	}
	_, err := decoder.Token()
	return l, err
}

func objectJSON(decoder *json.Decoder, depth int) (any, error) {
	o := object{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		value, err := nextJSON(decoder, depth)
		if err != nil {
			return nil, err
		}
		o = append(o, member{name.(string), value})
	}
	_, err := decoder.Token()
	return o, err
}
