package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func TestImportedKeysWork(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, dbtest.Options())
	acme, _ := newCompany(t, store, "Acme")
	_, _ = newCompany(t, store, "Other")
	command := func(want int, secret string, args ...string) string {
		var out, log bytes.Buffer
		code := run(t.Context(), append([]string{"keys", "import", "--database-url", address}, args...),
			streams{in: strings.NewReader(secret), out: &out, log: &log})
		require.Equal(t, want, code, log.String())
		return out.String() + log.String()
	}
	const secret = "sk-live-0123456789abcdef"
	said := command(0, "\ufeff"+secret+"\r\n", "--company", "Acme", "--secret-from-stdin", "--name", "The shop", "--scope",
		"browse,simulate")
	require.Regexp(t, `^key_[0-9a-z]{26}\tsk-l…\n$`, said)
	_, key, err := store.ImportedKey(t.Context(), secret)
	require.NoError(t, err)
	require.Equal(t, acme.CompanyID(), key.CompanyID)
	require.Equal(t, "The shop", key.Name)

	for _, company := range []string{"Acme", "Other"} {
		require.Contains(t, command(1, secret, "--company", company, "--secret-from-stdin"),
			"another key already has this secret")
	}
	require.Contains(t, command(1, "hunter2", "--company", "Acme", "--secret-from-stdin"),
		"secret must have 24 to 200 ASCII characters")
	require.Contains(t, command(1, secret+"\n"+secret+"2\n", "--company", "Acme", "--secret-from-stdin"), "without spaces")
	require.Contains(t, command(2, secret, "--company", "Acme"), "--secret-from-stdin")
	const plain = "sk-live-9876543210fedcba"
	command(0, plain, "--company", "Other", "--secret-from-stdin")
	_, key, err = store.ImportedKey(t.Context(), plain)
	require.NoError(t, err)
	require.Equal(t, []model.APIKeyScope{model.APIKeyScopeRead, model.APIKeyScopeWrite, model.APIKeyScopeSimulate},
		key.Scopes)
	keys, err := acme.APIKeys(t.Context())
	require.NoError(t, err)
	require.Len(t, keys, 2, "the first key and the imported key")
}

func TestCommandsUseTheAddressForSessions(t *testing.T) {
	t.Parallel()
	address := dbtest.EmptyURL(t)
	flags := []string{"--database-url", dbtest.Pooled(t, address), "--session-database-url", address}
	for _, command := range [][]string{
		{"migrate", "up"}, {"companies", "create", "--name", "Acme"}, {"keys", "create", "--company", "Acme"},
		{"export", "--company", "Acme", filepath.Join(t.TempDir(), "acme.tar.gz")},
	} {
		o := ran(t, append(command, flags...)...)
		require.Zero(t, o.code, "%s: %s", command, o.log)
	}
	other := dbtest.EmptyURL(t)
	for _, command := range []string{"migrate down --yes", "companies list"} {
		o := ran(t, append(strings.Fields(command), "--database-url", other, "--session-database-url", address)...)
		require.Equal(t, 1, o.code, command)
		require.Contains(t, o.log, "leads to another database", command)
	}
}
