package console

import (
	"context"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func get(t *testing.T, h http.Handler, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Vary", "X-Api-Key, Authorization")
	h.ServeHTTP(w, r)
	return w
}

func TestPageFindsItsFilesFromAnyDepth(t *testing.T) {
	t.Parallel()
	h := New(nil)
	for path, prefix := range map[string]string{
		"/console/": "./assets/", "/console/agents": "./assets/", "/console/agents/agent_1": "./../assets/",
		"/console/agents/agent_1/versions": "./../../assets/",
	} {
		w := get(t, h, path)
		require.Equal(t, http.StatusOK, w.Code)
		require.Contains(t, w.Body.String(), `src="`+prefix+"index-", path)
		require.NotContains(t, w.Body.String(), `"/assets`, path)
		require.Equal(t, policy, w.Header().Get("Content-Security-Policy"))
		require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		require.Equal(t, "no-referrer", w.Header().Get("Referrer-Policy"))
		require.Equal(t, "same-origin", w.Header().Get("Cross-Origin-Opener-Policy"))
	}
}

func TestExplorerHasItsOwnPolicy(t *testing.T) {
	t.Parallel()
	w := get(t, New(nil), "/console/explore")
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), `src="./assets/explore-`)
	require.Equal(t, explorerPolicy, w.Header().Get("Content-Security-Policy"))
	require.Contains(t, explorerPolicy, "require-trusted-types-for 'script'")
	require.Contains(t, policy, "trusted-types 'none'", "the console itself makes no HTML from text")
	for name := range strings.FieldsSeq(editorTypes) {
		require.True(t, isMade(t, name), "no script makes the policy %s", name)
	}
	for _, path := range []string{"/console/explore/", "/console/explore/x", "/console/explorer"} {
		require.Equal(t, policy, get(t, New(nil), path).Header().Get("Content-Security-Policy"), path)
	}
}

func TestEntryRedirectIsRelative(t *testing.T) {
	t.Parallel()
	w := get(t, New(nil), "/console")
	require.Equal(t, http.StatusFound, w.Code)
	require.Equal(t, "console/", w.Header().Get("Location"))
}

func TestAssetsAreCachedForever(t *testing.T) {
	t.Parallel()
	h := New(nil)
	names, err := fs.Glob(dist, "dist/assets/*.gz")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		name = strings.TrimSuffix(strings.TrimPrefix(name, "dist"), ".gz")
		packed := get(t, h, Path+name, "Accept-Encoding", "br, gzip;q=0.8")
		require.Equal(t, http.StatusOK, packed.Code)
		require.Equal(t, "gzip", packed.Header().Get("Content-Encoding"))
		require.Equal(t, "public, max-age=31536000, immutable", packed.Header().Get("Cache-Control"))
		require.Equal(t, "Accept-Encoding", packed.Header().Get("Vary"))
		require.NotEmpty(t, packed.Header().Get("Content-Type"), name)

		plain := get(t, h, Path+name, "Accept-Encoding", "gzip;q=0, br")
		require.Empty(t, plain.Header().Get("Content-Encoding"))
		require.NotEqual(t, packed.Header().Get("ETag"), plain.Header().Get("ETag"))
		text, err := Unpack(packed.Body.Bytes())
		require.NoError(t, err)
		require.Equal(t, text, plain.Body.Bytes())

		again := get(t, h, Path+name, "Accept-Encoding", "gzip", "If-None-Match", packed.Header().Get("ETag"))
		require.Equal(t, http.StatusNotModified, again.Code)
		require.Empty(t, again.Body.Bytes())
	}
}

func TestMissingFileIsNotFound(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/console/assets/index-00000000.js", "/console/assets/", "/console/assets/../index.html",
		"/console/assets/%2e%2e/index.html"} {
		require.Equal(t, http.StatusNotFound, get(t, New(nil), path).Code, path)
	}
}

func TestConsoleRefusesWrites(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	New(nil).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/console/session", nil))
	require.Equal(t, http.StatusMethodNotAllowed, w.Code, "without an invitation there is no session")
}

func TestSignInCodeWorksOnce(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	invitation := NewInvitation(func(context.Context) (Session, error) {
		return Session{Token: "t", ExpiresAt: until, Scopes: []string{"read"}}, nil
	})
	h := New(invitation)
	post := func(kind, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/console/session", strings.NewReader(body))
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	code := strings.TrimPrefix(invitation.Fragment(), "#code=")
	good := `{"code":"` + code + `"}`
	require.Equal(t, http.StatusUnsupportedMediaType, post("text/plain", good).Code)
	require.Equal(t, http.StatusBadRequest, post("application/json", "no").Code)
	require.Equal(t, http.StatusGone, post("application/json", `{"code":"`+code+`x"}`).Code)
	require.Equal(t, http.StatusGone, post("application/json", `{"code":""}`).Code)

	w := post("application/json", good)
	require.Equal(t, http.StatusOK, w.Code)
	var session Session
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &session))
	require.Equal(t, Session{Token: "t", ExpiresAt: until, Scopes: []string{"read"}}, session)

	require.Equal(t, http.StatusGone, post("application/json", good).Code)
	require.Equal(t, http.StatusGone, post("application/json", `{"code":""}`).Code)
}

func TestSignInCodeExpires(t *testing.T) {
	t.Parallel()
	invitation := NewInvitation(nil)
	invitation.until = time.Now().Add(-time.Second)
	require.False(t, invitation.useCode(strings.TrimPrefix(invitation.Fragment(), "#code=")))
}

// isMade reports whether a script of the explorer contains the policy's name as a string.
func isMade(t *testing.T, name string) bool {
	t.Helper()
	scripts, err := fs.Glob(dist, "dist/assets/explore-*.js.gz")
	require.NoError(t, err)
	require.NotEmpty(t, scripts)
	for _, script := range scripts {
		compressed, err := dist.ReadFile(script)
		require.NoError(t, err)
		text, err := Unpack(compressed)
		require.NoError(t, err)
		if regexp.MustCompile("['`\"]" + name + "['`\"]").Match(text) {
			return true
		}
	}
	return false
}
