package knowledge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
)

func TestRerankerReordersChunks(t *testing.T) {
	t.Parallel()
	var asked map[string]any
	answer := `{"results":[{"index":2,"relevance_score":0.9},{"index":1,"relevance_score":0.1}]}`
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		asked = nil
		_ = json.NewDecoder(r.Body).Decode(&asked)
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, answer)
	}))
	t.Cleanup(server.Close)
	var log bytes.Buffer
	watched, failed, retrieved := []string{}, 0, 0
	l := newLibrary(t, knowledge.Options{
		Reranker: knowledge.Reranker{URL: server.URL, Key: "secret", Models: []string{"best"},
			Observe: func(ctx context.Context, name string) (context.Context, func(error)) {
				watched = append(watched, name)
				return ctx, func(err error) {
					if err != nil {
						failed++
					}
				}
			}},
		Observe: func(ctx context.Context) (context.Context, func(int, error)) {
			return ctx, func(found int, err error) {
				require.NoError(t, err)
				retrieved += found
			}
		},
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	}, dbtest.New(t), []string{"red apples and pears\nred apples\nred\nblue"})
	l.chat.PromptSettings.SimilarityThreshold = 0.01
	question := "red apples and pears"
	plain := texts(l.ask(question))
	require.Equal(t, []string{"red apples and pears", "red apples", "red"}, plain)
	require.Nil(t, asked)

	l.chat.PromptSettings.RerankModel = "best"
	l.chat.PromptSettings.TopN = 2
	require.Equal(t, []string{"red", "red apples"}, texts(l.ask(question)), "more chunks are ranked than returned")
	require.Equal(t, "best", asked["model"])
	require.Equal(t, question, asked["query"])
	require.Len(t, asked["documents"], 3)
	require.Equal(t, []string{"best"}, watched)
	require.Equal(t, 5, retrieved, "the two questions found three chunks and two")
	require.EqualValues(t, 3, asked["top_n"])
	require.Empty(t, log.String())

	l.chat.PromptSettings.TopN = 6
	for _, bad := range []string{`{"results":[{"index":7,"relevance_score":1}]}`, `{}`, `no`} {
		answer = bad
		require.Equal(t, plain, texts(l.ask(question)), bad)
	}
	answer, status = "secret", http.StatusInternalServerError
	require.Equal(t, plain, texts(l.ask(question)))
	require.Equal(t, 4, strings.Count(log.String(), "could not rerank chunks"))
	require.Equal(t, 4, failed)
	require.NotContains(t, log.String(), "secret")
	l.chat.PromptSettings.RerankModel = "gone"
	require.Equal(t, plain, texts(l.ask(question)), "a model that is no longer configured")
}

func TestInvalidRerankersAreRefused(t *testing.T) {
	t.Parallel()
	require.NoError(t, knowledge.Reranker{}.Validate())
	require.NoError(t, knowledge.Reranker{URL: "https://api.example.com/v1/rerank", Models: []string{"m"}}.Validate())
	require.ErrorContains(t, knowledge.Reranker{URL: "https://api.example.com"}.Validate(), "needs at least one model")
	require.ErrorContains(t, knowledge.Reranker{Models: []string{"m"}}.Validate(), "not an http or https URL")
	require.ErrorContains(t, knowledge.Reranker{URL: "ftp://x", Models: []string{"m"}}.Validate(),
		"not an http or https URL")
}
