package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestLaterAttemptTakesOverDocument(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	added := addDocument(t, tenant, newDataset(t, tenant).ID, "x")
	first, second := claim(t, tenant, added.IndexingID, 1), claim(t, tenant, added.IndexingID, 2)
	fails(t, tenant.FinishDocument(t.Context(), first, chunksOf("first")), model.Conflict)
	first.Error = new("broken")
	fails(t, tenant.FailDocument(t.Context(), first), model.Conflict)
	require.NoError(t, tenant.FinishDocument(t.Context(), second, chunksOf("second")))
	require.Equal(t, []string{"second"}, contentsOf(t, tenant, added.ID))
}

func TestIndexingFailsAfterTooManyAttempts(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	added := addDocument(t, tenant, newDataset(t, tenant).ID, "x")
	for attempt := range int32(model.MaxIndexAttempts) {
		require.NotNil(t, claim(t, tenant, added.IndexingID, attempt+1))
	}
	require.Nil(t, claim(t, tenant, added.IndexingID, model.MaxIndexAttempts+1))
	failed := readDocument(t, tenant, added.ID)
	require.Equal(t, model.DocumentStatusFailed, failed.Status)
	require.Contains(t, *failed.Error, "4 times")
}

func TestWaitingDocumentDoesNotFail(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	added := addDocument(t, tenant, newDataset(t, tenant).ID, "x")
	attempt := int32(0)
	for range 3 * model.MaxIndexAttempts {
		attempt++
		waiting := claim(t, tenant, added.IndexingID, attempt)
		require.NotNil(t, waiting)
		waiting.Warning = new("it waits")
		require.NoError(t, tenant.PostponeDocument(ctx, waiting))
		same(t, waiting, readDocument(t, tenant, added.ID))
		require.Equal(t, model.DocumentStatusIndexing, waiting.Status)
		require.Equal(t, attempt, waiting.Waits)
	}
	var claimed *model.Document
	for range model.MaxIndexAttempts {
		attempt++
		claimed = claim(t, tenant, added.IndexingID, attempt)
		require.NotNil(t, claimed)
	}
	stale := *claimed
	stale.Claim--
	fails(t, tenant.PostponeDocument(ctx, &stale), model.Conflict)
	claimed.Error = new("it is damaged")
	require.NoError(t, tenant.FailDocument(ctx, claimed))
	require.Nil(t, readDocument(t, tenant, added.ID).Warning, "it no longer waits")

	again, err := tenant.ReindexDocument(ctx, added.ID)
	require.NoError(t, err)
	require.Zero(t, again.Waits)
	claimed = claim(t, tenant, again.IndexingID, 1)
	claimed.Warning = new("it waits")
	require.NoError(t, tenant.PostponeDocument(ctx, claimed))
	again, err = tenant.ReindexDocument(ctx, added.ID)
	require.NoError(t, err)
	require.Nil(t, again.Warning)
	for attempt := range int32(model.MaxIndexAttempts) {
		require.NotNil(t, claim(t, tenant, again.IndexingID, attempt+1))
	}
	require.Nil(t, claim(t, tenant, again.IndexingID, model.MaxIndexAttempts+1))
	require.Equal(t, model.DocumentStatusFailed, readDocument(t, tenant, added.ID).Status)
}

func TestReleasedDocumentDoesNotFail(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	added := addDocument(t, tenant, newDataset(t, tenant).ID, "x")
	attempt := int32(0)
	for range model.MaxIndexAttempts {
		attempt += 3 // the attempts in between could not claim it
		released := claim(t, tenant, added.IndexingID, attempt)
		require.NotNil(t, released)
		require.NoError(t, tenant.ReleaseDocument(ctx, released))
		same(t, released, readDocument(t, tenant, added.ID))
		require.Equal(t, attempt, released.Waits)
		require.Equal(t, model.DocumentStatusIndexing, released.Status)
	}
	for range model.MaxIndexAttempts {
		attempt++
		lost := claim(t, tenant, added.IndexingID, attempt)
		require.NotNil(t, lost)
		stale := *lost
		stale.Claim--
		fails(t, tenant.ReleaseDocument(ctx, &stale), model.Conflict)
		require.Equal(t, lost.Waits, stale.Waits)
	}
	require.Nil(t, claim(t, tenant, added.IndexingID, attempt+2), "four workers died while they indexed it")
	require.Equal(t, model.DocumentStatusFailed, readDocument(t, tenant, added.ID).Status)
}
