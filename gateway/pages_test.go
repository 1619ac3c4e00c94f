package gateway_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway"
)

const bulletin = "<h1>Everybody may read this.</h1>"

func withPage(o *gateway.Options) {
	o.Pages = map[string]gateway.Page{"/news": {
		Type: "text/html; charset=utf-8", Policy: "default-src 'none'", Content: []byte(strings.Repeat(bulletin, 100)),
	}}
}

func TestPagesArePublic(t *testing.T) {
	t.Parallel()
	f := start(t, withPage,
		settings(func(s *gateway.Settings) { s.RateLimit, s.CORSOrigins = 1, []string{"https://a.example.com"} }))
	for _, path := range []string{"/news", "/news?x=1"} {
		a := f.do(t, call{method: "GET", path: path, headers: []string{"X-Api-Key:", "Accept-Encoding: identity",
			"Origin: https://a.example.com"}})
		require.Equal(t, http.StatusOK, a.status)
		require.Equal(t, strings.Repeat(bulletin, 100), a.text)
		require.Equal(t, "text/html; charset=utf-8", a.header.Get("Content-Type"))
		require.Equal(t, "default-src 'none'", a.header.Get("Content-Security-Policy"))
		require.Equal(t, "public, max-age=300", a.header.Get("Cache-Control"))
		require.Equal(t, "https://a.example.com", a.header.Get("Access-Control-Allow-Origin"))
		again := f.do(t, call{method: "GET", path: path, headers: []string{"X-Api-Key:", "Accept-Encoding: identity",
			"If-None-Match: " + a.header.Get("ETag")}})
		require.Equal(t, http.StatusNotModified, again.status)
		require.Empty(t, again.text)
	}
	packed := f.do(t, call{method: "GET", path: "/news", headers: []string{"X-Api-Key:", "Accept-Encoding: gzip"}})
	require.Equal(t, "gzip", packed.header.Get("Content-Encoding"))
	require.Less(t, len(packed.text), len(bulletin)*3)
	require.Equal(t, "Accept-Encoding", packed.header.Get("Vary"))
	slash := f.do(t, call{method: "GET", path: "/news/", headers: []string{"X-Api-Key:"}})
	require.Equal(t, http.StatusFound, slash.status)
	require.Equal(t, "../news", slash.header.Get("Location"))
	head := f.do(t, call{method: "HEAD", path: "/news", headers: []string{"X-Api-Key:"}})
	require.Equal(t, http.StatusOK, head.status)
	require.Empty(t, head.text)
	post := f.do(t, call{method: "POST", path: "/news", headers: []string{"X-Api-Key:"}})
	require.Equal(t, http.StatusMethodNotAllowed, post.status)
	require.Equal(t, "GET, HEAD", post.header.Get("Allow"))
	require.Equal(t, http.StatusUnauthorized,
		f.do(t, call{method: "GET", path: "/newsletter", headers: []string{"X-Api-Key:"}}).status)

	require.NoError(t, f.Drain(context.WithoutCancel(t.Context())))
	require.Equal(t, http.StatusOK, f.do(t, call{method: "GET", path: "/news", headers: []string{"X-Api-Key:"}}).status)
}

func TestStoredPagesMayBeCompressed(t *testing.T) {
	t.Parallel()
	var stored bytes.Buffer
	writer := gzip.NewWriter(&stored)
	_, err := writer.Write([]byte(bulletin))
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	f := start(t, func(o *gateway.Options) {
		o.Pages = map[string]gateway.Page{
			"/news.js":    {Type: "text/javascript", Compressed: stored.Bytes()},
			"/damaged.js": {Type: "text/javascript", Compressed: []byte(bulletin)},
		}
	})
	packed := f.do(t, call{method: "GET", path: "/news.js", headers: []string{"Accept-Encoding: gzip"}})
	require.Equal(t, "gzip", packed.header.Get("Content-Encoding"))
	require.Equal(t, stored.String(), packed.text)
	plain := f.do(t, call{method: "GET", path: "/news.js", headers: []string{"Accept-Encoding: identity"}})
	require.Equal(t, bulletin, plain.text)
	require.NotEqual(t, packed.header.Get("ETag"), plain.header.Get("ETag"))
	require.Equal(t, http.StatusInternalServerError,
		f.do(t, call{method: "GET", path: "/damaged.js", headers: []string{"Accept-Encoding: identity"}}).status)
}
