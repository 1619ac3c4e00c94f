package gateway

import (
	"io"
	"net/http"
	"strings"

	"github.com/agentgraph/agentgraph/gateway/console"
)

// browse answers requests of browsers for pages: the console, and the way to it from / and Path. It reports whether
// there was something to answer. No credential is needed for any of it, no rate limit counts it, and a server that drains
// goes on serving it: it holds nothing of a company. Pages of other origins may not read it.
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
	// Relative, as a proxy may have taken a prefix off the path.
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

// wantsPage reports whether the client is a browser that opens an address: nobody else asks for HTML by name.
func wantsPage(h http.Header) bool {
	return prefer(mediaRanges(strings.Join(h.Values("Accept"), ",")), "text/html").specificity == exact
}
