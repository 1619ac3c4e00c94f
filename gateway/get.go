package gateway

import (
	"net/http"
	"net/url"

	"github.com/99designs/gqlgen/graphql"
)

// getTransport serves queries, and subscriptions as server-sent events, with the request in the URL.
type getTransport struct{ *Server }

func (getTransport) Supports(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead
}

func (t getTransport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	x := exchange{Server: t.Server, w: w, r: r, exec: exec, accept: negotiate(r.Header), isSafe: true}
	if r.Method == http.MethodHead {
		// A response to HEAD has no body, so a stream would never end.
		x.accept.stream, x.accept.first, x.accept.parts = false, false, false
	}
	if x.accept.isEmpty() {
		x.notAcceptable()
		return
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		x.deny(refusal(http.StatusBadRequest, "the URL's parameters cannot be read"))
		return
	}
	params, f := urlParams(query)
	if f != nil {
		x.deny(f)
		return
	}
	x.run(params)
}
