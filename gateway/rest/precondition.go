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

// state names two stored operations that read the current state of a resource. They have the same result path.
type state struct {
	// current names the operation that reads the resource as clients get it, with the ETag that they send as If-Match.
	current string
	// revision names the operation that reads the time of the resource's last change.
	revision string
	result   string
}

// expectedUpdatedAt is the variable that makes a change fail if the resource was changed after that time.
const expectedUpdatedAt = "expectedUpdatedAt"

func entityTag(body []byte) string {
	hash := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(hash[:12]) + `"`
}

// tags returns the ETags of a header. A weak ETag keeps its W/, so that it never equals a strong one.
func tags(h http.Header, name string) []string {
	var tags []string
	for _, header := range h.Values(name) {
		for tag := range strings.SplitSeq(header, ",") {
			tags = append(tags, strings.TrimSpace(tag))
		}
	}
	return tags
}

// matchesNoneMatch reports whether If-None-Match has the ETag.
func matchesNoneMatch(h http.Header, tag string) bool {
	return slices.ContainsFunc(tags(h, "If-None-Match"), func(known string) bool {
		return known == "*" || strings.TrimPrefix(known, "W/") == tag
	})
}

// checkIfMatch returns a problem unless the resource still has an ETag of If-Match. It does nothing without If-Match,
// or if If-Match is *. It sets expectedUpdatedAt, so that the change fails if the resource changes in between. It reads
// the revision before the resource, so that it misses no change between the two.
func (t *Transport) checkIfMatch(r *http.Request, exec graphql.GraphExecutor, e *endpoint,
	variables map[string]any) *problem {
	ifMatch := tags(r.Header, "If-Match")
	if len(ifMatch) == 0 || slices.Contains(ifMatch, "*") {
		return nil
	}
	if e.current == nil {
		return problemf(http.StatusBadRequest, model.BadInput, "If-Match works only with PUT and PATCH: leave out the header")
	}
	path := map[string]any{}
	for _, member := range e.current.operation.Variables {
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
	if !slices.Contains(ifMatch, entityTag(current)) {
		return changedSince()
	}
	var at struct{ ChangedAt, CreatedAt string }
	_ = json.Unmarshal(revision, &at) // the stored operation selects both
	variables[expectedUpdatedAt] = cmp.Or(at.ChangedAt, at.CreatedAt)
	return nil
}

// changedSince returns the problem for a resource that has changed.
func changedSince() *problem {
	return problemf(http.StatusPreconditionFailed, model.Conflict,
		"the object was changed after you read the ETag in If-Match: read it again, and repeat the change")
}
