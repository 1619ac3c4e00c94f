package engine

import "github.com/agentgraph/agentgraph/model"

// bag holds the values that fill placeholders, by name: texts, and any other values of JSON.
type bag map[string]any

// bagOf reads a chat's data bag or a test's variables. What is null is left out.
func bagOf(object model.JSONObject) (bag, error) {
	text, _ := object.MarshalJSON() // has no error
	value, err := parseJSON(string(text))
	if err != nil {
		return nil, err
	}
	values, _ := value.(map[string]any)
	for name, inner := range values {
		if inner == nil {
			delete(values, name)
		}
	}
	return values, nil
}

// text returns a value as text, numbers, lists and objects as JSON. A name with dots that no value has reaches into objects.
func (b bag) text(path string) (string, bool) { return arguments(b).text(path) }
