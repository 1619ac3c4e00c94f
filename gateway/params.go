package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/tidwall/gjson"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/model"
)

// fault is an error of an HTTP request that has no readable GraphQL request.
type fault struct {
	status int
	err    *model.Error
}

func refusal(status int, format string, args ...any) *fault {
	code := model.BadInput
	switch status {
	case http.StatusRequestEntityTooLarge:
		code = model.LimitExceeded
	case http.StatusServiceUnavailable:
		code = model.Unavailable
	}
	return &fault{status: status, err: model.Errorf(code, format, args...)}
}

// deny answers with a fault.
func (x exchange) deny(f *fault) { f.write(x.r.Context(), x.w, x.accept) }

func (f *fault) write(ctx context.Context, w http.ResponseWriter, a accept) {
	writeResponse(w, f.status, a.errorType(), &graphql.Response{Errors: gqlerror.List{publicError(ctx, f.err)}})
}

// request is a GraphQL request. variables is the text of the variables, because decoding loses the order of their keys.
type request struct {
	*graphql.RawParams
	variables json.RawMessage
	// documentID names the document instead of the query; it may be "".
	documentID string
}

func (r request) isEmpty() bool {
	return r.Query == "" && r.documentID == "" && r.Extensions["persistedQuery"] == nil
}

// decodeParams reads the members of a GraphQL request from one JSON object. It ignores unknown members and keeps the
// spelling of numbers. Messages never quote the text.
func decodeParams(text []byte) (request, *fault) {
	members, err := requestMembers(text)
	if err != nil {
		return request{}, refusal(http.StatusBadRequest, "%s", err)
	}
	params := &graphql.RawParams{}
	var documentID string
	for _, member := range []struct {
		name string
		text *string
	}{{"query", &params.Query}, {"operationName", &params.OperationName}, {"documentId", &documentID}} {
		switch value := members[member.name]; value.Type {
		case gjson.Null:
		case gjson.String:
			if *member.text = value.Str; strings.Contains(value.Raw, `\u`) {
				_ = json.Unmarshal([]byte(value.Raw), member.text) // json.Unmarshal handles surrogate pairs
			}
		default:
			return request{}, refusal(http.StatusBadRequest, "%s must be a string", member.name)
		}
	}
	for _, member := range []struct {
		name   string
		object *map[string]any
	}{{"variables", &params.Variables}, {"extensions", &params.Extensions}} {
		if !decodeObject(members[member.name], member.object) {
			return request{}, refusal(http.StatusBadRequest, "%s must be an object", member.name)
		}
	}
	r := request{params, json.RawMessage(members["variables"].Raw), documentID}
	if r.isEmpty() {
		return request{}, refusal(http.StatusBadRequest, "query is missing")
	}
	return r, nil
}

// decodeObject decodes a JSON object. Null leaves the map nil. It returns false for everything else.
func decodeObject(value gjson.Result, object *map[string]any) bool {
	if value.Type == gjson.Null {
		return true
	}
	if flat, ok := flatObject(value); ok {
		*object = flat
		return true
	}
	return unmarshal([]byte(value.Raw), object) == nil
}

// flatObject decodes an object of strings, numbers, booleans and nulls in one pass. Most variables have this form. It
// returns false for other values, even if they are valid objects.
func flatObject(value gjson.Result) (map[string]any, bool) {
	if !value.IsObject() || strings.Contains(value.Raw, `\u`) {
		return nil, false
	}
	object, isFlat := make(map[string]any, 2), true
	value.ForEach(func(name, value gjson.Result) bool {
		switch value.Type {
		case gjson.Null:
			object[name.Str] = nil
		case gjson.String:
			object[name.Str] = value.Str
		case gjson.Number:
			object[name.Str] = json.Number(value.Raw)
		case gjson.True, gjson.False:
			object[name.Str] = value.Bool()
		default:
			isFlat = false
		}
		return isFlat
	})
	return object, isFlat
}

// requestMembers returns the members of a JSON object. If a name occurs several times, the last one counts.
func requestMembers(text []byte) (map[string]gjson.Result, error) {
	// The bounds come first, because they limit the depth for the code below.
	bounded := model.CheckJSON(text)
	if bounded != nil || !utf8.Valid(text) || !gjson.ValidBytes(text) {
		var any json.RawMessage
		if err := unmarshal(text, &any); err != nil {
			return nil, err
		}
		return nil, cmp.Or(bounded, errors.New("the request is not valid JSON"))
	}
	if at := model.HalfPair(text); at >= 0 {
		return nil, fmt.Errorf("the request has half of a surrogate pair at byte %d: send whole characters", at)
	}
	object := gjson.ParseBytes(text)
	if !object.IsObject() {
		return nil, errors.New("the request must be a JSON object")
	}
	members := make(map[string]gjson.Result, 4)
	object.ForEach(func(name, value gjson.Result) bool {
		key := name.Str
		if strings.Contains(name.Raw, `\u`) {
			_ = json.Unmarshal([]byte(name.Raw), &key)
		}
		members[key] = value
		return true
	})
	return members, nil
}

// urlParams reads a GraphQL request from a URL's query string. An empty parameter counts as absent.
func urlParams(query url.Values) (request, *fault) {
	params := &graphql.RawParams{Query: query.Get("query"), OperationName: query.Get("operationName")}
	for name, target := range map[string]*map[string]any{"variables": &params.Variables,
		"extensions": &params.Extensions} {
		text := query.Get(name)
		if text == "" {
			continue
		}
		if err := model.CheckJSON([]byte(text)); err != nil {
			return request{}, refusal(http.StatusBadRequest, "the parameter %s: %s", name, err)
		}
		if err := unmarshal([]byte(text), target); err != nil {
			return request{}, refusal(http.StatusBadRequest, "the parameter %s must be a JSON object", name)
		}
		if at := model.HalfPair([]byte(text)); at >= 0 {
			return request{}, refusal(http.StatusBadRequest, "the parameter %s has half of a surrogate pair at byte %d: send "+
				"whole characters", name, at)
		}
	}
	r := request{params, json.RawMessage(query.Get("variables")), query.Get("documentId")}
	if r.isEmpty() {
		return request{}, refusal(http.StatusBadRequest, "the parameter query is missing")
	}
	return r, nil
}

// unmarshal does the same as json.Unmarshal, but it keeps the spelling of numbers, and its errors do not quote the
// text.
func unmarshal(text []byte, target any) error {
	if !utf8.Valid(text) {
		return errors.New("the request is not UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err := decoder.Decode(target)
	var wrongType *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrongType):
		return errors.New("the request must be a JSON object")
	case errors.As(err, &syntax):
		return cmp.Or(model.CheckJSON(text), fmt.Errorf("the request is not valid JSON, at byte %d", syntax.Offset))
	case err != nil:
		return errors.New("the request is not valid JSON: it ends too early")
	}
	if len(bytes.TrimSpace(text[decoder.InputOffset():])) > 0 {
		return fmt.Errorf("the request has data after its JSON value, at byte %d", decoder.InputOffset())
	}
	return nil
}
