package model

import (
	"bytes"
	"cmp"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/99designs/gqlgen/graphql"
)

const dateTimeLayout = "2006-01-02T15:04:05.000Z"

// MarshalDateTime writes a time as the DateTime scalar: UTC, milliseconds.
func MarshalDateTime(t time.Time) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) {
		_, _ = io.WriteString(w, strconv.Quote(t.UTC().Format(dateTimeLayout)))
	})
}

// dateTime matches the parts of an ISO 8601 date-time: date, hours and minutes, seconds, and offset.
var dateTime = regexp.MustCompile(
	`^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2})(:\d{2}(?:\.\d{1,9})?)?([Zz]|[+-]\d{2}(?::?\d{2})?)?$`)

// parseDateTime parses a date-time of a client. Seconds, the offset, and the minutes or the colon of the offset are
// optional. A time without an offset is in UTC. It returns false for anything else.
func parseDateTime(text string) (time.Time, bool) {
	parts := dateTime.FindStringSubmatch(text)
	if parts == nil {
		return time.Time{}, false
	}
	seconds, offset := cmp.Or(parts[3], ":00"), strings.ToUpper(cmp.Or(parts[4], "Z"))
	if digits := strings.ReplaceAll(offset, ":", ""); digits != "Z" {
		digits = (digits + "00")[:len("+0000")]
		offset = digits[:len("+00")] + ":" + digits[len("+00"):]
	}
	at, err := time.Parse(time.RFC3339Nano, parts[1]+"T"+parts[2]+seconds+offset)
	year := at.UTC().Year()
	return at.UTC(), err == nil && year >= 1 && year <= 9999
}

// UnmarshalDateTime parses the DateTime scalar: an ISO 8601 date-time, in UTC if it has no offset. As for all scalars,
// the error's message lacks the name of the field, which the gateway puts in front.
func UnmarshalDateTime(v any) (time.Time, error) {
	s, _ := v.(string)
	t, ok := parseDateTime(s)
	if !ok {
		return time.Time{}, Errorf(BadInput, "must be a date-time such as 2026-03-01T09:30:00.000Z")
	}
	return t, nil
}

// MarshalID writes an id.
func MarshalID(id string) graphql.Marshaler { return graphql.MarshalID(id) }

// UnmarshalID parses the ID scalar. It returns BAD_INPUT for a text that Postgres cannot compare with an id.
func UnmarshalID(v any) (string, error) {
	id, err := graphql.UnmarshalID(v)
	if err == nil && strings.ContainsRune(id, 0) {
		return "", Errorf(BadInput, "must not contain the character U+0000")
	}
	return id, err
}

// JSONObject is the text of a JSON object. Its zero value is {}.
type JSONObject json.RawMessage

// ObjectOf encodes v as a JSONObject. v must marshal to a JSON object.
func ObjectOf(v any) (JSONObject, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return JSONObject(text), nil
}

// text returns the object as JSON. Use it for all output, because gqlgen treats the zero value as null.
func (o JSONObject) text() []byte {
	if len(o) == 0 {
		return []byte("{}")
	}
	return o
}

// MarshalJSON returns the text.
func (o JSONObject) MarshalJSON() ([]byte, error) { return o.text(), nil }

// UnmarshalJSON stores the text of a JSON object unchanged, and refuses any other value.
func (o *JSONObject) UnmarshalJSON(text []byte) error {
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return errors.New("is not a JSON object")
	}
	*o = bytes.Clone(text)
	return nil
}

// MarshalGQL writes the text.
func (o JSONObject) MarshalGQL(w io.Writer) { _, _ = w.Write(o.text()) }

// Spelled is the only key of a map that stands in for an object or a number of a literal, so that the order of the
// members and the spelling of the number are preserved. For an object, the value is a list of maps with at most one
// member each. For a number, the value is its spelling.
const Spelled = ""

// UnmarshalGQL decodes an object, and preserves the order of its keys.
func (o *JSONObject) UnmarshalGQL(v any) error {
	// The value of a variable is the client's text. A literal in the query is a map.
	text, ok := v.(json.RawMessage)
	if members, literal := v.(map[string]any); literal {
		var written bytes.Buffer
		if err := writeSpelled(&written, members); err != nil {
			return Errorf(BadInput, "must have only JSON values")
		}
		text, ok = written.Bytes(), true
	}
	var compact bytes.Buffer
	if !ok || json.Compact(&compact, text) != nil || !bytes.HasPrefix(compact.Bytes(), []byte("{")) {
		return Errorf(BadInput, "must be an object")
	}
	if HalfPair(compact.Bytes()) >= 0 {
		return Errorf(BadInput, "must not contain half of a surrogate pair")
	}
	*o = compact.Bytes()
	return nil
}

// HalfPair returns the index of the first unpaired surrogate in a JSON text, or -1. It is not a character. Postgres
// refuses it, and decoders replace it by U+FFFD.
func HalfPair(text []byte) int {
	if !bytes.Contains(text, []byte(`\u`)) {
		return -1
	}
	unit := func(at int) rune {
		if at+6 > len(text) || text[at] != '\\' || text[at+1] != 'u' {
			return 0
		}
		unit, _ := strconv.ParseUint(string(text[at+2:at+6]), 16, 16)
		return rune(unit)
	}
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		if first := unit(i); utf16.IsSurrogate(first) {
			if utf16.DecodeRune(first, unit(i+6)) == unicode.ReplacementChar {
				return i
			}
			i += 6
		}
		i++
	}
	return -1
}

// writeSpelled encodes a value, whose parts may have the form of Spelled, as JSON.
func writeSpelled(w *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case map[string]any:
		switch spelled := v[Spelled].(type) {
		case string:
			w.WriteString(spelled)
			return nil
		case []any:
			return writeMembers(w, spelled)
		}
	case []any:
		w.WriteByte('[')
		for i, element := range v {
			if i > 0 {
				w.WriteByte(',')
			}
			if err := writeSpelled(w, element); err != nil {
				return err
			}
		}
		w.WriteByte(']')
		return nil
	}
	text, err := json.Marshal(v)
	w.Write(text)
	return err
}

func writeMembers(w *bytes.Buffer, members []any) error {
	separator := byte('{')
	for _, member := range members {
		one, _ := member.(map[string]any)
		for key, value := range one { // no key if the variable of its value was not given
			name, err := json.Marshal(key)
			if err != nil {
				return err
			}
			w.WriteByte(separator)
			w.Write(name)
			w.WriteByte(':')
			if err := writeSpelled(w, value); err != nil {
				return err
			}
			separator = ','
		}
	}
	if separator == '{' {
		w.WriteByte('{')
	}
	w.WriteByte('}')
	return nil
}

// Value stores the text.
func (o JSONObject) Value() (driver.Value, error) { return string(o.text()), nil }

// Scan sets the text from a json column.
func (o *JSONObject) Scan(src any) error {
	switch text := src.(type) {
	case []byte:
		*o = bytes.Clone(text)
	case string:
		*o = JSONObject(text)
	case nil:
		*o = nil
	default:
		return fmt.Errorf("scan %T into a JSON object", src)
	}
	return nil
}

// MarshalUpload writes null, because files are only inputs.
func MarshalUpload(graphql.Upload) graphql.Marshaler { return graphql.Null }

// UnmarshalUpload returns the file of an Upload scalar in a multipart request.
func UnmarshalUpload(v any) (graphql.Upload, error) {
	upload, ok := v.(graphql.Upload)
	if !ok {
		return graphql.Upload{}, Errorf(BadInput, "must be a file of a multipart request")
	}
	return upload, nil
}
