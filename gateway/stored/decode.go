package stored

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

// MaxFaults bounds the faults of one input.
const MaxFaults = 50

// maxKnown bounds the names of known properties in a fault.
const maxKnown = 30

// longestName bounds the characters of a property's name in a fault.
const longestName = 64

// Decoder reads well-formed JSON as values of the schema's input types. It collects all faults by the path of the
// faulty property ("toolMocking.mockedTools.0.toolId"). Case is ignored in names, the last of equal names counts, and
// null means absent.
type Decoder struct {
	Types map[string]*ast.Definition
	// Strict makes unknown properties faults at every depth.
	Strict bool
	// ListsKnown adds the known properties to the fault of an unknown one.
	ListsKnown bool
	// V1 makes fields with @beyondV1 unknown properties.
	V1 bool
	// Also maps alternative names to members at the top level. Such a name counts only if its value is a list.
	Also map[string]string
	// Emptied names a member at the top level that null sets to "".
	Emptied string
	// Faults are the faults so far, at most MaxFaults.
	Faults model.Fields
	// Spelled maps members to the other name that the client used.
	Spelled map[string]string
	count   int
}

// Object reads a well-formed JSON object with these fields. The result has the fields that were given.
func (d *Decoder) Object(path string, text json.RawMessage, fields ast.FieldList) map[string]any {
	given, ok := d.properties(path, text, fields)
	if !ok {
		return nil
	}
	values := make(map[string]any, len(given))
	for _, field := range fields {
		property, found := given[field.Name]
		switch at := join(path, cmp.Or(d.Spelled[field.Name], field.Name)); {
		case found && !IsNull(property):
			values[field.Name] = d.value(at, property, field.Type)
		case found && path == "" && field.Name == d.Emptied:
			values[field.Name] = ""
		case field.Type.NonNull && field.DefaultValue == nil:
			d.Fault(at, "is required")
		}
	}
	return values
}

func (d *Decoder) properties(path string, text json.RawMessage,
	fields ast.FieldList) (map[string]json.RawMessage, bool) {
	if text[0] != '{' {
		d.Fault(path, "must be an object")
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
		switch other := d.memberByAlias(path, name, property); {
		case other != "":
			others[other] = property
			d.Spelled = map[string]string{other: Clip(name)}
		case i >= 0:
			given[fields[i].Name] = property
		case d.Strict:
			d.Fault(join(path, Clip(name)), "is not a known property%s", d.knownNames(fields))
		}
	}
	for name, property := range others {
		if _, both := given[name]; both {
			d.Fault(d.Spelled[name], "means the same as %s, which is given too: give one of them", name)
		}
		given[name] = property
	}
	return given, true
}

// knownNames returns the names of the known properties, if faults have them.
func (d *Decoder) knownNames(fields ast.FieldList) string {
	if !d.ListsKnown {
		return ""
	}
	return ": the known ones are " + fieldNames(fields[:min(len(fields), maxKnown)])
}

func fieldNames(fields ast.FieldList) string {
	names := model.Map(fields, func(field *ast.FieldDefinition) string { return field.Name })
	return strings.Join(names, ", ")
}

// memberByAlias returns the member that has this other name, or "".
func (d *Decoder) memberByAlias(path, name string, property json.RawMessage) string {
	for also, member := range d.Also {
		if path == "" && property[0] == '[' && strings.EqualFold(also, name) {
			return member
		}
	}
	return ""
}

func (d *Decoder) value(path string, text json.RawMessage, t *ast.Type) any {
	if t.Elem != nil {
		return d.list(path, text, t.Elem)
	}
	definition := d.Types[t.NamedType]
	switch definition.Kind {
	case ast.InputObject:
		outer := d.Strict
		d.Strict = outer || definition.Directives.ForName("strict") != nil
		defer func() { d.Strict = outer }()
		fields := d.visibleFields(definition.Fields)
		values := d.Object(path, text, fields)
		if definition.Directives.ForName("oneOf") != nil && values != nil && len(values) != 1 {
			d.Fault(path, "must have exactly one of %s", fieldNames(fields))
		}
		return values
	case ast.Enum:
		return d.enum(path, text, definition)
	default:
		if t.NamedType == "ID" && !t.NonNull && string(text) == `""` {
			return "" // means none, such as the folder of a test at the root
		}
		s := scalars[t.NamedType]
		value, ok := s.read(text)
		if !ok {
			d.Fault(path, "must be %s", s.wanted)
		}
		return value
	}
}

func (d *Decoder) visibleFields(fields ast.FieldList) ast.FieldList {
	if d.V1 {
		return V1Fields(fields)
	}
	return fields
}

// V1Fields returns the fields without @beyondV1. For v1 clients the others are unknown properties.
func V1Fields(fields ast.FieldList) ast.FieldList {
	return slices.DeleteFunc(slices.Clone(fields),
		func(f *ast.FieldDefinition) bool { return f.Directives.ForName("beyondV1") != nil })
}

func (d *Decoder) list(path string, text json.RawMessage, element *ast.Type) any {
	var elements []json.RawMessage
	if json.Unmarshal(text, &elements) != nil {
		d.Fault(path, "must be an array")
		return nil
	}
	values := make([]any, len(elements))
	for i, e := range elements {
		at := join(path, strconv.Itoa(i))
		switch {
		case !IsNull(e):
			values[i] = d.value(at, e, element)
		case element.NonNull:
			d.Fault(at, "must not be null")
		}
	}
	return values
}

func (d *Decoder) enum(path string, text json.RawMessage, definition *ast.Definition) any {
	name, ok := as[string](text)
	var names []string
	for _, v := range definition.EnumValues {
		if ok && strings.EqualFold(v.Name, name.(string)) {
			return v.Name
		}
		names = append(names, v.Name)
	}
	d.Fault(path, "must be one of %s", strings.Join(names, ", "))
	return nil
}

// Fault adds a fault, unless there are MaxFaults.
func (d *Decoder) Fault(path, format string, args ...any) {
	if d.count < MaxFaults {
		d.count++
		d.Faults.Add(path, format, args...)
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

// Readable returns an error if the decoder cannot read a type of the fields or of the fields below them.
func (d *Decoder) Readable(fields ast.FieldList) error { return d.readable(fields, map[string]bool{}) }

func (d *Decoder) readable(fields ast.FieldList, seen map[string]bool) error {
	for _, field := range fields {
		name := field.Type.Name()
		definition := d.Types[name]
		switch {
		case seen[name]:
		case definition.Kind == ast.InputObject:
			seen[name] = true
			if err := d.readable(d.visibleFields(definition.Fields), seen); err != nil {
				return err
			}
		case definition.Kind == ast.Scalar && scalars[name].read == nil:
			return fmt.Errorf("%s has type %s, which the decoder cannot read", field.Name, name)
		}
	}
	return nil
}

// IsNull reports whether the JSON is null.
func IsNull(text json.RawMessage) bool { return string(text) == "null" }

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Clip shortens a name that the client sent.
func Clip(name string) string {
	if runes := []rune(name); len(runes) > longestName {
		return string(runes[:longestName]) + "…"
	}
	return name
}
