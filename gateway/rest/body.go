package rest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/gateway/form"
	"github.com/agentgraph/agentgraph/gateway/stored"
	"github.com/agentgraph/agentgraph/model"
)

// readBody adds the members of the JSON body to the variables. The result usedAliases maps members to the other name
// that the client used.
func (t *Transport) readBody(w http.ResponseWriter, r *http.Request, e *endpoint,
	variables map[string]any) (usedAliases map[string]string, fault *problem) {
	code := cmp.Or(e.errorCode, model.BadInput)
	text, fault := t.rawBody(w, r)
	if fault != nil {
		return nil, fault
	}
	if t.WaitToDecode != nil {
		leave, err := t.WaitToDecode(w, r, len(text))
		if err != nil {
			return nil, t.problem(err)
		}
		defer leave()
	}
	text = bytes.TrimPrefix(text, byteOrderMark)
	if len(text) == 0 && e.method == http.MethodPost && !e.needsBody() {
		return nil, nil
	}
	object, err := parse(text)
	if err != nil {
		return nil, t.problem(model.Errorf(code, "the body %v", err))
	}
	d := stored.Decoder{Types: t.types, Strict: e.strict, V1: true, Also: e.aliases, Emptied: e.clearable}
	values := d.Object("", object, e.members)
	if fault := t.invalid(d.Faults, code); fault != nil {
		return nil, fault
	}
	maps.Copy(variables, values)
	return d.Spelled, nil
}

// rawBody reads the body until the read deadline that the gateway has set.
func (t *Transport) rawBody(w http.ResponseWriter, r *http.Request) ([]byte, *problem) {
	contentType, encoding := r.Header.Get("Content-Type"), r.Header.Get("Content-Encoding")
	isEmpty := r.ContentLength == 0 && contentType == ""
	if !isEmpty && !isJSON(contentType) || encoding != "" && encoding != "identity" {
		return nil, problemf(http.StatusUnsupportedMediaType, model.BadInput,
			"the body must be application/json, text/json or application/*+json, in UTF-8 and not compressed")
	}
	text, status, err := form.ReadBody(w, r, t.MaxBody)
	if err != nil {
		return nil, problemf(status, err.Code, "%s", err.Message)
	}
	return text, nil
}

// byteOrderMark is what some clients send before the JSON. It is not part of JSON.
var byteOrderMark = []byte("\uFEFF")

// parse returns the JSON object in a text. Its errors do not quote the text.
func parse(text []byte) (json.RawMessage, error) {
	var object json.RawMessage
	var syntax *json.SyntaxError
	switch err := json.Unmarshal(text, &object); {
	case len(text) == 0:
		return nil, errors.New("must be a JSON object, but is empty")
	case !utf8.Valid(text):
		return nil, errors.New("is not valid UTF-8")
	case errors.As(err, &syntax):
		if tooDeep := model.CheckJSON(text); tooDeep != nil {
			return nil, fmt.Errorf("is too complex: %w", tooDeep)
		}
		return nil, fmt.Errorf("is not valid JSON: the error is at byte %d", syntax.Offset)
	case err != nil:
		return nil, errors.New("is not well-formed JSON")
	case model.HalfPair(text) >= 0:
		return nil, fmt.Errorf("has half of a surrogate pair at byte %d: send whole characters", model.HalfPair(text))
	case model.CheckJSON(object) != nil:
		return nil, fmt.Errorf("is too complex: %w", model.CheckJSON(object))
	case object[0] != '{':
		return nil, errors.New("must be a JSON object")
	default:
		return object, nil
	}
}
