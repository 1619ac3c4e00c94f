package model

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/99designs/gqlgen/graphql"
)

const dateTimeLayout = "2006-01-02T15:04:05.000Z"

// MarshalDateTime writes a time as the DateTime scalar: UTC, milliseconds.
func MarshalDateTime(t time.Time) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) {
		_, _ = io.WriteString(w, strconv.Quote(t.UTC().Format(dateTimeLayout)))
	})
}

// UnmarshalDateTime reads the DateTime scalar: an RFC 3339 date-time with any offset.
func UnmarshalDateTime(v any) (time.Time, error) {
	s, ok := v.(string)
	if !ok {
		return time.Time{}, Errorf(BadInput, "a DateTime is a text such as 2026-03-01T09:30:00.000Z")
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if year := t.UTC().Year(); err != nil || year < 1 || year > 9999 {
		return time.Time{}, Errorf(BadInput, "%q is not an RFC 3339 date-time such as 2026-03-01T09:30:00.000Z", s)
	}
	return t.UTC(), nil
}

// JSONObject is the text of a JSON object. Its zero value stands for {}.
type JSONObject json.RawMessage

// ObjectOf returns v, which must marshal to a JSON object, as a JSONObject.
func ObjectOf(v any) (JSONObject, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return JSONObject(text), nil
}

// text is the object as text. What is to be shown is made of it: gqlgen takes the zero value for null.
func (o JSONObject) text() []byte {
	if len(o) == 0 {
		return []byte("{}")
	}
	return o
}

// MarshalJSON returns the text.
func (o JSONObject) MarshalJSON() ([]byte, error) { return o.text(), nil }

// UnmarshalJSON keeps the text of a JSON object and refuses any other value.
func (o *JSONObject) UnmarshalJSON(text []byte) error {
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return errors.New("is not a JSON object")
	}
	*o = bytes.Clone(text)
	return nil
}

// MarshalGQL writes the text.
func (o JSONObject) MarshalGQL(w io.Writer) { _, _ = w.Write(o.text()) }

// UnmarshalGQL reads an object, and keeps the order of its keys when it is given as text.
func (o *JSONObject) UnmarshalGQL(v any) error {
	// A variable comes as the client spelled it, a literal as a map, which has no order.
	text, ok := v.(json.RawMessage)
	if _, literal := v.(map[string]any); literal {
		var err error
		if text, err = json.Marshal(v); err != nil {
			return Errorf(BadInput, "a JSONObject holds JSON values only")
		}
		ok = true
	}
	var compact bytes.Buffer
	if !ok || json.Compact(&compact, text) != nil || !bytes.HasPrefix(compact.Bytes(), []byte("{")) {
		return Errorf(BadInput, "a JSONObject is a JSON object")
	}
	*o = compact.Bytes()
	return nil
}

// Value stores the text.
func (o JSONObject) Value() (driver.Value, error) { return string(o.text()), nil }

// Scan reads the text from a json column.
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

// MarshalUpload writes nothing of a file: it is only ever an input.
func MarshalUpload(graphql.Upload) graphql.Marshaler { return graphql.Null }

// UnmarshalUpload reads the Upload scalar: a file of a multipart request.
func UnmarshalUpload(v any) (graphql.Upload, error) {
	upload, ok := v.(graphql.Upload)
	if !ok {
		return graphql.Upload{}, Errorf(BadInput, "an Upload is a file of a multipart request")
	}
	return upload, nil
}
