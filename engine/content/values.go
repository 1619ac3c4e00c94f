// Package content has the data of conversations: named JSON values, texts with placeholders for them, and the bounds of
// both. Start reading at [Values] and [Render].
package content

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/model/ordered"
)

// MaxArguments bounds the arguments of one call, in bytes.
const MaxArguments = 64 << 10

// Values holds JSON values by name, for placeholders or as the arguments of a call.
type Values map[string]any

// ValuesOf reads a chat's data bag or a test's variables, without nulls.
func ValuesOf(object model.JSONObject) (Values, error) {
	text, _ := object.MarshalJSON() // has no error
	value, err := ParseJSON(string(text))
	if err != nil {
		return nil, err
	}
	values, _ := value.(map[string]any)
	maps.DeleteFunc(values, func(_ string, inner any) bool { return inner == nil })
	return values, nil
}

// InOrderOf returns the values as an object: first those with the names of the given object, in its order, then the
// others by name.
func (v Values) InOrderOf(given model.JSONObject) (model.JSONObject, error) {
	text, _ := given.MarshalJSON() // has no error
	members, err := ordered.Members(text)
	if err != nil {
		return nil, err
	}
	object, rest := ordered.Object{}, maps.Clone(v)
	for _, member := range members {
		if value, hasValue := rest[member.Name]; hasValue {
			object = append(object, ordered.Member{Name: member.Name, Value: value})
			delete(rest, member.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		object = append(object, ordered.Member{Name: name, Value: rest[name]})
	}
	return model.ObjectOf(object)
}

// ParseArguments reads the arguments that a model wrote, a JSON object. It also returns the object as compact JSON with
// its names in their original order, or {} with an error. Numbers keep their digits, and U+0000 is dropped. If a name
// is repeated, its last value counts.
func ParseArguments(written string) (Values, model.JSONObject, error) {
	none := model.JSONObject("{}")
	if len(written) > MaxArguments {
		return nil, none, fmt.Errorf("the arguments have more than %d bytes", MaxArguments)
	}
	value, err := ParseJSON(written)
	if err != nil {
		return nil, none, fmt.Errorf("the arguments are not JSON: %w", err)
	}
	if _, ok := value.(map[string]any); !ok {
		return nil, none, errors.New("the arguments are not a JSON object")
	}
	text := inOrder(written)
	// The arguments must be the same when they are validated, sent and stored, even if names differ only in U+0000.
	if value, err = ParseJSON(text); err != nil {
		return nil, none, fmt.Errorf("the arguments are not JSON: %w", err)
	}
	object, _ := value.(map[string]any)
	return object, model.JSONObject(text), nil
}

// inOrder returns valid JSON in its compact form, without U+0000 and with its names in their original order. A repeated
// name has its first place and its last value.
func inOrder(text string) string {
	value, _ := ordered.Decode([]byte(text), ordered.AsSpelled) // the caller has validated it
	if strings.Contains(text, `\u0000`) {
		value, _ = ordered.Decode([]byte(Encode(withoutZeros(value))), ordered.AsSpelled) // names may be equal now
	}
	return Encode(value)
}

func withoutZeros(value any) any {
	switch v := value.(type) {
	case string:
		return withoutZero(v)
	case []any:
		for i := range v {
			v[i] = withoutZeros(v[i])
		}
	case ordered.Object:
		for i := range v {
			v[i] = ordered.Member{Name: withoutZero(v[i].Name), Value: withoutZeros(v[i].Value)}
		}
	}
	return value
}

// ParseJSON parses a JSON text. Numbers keep their spelling.
func ParseJSON(text string) (any, error) {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	return sanitize(value, 0)
}

// sanitize drops characters that Postgres cannot store. It rejects numbers that cannot be compared and values that are
// nested too deep.
func sanitize(value any, depth int) (any, error) {
	var err error
	if depth > model.MaxJSONDepth {
		return nil, fmt.Errorf("objects and lists are nested more than %d levels deep", model.MaxJSONDepth)
	}
	switch v := value.(type) {
	case string:
		return withoutZero(v), nil
	case json.Number:
		if !model.NumberInRange(v) {
			return nil, errors.New("a number is out of range")
		}
	case []any:
		for i := range v {
			if v[i], err = sanitize(v[i], depth+1); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		tidied := make(map[string]any, len(v))
		for name, inner := range v {
			if tidied[withoutZero(name)], err = sanitize(inner, depth+1); err != nil {
				return nil, err
			}
		}
		return tidied, nil
	}
	return value, nil
}

func withoutZero(text string) string { return strings.ReplaceAll(text, "\x00", "") }

// Text returns a value as text, and false if it is absent or null.
func (b Values) Text(path string) (string, bool) {
	value, ok := b.Lookup(path)
	if !ok || value == nil {
		return "", false
	}
	return TextOf(value), true
}

// Lookup finds a value by its name, or by its path within objects and lists if the name has dots.
func (b Values) Lookup(path string) (any, bool) {
	if value, ok := b[path]; ok {
		return value, true
	}
	name, rest, dotted := strings.Cut(path, ".")
	if !dotted {
		return nil, false
	}
	return reachIn(b[name], rest)
}

// reachIn finds the value at a path within a value. Indexes of lists start at 0.
func reachIn(value any, path string) (any, bool) {
	switch v := value.(type) {
	case map[string]any:
		return Values(v).Lookup(path)
	case []any:
		place, rest, dotted := strings.Cut(path, ".")
		n, err := strconv.ParseUint(place, 10, 31)
		if err != nil || n >= uint64(len(v)) {
			return nil, false
		}
		if !dotted {
			return v[n], true
		}
		return reachIn(v[n], rest)
	}
	return nil, false
}

// TextOf returns a string unchanged, and any other JSON value as JSON.
func TextOf(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	return Encode(value)
}

// Encode writes a value that was read from JSON.
func Encode(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	// Values read from JSON can always be written.
	_ = encoder.Encode(value)
	return strings.TrimSuffix(text.String(), "\n")
}

// Equal reports whether two JSON values are equal. Numbers are compared by value.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && worth(a).Cmp(worth(b)) == 0
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, Equal)
	}
	return a == b
}

func worth(number json.Number) *big.Rat {
	worth, ok := new(big.Rat).SetString(number.String())
	if !ok {
		return new(big.Rat)
	}
	return worth
}
