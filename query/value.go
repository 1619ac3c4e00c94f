package query

import (
	"bytes"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/model"
)

// writeValue appends a stored value to the response, nil for NULL, and reports whether it could.
type writeValue func(a *response, dst, value []byte) ([]byte, bool)

var (
	timeType    = reflect.TypeFor[time.Time]()
	objectType  = reflect.TypeFor[model.JSONObject]()
	creditsType = reflect.TypeFor[model.Credits]()
)

// column returns the writer of a column's values. goType is the Go type of the row's field.
func (c *compiler) column(fieldType *ast.Type, goType reflect.Type, set ast.SelectionSet) writeValue {
	given, optional := goType, goType.Kind() == reflect.Pointer
	if optional {
		goType = goType.Elem()
	}
	var write func(dst, value []byte) []byte
	zero := "null"
	switch {
	case goType == timeType:
		write = func(dst, value []byte) []byte { return appendTime(dst, timeOf(value)) }
	case goType == creditsType:
		write = func(dst, value []byte) []byte { return append(dst, model.Credits(integerOf(value)).String()...) }
		zero = "0"
	case goType == objectType:
		write = func(dst, value []byte) []byte { return append(dst, value...) }
	case goType.Kind() == reflect.String:
		write, zero = appendText[[]byte], `""`
	case goType.Kind() == reflect.Int32 || goType.Kind() == reflect.Int64:
		write = func(dst, value []byte) []byte { return strconv.AppendInt(dst, integerOf(value), 10) }
		zero = "0"
	case goType.Kind() == reflect.Float64:
		write = func(dst, value []byte) []byte { return appendFloat(dst, floatOf(value)) }
		zero = "0"
	case goType.Kind() == reflect.Bool:
		write = func(dst, value []byte) []byte { return strconv.AppendBool(dst, value[0] != 0) }
		zero = "false"
	default: // everything else is stored as JSON
		return c.stored(fieldType, given, set)
	}
	if optional {
		zero = "null"
	}
	refused := zero == "null" && fieldType.NonNull
	return func(_ *response, dst, value []byte) ([]byte, bool) {
		if value == nil {
			return append(dst, zero...), !refused
		}
		return write(dst, value), true
	}
}

// stored returns the writer of a JSON column's value, or of a part of the value. encoding/json must have made it from
// the Go type. stored returns nil when the value has parts that cannot be planned.
func (c *compiler) stored(fieldType *ast.Type, in reflect.Type, set ast.SelectionSet) writeValue {
	optional := in.Kind() == reflect.Pointer
	if optional {
		in = in.Elem()
	}
	write := c.storedValue(fieldType, in, set)
	if write == nil {
		return nil
	}
	return func(a *response, dst, value []byte) ([]byte, bool) {
		if value == nil || string(value) == "null" {
			if !optional || in.Kind() == reflect.Slice {
				return write(a, dst, nil)
			}
			return append(dst, "null"...), !fieldType.NonNull
		}
		return write(a, dst, value)
	}
}

// storedValue does the same as stored, for a value that exists. A nil value means Go's zero value.
func (c *compiler) storedValue(fieldType *ast.Type, in reflect.Type, set ast.SelectionSet) writeValue {
	switch {
	case in == timeType:
		return storedTime
	case in == objectType:
		return func(_ *response, dst, value []byte) ([]byte, bool) {
			return append(dst, value...), value != nil
		}
	case in.Kind() == reflect.String:
		return storedText
	case in.Kind() == reflect.Int32:
		return storedInteger
	case in.Kind() == reflect.Float64:
		return func(_ *response, dst, value []byte) ([]byte, bool) {
			if value == nil {
				return append(dst, '0'), true
			}
			number, err := strconv.ParseFloat(string(value), 64)
			return appendFloat(dst, number), err == nil
		}
	case in.Kind() == reflect.Bool:
		return func(_ *response, dst, value []byte) ([]byte, bool) {
			is := string(value) == "true"
			return strconv.AppendBool(dst, is), is || value == nil || string(value) == "false"
		}
	case in.Kind() == reflect.Slice && fieldType.Elem != nil:
		return c.storedList(fieldType, in, set)
	case in.Kind() == reflect.Struct && fieldType.Elem == nil:
		return c.storedObject(fieldType, in, set)
	}
	return nil
}

func storedTime(_ *response, dst, value []byte) ([]byte, bool) {
	if value == nil {
		return appendTime(dst, time.Time{}), true
	}
	at, err := time.Parse(time.RFC3339Nano, string(bytes.Trim(value, `"`)))
	return appendTime(dst, at), err == nil
}

func storedText(_ *response, dst, value []byte) ([]byte, bool) {
	if value == nil {
		return append(dst, `""`...), true
	}
	if len(value) < 2 || value[0] != '"' {
		return dst, false
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return append(dst, value...), true
	}
	return appendText(dst, unescape(value[1:len(value)-1])), true
}

func storedInteger(_ *response, dst, value []byte) ([]byte, bool) {
	if value == nil {
		return append(dst, '0'), true
	}
	number, err := strconv.ParseInt(string(value), 10, 32)
	return strconv.AppendInt(dst, number, 10), err == nil
}

func (c *compiler) storedList(fieldType *ast.Type, in reflect.Type, set ast.SelectionSet) writeValue {
	write := c.stored(fieldType.Elem, in.Elem(), set)
	if write == nil {
		return nil
	}
	return func(a *response, dst, value []byte) ([]byte, bool) {
		if value == nil {
			if fieldType.NonNull {
				return append(dst, "[]"...), true
			}
			return append(dst, "null"...), true
		}
		var list reader
		if !list.open(value, '[') {
			return dst, false
		}
		dst = append(dst, '[')
		for n := 0; list.element(); n++ {
			if n > 0 {
				dst = append(dst, ',')
			}
			var ok bool
			if dst, ok = write(a, dst, list.value); !ok {
				return dst, false
			}
			if dst = a.reserveWritten(dst); a.isFallback {
				return dst, false
			}
		}
		return append(dst, ']'), true
	}
}

type objectField struct {
	// head is the field's name in the response, with the punctuation around it.
	head  string
	name  string
	write writeValue
}

func (c *compiler) storedObject(fieldType *ast.Type, in reflect.Type, set ast.SelectionSet) writeValue {
	var parts []objectField
	for i, field := range c.fields(fieldType.Name(), set) {
		head := headOf(i, field.Alias)
		if field.Name == "__typename" {
			parts = append(parts, objectField{head: head + `"` + fieldType.Name() + `"`})
			continue
		}
		member, known := goField(in, field.Name)
		if !known {
			return nil
		}
		write := c.stored(field.Definition.Type, member.Type, field.Selections)
		if write == nil {
			return nil
		}
		parts = append(parts, objectField{head: head, name: jsonName(member), write: write})
	}
	return func(a *response, dst, value []byte) ([]byte, bool) {
		var few [12][]byte
		found := few[:]
		if len(parts) > len(few) {
			found = make([][]byte, len(parts))
		}
		var object reader
		if value != nil && !object.open(value, '{') {
			return dst, false
		}
		for value != nil && object.member() {
			for i := range parts {
				if parts[i].name == string(object.name) {
					found[i] = object.value
				}
			}
		}
		dst = append(dst, '{')
		for i := range parts {
			dst = append(dst, parts[i].head...)
			if parts[i].write == nil {
				continue
			}
			var ok bool
			if dst, ok = parts[i].write(a, dst, found[i]); !ok {
				return dst, false
			}
			if dst = a.reserveWritten(dst); a.isFallback {
				return dst, false
			}
		}
		return append(dst, '}'), true
	}
}

// headOf returns the text before the value of an object's nth field.
func headOf(n int, alias string) string {
	if n > 0 {
		return `,"` + alias + `":`
	}
	return `"` + alias + `":`
}

// goField returns the struct field that a GraphQL field is bound to, or false. gqlgen would prefer a method with the
// name, so a test checks that there is none. goField does not look for methods itself, because the linker would then
// keep the methods of all types.
func goField(in reflect.Type, name string) (reflect.StructField, bool) {
	return in.FieldByNameFunc(func(field string) bool { return token.IsExported(field) && strings.EqualFold(field, name) })
}

func jsonName(field reflect.StructField) string {
	if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
		return name
	}
	return field.Name
}
