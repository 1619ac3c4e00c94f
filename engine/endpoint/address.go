package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/model"
)

// address is an endpoint's URL while it is filled from the arguments of a call.
type address struct {
	arguments map[string]any
	// unused lists the arguments that the URL has no placeholder for.
	unused map[string]any
}

// parseArguments returns the members of a JSON object. Numbers keep their spelling.
func parseArguments(text model.JSONObject) (map[string]any, error) {
	if len(text) == 0 {
		return map[string]any{}, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var arguments map[string]any
	if err := decoder.Decode(&arguments); err != nil || arguments == nil {
		return nil, errors.New("the arguments are not a JSON object")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the arguments have more text after the JSON object")
	}
	return arguments, nil
}

// buildURL returns the URL of a template, and the arguments that it has no placeholder for. Arguments cannot change the
// scheme, the host or the number of path segments.
func buildURL(template string, arguments map[string]any) (*url.URL, map[string]any, error) {
	a := address{arguments, maps.Clone(arguments)}
	template, _, _ = strings.Cut(template, "#")
	template, query, _ := strings.Cut(template, "?")
	scheme, rest, _ := strings.Cut(template, "://")
	segments := strings.Split(rest, "/")
	for i, segment := range segments[1:] {
		filled, err := a.segment(segment)
		if err != nil {
			return nil, nil, err
		}
		segments[i+1] = filled
	}
	query, err := a.expand(query, func(_, value string) (string, error) { return url.QueryEscape(value), nil })
	if err != nil {
		return nil, nil, err
	}
	// Placeholders before the path are not filled, and their braces make the URL invalid.
	u, err := url.Parse(scheme + "://" + strings.Join(segments, "/"))
	if err != nil || !isWeb(u) {
		return nil, nil, errors.New("the tool's address is not valid")
	}
	u.RawQuery = query
	return u, a.unused, nil
}

func isWeb(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// segment fills a segment of the path. It stays one segment, even for servers that decode the path too early.
func (a *address) segment(template string) (string, error) {
	filled, err := a.expand(template, func(name, value string) (string, error) {
		if value == "" || strings.ContainsAny(value, `/\`) || strings.ContainsFunc(value, unicode.IsControl) {
			return "", fmt.Errorf(`the argument %q must not be empty and must not contain "/", "\" or control characters`, name)
		}
		return url.PathEscape(value), nil
	})
	if err != nil || !content.Placeholder().MatchString(template) {
		return filled, err
	}
	text, err := url.PathUnescape(filled)
	if err != nil {
		return "", errors.New("the tool's address is not valid")
	}
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '/' || r == '\\' }) {
		if part == "." || part == ".." {
			return "", fmt.Errorf(`the arguments must not turn %q in the tool's address into "." or ".."`, template)
		}
	}
	return filled, nil
}

// expand calls the function encode with the name and value of each placeholder, and replaces the placeholder with the
// result.
func (a *address) expand(template string, encode func(name, value string) (string, error)) (string, error) {
	var filled strings.Builder
	rest := 0
	for _, at := range content.Placeholder().FindAllStringIndex(template, -1) {
		name := template[at[0]+1 : at[1]-1]
		value, err := a.takeArgument(name)
		if err != nil {
			return "", err
		}
		if value, err = encode(name, value); err != nil {
			return "", err
		}
		filled.WriteString(escapeLiteral(template[rest:at[0]]))
		filled.WriteString(value)
		rest = at[1]
	}
	filled.WriteString(escapeLiteral(template[rest:]))
	return filled.String(), nil
}

// takeArgument returns the argument of a placeholder as text and marks it as used. A dot selects a member of an object,
// unless an argument has the whole name.
func (a *address) takeArgument(name string) (string, error) {
	path := []string{name}
	value, ok := a.arguments[name]
	if !ok {
		path = strings.Split(name, ".")
		value = a.arguments
		for _, key := range path {
			object, _ := value.(map[string]any)
			value = object[key]
		}
	}
	if value == nil {
		return "", fmt.Errorf("the argument %q is missing, and the tool's address needs it", name)
	}
	text, ok := scalar(value)
	if !ok {
		return "", fmt.Errorf("the argument %q must be a string, a number or a boolean, because it is part of the tool's "+
			"address", name)
	}
	remove(a.unused, path)
	return text, nil
}

// remove deletes the value at a path, and objects that become empty. It changes only the given object and copies
// objects within it, because the arguments share them.
func remove(object map[string]any, path []string) {
	if inner, ok := object[path[0]].(map[string]any); ok && len(path) > 1 {
		inner = maps.Clone(inner)
		remove(inner, path[1:])
		if len(inner) > 0 {
			object[path[0]] = inner
			return
		}
	}
	delete(object, path[0])
}

func scalar(value any) (string, bool) {
	switch value := value.(type) {
	case string:
		return value, true
	case json.Number:
		return value.String(), true
	case bool:
		return fmt.Sprint(value), true
	}
	return "", false
}

// addQuery adds arguments to the query: an array as one parameter for each element, and an object as JSON. It skips
// nulls, and rejects parameters that the URL already has.
func addQuery(u *url.URL, arguments map[string]any) error {
	// A template may have pairs that do not parse. ParseQuery returns the others.
	taken, _ := url.ParseQuery(u.RawQuery)
	added := url.Values{}
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		if taken.Has(name) {
			return fmt.Errorf("the argument %q is already fixed by the tool's address", name)
		}
		elements, ok := arguments[name].([]any)
		if !ok {
			elements = []any{arguments[name]}
		}
		for _, element := range elements {
			if element == nil {
				continue
			}
			text, ok := scalar(element)
			if !ok {
				object, _ := json.Marshal(element) // came from JSON
				text = string(object)
			}
			added.Add(name, text)
		}
	}
	if u.RawQuery != "" && len(added) > 0 {
		u.RawQuery += "&"
	}
	u.RawQuery += added.Encode()
	return nil
}

// escapable matches escapes, and characters that are not allowed in URLs.
var escapable = regexp.MustCompile(`%[0-9A-Fa-f]{2}|[^A-Za-z0-9._~!$&'()*+,;=:@/?-]`)

// escapeLiteral escapes characters of a template's own text that are not allowed in URLs. It keeps existing escapes.
func escapeLiteral(text string) string {
	return escapable.ReplaceAllStringFunc(text, func(found string) string {
		if found[0] == '%' && len(found) > 1 {
			return found
		}
		return url.PathEscape(found)
	})
}
