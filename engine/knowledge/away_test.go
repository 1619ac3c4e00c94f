package knowledge_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

// outages simulates outages of a database.
type outages struct {
	t    *testing.T
	pool *pgxpool.Pool
	name string
}

func newOutages(t *testing.T, address string) *outages {
	t.Helper()
	config, err := pgx.ParseConfig(address)
	require.NoError(t, err)
	o := &outages{t: t, name: config.Database}
	o.pool, err = pgxpool.New(t.Context(), dbtest.EmptyURL(t))
	require.NoError(t, err)
	t.Cleanup(o.pool.Close)
	return o
}

// cut ends every connection of the database. Workers call it too, several at once.
func (o *outages) cut() {
	_, err := o.pool.Exec(o.t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1",
		o.name)
	assert.NoError(o.t, err)
}

// admit makes the database accept or refuse connections.
func (o *outages) admit(connections bool) {
	_, err := o.pool.Exec(o.t.Context(), fmt.Sprintf("ALTER DATABASE %s ALLOW_CONNECTIONS %t", o.name, connections))
	require.NoError(o.t, err)
}

// hooked is an embedding model that calls a function before each answer.
type hooked struct {
	lengths
	before func(ctx context.Context)
}

func (h *hooked) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	h.before(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return h.lengths.Embed(ctx, texts)
}

// While a document is indexed, the database restarts far more often than a document may fail or lose its worker.
func TestDocumentIsIndexedAcrossDatabaseRestarts(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), dbtest.URL(t)
	silent := slog.New(slog.DiscardHandler)
	store := dbtest.Open(t, address, db.Options{Log: silent})
	database := newOutages(t, address)
	const restarts = 2*model.MaxIndexAttempts + 2
	var calls atomic.Int32
	embedder := &hooked{lengths: lengths{name: "m"}, before: func(ctx context.Context) {
		n := calls.Add(1)
		if n > restarts {
			return
		}
		database.cut()
		if n%2 == 0 {
			<-ctx.Done() // workers detect the outage and interrupt the indexing
		}
	}}
	l := newLibrary(t, knowledge.Options{Embedder: embedder, Log: silent}, store, []string{})
	datasets, err := dbtest.Find[*model.Dataset](ctx, l.tenant, db.DatasetsOfChats, []string{l.chat.ID})
	require.NoError(t, err)
	var added []*model.Document
	for range 2 {
		d, err := l.base.AddDocument(ctx, l.tenant, model.AddDocumentInput{DatasetID: datasets[0].ID, Name: new("a"),
			Text: new("tree")})
		require.NoError(t, err)
		added = append(added, d)
	}
	require.NoError(t, store.Work(ctx, 1, db.Workers{Index: l.base.Index}))
	t.Cleanup(func() { require.NoError(t, store.StopWork(context.WithoutCancel(ctx))) })
	for _, d := range added {
		var stored *model.Document
		require.Eventually(t, func() bool {
			// The outage may make this read fail, too.
			stored, err = l.tenant.Document(ctx, d.ID)
			return err == nil && (stored.Status == model.DocumentStatusReady || stored.Status == model.DocumentStatusFailed)
		}, 2*time.Minute, 20*time.Millisecond)
		require.Nil(t, stored.Error)
	}
	require.Greater(t, calls.Load(), int32(restarts))
}

// An attempt counts as a wait if an outage interrupts it or prevents its start.
func TestAttemptDuringAnOutageIsNotCounted(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), dbtest.URL(t)
	silent := slog.New(slog.DiscardHandler)
	store := dbtest.Open(t, address, db.Options{Log: silent})
	database := newOutages(t, address)
	embedder := &hooked{lengths: lengths{name: "m"}, before: func(context.Context) {}}
	l := newLibrary(t, knowledge.Options{Embedder: embedder, Log: silent}, store, []string{})
	datasets, err := dbtest.Find[*model.Dataset](ctx, l.tenant, db.DatasetsOfChats, []string{l.chat.ID})
	require.NoError(t, err)
	d, err := l.base.AddDocument(ctx, l.tenant, model.AddDocumentInput{DatasetID: datasets[0].ID, Name: new("a"),
		Text: new("tree")})
	require.NoError(t, err)

	database.admit(false)
	database.cut()
	var later *db.Later
	require.ErrorAs(t, l.base.Index(ctx, l.tenant, d.IndexingID, 1), &later)
	database.admit(true)

	interrupted, interrupt := context.WithCancel(ctx)
	embedder.before = func(context.Context) { interrupt() }
	require.ErrorIs(t, l.base.Index(interrupted, l.tenant, d.IndexingID, 2), context.Canceled)
	stored, err := l.tenant.Document(ctx, d.ID)
	require.NoError(t, err)
	require.Equal(t, int32(2), stored.Waits, "attempts 1 and 2")

	embedder.before = func(context.Context) {}
	require.NoError(t, l.base.Index(ctx, l.tenant, d.IndexingID, 3))
	stored, err = l.tenant.Document(ctx, d.ID)
	require.NoError(t, err)
	require.Equal(t, model.DocumentStatusReady, stored.Status)
}
