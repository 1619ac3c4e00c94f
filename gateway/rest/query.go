package rest

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/gateway/stored"
	"github.com/agentgraph/agentgraph/model"
)

// takesBody reports whether the route's members come from the body rather than the query string.
func (e *endpoint) takesBody() bool {
	return e.method != http.MethodGet && e.method != http.MethodDelete
}

// parameters returns the names that the query string may have.
func (e *endpoint) parameters() []string {
	var names []string
	if e.paged {
		names = append(names, pageNumber.name, pageSize.name)
	}
	if !e.takesBody() {
		for _, member := range e.members {
			names = append(names, member.Name)
		}
	}
	return names
}

// query parses the query string. Case is ignored in names. An unknown name is a fault: otherwise a client that
// misspells a filter would believe that the server applied it.
func (t *Transport) query(r *http.Request, e *endpoint) (url.Values, *problem) {
	given, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, t.invalid(model.Fields{"query": {"is not a well-formed query string"}}, model.BadInput)
	}
	known := e.parameters()
	takes := "this operation has no parameters"
	if len(known) > 0 {
		takes = "the parameters are " + strings.Join(known, ", ")
	}
	var d stored.Decoder
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) {
			d.Fault(stored.Clip(name), "is not a known parameter; %s", takes)
		}
	}
	return given, t.invalid(d.Faults, model.BadInput)
}

// readQuery adds the values of the query string to the variables. An empty value is a fault: a client that sends one
// does not expect the whole list.
func (t *Transport) readQuery(given url.Values, e *endpoint, variables map[string]any) *problem {
	d := stored.Decoder{Types: t.types, V1: true}
	object, spaced := map[string]json.RawMessage{}, map[string]bool{}
	for name, texts := range given {
		for _, field := range e.members {
			if !strings.EqualFold(field.Name, name) {
				continue
			}
			if _, again := object[field.Name]; again || len(texts) > 1 {
				d.Fault(field.Name, "must be given once")
			} else if texts[0] == "" && (!field.Type.NonNull || field.DefaultValue != nil) {
				d.Fault(field.Name, "must not be empty: give a value or leave it out")
			}
			object[field.Name] = literal(texts[0], field.Type)
			spaced[field.Name] = field.Type.Name() == "DateBound" && strings.Contains(texts[0], " ")
		}
	}
	text, _ := json.Marshal(object) // literals can always be encoded
	values := d.Object("", text, e.members)
	for name, causes := range d.Faults {
		if spaced[name] {
			d.Faults[name] = append(causes, "in a query string + means a space: write %2B")
		}
	}
	if fault := t.invalid(d.Faults, model.BadInput); fault != nil {
		return fault
	}
	maps.Copy(variables, values)
	return nil
}

// literal returns a value of the query string as the JSON that a body would have.
func literal(text string, valueType *ast.Type) json.RawMessage {
	switch valueType.NamedType {
	case "Int", "Float", "Boolean":
		if json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
	}
	if text == "" {
		return json.RawMessage("null")
	}
	quoted, _ := json.Marshal(text) // a string can always be encoded
	return quoted
}
