package app_test

import (
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
)

// If a mutation was committed but its response was not saved, a retry changes nothing. The retry's error says so.
func TestRequestWithLostResponseIsNotRepeated(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, dbtest.Options())
	g := &gatewayUnderTest{url: serveStore(t, store), store: store}
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	execute := func(statement string) {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	execute(`CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'lost'; END $$`)
	execute(`CREATE TRIGGER lose BEFORE UPDATE OF status ON idempotent_requests FOR EACH ROW EXECUTE FUNCTION lose()`)
	_, key := g.company(t, "Lost")
	create := graphqlBody(t, `mutation ($in: CreateDatasetInput!) { createDataset(input: $in) { dataset { id } } }`,
		map[string]any{"in": map[string]any{"name": "D"}})
	for i, request := range []struct{ path, body string }{{"/Dataset", `{"name":"D"}`}, {"/graphql", create}} {
		require.Equal(t, http.StatusOK, g.post(t, request.path, key, request.body, onceOnly).status)
		early := g.post(t, request.path, key, request.body, onceOnly, "Accept: application/graphql-response+json")
		require.Equal(t, http.StatusConflict, early.status, early.text)
		execute(`UPDATE idempotent_requests SET carried_out_at = carried_out_at - interval '1 minute'`)
		again := g.post(t, request.path, key, request.body, onceOnly, "Accept: application/graphql-response+json")
		require.Equal(t, http.StatusUnprocessableEntity, again.status, again.text)
		require.Contains(t, again.text, "was executed")
		require.Equal(t, i+1, countDatasets(t, g, key))
	}
}
