package gateway

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/tidwall/gjson"

	"github.com/agentgraph/agentgraph/gateway/form"
)

// preflightHeaders protect forms: a form must have one of them. A page of another site can send a form without a
// preflight request, but cannot set these headers.
var preflightHeaders = []string{"GraphQL-Require-Preflight", "X-Requested-By", "Apollo-Require-Preflight"}

// multipart runs a GraphQL multipart request. The part "operations" has the request as JSON. The part "map" has the
// paths of the files in the variables. See https://github.com/jaydenseric/graphql-multipart-request-spec
func (x exchange) multipart() {
	if !slices.ContainsFunc(preflightHeaders, func(name string) bool { return x.r.Header.Get(name) != "" }) {
		x.deny(refusal(http.StatusUnsupportedMediaType, "a multipart/form-data body needs the header %s or %s",
			preflightHeaders[0], preflightHeaders[1]))
		return
	}
	limits := form.Limits{File: x.settings.UploadBytes, Rest: x.settings.BodyBytes, Pace: x.settings.RequestTimeout}
	sent, err := form.Read(x.w, x.r, limits, time.Now().Add(x.settings.longestTimeout()))
	if err != nil {
		x.unread(err)
		return
	}
	defer sent.Close()
	operations, given := sent.Value("operations")
	var params request
	var f *fault
	switch {
	case !given:
		f = refusal(http.StatusBadRequest, "the part operations is missing")
	case gjson.Parse(operations).IsArray():
		f = refusal(http.StatusBadRequest, "operations must be one request: uploads cannot be batched")
	default:
		params, f = x.decode([]byte(operations))
	}
	if f == nil {
		f, err = fillUploads(params, sent)
	}
	switch {
	case err != nil:
		x.unread(err)
	case f != nil:
		x.deny(f)
	default:
		x.run(params)
	}
}

func (x exchange) unread(err error) {
	if status := form.Status(err); status != 0 {
		x.deny(refusal(status, "%s", err))
	} else {
		x.refuse(x.w, x.r, err)
	}
}

func fillUploads(params request, sent *form.Form) (*fault, error) {
	var places map[string][]string
	text, _ := sent.Value("map")
	_ = json.Unmarshal([]byte(text), &places) // Malformed JSON leaves it nil.
	if places == nil {
		return refusal(http.StatusBadRequest, "map must be an object of lists of paths, such as {\"0\": "+
			"[\"variables.input.upload\"]}"), nil
	}
	for name, paths := range places {
		for _, path := range paths {
			upload, given, err := sent.Upload(name)
			if err != nil {
				return nil, err
			}
			if !given {
				if sent.Count(name) > 0 {
					return refusal(http.StatusBadRequest, "the part %q must be a file: it needs a filename", name), nil
				}
				return refusal(http.StatusBadRequest, "map must contain only files of the body"), nil
			}
			if !setUpload(params.Variables, path, upload) {
				return refusal(http.StatusBadRequest, "map must contain only paths to variables that are null"), nil
			}
		}
	}
	return nil, nil
}

// setUpload replaces the null at a path of the variables with a file. It reports false if there is no null.
func setUpload(variables map[string]any, path string, upload graphql.Upload) bool {
	steps := strings.Split(path, ".")
	if steps[0] != "variables" {
		return false
	}
	var at any = variables
	var set func()
	for _, step := range steps[1:] {
		switch holder := at.(type) {
		case map[string]any:
			inner, given := holder[step]
			if !given {
				return false
			}
			at, set = inner, func() { holder[step] = upload }
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(holder) {
				return false
			}
			at, set = holder[i], func() { holder[i] = upload }
		default:
			return false
		}
	}
	if set == nil || at != nil {
		return false
	}
	set()
	return true
}
