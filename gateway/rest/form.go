package rest

import (
	"errors"
	"math"
	"net/http"
	"strings"

	"github.com/agentgraph/agentgraph/gateway/form"
	"github.com/agentgraph/agentgraph/model"
)

// readForm adds the texts and the file of a form to the variables. Names are matched ignoring case. The file's part
// must have the name of its variable; any other file is a fault, as it would be lost.
func (t *Transport) readForm(w http.ResponseWriter, r *http.Request, e *endpoint,
	variables map[string]any) (*form.Form, *problem) {
	limits := form.Limits{File: t.maxUpload, Rest: t.maxBody, Pace: t.requestTimeout}
	if t.maxBody == 0 {
		limits.Rest = math.MaxInt32
	}
	until, _ := r.Context().Deadline()
	sent, err := form.Read(w, r, limits, until)
	var tooLarge *form.TooLargeError
	switch {
	case errors.As(err, &tooLarge):
		return nil, problemf(http.StatusRequestEntityTooLarge, model.LimitExceeded, "%s", tooLarge)
	case errors.Is(err, form.ErrTooSlow):
		return nil, problemf(http.StatusRequestTimeout, model.BadInput, "%s", form.ErrTooSlow)
	case errors.Is(err, form.ErrMalformed):
		return nil, problemf(http.StatusBadRequest, model.BadInput, "%s", form.ErrMalformed)
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
