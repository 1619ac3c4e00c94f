package apply

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/token"
	"golang.org/x/text/unicode/norm"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/model/ordered"
)

// A value has a type that YAML and JSON share: nil, bool, int64, float64, string, list, object. References to other
// resources are *resource.
type (
	list []any
	// object keeps the order of its members.
	object []member
	member struct {
		name  string
		value any
	}
)

// get returns the value of a member. known is false if there is no such member.
func (o object) get(name string) (value any, known bool) {
	for _, m := range o {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

// text, list and object return a member of that type, or the zero value if there is none.
func (o object) text(name string) string   { return as[string](o, name) }
func (o object) list(name string) list     { return as[list](o, name) }
func (o object) object(name string) object { return as[object](o, name) }

func as[T any](o object, name string) T {
	value, _ := o.get(name)
	typed, _ := value.(T)
	return typed
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

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	members := make(ordered.Object, len(o))
	for i, m := range o {
		members[i] = ordered.Member{Name: m.name, Value: m.value}
	}
	return members.MarshalJSON()
}

// isEqual reports whether two values are equal. The order of members matters, and the form of a text's characters (NFC)
// does not. References are equal if they point to the
// same resource.
func isEqual(a, b any) bool {
	switch a := a.(type) {
	case list:
		b, ok := b.(list)
		return ok && slices.EqualFunc(a, b, isEqual)
	case object:
		b, ok := b.(object)
		return ok && slices.EqualFunc(a, b, func(x, y member) bool { return x.name == y.name && isEqual(x.value, y.value) })
	case string:
		b, ok := b.(string)
		return ok && (a == b || norm.NFC.String(a) == norm.NFC.String(b))
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

// valueOf converts the output of the JSON decoder, or of goccy/go-yaml with ordered maps, to a value.
func valueOf(decoded any) any {
	switch d := decoded.(type) {
	case ordered.Object:
		o := make(object, len(d))
		for i, m := range d {
			o[i] = member{m.Name, valueOf(m.Value)}
		}
		return o
	case yaml.MapSlice:
		o := make(object, len(d))
		for i, item := range d {
			o[i] = member{keyOf(item.Key), valueOf(item.Value)}
		}
		return o
	case []any:
		l := make(list, len(d))
		for i, v := range d {
			l[i] = valueOf(v)
		}
		return l
	case uint64:
		if d > math.MaxInt64 {
			return float64(d)
		}
		return int64(d)
	case int:
		return int64(d)
	}
	return decoded
}

// keyOf returns the name of a member. YAML has keys that are not text.
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

// toYAML returns a value in the form that goccy/go-yaml encodes.
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
		if token.IsNeedQuoted(v) && strings.ContainsFunc(v, isEscaped) && !strings.ContainsFunc(v, model.IsControl) {
			return singleQuoted(v)
		}
		if !isReadAsWritten(v) {
			return quoted(v)
		}
	}
	return value
}

// yamlOptions set the style of written files.
var yamlOptions = []yaml.EncodeOption{yaml.IndentSequence(true), yaml.UseLiteralStyleIfMultiline(true)}

// isReadAsWritten reports whether YAML in the usual style preserves a text. It does not preserve all white space at the
// beginning and the end.
func isReadAsWritten(text string) bool {
	encoded, err := yaml.MarshalWithOptions(yaml.MapSlice{{Key: "k", Value: []any{text}}}, yamlOptions...)
	if err != nil {
		return false
	}
	var read struct{ K []any }
	return yaml.Unmarshal(encoded, &read) == nil && len(read.K) == 1 && read.K[0] == text
}

// quoted is a text that is written as a JSON string, which is valid YAML.
type quoted string

// MarshalYAML writes the text in double quotes.
func (q quoted) MarshalYAML() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(string(q))
	return bytes.TrimSpace(out.Bytes()), err
}

// isEscaped reports whether goccy/go-yaml escapes a character in double quotes, such as the blank of Japanese texts and
// the joiners of other scripts.
func isEscaped(r rune) bool { return !strconv.IsPrint(r) }

// singleQuoted is a text on one line that is written in single quotes, which have no escapes.
type singleQuoted string

// MarshalYAML writes the text in single quotes.
func (q singleQuoted) MarshalYAML() ([]byte, error) {
	return []byte("'" + strings.ReplaceAll(string(q), "'", "''") + "'"), nil
}

// decodeJSON returns the value that a JSON text holds.
func decodeJSON(text []byte) (any, error) {
	decoded, err := ordered.Decode(text, decodeNumber)
	return valueOf(decoded), err
}

// decodeExactly does the same as decodeJSON, but returns cli.LostDigits for numbers that cli.CheckDigits refuses.
func decodeExactly(text []byte) (any, error) {
	decoded, err := ordered.Decode(text, func(n json.Number) (any, error) {
		if err := cli.CheckDigits(n.String()); err != nil {
			return nil, err
		}
		return decodeNumber(n)
	})
	return valueOf(decoded), err
}

func decodeNumber(n json.Number) (any, error) {
	if whole, err := n.Int64(); err == nil {
		return whole, nil
	}
	return n.Float64()
}
