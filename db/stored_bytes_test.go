package db_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func addBytes(ctx context.Context, tenant *db.Tenant, datasetID string, n int) (*model.Document, error) {
	text := strings.Repeat("x", n)
	added, err := model.NewDocument(model.AddDocumentInput{DatasetID: datasetID, Name: new("notes.txt"), Text: &text},
		time.Now())
	if err != nil {
		return nil, err
	}
	added.ContentType = "text/plain"
	return added, tenant.AddDocument(ctx, added, strings.NewReader(text))
}

// After additions and deletions in any order, the sum equals a recount.
func TestStoredBytesEqualTheDocuments(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	rapid.Check(t, func(r *rapid.T) {
		tenant, companyID := newCompany(t, store)
		datasets, documents := []string{newDataset(t, tenant).ID}, []*model.Document{}
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			switch rapid.IntRange(0, 5).Draw(r, "step") {
			case 0:
				datasets = append(datasets, newDataset(t, tenant).ID)
			case 1:
				if len(documents) > 0 {
					gone := documents[len(documents)-1]
					documents = documents[:len(documents)-1]
					_ = tenant.DeleteDocument(t.Context(), model.DeleteDocumentInput{DocumentID: gone.ID}) // perhaps with its dataset
				}
			case 2:
				if len(datasets) > 1 {
					require.NoError(r, tenant.DeleteDataset(t.Context(), datasets[0]))
					datasets = datasets[1:]
				}
			default:
				added, err := addBytes(t.Context(), tenant, datasets[len(datasets)-1], rapid.IntRange(1, 3_000).Draw(r, "bytes"))
				require.NoError(r, err)
				documents = append(documents, added)
			}
		}
		var recounted int64
		require.NoError(r, conn.QueryRow(t.Context(), "SELECT coalesce(sum(octet_length(content)), 0) FROM "+
			"document_contents WHERE company_id = $1", companyID).Scan(&recounted))
		stored, err := tenant.StoredBytes(t.Context())
		require.NoError(r, err)
		require.Equal(r, recounted, stored)
	})
}

func TestStoredBytesOfACompanyAreBounded(t *testing.T) {
	t.Parallel()
	store := dbtest.Open(t, dbtest.URL(t), db.Options{MaxStored: 1_000})
	tenant, _ := newCompany(t, store)
	dataset := newDataset(t, tenant).ID
	first, err := addBytes(t.Context(), tenant, dataset, 600)
	require.NoError(t, err)
	_, err = addBytes(t.Context(), tenant, dataset, 401)
	var refused *model.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, model.Unprocessable, refused.Code)
	require.Equal(t, "the company's documents have 600 bytes, and 401 more would exceed "+
		"the maximum, 1000: delete some first", refused.Message)
	_, err = addBytes(t.Context(), tenant, dataset, 400)
	require.NoError(t, err)

	other, _ := newCompany(t, store)
	_, err = addBytes(t.Context(), other, newDataset(t, other).ID, 1_000)
	require.NoError(t, err, "another company has its own limit")

	require.NoError(t, tenant.DeleteDocument(t.Context(), model.DeleteDocumentInput{DocumentID: first.ID}))
	_, err = addBytes(t.Context(), tenant, dataset, 600)
	require.NoError(t, err, "a deletion frees bytes")
}

func TestConcurrentDocumentsStayWithinTheByteLimit(t *testing.T) {
	t.Parallel()
	store := dbtest.Open(t, dbtest.URL(t), db.Options{MaxStored: 1_000})
	tenant, _ := newCompany(t, store)
	dataset := newDataset(t, tenant).ID
	errs := make([]error, 12)
	var adding sync.WaitGroup
	for i := range errs {
		adding.Go(func() { _, errs[i] = addBytes(t.Context(), tenant, dataset, 300) })
	}
	adding.Wait()
	added := 0
	for _, err := range errs {
		var refused *model.Error
		if err == nil {
			added++
		} else {
			require.True(t, errors.As(err, &refused) && refused.Code == model.Unprocessable, "%v", err)
		}
	}
	require.Equal(t, 3, added)
	stored, err := tenant.StoredBytes(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 900, stored)
}
