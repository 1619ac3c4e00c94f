package rest

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/gateway/stored"
	"github.com/agentgraph/agentgraph/model"
)

// endpoint is a route whose operation was checked against the schema.
type endpoint struct {
	route

	segments  []string
	operation *stored.Operation
	// members are the variables that the JSON body fills, or the query string if takesBody is false.
	members ast.FieldList
	// The endpoints current and revision read the route's state, or are nil.
	current, revision *endpoint
	// upload is the variable that a form's file fills, or "".
	upload string
	// isDeprecated is set if a part of the operation is deprecated. notice has the headers of the deprecation.
	isDeprecated bool
	notice       http.Header
}

// newEndpoint checks a route against its operation: each variable must be filled by the path, the page or the body.
func newEndpoint(schema *ast.Schema, all *ast.QueryDocument, r route) (*endpoint, error) {
	o, err := stored.New(schema, all, r.operation, r.result)
	if err != nil {
		return nil, err
	}
	e := &endpoint{route: r, operation: o, segments: segments(r.path), members: slices.Clone(o.Variables)}
	e.status = cmp.Or(e.status, http.StatusOK)
	for _, segment := range e.segments {
		if name, ok := parameter(segment); ok {
			if err := e.fill(name, "ID!", "String!"); err != nil {
				return nil, err
			}
		}
	}
	if e.paged {
		for _, name := range []string{"first", "offset"} {
			if err := e.fill(name, "Int", "Int!"); err != nil {
				return nil, err
			}
		}
		if !slices.Equal(o.Members, []string{"data", "total"}) {
			return nil, fmt.Errorf("the result of a paged list is data and total, not %v", o.Members)
		}
	}
	if r.state != (state{}) {
		if err := e.readState(schema, all); err != nil {
			return nil, err
		}
	}
	for _, member := range o.Variables {
		if member.Type.String() == "Upload" {
			e.upload = member.Name
			e.members = slices.DeleteFunc(e.members, func(f *ast.FieldDefinition) bool { return f.Name == member.Name })
		}
	}
	for _, segment := range segments(e.location) {
		if name, ok := parameter(segment); ok && !slices.Contains(o.Members, name) {
			return nil, fmt.Errorf("the result has no %s for the location", name)
		}
	}
	if !e.takesBody() {
		for _, field := range e.members {
			if definition := schema.Types[field.Type.NamedType]; definition == nil || !definition.IsLeafType() {
				return nil, fmt.Errorf("the variable %s of type %s cannot be in a query string", field.Name, field.Type)
			}
		}
	}
	return e, (&stored.Decoder{Types: schema.Types, V1: true}).Readable(e.members)
}

// readState finds the operations that read the route's state.
func (e *endpoint) readState(schema *ast.Schema, all *ast.QueryDocument) (err error) {
	reader := route{method: http.MethodGet, path: e.path, operation: e.state.current, result: e.state.result}
	if e.current, err = newEndpoint(schema, all, reader); err != nil {
		return err
	}
	reader.operation = e.state.revision
	if e.revision, err = newEndpoint(schema, all, reader); err != nil {
		return err
	}
	return e.fill(expectedUpdatedAt, "DateTime")
}

func (e *endpoint) needsBody() bool {
	return slices.ContainsFunc(e.members, func(f *ast.FieldDefinition) bool {
		return f.Type.NonNull && f.DefaultValue == nil
	})
}

// fill removes a variable of one of the types from members, because another part of the request fills it.
func (e *endpoint) fill(name string, types ...string) error {
	if !e.operation.Has(name, types...) {
		return fmt.Errorf("the operation has no variable %s of type %s", name, strings.Join(types, " or "))
	}
	e.members = slices.DeleteFunc(e.members, func(f *ast.FieldDefinition) bool { return f.Name == name })
	return nil
}

// match returns the path's parameters, percent-decoded. It returns false for a different path.
func (e *endpoint) match(given []string) (map[string]any, bool) {
	if len(given) != len(e.segments) {
		return nil, false
	}
	var values map[string]any
	for i, segment := range e.segments {
		text, err := url.PathUnescape(given[i])
		name, isParameter := parameter(segment)
		switch {
		case err != nil:
			return nil, false
		case !isParameter && !strings.EqualFold(text, segment):
			return nil, false
		case isParameter && (text == "" || strings.ContainsRune(text, 0) || !utf8.ValidString(text)):
			return nil, false
		case isParameter:
			if values == nil {
				values = map[string]any{}
			}
			values[name] = text
		}
	}
	if values == nil {
		values = map[string]any{}
	}
	return values, true
}

// serves reports whether the endpoint answers the method. HEAD is GET without the body.
func (e *endpoint) serves(method string) bool {
	return e.method == method || e.method == http.MethodGet && method == http.MethodHead
}

// find returns the endpoint of a request and its path parameters, or a problem. If the path has only other methods, it
// sets the Allow header.
func (t *Transport) find(w http.ResponseWriter, r *http.Request) (*endpoint, map[string]any, *problem) {
	e, values, allowed := t.lookup(r)
	if e != nil {
		return e, values, nil
	}
	if allowed == nil {
		return nil, nil, t.problem(model.Errorf(model.NotFound, "there is nothing at this path"))
	}
	slices.Sort(allowed)
	allow := strings.Join(slices.Compact(allowed), ", ")
	w.Header().Set("Allow", allow)
	return nil, nil, problemf(http.StatusMethodNotAllowed, model.BadInput, "the method is not allowed here; use %s", allow)
}

// lookup returns the endpoint of a request and its path parameters, or the other methods that the path has.
func (t *Transport) lookup(r *http.Request) (found *endpoint, values map[string]any, allowed []string) {
	given := segments(pathOf(r.URL.EscapedPath()))
	for _, e := range t.endpoints {
		values, ok := e.match(given)
		if !ok {
			continue
		}
		if e.serves(r.Method) {
			return e, values, nil
		}
		allowed = append(allowed, e.method)
		if e.method == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	return nil, nil, allowed
}

// CanonicalPath returns the path of a request in the table's spelling, which is the same for all spellings that reach
// the same operation with the same parameters.
func (t *Transport) CanonicalPath(r *http.Request) string {
	e, values, _ := t.lookup(r)
	if e == nil {
		return r.URL.EscapedPath()
	}
	return fillPath(e.path, values)
}

// MatchesPath reports whether a route or export has the path, with any method.
func (t *Transport) MatchesPath(path string) bool {
	given := segments(pathOf(path))
	return t.exportAt(path) != nil || slices.ContainsFunc(t.endpoints, func(e *endpoint) bool {
		_, matches := e.match(given)
		return matches
	})
}

// version can precede a path, although v1's paths have no version.
const version = "v1"

// pathOf returns a path without its leading slashes and version. Some clients add them when they join a base URL and a
// path.
func pathOf(path string) string {
	path = strings.TrimLeft(path, "/")
	if first, rest, more := strings.Cut(path, "/"); more && strings.EqualFold(first, version) {
		path = strings.TrimLeft(rest, "/")
	}
	return path
}

// segments splits a path. It ignores a trailing slash.
func segments(path string) []string {
	return strings.Split(strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/"), "/")
}

func parameter(segment string) (string, bool) {
	name, opened := strings.CutPrefix(segment, "{")
	name, closed := strings.CutSuffix(name, "}")
	return name, opened && closed
}
