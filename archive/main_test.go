package archive_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/archive"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }

// entry is a file of a tar archive.
type entry struct{ name, content string }

const manifest = `{"format": "agentgraph-company", "version": 1, "company": {"id": "acme", "name": "Acme", "createdAt": "2026-01-02T03:04:05Z"}}`

// packed returns an archive of the entries, like one that a migration script would write.
func packed(t *testing.T, entries ...entry) []byte {
	t.Helper()
	file := &bytes.Buffer{}
	compressed := gzip.NewWriter(file)
	w := tar.NewWriter(compressed)
	for _, e := range entries {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: e.name, Size: int64(len(e.content)), Mode: 0o600,
			Typeflag: tar.TypeReg}))
		_, err := w.Write([]byte(e.content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, compressed.Close())
	return file.Bytes()
}

// unpacked returns the entries of an archive.
func unpacked(t *testing.T, file []byte) (entries []entry) {
	t.Helper()
	expanded, err := gzip.NewReader(bytes.NewReader(file))
	require.NoError(t, err)
	for r := tar.NewReader(expanded); ; {
		header, err := r.Next()
		if err != nil {
			return entries
		}
		content, err := io.ReadAll(r)
		require.NoError(t, err)
		entries = append(entries, entry{header.Name, string(content)})
	}
}

func take(t *testing.T, store *db.Store, file []byte) error {
	t.Helper()
	_, err := archive.Import(t.Context(), store, bytes.NewReader(file), archive.ImportOptions{})
	return err
}

// line returns a row as a line of JSON.
func line(t *testing.T, values map[string]any) string {
	t.Helper()
	text, err := json.Marshal(values)
	require.NoError(t, err)
	return string(text) + "\n"
}
