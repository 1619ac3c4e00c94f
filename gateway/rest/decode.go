package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/model"
)

// Bounds of a problem's faults, whatever the size of the body.
const (
	mostFaults  = 50
	longestName = 64
)

// decoder reads well-formed JSON as values of the schema's input types. It collects all faults by the path of the
// faulty property ("toolMocking.mockedTools.0.toolId"). Names are matched ignoring case, the last of equal ones counts,
// and null means absent.
type decoder struct {
	types  map[string]*ast.Definition
	strict bool
	faults model.Fields
}

// object reads a JSON object with these fields. The result holds the given ones.
func (d *decoder) object(path string, text json.RawMessage, fields ast.FieldList) map[string]any {
	given, ok := d.properties(path, text, fields)
	if !ok {
		return nil
	}
	values := make(map[string]any, len(given))
	for _, field := range fields {
		property, found := given[field.Name]
		switch at := join(path, field.Name); {
		case found && !isNull(property):
			values[field.Name] = d.value(at, property, field.Type)
		case field.Type.NonNull && field.DefaultValue == nil:
			d.fault(at, "is required")
		}
	}
	return values
}

// properties returns the properties of a JSON object by field name.
func (d *decoder) properties(path string, text json.RawMessage, fields ast.FieldList) (map[string]json.RawMessage, bool) {
	if text[0] != '{' {
		d.fault(path, "must be an object")
		return nil, false
	}
	given := map[string]json.RawMessage{}
	input := json.NewDecoder(bytes.NewReader(text))
	if _, err := input.Token(); err != nil {
		return nil, false
	}
	for input.More() {
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
		if i >= 0 {
			given[fields[i].Name] = property
		} else if d.strict {
			d.fault(join(path, clip(name)), "is not a known property")
		}
	}
	return given, true
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
		return d.object(path, text, ofV1(definition.Fields))
	case ast.Enum:
		return d.enum(path, text, definition)
	default:
		if t.NamedType == "ID" && !t.NonNull && string(text) == `""` {
			return "" // stands for none, such as the folder of a test at the root
		}
		s := scalars[t.NamedType]
		value, ok := s.read(text)
		if !ok {
			d.fault(path, "must be %s", s.wanted)
		}
		return value
	}
}

// ofV1 returns the fields that v1 has. To its clients the others are unknown properties.
func ofV1(fields ast.FieldList) ast.FieldList {
	var known ast.FieldList
	for _, field := range fields {
		if field.Directives.ForName("beyondV1") == nil {
			known = append(known, field)
		}
	}
	return known
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
	if ok && definition.EnumValues.ForName(name.(string)) != nil {
		return name
	}
	var names []string
	for _, v := range definition.EnumValues {
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

// scalar reads a scalar of the schema from JSON.
type scalar struct {
	wanted string
	read   func(json.RawMessage) (any, bool)
}

var scalars = map[string]scalar{
	"String":     {"a string", as[string]},
	"Boolean":    {"true or false", as[bool]},
	"ID":         {"a string that is not empty and holds no U+0000", readID},
	"Int":        {fmt.Sprintf("a whole number between %d and %d", math.MinInt32, math.MaxInt32), readInt},
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

// readInt accepts a whole number in any spelling: 6, 6.0 and 6e0 are the same number in JSON.
func readInt(text json.RawMessage) (any, bool) {
	n, err := strconv.ParseFloat(string(text), 64)
	return int64(n), err == nil && n == math.Trunc(n) && n >= math.MinInt32 && n <= math.MaxInt32
}

// readFloat refuses numbers that overflow.
func readFloat(text json.RawMessage) (any, bool) { return as[float64](text) }

// readDateTime keeps the text.
func readDateTime(text json.RawMessage) (any, bool) {
	value, ok := as[string](text)
	if !ok {
		return nil, false
	}
	_, err := model.UnmarshalDateTime(value)
	return value, err == nil
}

// readObject keeps the object's spelling.
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

// readable returns an error if the decoder cannot read a type.
func readable(types map[string]*ast.Definition, fields ast.FieldList, seen map[string]bool) error {
	for _, field := range fields {
		name := field.Type.Name()
		definition := types[name]
		switch {
		case seen[name]:
		case definition.Kind == ast.InputObject:
			seen[name] = true
			if err := readable(types, ofV1(definition.Fields), seen); err != nil {
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
