package gateway

import (
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/agentgraph/agentgraph/model"
)

// FuzzVariables requires that the gateway accepts the same texts as encoding/json, and decodes objects to the same
// values.
func FuzzVariables(f *testing.F) {
	for _, text := range []string{
		`{"a": "b\n", "c": 1e5, "d": true, "e": null, "a": -0.1, "\"": "\\"}`, `[1, {"a": []}]`, `{"a": 01}`, `"\u12"`,
		`{"a": "\ud800"}`, "\t{}\r\n", `{"a": {}}`, `nul`, `{"a": "` + "\x01" + `"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !utf8.Valid(text) || model.CheckJSON(text) != nil {
			return
		}
		if valid := json.Valid(text); gjson.ValidBytes(text) != valid {
			t.Fatalf("%q: valid is %v", text, valid)
		} else if !valid {
			return
		}
		var got, want map[string]any
		accepted, isObject := decodeObject(gjson.ParseBytes(text), &got), unmarshal(text, &want) == nil
		if accepted != isObject || accepted && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v %v, want %v %v", text, accepted, got, isObject, want)
		}
	})
}
