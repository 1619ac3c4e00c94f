package rest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/gateway/form"
	"github.com/agentgraph/agentgraph/gateway/stored"
	"github.com/agentgraph/agentgraph/model"
)

// readForm adds the texts and the file of a form to the variables. Case is ignored in names. The file's part must have
// the name of its variable. Any other part with a name is a fault, because it would be lost.
func (t *Transport) readForm(w http.ResponseWriter, r *http.Request, e *endpoint,
	variables map[string]any) (*form.Form, *problem) {
	limits := form.Limits{File: t.MaxUpload, Rest: t.MaxBody, Pace: t.RequestTimeout}
	until, _ := r.Context().Deadline()
	sent, err := form.Read(w, r, limits, until)
	switch status := form.Status(err); {
	case status == http.StatusRequestEntityTooLarge:
		return nil, problemf(status, model.LimitExceeded, "%s", err)
	case status == http.StatusServiceUnavailable:
		return nil, problemf(status, model.Unavailable, "%s", err)
	case status != 0:
		return nil, problemf(status, model.BadInput, "%s", err)
	case err != nil:
		panic(err) // the gateway logs it and answers
	}
	if fault := t.readParts(sent, e, variables); fault != nil {
		sent.Close()
		return nil, fault
	}
	return sent, nil
}

// readParts adds the form's parts to the variables. Each part must be known and may be given once.
func (t *Transport) readParts(sent *form.Form, e *endpoint, variables map[string]any) *problem {
	var d stored.Decoder
	seen := map[string]bool{}
	once := func(member, name string) {
		if seen[member] || sent.Count(name) > 1 {
			d.Fault(member, "must be given once")
		}
		seen[member] = true
	}
	for _, name := range slices.Sorted(slices.Values(sent.Names())) {
		i := slices.IndexFunc(e.members, func(m *ast.FieldDefinition) bool { return strings.EqualFold(m.Name, name) })
		switch {
		case i >= 0:
			once(e.members[i].Name, name)
			variables[e.members[i].Name], _ = sent.Value(name)
		case strings.EqualFold(name, e.upload):
			// A browser sends an input without a chosen file as an empty part with an empty filename.
			if text, _ := sent.Value(name); text == "" && sent.Count(name) == 1 {
				continue
			}
			d.Fault(e.upload, "must be a file: its part needs a filename")
		default:
			d.Fault(stored.Clip(name), "is not a known part; the parts are %s", e.partNames())
		}
	}
	for _, name := range slices.Sorted(slices.Values(sent.Files())) {
		if !strings.EqualFold(name, e.upload) {
			return problemf(http.StatusBadRequest, model.BadInput, "the file must be in the part %s", e.upload)
		}
		once(e.upload, name)
		upload, _, err := sent.Upload(name)
		if err != nil {
			sent.Close()
			panic(err)
		}
		variables[e.upload] = upload
	}
	return t.invalid(d.Faults, model.BadInput)
}

// partNames returns the names of the parts that a form may have.
func (e *endpoint) partNames() string {
	var names []string
	for _, member := range e.members {
		names = append(names, member.Name)
	}
	return strings.Join(append(names, e.upload), ", ")
}
