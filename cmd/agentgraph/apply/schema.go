package apply

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	refusal "github.com/santhosh-tekuri/jsonschema/v6/kind"
	"github.com/vektah/gqlparser/v2/validator/core"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Schema is the JSON Schema of the files.
//
//go:embed agentgraph.schema.json
var Schema []byte

// rules returns the schema, compiled and as decoded JSON.
var rules = sync.OnceValues(func() (*jsonschema.Schema, map[string]any) {
	decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		panic(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("agentgraph.schema.json", decoded); err != nil {
		panic(err)
	}
	return compiler.MustCompile("agentgraph.schema.json"), decoded.(map[string]any)
})

// checkSource returns the violations of the schema.
func checkSource(s *source) (wrong faults) {
	if wrong.addInfinite(path{source: s}, s.content); len(wrong) > 0 {
		return wrong
	}
	compiled, _ := rules()
	// The validator expects numbers as its own decoder returns them, so the content is encoded and decoded again.
	encoded, err := json.Marshal(s.content)
	if err != nil {
		return faults{fmt.Sprintf("%s: %v", s.name, err)}
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	if err != nil {
		return faults{fmt.Sprintf("%s: %v", s.name, err)}
	}
	var refused *jsonschema.ValidationError
	if errors.As(compiled.Validate(instance), &refused) {
		wrong.addAll(s, refused)
	}
	slices.Sort(wrong)
	return slices.Compact(wrong)
}

// addInfinite adds a fault for each number that JSON does not have, such as ".inf".
func (f *faults) addInfinite(at path, value any) {
	switch v := value.(type) {
	case object:
		for _, m := range v {
			f.addInfinite(at.member(m.name), m.value)
		}
	case list:
		for i, one := range v {
			f.addInfinite(at.index(i), one)
		}
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			f.addFault(at, "must be a finite number, or a text in quotes")
		}
	}
}

var english = message.NewPrinter(language.English)

func (f *faults) addAll(s *source, refused *jsonschema.ValidationError) {
	for _, cause := range refused.Causes {
		f.addAll(s, cause)
	}
	if len(refused.Causes) > 0 {
		return
	}
	at := path{source: s, steps: refused.InstanceLocation}
	switch k := refused.ErrorKind.(type) {
	case *refusal.AdditionalProperties:
		for _, name := range k.Properties {
			f.addFault(at.member(name), "is not a known key%s", suggestion(name, refused.SchemaURL))
		}
	case *refusal.Required:
		for _, name := range k.Missing {
			f.addFault(at, "must have %s", name)
		}
	case *refusal.Pattern:
		f.addFault(at, "must match %s", k.Want)
	default:
		f.addFault(at, "%s", refused.ErrorKind.LocalizedString(english))
	}
}

// suggestion suggests the known key that ends with an unknown one, such as agentTests for tests, or else the most
// similar key. If there is none, it lists all known keys.
func suggestion(name, schemaURL string) string {
	_, whole := rules()
	_, pointer, _ := strings.Cut(schemaURL, "#")
	var at any = whole
	for _, step := range strings.Split(strings.Trim(pointer, "/"), "/") {
		if object, ok := at.(map[string]any); ok && step != "" {
			at = object[step]
		}
	}
	object, _ := at.(map[string]any)
	properties, _ := object["properties"].(map[string]any)
	known := slices.Sorted(maps.Keys(properties))
	first, size := utf8.DecodeRuneInString(name)
	word := string(unicode.ToUpper(first)) + name[size:]
	endsSo := func(key string) bool { return strings.HasSuffix(key, word) }
	if at := slices.IndexFunc(known, endsSo); at >= 0 && name != "" {
		return "; did you mean " + known[at] + "?"
	}
	if like := core.SuggestionList(name, known); len(like) > 0 {
		return "; did you mean " + like[0] + "?"
	}
	return "; known keys are " + strings.Join(known, ", ")
}
