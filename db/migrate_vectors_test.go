package db_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/schema"
	"github.com/agentgraph/agentgraph/model"
)

// kept has the vectors of a document with three chunks. The second chunk has none.
var kept = [][]float32{{0.1, -0.25, 3e-8}, nil, {1, 0, 0}}

// keepVectors indexes a document with the vectors in kept.
func keepVectors(t *testing.T, tenant *db.Tenant, datasetID string) *model.Document {
	t.Helper()
	d := claim(t, tenant, addDocument(t, tenant, datasetID, "x").IndexingID, 1)
	chunks := chunksOf("one", "two", "three")
	for i, vector := range kept {
		chunks[i].Embedding = vector
	}
	d.EmbeddingModel = new("a model")
	require.NoError(t, tenant.FinishDocument(t.Context(), d, chunks))
	return d
}

// requireVectors requires that a document has the vectors in kept.
func requireVectors(t *testing.T, tenant *db.Tenant, d *model.Document) {
	t.Helper()
	read := map[int32][]float32{}
	for c, err := range tenant.VectorsOfDocuments(t.Context(), []string{d.DatasetID}, []string{d.ID}) {
		require.NoError(t, err)
		require.Equal(t, d.ID, c.DocumentID)
		read[c.Position] = c.Embedding
	}
	require.Equal(t, map[int32][]float32{0: kept[0], 2: kept[2]}, read)
}

func typeOfVectors(t *testing.T, conn *pgx.Conn) (name string) {
	t.Helper()
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT format_type(atttypid, atttypmod) FROM pg_attribute
		WHERE attrelid = 'chunk_vectors'::regclass AND attname = 'embedding'`).Scan(&name))
	return name
}

// migratedType returns the type of the column of vectors after a migration on this server.
func migratedType(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	var available bool
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = "+
		"'vector')").Scan(&available))
	if available {
		return "vector"
	}
	return "real[]"
}

// Vectors are kept when a server gains or loses pgvector while replicas run.
func TestVectorsMoveWithoutLoss(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), dbtest.URL(t)
	conn, migrator := connect(t, address), newMigrator(t, address)
	dbtest.UseArrayVectors(t, address)
	before := dbtest.Open(t, address, db.Options{})
	require.False(t, before.ComparesVectors())
	tenant, companyID := newCompany(t, before)
	dataset := newDataset(t, tenant)
	documents := []*model.Document{keepVectors(t, tenant, dataset.ID)}

	require.Empty(t, together(4, func(int) error {
		migrator, err := schema.NewMigrator(ctx, address)
		if err != nil {
			return err
		}
		defer func() { _ = migrator.Close() }()
		return migrator.Up(ctx)
	}), "several at once")
	wanted := migratedType(t, conn)
	require.Equal(t, wanted, typeOfVectors(t, conn))
	after := dbtest.Open(t, address, db.Options{})
	require.Equal(t, wanted == "vector", after.ComparesVectors())
	_, ok, err := after.Tenant(companyID).NearestChunks(ctx, []string{dataset.ID}, []float32{1, 0, 0}, 5)
	require.NoError(t, err)
	require.Equal(t, wanted == "vector", ok)
	documents = append(documents, keepVectors(t, tenant, dataset.ID), keepVectors(t, after.Tenant(companyID), dataset.ID))

	dbtest.UseArrayVectors(t, address)
	documents = append(documents, keepVectors(t, after.Tenant(companyID), dataset.ID))
	if wanted == "vector" {
		ids, ok, err := after.Tenant(companyID).NearestChunks(ctx, []string{dataset.ID}, []float32{1, 0, 0}, 5)
		require.NoError(t, err, "an open store works without the extension")
		require.True(t, ok)
		require.Len(t, ids, 5)
	}
	for _, d := range documents {
		for _, store := range []*db.Store{before, after} {
			requireVectors(t, store.Tenant(companyID), d)
		}
	}

	// An older schema stores vectors with the chunks.
	require.NoError(t, migrator.Up(ctx))
	const withChunks = 10
	for schema, err := migrator.Schema(ctx); schema.Current > withChunks; schema, err = migrator.Schema(ctx) {
		require.NoError(t, err)
		require.NoError(t, migrator.Down(ctx))
	}
	var rows int
	require.NoError(t, conn.QueryRow(ctx, "SELECT count(*) FROM chunks WHERE embedding = $1::real[]", kept[0]).Scan(&rows))
	require.Equal(t, len(documents), rows)
	require.NoError(t, migrator.Up(ctx))
	for _, d := range documents {
		requireVectors(t, tenant, d)
	}
	require.NoError(t, tenant.DeleteDataset(ctx, dataset.ID))
	require.NoError(t, conn.QueryRow(ctx, "SELECT count(*) FROM chunk_vectors").Scan(&rows))
	require.Zero(t, rows)
}

// A dump from a server with pgvector is restored on a server without it. The table of vectors is lost.
func TestLostVectorsAreComputedAgain(t *testing.T) {
	t.Parallel()
	for name, loss := range map[string]string{
		"the table":  "DROP TABLE chunk_vectors",
		"the column": "ALTER TABLE chunk_vectors DROP COLUMN embedding",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, address := t.Context(), dbtest.URL(t)
			conn, migrator := connect(t, address), newMigrator(t, address)
			complete := catalog(t, conn)
			tenant, _ := newCompany(t, dbtest.Open(t, address, db.Options{}))
			d := keepVectors(t, tenant, newDataset(t, tenant).ID)
			_, err := conn.Exec(ctx, loss)
			require.NoError(t, err)
			schema, err := migrator.Schema(ctx)
			require.NoError(t, err)
			require.ErrorContains(t, schema.Err(), `the table of the chunks' vectors is missing: run "agentgraph migrate up"`)

			require.NoError(t, migrator.Up(ctx))
			require.Equal(t, complete, catalog(t, conn))
			require.Nil(t, readDocument(t, tenant, d.ID).EmbeddingModel)
			require.NoError(t, tenant.ReindexForModel(ctx, "a model"))
			again := readDocument(t, tenant, d.ID)
			require.Equal(t, model.DocumentStatusPending, again.Status)
			require.Equal(t, []string{"one", "two", "three"}, contentsOf(t, tenant, d.ID))
			require.NotNil(t, claim(t, tenant, again.IndexingID, 1))
		})
	}
}

// On most managed servers, only a superuser can create extensions.
func TestVectorsStayArraysWithoutTheRightToCreateExtensions(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), dbtest.EmptyURL(t)
	conn := connect(t, address)
	role := "owner_" + conn.Config().Database
	for _, statement := range []string{
		"CREATE ROLE " + role + " LOGIN",
		"GRANT CREATE ON DATABASE " + conn.Config().Database + " TO " + role,
		"GRANT CREATE ON SCHEMA public TO " + role,
	} {
		_, err := conn.Exec(ctx, statement)
		require.NoError(t, err)
	}
	t.Cleanup(func() {
		_, err := conn.Exec(context.WithoutCancel(ctx), "DROP OWNED BY "+role+" CASCADE")
		require.NoError(t, err)
		_, err = conn.Exec(context.WithoutCancel(ctx), "DROP ROLE "+role)
		require.NoError(t, err)
	})
	migrator := newMigrator(t, address+"&user="+role)
	require.NoError(t, migrator.Up(ctx))
	require.Equal(t, "real[]", typeOfVectors(t, conn))

	// If another user has created the extension, the migration uses it.
	if wanted := migratedType(t, conn); wanted == "vector" {
		_, err := conn.Exec(ctx, "CREATE EXTENSION vector")
		require.NoError(t, err)
		require.NoError(t, migrator.Up(ctx))
		require.Equal(t, wanted, typeOfVectors(t, conn))

		// Vectors that have become unreadable are reported.
		for _, statement := range []string{"CREATE SCHEMA elsewhere", "ALTER EXTENSION vector SET SCHEMA elsewhere"} {
			_, err := conn.Exec(ctx, statement)
			require.NoError(t, err)
		}
		schema, err := migrator.Schema(ctx)
		require.NoError(t, err)
		require.ErrorContains(t, schema.Err(), "the database no longer finds it")
		require.ErrorContains(t, migrator.Up(ctx), "the database no longer finds it")
	}
}
