package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
)

func TestSecretsComeFromFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "url")
	require.NoError(t, os.WriteFile(file, []byte(dbtest.URL(t)+"\n"), 0o600))
	t.Setenv("DATABASE_URL", "")
	t.Setenv("DATABASE_URL_FILE", file)
	list := func() (int, string) {
		var out dbtest.Output
		return run(t.Context(), []string{"companies", "list"}, streams{out: &out, log: &out}), out.String()
	}
	code, text := list()
	require.Zero(t, code, text)
	require.NoError(t, os.WriteFile(file, []byte("\ufeff"+dbtest.URL(t)+"\r\n"), 0o600))
	code, text = list()
	require.Zero(t, code, "a byte order mark is not part of the value: %s", text)

	t.Setenv("DATABASE_URL", "postgres://elsewhere")
	code, text = list()
	require.Equal(t, 2, code)
	require.Contains(t, text, "DATABASE_URL and DATABASE_URL_FILE are both set")

	t.Setenv("DATABASE_URL", "")
	t.Setenv("DATABASE_URL_FILE", file+"-missing")
	code, text = list()
	require.Equal(t, 2, code)
	require.Contains(t, text, "read DATABASE_URL_FILE")
	require.NotContains(t, text, "postgres://")
}
