package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
)

// Only commands that serve succeed when they are cancelled. All others exit with 4 and one sentence.
func TestCancelledCommandsExitWithFour(t *testing.T) {
	dir, address := t.TempDir(), dbtest.URL(t)
	archive := filepath.Join(dir, "company.tar.gz")
	require.NoError(t, os.WriteFile(archive, []byte("x"), 0o600))
	yaml := filepath.Join(dir, "company.yaml")
	require.NoError(t, os.WriteFile(yaml, []byte("agents: []"), 0o600))
	for name, value := range map[string]string{"DATABASE_URL": address, "AGENTGRAPH_URL": "http://127.0.0.1:9",
		"AGENTGRAPH_API_KEY": "ag_none", "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": "http://127.0.0.1:9",
		"XDG_CONFIG_HOME": dir, "HOME": dir} {
		t.Setenv(name, value)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	silent, end := io.Pipe()
	defer func() { _ = end.Close() }()
	for line, code := range map[string]int{
		"dev": 0, "serve": 0, "doctor": 4, "judge eval": 4, "migrate up": 4, "migrate down --yes": 4, "migrate status": 4,
		"distribute": 4, "companies create --name A": 4, "companies list": 4, "companies delete --company A": 4,
		"keys create --company A": 4, "keys import --company A --secret-from-stdin": 4,
		"keys list --company A": 4, "plan list": 4, "retention set --company A --chats 1": 4,
		"retention show --company A": 4, "documents move --to bucket --document-bucket s3://b/?endpoint=http://127.0.0.1:9": 4,
		"erase --company A --phone +4930123456": 4, "audit export --company A": 4, "export --company A -": 4,
		"import " + archive: 4, "import -": 4, "import --from-v1 http://127.0.0.1:9": 4, "test run --agent A": 4, "test list": 4,
		"test blame A": 4, "test labels import -": 4, "test show run_1": 4, "agents": 4, "chat A": 4, "usage": 4, "query -": 4,
		"knowledge evaluate --chat A -": 4, "mcp": 4, "apply " + yaml: 4, "diff " + yaml: 4, "pull " + dir + "/company": 4,
		"context add A --url http://127.0.0.1:9": 4,
	} {
		var log bytes.Buffer
		got := run(ctx, strings.Fields(line), streams{in: silent, out: io.Discard, log: &log})
		assert.Equal(t, code, got, "%s: %s", line, log.String())
		assert.Equal(t, code/4, strings.Count(log.String(), "\n"), "%s: %s", line, log.String())
	}
}

func TestInterruptedCommandsSayWhatHolds(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	newCompany(t, dbtest.Open(t, address, dbtest.Options()), "Acme")
	file := filepath.Join(t.TempDir(), "company.tar.gz")
	blocker, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	defer func() { _ = blocker.Close(context.Background()) }()
	waits := func() (waits bool) {
		other, err := pgx.Connect(t.Context(), address)
		require.NoError(t, err)
		defer func() { _ = other.Close(context.Background()) }()
		require.NoError(t, other.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_locks JOIN pg_database AS base "+
			"ON base.oid = database WHERE NOT granted AND datname = current_database())").Scan(&waits))
		return waits
	}
	for line, says := range map[string]string{
		"erase --phone +4930123456 --confirm +4930123456": "a part may be erased; run the command again to erase the rest",
		"erase --phone +4930123456 --dry-run":             "a dry run changes nothing",
		"companies delete --confirm Acme":                 "the keys are revoked and a part of the rows may be deleted; run",
		"export -":                                        "the archive on standard output is incomplete",
		"export " + file:                                  "no file was written",
	} {
		tx, err := blocker.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), "LOCK TABLE simulation_chats")
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		var log bytes.Buffer
		code := make(chan int, 1)
		go func() {
			code <- run(ctx, append(strings.Fields(line), "--company", "Acme", "--database-url", address),
				streams{out: io.Discard, log: &log})
		}()
		require.Eventually(t, waits, time.Minute, 5*time.Millisecond, line)
		cancel()
		require.Equal(t, 4, <-code, "%s: %s", line, log.String())
		require.Contains(t, log.String(), "agentgraph: cancelled: "+says)
		require.NoError(t, tx.Rollback(t.Context()))
	}
	require.NoFileExists(t, file)
}

func TestCtrlCAtAPromptChangesNothing(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	newCompany(t, dbtest.Open(t, address, dbtest.Options()), "Acme")
	env := []string{"DATABASE_URL=" + address, "HOME=" + t.TempDir()}
	for line, says := range map[string]string{
		"companies delete":          "cancelled: nothing was deleted",
		"erase --phone +4930123456": "cancelled: nothing was erased",
	} {
		asked := onTerminal(t, env, append(strings.Fields(line), "--company", "Acme")...)
		asked.await(t, "to continue: ")
		asked.press(t, "\x03")
		require.Equal(t, 4, asked.code(), line)
		require.Contains(t, asked.seen.String(), says)
	}
}
