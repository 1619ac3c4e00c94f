package rest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/model"
)

// Bounds of a problem's faults: their number, and the bytes of a property name.
const (
	mostFaults  = 50
	longestName = 64
)

// decoder reads well-formed JSON as values of the schema's input types. It collects all faults by the path of the
// faulty property ("toolMocking.mockedTools.0.toolId"). Case is ignored in names, the last of equal names counts, and
// null means absent.
type decoder struct {
	types  map[string]*ast.Definition
	strict bool
	faults model.Fields
	// also and emptied have the route's values, for the members at the top level.
	also    map[string]string
	emptied string
	// spelled maps members to the other name that the client used.
	spelled map[string]string
}

// object reads a JSON object with these fields. The result has the fields that were given.
func (d *decoder) object(path string, text json.RawMessage, fields ast.FieldList) map[string]any {
	given, ok := d.properties(path, text, fields)
	if !ok {
		return nil
	}
	values := make(map[string]any, len(given))
	for _, field := range fields {
		property, found := given[field.Name]
		switch at := join(path, cmp.Or(d.spelled[field.Name], field.Name)); {
		case found && !isNull(property):
			values[field.Name] = d.value(at, property, field.Type)
		case found && path == "" && field.Name == d.emptied:
			values[field.Name] = ""
		case field.Type.NonNull && field.DefaultValue == nil:
			d.fault(at, "is required")
		}
	}
	return values
}

func (d *decoder) properties(path string, text json.RawMessage,
	fields ast.FieldList) (map[string]json.RawMessage, bool) {
	if text[0] != '{' {
		d.fault(path, "must be an object")
		return nil, false
	}
	given, others := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	input := json.NewDecoder(bytes.NewReader(text))
	if _, err := input.Token(); err != nil {
		return nil, false
	}
	for input.More() { // true even after an error
		key, err := input.Token()
		if err != nil {
			return nil, false
		}
		var property json.RawMessage
		if err := input.Decode(&property); err != nil {
			return nil, false
		}
		name, _ := key.(string)
		i := slices.IndexFunc(fields, func(f *ast.FieldDefinition) bool { return strings.EqualFold(f.Name, name) })
		switch other := d.other(path, name, property); {
		case other != "":
			others[other] = property
			d.spelled = map[string]string{other: clip(name)}
		case i >= 0:
			given[fields[i].Name] = property
		case d.strict:
			d.fault(join(path, clip(name)), "is not a known property")
		}
	}
	for name, property := range others {
		if _, both := given[name]; both {
			d.fault(d.spelled[name], "means the same as %s, which is given too: give one of them", name)
		}
		given[name] = property
	}
	return given, true
}

// other returns the member that has this other name, or "".
func (d *decoder) other(path, name string, property json.RawMessage) string {
	for also, member := range d.also {
		if path == "" && property[0] == '[' && strings.EqualFold(also, name) {
			return member
		}
	}
	return ""
}

func (d *decoder) value(path string, text json.RawMessage, t *ast.Type) any {
	if t.Elem != nil {
		return d.list(path, text, t.Elem)
	}
	definition := d.types[t.NamedType]
	switch definition.Kind {
	case ast.InputObject:
		outer := d.strict
		d.strict = outer || definition.Directives.ForName("strict") != nil
		defer func() { d.strict = outer }()
		return d.object(path, text, OfV1(definition.Fields))
	case ast.Enum:
		return d.enum(path, text, definition)
	default:
		if t.NamedType == "ID" && !t.NonNull && string(text) == `""` {
			return "" // means none, such as the folder of a test at the root
		}
		s := scalars[t.NamedType]
		value, ok := s.read(text)
		if !ok {
			d.fault(path, "must be %s", s.wanted)
		}
		return value
	}
}

// OfV1 returns the fields without @beyondV1. For v1 clients the others are unknown properties.
func OfV1(fields ast.FieldList) ast.FieldList {
	return slices.DeleteFunc(slices.Clone(fields),
		func(f *ast.FieldDefinition) bool { return f.Directives.ForName("beyondV1") != nil })
}

func (d *decoder) list(path string, text json.RawMessage, element *ast.Type) any {
	var elements []json.RawMessage
	if json.Unmarshal(text, &elements) != nil {
		d.fault(path, "must be an array")
		return nil
	}
	values := make([]any, len(elements))
	for i, e := range elements {
		at := join(path, strconv.Itoa(i))
		switch {
		case !isNull(e):
			values[i] = d.value(at, e, element)
		case element.NonNull:
			d.fault(at, "must not be null")
		}
	}
	return values
}

func (d *decoder) enum(path string, text json.RawMessage, definition *ast.Definition) any {
	name, ok := as[string](text)
	var names []string
	for _, v := range definition.EnumValues {
		if ok && strings.EqualFold(v.Name, name.(string)) {
			return v.Name
		}
		names = append(names, v.Name)
	}
	d.fault(path, "must be one of %s", strings.Join(names, ", "))
	return nil
}

func (d *decoder) fault(path, format string, args ...any) {
	if len(d.faults) < mostFaults {
		d.faults.Add(path, format, args...)
	}
}

type scalar struct {
	wanted string
	read   func(json.RawMessage) (any, bool)
}

var scalars = map[string]scalar{
	"String":     {"a string", as[string]},
	"Boolean":    {"true or false", as[bool]},
	"ID":         {"a string that is not empty and holds no U+0000", readID},
	"Int":        {"a whole number", readInt},
	"Float":      {"a number", readFloat},
	"JSONObject": {"an object", readObject},
	"DateTime":   {"a date-time such as 2026-03-01T09:30:00Z", readDateTime},
	"DateBound":  {model.DateBoundForm, readDateBound},
}

func as[T any](text json.RawMessage) (any, bool) {
	var value T
	err := json.Unmarshal(text, &value)
	return value, err == nil
}

func readID(text json.RawMessage) (any, bool) {
	id, ok := as[string](text)
	return id, ok && id != "" && !strings.ContainsRune(id.(string), 0)
}

// readInt accepts a whole number in any notation: 6, 6.0 and 6e0, and "6" as in v1. A number outside of Int becomes the
// nearest Int. The field's own bound, which is narrower, then refuses it.
func readInt(text json.RawMessage) (any, bool) {
	n, ok := readFloat(text)
	if !ok || n != math.Trunc(n.(float64)) {
		return nil, false
	}
	return int64(min(max(n.(float64), math.MinInt32), math.MaxInt32)), true
}

// readFloat accepts a number, and a string with a number as in v1. It refuses numbers that overflow.
func readFloat(text json.RawMessage) (any, bool) {
	if quoted, ok := as[string](text); ok && json.Valid([]byte(quoted.(string))) {
		text = json.RawMessage(strings.TrimSpace(quoted.(string)))
	}
	if len(text) == 0 || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return nil, false
	}
	return as[float64](text)
}

func readDateTime(text json.RawMessage) (any, bool) {
	value, ok := as[string](text)
	if !ok {
		return nil, false
	}
	_, err := model.UnmarshalDateTime(value)
	return value, err == nil
}

func readObject(text json.RawMessage) (any, bool) {
	var object map[string]json.RawMessage
	err := json.Unmarshal(text, &object)
	return text, err == nil
}

func readDateBound(text json.RawMessage) (any, bool) {
	bound, ok := as[string](text)
	if ok {
		_, err := model.ParseDateBound(bound.(string))
		ok = err == nil
	}
	return bound, ok
}

func readable(types map[string]*ast.Definition, fields ast.FieldList, seen map[string]bool) error {
	for _, field := range fields {
		name := field.Type.Name()
		definition := types[name]
		switch {
		case seen[name]:
		case definition.Kind == ast.InputObject:
			seen[name] = true
			if err := readable(types, OfV1(definition.Fields), seen); err != nil {
				return err
			}
		case definition.Kind == ast.Scalar && scalars[name].read == nil:
			return fmt.Errorf("%s has type %s, which the decoder cannot read", field.Name, name)
		}
	}
	return nil
}

func isNull(text json.RawMessage) bool { return string(text) == "null" }

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func clip(name string) string {
	if runes := []rune(name); len(runes) > longestName {
		return string(runes[:longestName]) + "…"
	}
	return name
}
