package rest

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"github.com/agentgraph/agentgraph/model"
)

// state is how to read what a change is based on: two stored operations with the same result.
type state struct {
	// current reads what clients have read, whose ETag they send as If-Match.
	current string
	// revision reads when that was changed last.
	revision string
	result   string
}

// expectedUpdatedAt is the variable of a change that makes it fail if there was another one since that moment.
const expectedUpdatedAt = "expectedUpdatedAt"

func entityTag(body []byte) string {
	hash := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(hash[:12]) + `"`
}

// tags returns the ETags of a header. A weak one keeps its W/, by which it equals no strong one.
func tags(h http.Header, name string) []string {
	var tags []string
	for _, header := range h.Values(name) {
		for tag := range strings.SplitSeq(header, ",") {
			tags = append(tags, strings.TrimSpace(tag))
		}
	}
	return tags
}

// isKnown reports whether the client has the body of the ETag already, as If-None-Match says.
func isKnown(h http.Header, tag string) bool {
	return slices.ContainsFunc(tags(h, "If-None-Match"), func(known string) bool {
		return known == "*" || strings.TrimPrefix(known, "W/") == tag
	})
}

// expect returns a problem unless what the request changes is still what If-Match names, and makes the change fail if
// it is changed while this request is served. When it was changed is read first, so that no change between the two is
// missed.
func (t *Transport) expect(r *http.Request, exec graphql.GraphExecutor, e *endpoint,
	variables map[string]any) *problem {
	wanted := tags(r.Header, "If-Match")
	if len(wanted) == 0 || slices.Contains(wanted, "*") {
		return nil
	}
	if e.current == nil {
		return problemf(http.StatusBadRequest, model.BadInput, "If-Match is for PUT and PATCH; here it would change nothing")
	}
	path := map[string]any{}
	for _, member := range e.current.operation.variables {
		path[member.Name] = variables[member.Name]
	}
	revision, fault := t.execute(r.Context(), exec, e.revision, nil, e.revision.params(r, path))
	if fault != nil {
		return fault
	}
	current, fault := t.execute(r.Context(), exec, e.current, nil, e.current.params(r, path))
	if fault != nil {
		return fault
	}
	if !slices.Contains(wanted, entityTag(current)) {
		return changedSince()
	}
	var at struct{ ChangedAt, CreatedAt string }
	_ = json.Unmarshal(revision, &at) // the stored operation selects both
	variables[expectedUpdatedAt] = cmp.Or(at.ChangedAt, at.CreatedAt)
	return nil
}

// changedSince is the problem of a change that is based on something else.
func changedSince() *problem {
	return problemf(http.StatusPreconditionFailed, model.Conflict,
		"it was changed since the ETag in If-Match was read: read it again, and repeat the change")
}
