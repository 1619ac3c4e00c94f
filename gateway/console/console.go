// Package console serves the web console from the binary, and exchanges the one-time code of "agentgraph dev" for a
// session. The console is an ordinary client of the API.
package console

import (
	"bytes"
	"compress/gzip"
	"embed"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
)

// Path is the path of the console. The console serves all paths below it.
const Path = "/console"

// dist is the output of "make console": each file compressed, with .gz appended to its name.
//
//go:embed all:dist
var dist embed.FS

// ours has the common part of the policies: a document may use only the server's own files, and scripts cannot turn
// text into HTML.
const ours = "default-src 'none'; script-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "

// editorTypes are the names of the Trusted Types policies of the explorer and its editor.
const editorTypes = "default workers dompurify defaultWorkerFactory diffEditorWidget diffReview " +
	"domLineBreaksComputer editorViewLayer standaloneColorizer tokenizeToString"

const (
	policy = ours + "trusted-types 'none'; style-src 'self'; worker-src 'none'"
	// explorerPolicy also allows inline styles and workers, which the explorer's editor needs.
	explorerPolicy = ours + "trusted-types " + editorTypes + "; style-src 'self' 'unsafe-inline'; worker-src 'self'"
)

// Handler serves Path and everything below it.
type Handler struct {
	invitation     *Invitation
	page, explorer func() (string, error)
}

// New returns a Handler. With a nil invitation, every user needs an API key.
func New(invitation *Invitation) *Handler {
	return &Handler{invitation: invitation, page: page("index.html"), explorer: page("explore.html")}
}

// page returns a function that unpacks an HTML file of the build, once.
func page(name string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		compressed, err := dist.ReadFile("dist/" + name + ".gz")
		if err != nil {
			return "", err
		}
		text, err := Unpack(compressed)
		return string(text), err
	})
}

// ServeHTTP serves a file of the build, the API explorer, or the page, whose script shows the view for the path.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	below := strings.TrimPrefix(r.URL.Path, Path)
	if below == "/session" && h.invitation != nil {
		h.invitation.ServeHTTP(w, r)
		return
	}
	if !IsRead(w, r) {
		return
	}
	switch {
	case below == "":
		// The redirect is relative, because a proxy might have removed a prefix from the path.
		w.Header().Set("Location", strings.TrimPrefix(Path, "/")+"/")
		w.WriteHeader(http.StatusFound)
	case strings.HasPrefix(below, "/assets/"):
		serveAsset(w, r, path.Base(below), forever)
	case below == "/explore":
		serveDocument(w, h.explorer, explorerPolicy, 0)
	default:
		serveDocument(w, h.page, policy, strings.Count(below, "/")-1)
	}
}

// IsRead reports whether the method is GET or HEAD. It answers other methods with 405.
func IsRead(w http.ResponseWriter, r *http.Request) bool {
	isRead := r.Method == http.MethodGet || r.Method == http.MethodHead
	if !isRead {
		w.Header().Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
	return isRead
}

// serveDocument serves a page at a path that is depth levels below the console's.
func serveDocument(w http.ResponseWriter, page func() (string, error), policy string, depth int) {
	text, err := page()
	if err != nil {
		http.Error(w, "this program was built without the console", http.StatusNotFound)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", policy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	header.Del("Vary")
	_, _ = io.WriteString(w, strings.ReplaceAll(text, `"./assets/`, `"./`+strings.Repeat("../", depth)+`assets/`))
}

var types = map[string]string{
	".js":    "text/javascript; charset=utf-8",
	".css":   "text/css; charset=utf-8",
	".svg":   "image/svg+xml",
	".ttf":   "font/ttf",
	".woff2": "font/woff2",
}

// Values of Cache-Control. Assets never change, because their names contain hashes of their content.
const (
	forever = "public, max-age=31536000, immutable"
	oneDay  = "public, max-age=86400"
)

func serveAsset(w http.ResponseWriter, r *http.Request, name, caching string) {
	compressed, err := fs.ReadFile(dist, "dist/assets/"+name+".gz")
	if err != nil {
		http.Error(w, "the console does not have this file", http.StatusNotFound)
		return
	}
	header := w.Header()
	header.Set("Content-Type", types[path.Ext(name)])
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", caching)
	header.Set("Vary", "Accept-Encoding")
	content, tag := compressed, `"`+name+`.gz"`
	if AcceptsGzip(r.Header) {
		header.Set("Content-Encoding", "gzip")
	} else {
		tag = `"` + name + `"`
		if content, err = Unpack(compressed); err != nil {
			http.Error(w, "the console's file is damaged", http.StatusInternalServerError)
			return
		}
	}
	header.Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(content)
}

// ServeIcon serves the console's icon, for browsers that request /favicon.ico.
func (h *Handler) ServeIcon(w http.ResponseWriter, r *http.Request) {
	name, _ := fs.Glob(dist, "dist/assets/icon-*.svg.gz") // fails for a malformed pattern only
	if len(name) == 0 {
		http.Error(w, "this program was built without the console", http.StatusNotFound)
		return
	}
	serveAsset(w, r, strings.TrimSuffix(path.Base(name[0]), ".gz"), oneDay)
}

// AcceptsGzip reports whether Accept-Encoding names gzip with a weight above 0, as every browser's does.
func AcceptsGzip(h http.Header) bool {
	for coding := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(coding, " ", ""), ";")
		if strings.EqualFold(name, "gzip") {
			return strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != "" || weight == ""
		}
	}
	return false
}

// Unpack returns the content of a file that is compressed with gzip.
func Unpack(compressed []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}
