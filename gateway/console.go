package gateway

import (
	"io"
	"net/http"
	"strings"

	"github.com/agentgraph/agentgraph/gateway/console"
)

// browse answers browsers that open a page: the console, or / and Path, which lead to it. It reports whether it
// answered. Pages need no credential, are not rate limited, and are served even while the server drains, as they hold
// nothing of a company. Pages of other origins may not read them.
func (s *Server) browse(w http.ResponseWriter, r *http.Request) bool {
	if s.console == nil {
		return false
	}
	if r.URL.Path == console.Path || strings.HasPrefix(r.URL.Path, console.Path+"/") {
		s.console.ServeHTTP(w, r)
		return true
	}
	if r.Method != http.MethodGet || credentialOf(r.Header) != "" || !wantsPage(r.Header) {
		return false
	}
	// The redirect is relative, as a proxy may have taken a prefix off the path.
	way := strings.TrimPrefix(console.Path, "/") + "/"
	switch {
	case r.URL.Path == "/":
		w.Header().Set("Location", way)
		w.WriteHeader(http.StatusFound)
		return true
	case r.URL.Path == Path && r.URL.RawQuery == "" && r.Header.Get("Upgrade") == "":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		w.Header().Set("WWW-Authenticate", challenge(r.Header))
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">`+
			`<title>agentgraph</title><h1>This is a GraphQL API</h1><p>Programs send it a POST request with an API key. People `+
			`use the <a href="`+way+`">console</a>.</p></html>`)
		return true
	}
	return false
}

// wantsPage reports whether the client is a browser that opens an address: only browsers ask for HTML by name.
func wantsPage(h http.Header) bool {
	return prefer(mediaRanges(strings.Join(h.Values("Accept"), ",")), "text/html").specificity == exact
}
