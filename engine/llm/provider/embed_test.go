package provider_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/provider"
)

var _ llm.Embedder = (*provider.Embedder)(nil)

func TestEmbedSendsTexts(t *testing.T) {
	t.Parallel()
	embedder, err := provider.NewEmbedder(provider.Config{BaseURL: stubURL + "/v1", Key: stubKey, Model: "embeds"})
	require.NoError(t, err)
	require.Equal(t, "embeds", embedder.Name())
	vectors, err := embedder.Embed(t.Context(), []string{"one", "two"})
	require.NoError(t, err)
	require.Equal(t, [][]float32{{0.5, -0.25, 1}, {0.5, -0.25, 1}}, vectors)

	embedder, err = provider.NewEmbedder(provider.Config{BaseURL: stubURL + "/v1", Key: "not-the-key", Model: "embeds"})
	require.NoError(t, err)
	_, err = embedder.Embed(t.Context(), []string{"one"})
	require.Equal(t, llm.Unauthorized, requireFailure(t, err).Cause)
}

// embedding serves embeddings that encode the length of a text, the last text's first.
type embedding struct {
	mu    sync.Mutex
	asked [][]string
}

func (e *embedding) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct{ Input []string }
	_ = json.NewDecoder(r.Body).Decode(&body)
	e.mu.Lock()
	e.asked = append(e.asked, body.Input)
	e.mu.Unlock()
	var data []map[string]any
	for i := len(body.Input) - 1; i >= 0; i-- {
		data = append(data, map[string]any{"index": i, "embedding": []int{len(body.Input[i]), 1}})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
}

func embedderOf(t *testing.T, handler http.Handler, configure ...func(*provider.Config)) *provider.Embedder {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	config := provider.Config{BaseURL: server.URL, Key: stubKey, Model: "m"}
	for _, c := range configure {
		c(&config)
	}
	embedder, err := provider.NewEmbedder(config)
	require.NoError(t, err)
	return embedder
}

func TestEmbedSendsBatchesAndKeepsTheOrder(t *testing.T) {
	t.Parallel()
	server := &embedding{}
	texts := []string{" "}
	for i := range 300 {
		texts = append(texts, strings.Repeat("a", i+2))
	}
	texts = append(texts, strings.Repeat("é", 20_000))
	vectors, err := embedderOf(t, server).Embed(t.Context(), texts)
	require.NoError(t, err)
	require.Len(t, vectors, len(texts))
	for i, vector := range vectors[:301] {
		require.EqualValues(t, i+1, vector[0])
	}
	require.Greater(t, len(server.asked), 2)
	last := server.asked[len(server.asked)-1]
	long := last[len(last)-1]
	require.True(t, utf8.ValidString(long))
	require.Less(t, len(long), 20_000)

	vectors, err = embedderOf(t, server).Embed(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, vectors)
}

func TestEmbedRetriesTransientErrors(t *testing.T) {
	t.Parallel()
	good := &embedding{}
	p := &scripted{answers: []http.HandlerFunc{refuse(503, "Retry-After", "0", ""), good.ServeHTTP}}
	vectors, err := embedderOf(t, p).Embed(t.Context(), []string{"abc"})
	require.NoError(t, err)
	require.Equal(t, [][]float32{{3, 1}}, vectors)
	require.EqualValues(t, 2, p.asked.Load())
}

func TestEmbedFailuresAreReported(t *testing.T) {
	t.Parallel()
	answer := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprint(w, body)
		}
	}
	for name, test := range map[string]struct {
		answer    http.HandlerFunc
		configure func(*provider.Config)
		cause     llm.Cause
	}{
		"refused": {answer: refuse(400, "", "", `{"error":{"message":"stub-key"}}`), cause: llm.Rejected},
		"too few": {answer: answer(`{"data":[{"index":0,"embedding":[1]}]}`), cause: llm.Malformed},
		"unknown place": {answer: answer(`{"data":[{"index":0,"embedding":[1]},{"index":7,"embedding":[1]}]}`),
			cause: llm.Malformed},
		"same place twice": {answer: answer(`{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`),
			cause: llm.Malformed},
		"different lengths": {answer: answer(`{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}`),
			cause: llm.Malformed},
		"empty": {answer: answer(`{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}`),
			cause: llm.Malformed},
		"nothing":  {answer: answer(`{}`), cause: llm.Malformed},
		"not JSON": {answer: answer(`hello`), cause: llm.Malformed},
		"too slow": {
			answer: func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // the server notices a disconnect only after reading the body
				fallSilent(w, r)
			},
			cause: llm.TimedOut, configure: func(c *provider.Config) { c.Timeout = 100 * time.Millisecond },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			configure := test.configure
			if configure == nil {
				configure = func(*provider.Config) {}
			}
			_, err := embedderOf(t, test.answer, configure).Embed(t.Context(), []string{"a", "b"})
			require.Equal(t, test.cause, requireFailure(t, err).Cause, "%v", err)
			require.ErrorContains(t, err, "the embedding model: the provider ")
		})
	}
}
