package db

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/model"
)

// shape compares JSON with the Go types that the program decodes it into. Unlike encoding/json, it reports unknown
// members, duplicate members, and null where a type has no null.
type shape struct{ faults model.Fields }

// member is a field of a struct, by its JSON name.
type member struct {
	name   string
	goType reflect.Type
	// isRequired is set for members of the type model.JSONObject, because GraphQL would read a missing one as null.
	isRequired bool
}

var (
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
	// known caches the members of structs.
	known sync.Map
)

// value records the faults of well-formed JSON that is decoded into the type.
func (s *shape) value(path string, text json.RawMessage, t reflect.Type) {
	isNull := string(text) == "null"
	switch {
	case t.Kind() == reflect.Pointer:
		if !isNull {
			s.value(path, text, t.Elem())
		}
	case reflect.PointerTo(t).Implements(unmarshaler):
		if json.Unmarshal(text, reflect.New(t).Interface()) != nil || isNull && t != reflect.TypeFor[json.RawMessage]() {
			s.faults.Add(path, "must be %s", describeType(t))
		}
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		if !isNull {
			s.list(path, text, t.Elem())
		}
	case t.Kind() == reflect.Struct:
		s.object(path, text, membersOf(t))
	case isNull || json.Unmarshal(text, reflect.New(t).Interface()) != nil:
		s.faults.Add(path, "must be %s", describeType(t))
	}
}

func describeType(t reflect.Type) string {
	name, format := jsonTypeOf(t)
	switch {
	case name == "object":
		return "a JSON object"
	case name == "array":
		return "a list"
	case format == "date-time":
		return "a date-time such as 2026-03-01T09:30:00Z"
	case isEnum(t):
		return "a value of " + t.Name() + enumValues(t)
	case name == "boolean":
		return "true or false"
	case name == "integer":
		return fmt.Sprintf("a whole number of at most %d bits", t.Bits())
	case name == "number":
		return "a number"
	}
	return "a string"
}

// archivedEnums are the values of the enums in archived JSON.
var archivedEnums = []any{
	model.AllAgentTestKind, model.AllAgentTestRunStatus, model.AllCallTransferFailure, model.AllChannel,
	model.AllContactMood, model.AllConversationEnder, model.AllDirection, model.AllEvidenceKind,
	model.AllExtractedValueType, model.AllHTTPMethod, model.AllJudgeSight, model.AllMessageRole, model.AllMockFailureKind,
	model.AllRunErrorCause, model.AllSideEffects, model.AllToolCallApproval, model.AllToolCallKind,
}

// enumValues returns the values of an enum, as the end of a message.
func enumValues(t reflect.Type) string {
	for _, values := range archivedEnums {
		if reflect.TypeOf(values).Elem() == t {
			return ": " + strings.ReplaceAll(strings.Trim(fmt.Sprint(values), "[]"), " ", ", ")
		}
	}
	return ""
}

func isEnum(t reflect.Type) bool {
	return t.Kind() == reflect.String && t.Implements(reflect.TypeFor[interface{ IsValid() bool }]())
}

// jsonTypeOf returns the JSON Schema type and format of a Go type.
func jsonTypeOf(t reflect.Type) (name, format string) {
	switch {
	case t.PkgPath() == "time" && t.Name() == "Time":
		return "string", "date-time"
	case t == reflect.TypeFor[model.JSONObject](), t.Kind() == reflect.Struct, t.Kind() == reflect.Map:
		return "object", ""
	case t.Kind() == reflect.Bool:
		return "boolean", ""
	case t.Kind() == reflect.Float64:
		return "number", ""
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64:
		return "integer", ""
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return "array", ""
	}
	return "string", ""
}

func (s *shape) list(path string, text json.RawMessage, elementType reflect.Type) {
	var elements []json.RawMessage
	if json.Unmarshal(text, &elements) != nil {
		s.faults.Add(path, "must be a list")
		return
	}
	for i, element := range elements {
		s.value(path+"."+strconv.Itoa(i), element, elementType)
	}
}

func (s *shape) object(path string, text json.RawMessage, members []member) {
	given := map[string]bool{}
	err := eachMember(text, func(name string, value json.RawMessage) {
		at := path + "." + shortName(name)
		i := slices.IndexFunc(members, func(m member) bool { return m.name == name })
		switch {
		case i < 0:
			s.faults.Add(at, "is unknown: %s may have %s", path, namesOfMembers(members))
		case given[name]:
			s.faults.Add(at, "occurs twice")
		default:
			s.value(at, value, members[i].goType)
		}
		given[name] = true
	})
	if err != nil {
		s.faults.Add(path, "must be a JSON object")
		return
	}
	for _, m := range members {
		if m.isRequired && !given[m.name] {
			s.faults.Add(path+"."+m.name, "must be given")
		}
	}
}

func namesOfMembers(members []member) string {
	names := model.Map(members, func(m member) string { return m.name })
	return strings.Join(names, ", ")
}

// eachMember calls fn with the members of a JSON object, in order. It returns an error unless text is one JSON object.
func eachMember(text json.RawMessage, fn func(name string, value json.RawMessage)) error {
	text = bytes.TrimSpace(text)
	if !bytes.HasPrefix(text, []byte("{")) || !json.Valid(text) {
		return errors.New("is not a JSON object")
	}
	for rest := afterSpace(text[1:]); rest[0] != '}'; {
		quoted := rest[:valueEnd(rest)]
		name := string(quoted[1 : len(quoted)-1])
		if strings.Contains(name, `\`) || !utf8.ValidString(name) {
			if err := json.Unmarshal(quoted, &name); err != nil {
				return err
			}
		}
		rest = afterSpace(afterSpace(rest[len(quoted):])[1:]) // the colon
		end := valueEnd(rest)
		fn(name, rest[:end:end])
		if rest = afterSpace(rest[end:]); rest[0] == ',' {
			rest = afterSpace(rest[1:])
		}
	}
	return nil
}

func afterSpace(text []byte) []byte { return bytes.TrimLeft(text, " \t\r\n") }

// valueEnd returns the length of the JSON value with which valid JSON begins.
func valueEnd(text []byte) int {
	depth, isText := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case isText && c == '\\':
			i++
		case c == '"':
			if isText = !isText; !isText && depth == 0 {
				return i + 1
			}
		case isText:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth < 0 {
				return i // after a number or a literal
			} else if depth == 0 {
				return i + 1
			}
		case depth == 0 && strings.IndexByte(", \t\r\n", c) >= 0:
			return i
		}
	}
	return len(text)
}

// membersOf returns the members that encoding/json decodes into a struct.
func membersOf(t reflect.Type) []member {
	if members, isKnown := known.Load(t); isKnown {
		return members.([]member)
	}
	members := []member{}
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "-" || field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct {
			continue
		}
		if name == "" {
			name = field.Name
		}
		isRequired := field.Type == reflect.TypeFor[model.JSONObject]() && !strings.Contains(options, "omitempty")
		members = append(members, member{name, field.Type, isRequired})
	}
	known.Store(t, members)
	return members
}

func shortName(name string) string {
	const most = 64
	if len(name) > most {
		name = name[:most] + "…"
	}
	return name
}

// withoutUnknown returns JSON without the members that the type does not have, and the paths of those members, without
// list indexes.
func withoutUnknown(path string, text json.RawMessage, t reflect.Type) (kept json.RawMessage, unknown []string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var values []json.RawMessage
	var names []string
	switch {
	case reflect.PointerTo(t).Implements(unmarshaler):
	case t.Kind() == reflect.Slice && json.Unmarshal(text, &values) == nil:
		for i := range values {
			var more []string
			values[i], more = withoutUnknown(path, values[i], t.Elem())
			unknown = append(unknown, more...)
		}
	case t.Kind() == reflect.Struct:
		members := membersOf(t)
		_ = eachMember(text, func(name string, value json.RawMessage) { // a value that is not an object is left unchanged
			at := strings.TrimPrefix(path+"."+name, ".")
			i := slices.IndexFunc(members, func(m member) bool { return m.name == name })
			if i < 0 {
				unknown = append(unknown, at)
				return
			}
			value, more := withoutUnknown(at, value, members[i].goType)
			quoted, _ := json.Marshal(name)
			names, values, unknown = append(names, string(quoted)+":"), append(values, value), append(unknown, more...)
		})
	}
	if len(unknown) == 0 {
		return text, nil
	}
	opened, closed := "[", "]"
	if t.Kind() == reflect.Struct {
		opened, closed = "{", "}"
	}
	written := bytes.NewBufferString(opened)
	for i, value := range values {
		if i > 0 {
			written.WriteByte(',')
		}
		if i < len(names) {
			written.WriteString(names[i])
		}
		written.Write(value)
	}
	written.WriteString(closed)
	return written.Bytes(), unknown
}
