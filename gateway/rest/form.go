package rest

import (
	"math"
	"net/http"
	"strings"

	"github.com/agentgraph/agentgraph/gateway/form"
	"github.com/agentgraph/agentgraph/model"
)

// readForm adds the texts and the file of a form to the variables. Case is ignored in names. The file's part must have
// the name of its variable. Any other file is a fault, because it would be lost.
func (t *Transport) readForm(w http.ResponseWriter, r *http.Request, e *endpoint,
	variables map[string]any) (*form.Form, *problem) {
	limits := form.Limits{File: t.maxUpload, Rest: t.maxBody, Pace: t.requestTimeout}
	if t.maxBody == 0 {
		limits.Rest = math.MaxInt32
	}
	until, _ := r.Context().Deadline()
	sent, err := form.Read(w, r, limits, until)
	switch status := form.Status(err); {
	case status == http.StatusRequestEntityTooLarge:
		return nil, problemf(status, model.LimitExceeded, "%s", err)
	case status != 0:
		return nil, problemf(status, model.BadInput, "%s", err)
	case err != nil:
		panic(err) // the gateway logs it and answers
	}
	for _, name := range sent.Names() {
		for _, member := range e.members {
			if strings.EqualFold(member.Name, name) && member.Type.NamedType == "String" {
				variables[member.Name], _ = sent.Value(name)
			}
		}
	}
	for _, name := range sent.Files() {
		if !strings.EqualFold(name, e.upload) {
			sent.Close()
			return nil, problemf(http.StatusBadRequest, model.BadInput, "the file must be in the part %s", e.upload)
		}
		upload, _, err := sent.Upload(name)
		if err != nil {
			sent.Close()
			panic(err)
		}
		variables[e.upload] = upload
	}
	return sent, nil
}
