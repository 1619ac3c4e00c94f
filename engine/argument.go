package engine

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
)

const (
	// maxArguments bounds, in bytes, what one call can be made with.
	maxArguments = 64 << 10
	// maxExponent bounds numbers: those beyond it are exact only in gigabytes of digits.
	maxExponent = 400
)

// arguments are what a call is made with.
type arguments map[string]any

// parseArguments reads what a model wrote, and returns it as compact JSON too, its names in the order in which
// they were written; {} with an error. Numbers keep their digits, U+0000 is dropped, and a name that is given
// twice has its last value.
func parseArguments(written string) (arguments, model.JSONObject, error) {
	none := model.JSONObject("{}")
	if len(written) > maxArguments {
		return nil, none, fmt.Errorf("the arguments have more than %d bytes", maxArguments)
	}
	value, err := parseJSON(written)
	if err != nil {
		return nil, none, fmt.Errorf("the arguments are not JSON: %w", err)
	}
	if _, ok := value.(map[string]any); !ok {
		return nil, none, errors.New("the arguments are not a JSON object")
	}
	text := inOrder(written)
	// What is validated is what is sent and kept, also where names are the same but for U+0000.
	if value, err = parseJSON(text); err != nil {
		return nil, none, fmt.Errorf("the arguments are not JSON: %w", err)
	}
	object, _ := value.(map[string]any)
	return object, model.JSONObject(text), nil
}

func parseJSON(text string) (any, error) {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	return tidy(value, 0)
}

// tidy drops what Postgres cannot keep, and refuses numbers that cannot be compared and what is nested too deep.
func tidy(value any, depth int) (any, error) {
	var err error
	if depth > model.MaxJSONDepth {
		return nil, fmt.Errorf("objects and lists are nested more than %d levels deep", model.MaxJSONDepth)
	}
	switch v := value.(type) {
	case string:
		return withoutZero(v), nil
	case json.Number:
		if _, exponent, found := strings.Cut(strings.ToLower(v.String()), "e"); found {
			if n, err := strconv.Atoi(exponent); err != nil || n > maxExponent || n < -maxExponent {
				return nil, errors.New("a number is out of range")
			}
		}
	case []any:
		for i := range v {
			if v[i], err = tidy(v[i], depth+1); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		tidied := make(map[string]any, len(v))
		for name, inner := range v {
			if tidied[withoutZero(name)], err = tidy(inner, depth+1); err != nil {
				return nil, err
			}
		}
		return tidied, nil
	}
	return value, nil
}

func withoutZero(text string) string { return strings.ReplaceAll(text, "\x00", "") }

// text returns one of the arguments as text; false when it is not there or null.
func (a arguments) text(path string) (string, bool) {
	value, ok := a.reach(path)
	if !ok || value == nil {
		return "", false
	}
	return textOf(value), true
}

// reach finds an argument by its name, or, where the name has dots, within an object.
func (a arguments) reach(path string) (any, bool) {
	if value, ok := a[path]; ok {
		return value, true
	}
	name, rest, dotted := strings.Cut(path, ".")
	inner, ok := a[name].(map[string]any)
	if !dotted || !ok {
		return nil, false
	}
	return arguments(inner).reach(rest)
}

// textOf is a JSON value as text: a text as it is, anything else as JSON.
func textOf(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	return encode(value)
}

// encode writes a value that was read from JSON.
func encode(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	// What was read from JSON can be written.
	_ = encoder.Encode(value)
	return strings.TrimSuffix(text.String(), "\n")
}

// same reports whether two JSON values are equal, numbers by what they are worth.
func same(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && worth(a).Cmp(worth(b)) == 0
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, same)
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
