package engine

import (
	"encoding/json"
	"strings"
)

// member is a name in a JSON object with its value.
type member struct {
	name  string
	value any
}

// object is a JSON object whose names have an order.
type object []member

// inOrder returns valid JSON in its compact form, without U+0000 and with its names in their original order. A repeated
// name has its first place and its last value.
func inOrder(text string) string {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var compact strings.Builder
	write(&compact, nextInOrder(decoder))
	return compact.String()
}

func nextInOrder(decoder *json.Decoder) any {
	token, _ := decoder.Token()
	switch token := token.(type) {
	case string:
		return withoutZero(token)
	case json.Delim:
		if token == '[' {
			return listInOrder(decoder)
		}
		return objectInOrder(decoder)
	}
	return token
}

func listInOrder(decoder *json.Decoder) any {
	list := []any{}
	for decoder.More() {
		list = append(list, nextInOrder(decoder))
	}
	_, _ = decoder.Token()
	return list
}

func objectInOrder(decoder *json.Decoder) any {
	members := object{}
	places := map[string]int{}
	for decoder.More() {
		token, _ := decoder.Token()
		name, _ := token.(string)
		name = withoutZero(name)
		value := nextInOrder(decoder)
		if place, twice := places[name]; twice {
			members[place].value = value
			continue
		}
		places[name] = len(members)
		members = append(members, member{name, value})
	}
	_, _ = decoder.Token()
	return members
}

// write appends a value as compact JSON. Objects are of type object.
func write(to *strings.Builder, value any) {
	switch value := value.(type) {
	case []any:
		to.WriteByte('[')
		for i, inner := range value {
			if i > 0 {
				to.WriteByte(',')
			}
			write(to, inner)
		}
		to.WriteByte(']')
	case object:
		to.WriteByte('{')
		for i, m := range value {
			if i > 0 {
				to.WriteByte(',')
			}
			to.WriteString(encode(m.name) + ":")
			write(to, m.value)
		}
		to.WriteByte('}')
	default:
		to.WriteString(encode(value))
	}
}
