package gateway

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/agentgraph/agentgraph/gateway/console"
)

// Page is a public document, the same for everybody. It needs no credential, is not rate limited, and is served even
// while the server drains, as it holds nothing of a company.
type Page struct {
	// Type is its Content-Type, and Policy its Content-Security-Policy, which may be empty.
	Type, Policy string
	// Content writes the page. It is called once, at the first request.
	Content func() ([]byte, error)
}

// pages are handlers of pages by path.
type pages map[string]http.Handler

func newPages(of map[string]Page) pages {
	handlers := pages{}
	for path, page := range of {
		handlers[path] = handlerOf(page)
	}
	return handlers
}

// at returns the page of a path, or nil. A trailing slash makes no difference.
func (p pages) at(path string) http.Handler {
	return p[strings.TrimSuffix(path, "/")]
}

// pageAge is the Cache-Control of pages. They change with the program alone.
const pageAge = "public, max-age=300"

// packed is a page's content, as it is and compressed.
type packed struct {
	plain, compressed []byte
	tag               string
}

func handlerOf(page Page) http.Handler {
	content := sync.OnceValues(func() (packed, error) {
		plain, err := page.Content()
		if err != nil {
			return packed{}, err
		}
		sum := sha256.Sum256(plain)
		p := packed{plain: plain, tag: hex.EncodeToString(sum[:8])}
		var compressed bytes.Buffer
		writer, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
		if err != nil {
			return packed{}, err
		}
		if _, err := writer.Write(plain); err != nil {
			return packed{}, err
		}
		err = writer.Close()
		p.compressed = compressed.Bytes()
		return p, err
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			header.Set("Allow", "GET, HEAD")
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		p, err := content()
		if err != nil {
			panic(err) // the gateway logs it and answers
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
			header.Set("ETag", `"`+p.tag+`.gz"`)
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(p.compressed))
			return
		}
		header.Set("ETag", `"`+p.tag+`"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(p.plain))
	})
}
