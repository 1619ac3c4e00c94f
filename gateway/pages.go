package gateway

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentgraph/agentgraph/gateway/console"
)

// Page is a public document, the same for everybody. It needs no credential, is not rate limited, and is served even
// while the server drains, because it contains no company's data.
type Page struct {
	// Type is the Content-Type, and Policy the Content-Security-Policy, which may be "".
	Type, Policy string
	// Content is the document. A Page that is stored with gzip has Compressed instead.
	Content, Compressed []byte
}

type pages map[string]http.Handler

func newPages(byPath map[string]Page) pages {
	handlers := pages{}
	for path, page := range byPath {
		handlers[path] = handlerOf(page)
	}
	return handlers
}

// at returns the page of a path, or nil. A trailing slash redirects to the path without it, because the page's links
// are relative.
func (p pages) at(path string) http.Handler {
	plain := strings.TrimSuffix(path, "/")
	if p[plain] == nil || plain == path {
		return p[path]
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		// The redirect is relative, because a proxy might have removed a prefix from the path.
		w.Header().Set("Location", "../"+plain[strings.LastIndexByte(plain, '/')+1:])
		w.WriteHeader(http.StatusFound)
	})
}

// pageAge is the Cache-Control of pages. Pages change only with the program.
const pageAge = "public, max-age=300"

func handlerOf(page Page) http.Handler {
	sum := sha256.Sum256(slices.Concat(page.Content, page.Compressed))
	tag := hex.EncodeToString(sum[:8])
	compressed := sync.OnceValue(func() []byte {
		if page.Compressed != nil {
			return page.Compressed
		}
		var out bytes.Buffer
		writer, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is valid
		_, _ = writer.Write(page.Content)                            // writing to a buffer cannot fail
		_ = writer.Close()
		return out.Bytes()
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		if !console.IsRead(w, r) {
			return
		}
		header.Set("Content-Type", page.Type)
		header.Set("Cache-Control", pageAge)
		header.Set("Vary", "Accept-Encoding")
		if page.Policy != "" {
			header.Set("Content-Security-Policy", page.Policy)
			header.Set("Referrer-Policy", "no-referrer")
			header.Set("Cross-Origin-Opener-Policy", "same-origin")
		}
		if console.AcceptsGzip(r.Header) {
			header.Set("Content-Encoding", "gzip")
			header.Set("ETag", `"`+tag+`.gz"`)
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(compressed()))
			return
		}
		header.Set("ETag", `"`+tag+`"`)
		content := page.Content
		if page.Compressed != nil {
			var err error
			if content, err = console.Unpack(page.Compressed); err != nil {
				http.Error(w, "the file is damaged", http.StatusInternalServerError)
				return
			}
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	})
}
