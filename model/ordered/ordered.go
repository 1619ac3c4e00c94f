// Package ordered decodes and encodes JSON, and preserves the order of members in objects.
package ordered

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxDepth is the maximum nesting of lists and objects.
const maxDepth = 1000

// Object is a JSON object.
type Object []Member

// Member is a member of an object.
type Member struct {
	Name  string
	Value any
}

// MarshalJSON writes the members in their order. The calling encoder escapes <, > and & if it should.
func (o Object) MarshalJSON() ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	text.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			text.WriteByte(',')
		}
		if err := encoder.Encode(m.Name); err != nil {
			return nil, err
		}
		text.Truncate(text.Len() - len("\n"))
		text.WriteByte(':')
		if err := encoder.Encode(m.Value); err != nil {
			return nil, err
		}
		text.Truncate(text.Len() - len("\n"))
	}
	text.WriteByte('}')
	return text.Bytes(), nil
}

// Decode decodes one JSON value as nil, a bool, a string, a []any or an Object. number decodes numbers.
func Decode(text []byte, number func(json.Number) (any, error)) (any, error) {
	d := decoder{json.NewDecoder(bytes.NewReader(text)), number}
	d.UseNumber()
	value, err := d.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more text after the JSON")
	}
	return value, nil
}

// AsSpelled returns a number with its original spelling.
func AsSpelled(number json.Number) (any, error) { return number, nil }

type decoder struct {
	*json.Decoder
	number func(json.Number) (any, error)
}

func (d decoder) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("is nested deeper than %d levels", maxDepth)
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Number:
		return d.number(token)
	case json.Delim:
		if token == '{' {
			return members(d.Decoder, func() (any, error) { return d.value(depth + 1) })
		}
		list := []any{}
		for d.More() {
			value, err := d.value(depth + 1)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err := d.Token()
		return list, err
	}
	return token, nil
}

// members decodes an object after its first brace. A repeated name keeps its first position and gets the last value.
func members(d *json.Decoder, decodeValue func() (any, error)) (Object, error) {
	object, places := Object{}, map[string]int{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		value, err := decodeValue()
		if err != nil {
			return nil, err
		}
		if place, known := places[name.(string)]; known {
			object[place].Value = value
			continue
		}
		places[name.(string)] = len(object)
		object = append(object, Member{name.(string), value})
	}
	_, err := d.Token()
	return object, err
}

// Members decodes only the top level of a JSON object: each value is a json.RawMessage in its original spelling. It
// returns an error for any other value, and ignores text after the object.
func Members(text []byte) (Object, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return nil, errors.New("is not a JSON object")
	}
	return members(decoder, func() (any, error) {
		var value json.RawMessage
		err := decoder.Decode(&value)
		return value, err
	})
}
