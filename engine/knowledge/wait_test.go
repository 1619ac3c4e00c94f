package knowledge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/provider"
	"github.com/agentgraph/agentgraph/model"
)

// newProvider returns an embedding model and a counter of its requests. Its provider answers with the status.
func newProvider(t *testing.T, status *atomic.Int64) (*provider.Embedder, *atomic.Int64) {
	t.Helper()
	asked := &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var body struct{ Input []string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		if status.Load() != http.StatusOK {
			w.WriteHeader(int(status.Load()))
			return
		}
		data := make([]map[string]any, len(body.Input))
		for i, text := range body.Input {
			data[i] = map[string]any{"object": "embedding", "index": i, "embedding": []int{len(text), 1}}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data})
	}))
	t.Cleanup(server.Close)
	embedder, err := provider.NewEmbedder(provider.Config{BaseURL: server.URL, Key: "key", Model: "m",
		Timeout: 5 * time.Second})
	require.NoError(t, err)
	return embedder, asked
}

func TestDocumentsWaitForTheirEmbeddingModel(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), dbtest.URL(t)
	status := &atomic.Int64{}
	status.Store(http.StatusServiceUnavailable)
	embedder, asked := newProvider(t, status)
	silent := slog.New(slog.DiscardHandler)
	store := dbtest.Open(t, address, db.Options{Log: silent})
	l := newLibrary(t, knowledge.Options{Embedder: embedder, Log: silent}, store, []string{})
	datasets, err := dbtest.Find[*model.Dataset](ctx, l.tenant, db.DatasetsOfChats, []string{l.chat.ID})
	require.NoError(t, err)
	conn, err := pgx.Connect(ctx, address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(ctx)) })
	count := func(query string) (n int) {
		require.NoError(t, conn.QueryRow(ctx, query).Scan(&n))
		return n
	}
	const documents = 3
	for range documents {
		_, err := l.base.AddDocument(ctx, l.tenant, model.AddDocumentInput{DatasetID: datasets[0].ID, Name: new("a"),
			Text: new("tree")})
		require.NoError(t, err)
	}
	require.NoError(t, store.Work(ctx, 1, db.Workers{Index: l.base.Index}))
	t.Cleanup(func() { require.NoError(t, store.StopWork(context.WithoutCancel(ctx))) })
	eventually := func(want int, query string) {
		require.Eventually(t, func() bool { return count(query) == want }, time.Minute, 10*time.Millisecond, query)
	}
	// A job that counted these waits as failures would have ended long before.
	const rounds = 8
	hurry := func() {
		_, err := conn.Exec(ctx, "UPDATE jobs SET ready_at = $1 WHERE river_job_id IS NULL AND ready_at > $1", time.Now())
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool {
		hurry()
		return count("SELECT min(waits) FROM documents") >= rounds
	}, time.Minute, 10*time.Millisecond)
	eventually(documents, "SELECT count(*) FROM jobs WHERE river_job_id IS NULL AND failures = 0")
	require.Less(t, asked.Load(), int64(documents*rounds), "an unavailable model is not asked for each document")
	require.Equal(t, documents, count(`SELECT count(*) FROM documents WHERE status = 'Indexing'
		AND warning LIKE 'it waits for the embedding model%the provider answered 503%'`))
	// The delay grows up to a bound.
	eventually(documents, "SELECT count(*) FROM jobs WHERE ready_at BETWEEN now() + interval '3 minutes' AND now() + "+
		"interval '7 minutes'")

	status.Store(http.StatusOK)
	l.base.EndOutage()
	hurry()
	eventually(documents, "SELECT count(*) FROM documents WHERE status = 'Ready' AND warning NOT LIKE 'it waits%' AND "+
		"embedding_model = 'm'")
	require.NotNil(t, l.ask("tree")[0].VectorSimilarity)
	eventually(0, "SELECT count(*) FROM jobs")
}

func TestDocumentWaitsForALimitedTime(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, knowledge.Options{}, dbtest.New(t), []string{})
	datasets, err := dbtest.Find[*model.Dataset](t.Context(), l.tenant, db.DatasetsOfChats, []string{l.chat.ID})
	require.NoError(t, err)
	failure := &llm.Error{Cause: llm.Unavailable, Message: "model m: the provider could not be reached"}
	embedder := &lengths{name: "m", err: failure}
	base := knowledge.New(knowledge.Options{Embedder: embedder, Log: slog.New(slog.DiscardHandler)})
	d, err := base.AddDocument(t.Context(), l.tenant, model.AddDocumentInput{DatasetID: datasets[0].ID, Name: new("a"),
		Text: new("tree")})
	require.NoError(t, err)
	attempt, waited := int32(1), time.Duration(0)
	var later *db.Later
	for ; ; attempt++ {
		err := base.Index(t.Context(), l.tenant, d.IndexingID, attempt)
		if !errors.As(err, &later) {
			break
		}
		waited += later.In
	}
	require.Greater(t, waited, 20*time.Hour)
	require.Less(t, waited, 32*time.Hour)
	for range 3 {
		attempt++
		_ = base.Index(t.Context(), l.tenant, d.IndexingID, attempt)
	}
	d, err = l.tenant.Document(t.Context(), d.ID)
	require.NoError(t, err)
	require.Equal(t, model.DocumentStatusFailed, d.Status)
	require.Equal(t, "it could not be embedded: model m: the provider could not be reached", *d.Error)
	require.Nil(t, d.Warning)
}

func TestLargeTextsAreIndexedOneAtATime(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, knowledge.Options{}, dbtest.New(t), []string{})
	datasets, err := dbtest.Find[*model.Dataset](t.Context(), l.tenant, db.DatasetsOfChats, []string{l.chat.ID})
	require.NoError(t, err)
	base := knowledge.New(knowledge.Options{Log: slog.New(slog.DiscardHandler)})
	line := strings.Repeat("Opening hours are from nine to five. ", 50)
	text := strings.Repeat(line, (5<<19)/len(line))
	paragraph := "<w:p><w:r><w:t>" + line + "</w:t></w:r></w:p>"
	for name, file := range map[string][]byte{
		"large.txt": []byte(text), "small.docx": docx(t, strings.ReplaceAll(text, line, paragraph)),
	} {
		d, err := base.AddDocument(t.Context(), l.tenant, model.AddDocumentInput{DatasetID: datasets[0].ID,
			Name: &name, Upload: &graphql.Upload{File: bytes.NewReader(file), Size: int64(len(file))}})
		require.NoError(t, err, name)
		done := base.IndexLarge()
		var later *db.Later
		require.ErrorAs(t, base.Index(t.Context(), l.tenant, d.IndexingID, 1), &later, name)
		require.Less(t, later.In, 30*time.Second)
		d, err = l.tenant.Document(t.Context(), d.ID)
		require.NoError(t, err)
		require.Equal(t, "it waits until another large document has been indexed", *d.Warning)
		done()
		require.NoError(t, base.Index(t.Context(), l.tenant, d.IndexingID, 2), name)
		d, err = l.tenant.Document(t.Context(), d.ID)
		require.NoError(t, err)
		require.Equal(t, model.DocumentStatusReady, d.Status, name)
	}
}
