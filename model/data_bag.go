package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/model/ordered"
)

// Bounds of a data bag and of a test's variables. Lengths are in characters.
const (
	maxDataBagEntries = 200
	maxDataBagName    = 100
	maxDataBagValue   = 10_000
	// maxNumberExponent bounds numbers, including those near zero. Beyond it, exact numbers take gigabytes of digits.
	maxNumberExponent = 400
)

// Variables returns the data bag as names and texts.
func (c *SimulationChat) Variables() (map[string]string, error) { return variables(c.DataBag) }

func variables(bag JSONObject) (map[string]string, error) {
	given := map[string]*string{}
	if err := json.Unmarshal(bag.text(), &given); err != nil {
		return nil, err
	}
	texts := make(map[string]string, len(given))
	for name, value := range given {
		if value == nil {
			return nil, fmt.Errorf("%q has no value", name)
		}
		texts[name] = *value
	}
	return texts, nil
}

// dataBag returns the texts for an agent's fields, by field. It records a fault for each invalid text. Null counts as
// missing.
func (f *Fields) dataBag(path string, bag JSONObject) map[string]string {
	texts := map[string]string{}
	for name, value := range f.members(path, bag) {
		var text string
		if json.Unmarshal(value, &text) != nil {
			f.Add(path+"."+name, "must be a string")
			continue
		}
		f.text(path+"."+name, text, 0, maxDataBagValue)
		texts[name] = text
	}
	return texts
}

// values records the faults of an object that maps names to texts, numbers, booleans, lists or objects. All but texts
// count with the length of their JSON. Null counts as missing.
func (f *Fields) values(path string, object JSONObject) {
	for name, value := range f.members(path, object) {
		at := path + "." + name
		var text string
		if json.Unmarshal(value, &text) == nil {
			f.text(at, text, 0, maxDataBagValue)
			continue
		}
		decoder := json.NewDecoder(bytes.NewReader(value))
		decoder.UseNumber()
		var decoded any
		if err := decoder.Decode(&decoded); err != nil {
			f.Add(at, "must be a JSON value")
			continue
		}
		if length := utf8.RuneCount(value); length > maxDataBagValue {
			f.Add(at, "must have at most %d characters of JSON, not %d", maxDataBagValue, length)
		} else if fault := faultOfValue(decoded, 1); fault != "" {
			f.Add(at, "%s", fault)
		}
	}
}

// members returns the members of an object that are not null. It records the faults of their names and their number.
func (f *Fields) members(path string, object JSONObject) map[string]json.RawMessage {
	given := map[string]json.RawMessage{}
	if err := json.Unmarshal(object.text(), &given); err != nil {
		f.Add(path, "must be an object")
		return nil
	}
	maps.DeleteFunc(given, func(_ string, value json.RawMessage) bool { return string(value) == "null" })
	if !f.list(path, len(given), maxDataBagEntries) {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if length := utf8.RuneCountInString(name); length < 1 || length > maxDataBagName || strings.ContainsRune(name, 0) {
			f.Add(path, "must have names of 1 to %d characters, without U+0000", maxDataBagName)
			return nil
		}
	}
	return given
}

// faultOfValue returns why no conversation can use a value, or "" if it can.
func faultOfValue(value any, depth int) string {
	switch v := value.(type) {
	case string:
		if strings.ContainsRune(v, 0) {
			return "must not contain the character U+0000"
		}
	case json.Number:
		if !NumberInRange(v) {
			return fmt.Sprintf("must be a number from -1.79e308 to 1.79e308, with an exponent from -%d to %[1]d",
				maxNumberExponent)
		}
	case []any:
		for _, inner := range v {
			if fault := faultWithin(inner, depth); fault != "" {
				return fault
			}
		}
	case map[string]any:
		for name, inner := range v {
			if strings.ContainsRune(name, 0) {
				return "must not contain the character U+0000"
			}
			if fault := faultWithin(inner, depth); fault != "" {
				return fault
			}
		}
	}
	return ""
}

func faultWithin(value any, depth int) string {
	if depth == MaxJSONDepth {
		return fmt.Sprintf("must not be nested more than %d levels deep", MaxJSONDepth)
	}
	return faultOfValue(value, depth+1)
}

func (o JSONObject) withoutNulls() JSONObject {
	members, err := ordered.Members(o)
	if !bytes.Contains(o, []byte("null")) || err != nil {
		return o.text()
	}
	kept, _ := slices.DeleteFunc(members,
		func(m ordered.Member) bool { return string(m.Value.(json.RawMessage)) == "null" }).MarshalJSON()
	return kept
}

// NumberInRange reports whether a number can be compared exactly, stored, and read by clients. Most clients use
// 64-bit floating point.
func NumberInRange(number json.Number) bool {
	if _, exponent, found := strings.Cut(strings.ToLower(number.String()), "e"); found {
		if n, err := strconv.Atoi(exponent); err != nil || max(n, -n) > maxNumberExponent {
			return false
		}
	}
	_, err := number.Float64()
	return err == nil
}
