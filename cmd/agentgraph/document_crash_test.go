package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

func startReplica(t *testing.T, address string) *exec.Cmd {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	replica := exec.CommandContext(context.WithoutCancel(t.Context()), binary, "serve")
	replica.Env = append(os.Environ(), asProgram+"=1", "DATABASE_URL="+address, "AGENTGRAPH_LISTEN=127.0.0.1:0",
		"AGENTGRAPH_WORKERS=4", "AGENTGRAPH_DRAIN_DELAY=0s", "AGENTGRAPH_MAX_CONNECTIONS=8", "OPENAI_API_KEY=",
		"OPENAI_BASE_URL=")
	stdin, err := replica.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, replica.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = replica.Process.Kill()
		_ = replica.Wait()
	})
	return replica
}

func TestWorkerKilledWhileIndexingLosesNothing(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	tenant, _ := newCompany(t, dbtest.Open(t, address, dbtest.Options()), "Crash")
	free, err := tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: "Free"})
	require.NoError(t, err)
	held, err := tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: "Held"})
	require.NoError(t, err)
	const documents, lines = 40, 2000
	text := strings.Repeat("The refund is paid within fourteen days after the parcel came back.\n", lines)
	for i := range documents {
		dataset := free
		if i >= documents/2 {
			dataset = held
		}
		_, err := knowledge.New(knowledge.Options{}).AddDocument(t.Context(), tenant,
			model.AddDocumentInput{DatasetID: dataset.ID, Name: new(fmt.Sprint("Document ", i)), Text: &text})
		require.NoError(t, err)
	}
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	count := func(where string) (n int) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM documents WHERE "+where).Scan(&n))
		return n
	}
	// No document of this dataset can finish before the lock is released.
	hold, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = hold.Exec(t.Context(), "SELECT FROM datasets WHERE id = $1 FOR UPDATE", held.ID)
	require.NoError(t, err)
	isBegun := fmt.Sprintf("status = 'Indexing' AND dataset_id = '%s'", held.ID)
	victim := startReplica(t, address)
	require.Eventually(t, func() bool { return count("status = 'Ready'") > 2 && count(isBegun) > 0 }, dbtest.WaitTimeout,
		10*time.Millisecond)
	require.NoError(t, victim.Process.Kill())
	_ = victim.Wait()
	begun := count(isBegun)
	require.NoError(t, hold.Rollback(t.Context()))
	startReplica(t, address)
	require.Eventually(t, func() bool { return count("status = 'Ready'") == documents }, dbtest.WaitTimeout,
		10*time.Millisecond)
	require.GreaterOrEqual(t, count("claim > 1"), begun, "the jobs were started twice")
	var wrong int
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM documents d WHERE chunk_count = 0
		OR chunk_count <> (SELECT count(*) FROM chunks c WHERE c.company_id = d.company_id AND c.document_id = d.id)
		OR chunk_count <> (SELECT max(position) + 1 FROM chunks c WHERE c.company_id = d.company_id
			AND c.document_id = d.id)`).Scan(&wrong))
	require.Zero(t, wrong)
}
