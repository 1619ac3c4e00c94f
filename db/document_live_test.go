package db_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// Followers of a dataset get the final state of each of its documents, whichever replica indexes it.
func TestDocumentFollowersReceiveFinalStates(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, company := newCompany(t, store)
	elsewhere := dbtest.Reopen(t, store).Tenant(company)
	dataset, other := newDataset(t, tenant), newDataset(t, tenant)
	old := addDocument(t, tenant, dataset.ID, "It was there before.")
	var followers []<-chan *model.Document
	for _, replica := range []*db.Tenant{tenant, elsewhere, elsewhere} {
		follower, err := replica.FollowDocuments(t.Context(), dataset.ID)
		require.NoError(t, err)
		followers = append(followers, follower)
	}
	addDocument(t, tenant, other.ID, "It is of another dataset.")
	ready, failing := map[string]bool{}, ""
	for i := range 250 {
		d := addDocument(t, tenant, dataset.ID, fmt.Sprintf("Text %d.", i))
		claimed, err := tenant.ClaimDocument(t.Context(), d.IndexingID, 1)
		require.NoError(t, err)
		if i == 0 {
			failing, claimed.Error = d.ID, new("It is broken.")
			require.NoError(t, tenant.FailDocument(t.Context(), claimed))
			continue
		}
		ready[d.ID] = true
		require.NoError(t, tenant.FinishDocument(t.Context(), claimed, nil))
	}
	for _, follower := range followers {
		seen := map[string]model.DocumentStatus{}
		for final := map[string]bool{}; len(final) < len(ready)+1; {
			d, open := next(t, follower)
			require.True(t, open)
			require.Equal(t, dataset.ID, d.DatasetID)
			seen[d.ID] = d.Status
			final[d.ID] = d.Status == model.DocumentStatusReady || d.Status == model.DocumentStatusFailed
			if !final[d.ID] {
				delete(final, d.ID)
			}
		}
		require.NotContains(t, seen, old.ID, "it has not changed")
		require.Equal(t, model.DocumentStatusFailed, seen[failing])
		for id := range ready {
			require.Equal(t, model.DocumentStatusReady, seen[id])
		}
	}
	again, err := tenant.ReindexDocument(t.Context(), old.ID)
	require.NoError(t, err)
	require.NoError(t, tenant.DeleteDocument(t.Context(), model.DeleteDocumentInput{DocumentID: failing}))
	for _, follower := range followers {
		d, _ := next(t, follower)
		for d.ID != again.ID { // A state may arrive twice if it was read before the signal of its change arrived.
			require.True(t, ready[d.ID])
			d, _ = next(t, follower)
		}
		require.Equal(t, model.DocumentStatusPending, d.Status)
	}
	require.NoError(t, tenant.DeleteDataset(t.Context(), dataset.ID))
	for _, follower := range followers {
		for open := true; open; { // The dataset was deleted.
			_, open = next(t, follower)
		}
	}
	_, err = tenant.FollowDocuments(t.Context(), dataset.ID)
	fails(t, err, model.NotFound)
	stranger, _ := newCompany(t, store)
	_, err = stranger.FollowDocuments(t.Context(), other.ID)
	fails(t, err, model.NotFound)
}

func TestDocumentWithLostSignalIsSeen(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	tenant, _ := newCompany(t, dbtest.Open(t, address, db.Options{}))
	conn := connect(t, address)
	dataset := newDataset(t, tenant)
	d := addDocument(t, tenant, dataset.ID, "A text.")
	ctx, leave := context.WithCancel(t.Context())
	follower, err := tenant.FollowDocuments(ctx, dataset.ID)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "UPDATE documents SET name = 'Renamed'")
	require.NoError(t, err)
	seen, _ := next(t, follower)
	require.Equal(t, d.ID, seen.ID)
	require.Equal(t, "Renamed", seen.Name)
	leave()
	for open := true; open; {
		_, open = next(t, follower)
	}
}

// documentLooks counts the reads of datasets' documents, and the rows of all statements.
type documentLooks struct{ looks, rows atomic.Int64 }

func (l *documentLooks) TraceQueryStart(ctx context.Context, _ *pgx.Conn,
	data pgx.TraceQueryStartData) context.Context {
	if strings.Contains(data.SQL, "bit_xor") {
		l.looks.Add(1)
	}
	return ctx
}

func (l *documentLooks) TraceQueryEnd(_ context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	l.rows.Add(data.CommandTag.RowsAffected())
}

// While the documents of a dataset do not change, each look reads one row, however many documents there are.
func TestUnchangedDocumentsAreNotReadAgain(t *testing.T) {
	t.Parallel()
	address, traced := dbtest.URL(t), &documentLooks{}
	tenant, company := newCompany(t, dbtest.Open(t, address, db.Options{}))
	dataset := newDataset(t, tenant)
	const documents = 100
	for i := range documents {
		addDocument(t, tenant, dataset.ID, fmt.Sprintf("Text %d.", i))
	}
	store := dbtest.Open(t, address, db.Options{Tracer: traced})
	follower, err := store.Tenant(company).FollowDocuments(t.Context(), dataset.ID)
	require.NoError(t, err)
	look := func() {
		above := traced.looks.Load()
		require.Eventually(t, func() bool {
			db.Wake(tenant, dataset.ID)
			return traced.looks.Load() > above
		}, waitFor, 10*time.Millisecond)
	}
	db.Listen(t.Context(), store)
	look()
	look() // the first look reads all documents; this one waits until that has ended
	before := traced.rows.Load()
	look()
	look()
	require.Less(t, traced.rows.Load()-before, int64(documents))

	d := addDocument(t, tenant, dataset.ID, "It is new.")
	added, _ := next(t, follower)
	require.Equal(t, d.ID, added.ID)
}
