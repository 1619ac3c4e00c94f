package gateway

import (
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"github.com/agentgraph/agentgraph/gateway/console"
)

// browse answers browsers that open a URL without a credential. It serves the console, its icon, or a page that
// explains the URL and links to the console. It reports whether it answered. These pages need no credential, are not
// rate limited, and are served even while the server drains, because they contain no company's data. Other origins
// cannot read them.
func (s *Server) browse(w http.ResponseWriter, r *http.Request) bool {
	if s.console == nil {
		return false
	}
	path := r.URL.Path
	if path == console.Path || strings.HasPrefix(path, console.Path+"/") {
		s.console.ServeHTTP(w, r)
		return true
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead || credentialOf(r.Header) != "" {
		return false
	}
	if path == "/favicon.ico" {
		s.console.ServeIcon(w, r)
		return true
	}
	isAnswered := isHealthCheck(path) || s.pages.at(path) != nil || path == Path && r.URL.RawQuery != ""
	if !wantsPage(r.Header) || isAnswered || r.Header.Get("Upgrade") != "" {
		return false
	}
	switch {
	case path == "/":
		// The redirect is relative, because a proxy might have removed a prefix from the path.
		w.Header().Set("Location", strings.TrimPrefix(console.Path, "/")+"/")
		w.WriteHeader(http.StatusFound)
	case path == Path:
		s.explain(w, r, http.StatusUnauthorized, "This is a GraphQL API", "Programs send it a POST request with an API key.")
	case path == SDLPath:
		s.explain(w, r, http.StatusUnauthorized, "This is the schema of a GraphQL API",
			"Programs get it with an API key. People read it in the API explorer of the console.")
	case s.hasPath(path):
		s.explain(w, r, http.StatusUnauthorized, "This is a REST API", "Programs send it requests with an API key.")
	default:
		s.explain(w, r, http.StatusNotFound, "There is nothing at this address",
			"The link may be wrong or outdated.")
	}
	return true
}

// explain answers with a short page, with links to the console and, if it is served, the documentation.
func (s *Server) explain(w http.ResponseWriter, r *http.Request, status int, title, text string) {
	up := strings.Repeat("../", strings.Count(r.URL.Path, "/")-1)
	links := `<a href="` + up + strings.TrimPrefix(console.Path, "/") + `/">console</a>`
	if s.pages[docsPath] != nil {
		links += ` or read the <a href="` + up + strings.TrimPrefix(docsPath, "/") + `">documentation</a>`
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", challenge(r.Header))
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `<!doctype html><html lang="en"><meta charset="utf-8">`+
		`<meta name="viewport" content="width=device-width"><title>agentgraph</title><h1>`+title+`</h1><p>`+text+` Open the `+
		links+`.</p></html>`)
}

// docsPath is the path of the API documentation, if Options.Pages has it.
const docsPath = "/docs"

// PathMatcher is a transport that can report whether it serves a path.
type PathMatcher interface {
	graphql.Transport
	MatchesPath(path string) bool
}

// hasPath reports whether one of Options.Transports serves the path.
func (s *Server) hasPath(path string) bool {
	return slices.ContainsFunc(s.otherTransports, func(t graphql.Transport) bool {
		k, ok := t.(PathMatcher)
		return ok && k.MatchesPath(path)
	})
}

// wantsPage reports whether the client is a browser that opens a page: only browsers ask for text/html by name.
func wantsPage(h http.Header) bool {
	return prefer(mediaRanges(strings.Join(h.Values("Accept"), ",")), "text/html").specificity == exact
}
