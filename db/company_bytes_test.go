package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The estimate shows which company fills the disk, and all companies together have the size of the tables.
func TestBytesOfCompaniesAreEstimated(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	large, largeID := newCompany(t, store)
	small, smallID := newCompany(t, store)
	_, emptyID := newCompany(t, store)
	dataset := newDataset(t, large).ID
	for range 4 {
		_, err := addBytes(t.Context(), large, dataset, 500_000) // compressed
		require.NoError(t, err)
	}
	_, err := addBytes(t.Context(), small, newDataset(t, small).ID, 500_000)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "ANALYZE")
	require.NoError(t, err)

	bytes, err := store.CompanyBytes(t.Context())
	require.NoError(t, err)
	require.Greater(t, bytes[largeID], 2*bytes[smallID])
	require.Positive(t, bytes[smallID])
	require.Zero(t, bytes[emptyID])
	var database int64
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT pg_database_size(current_database())`).Scan(&database))
	require.Less(t, bytes[largeID]+bytes[smallID], database)
}
