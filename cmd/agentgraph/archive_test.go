package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/demo"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func TestExportReadsFromAStandby(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	newCompany(t, dbtest.Open(t, address, dbtest.Options()), "Acme")
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "ALTER DATABASE "+pgx.Identifier{conn.Config().Database}.Sanitize()+
		" SET default_transaction_read_only = on")
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	o := ran(t, "export", "--company", "Acme", "--database-url", address, filepath.Join(t.TempDir(), "acme.tar.gz"))
	require.Zero(t, o.code, o.log)
	o = ran(t, "plan", "set", "--company", "Acme", "--name", "Team", "--credits", "10", "--database-url", address)
	require.Equal(t, 1, o.code)
	require.Contains(t, o.log, "the database is a standby or read-only; agentgraph needs the primary")
}

func TestExportedCompanyIsImported(t *testing.T) {
	t.Parallel()
	from, to := dbtest.URL(t), dbtest.URL(t)
	store := dbtest.Open(t, from, dbtest.Options())
	acme, _ := newCompany(t, store, "Acme")
	dbtest.Tests(t, acme, 3, 1)
	_, err := acme.CreateTool(t.Context(), model.CreateToolInput{
		Name: "CRM", TechnicalName: "crm",
		Endpoint: &model.ToolEndpointInput{Method: model.HTTPMethodPost, URL: "https://crm.example.com/", TimeoutSeconds: 5,
			Headers: model.JSONObject(`{"X-Token":"hidden-value"}`)},
	})
	require.NoError(t, err)
	command := func(want int, in io.Reader, args ...string) (out, log string) {
		var o, l bytes.Buffer
		if in == nil {
			in = strings.NewReader("")
		}
		require.Equal(t, want, run(t.Context(), args, streams{in: in, out: &o, log: &l}), l.String())
		return o.String(), l.String()
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "acme.tar.gz")
	out, log := command(0, nil, "export", "--company", "Acme", "--database-url", from, file)
	require.Empty(t, out)
	require.Contains(t, log, `exported "Acme" (`+acme.CompanyID()+`): 1 agent, 1 prompt_version, 1 tool, 3 agent_tests`)
	require.Contains(t, log, `not in the archive: the headers X-Token of "CRM"`)
	require.Contains(t, log, "not in the archive: API keys")
	state, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), state.Mode().Perm())
	_, log = command(1, nil, "export", "--company", "Acme", "--database-url", from, file)
	require.Contains(t, log, "already exists")
	_, log = command(1, nil, "export", "--company", "Acme", "--database-url", from, filepath.Join(dir, "none", "x"))
	require.Contains(t, log, "no such file or directory")
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 1, "a failed export leaves no file")

	_, log = command(0, nil, "import", "--dry-run", "--database-url", to, file)
	require.Contains(t, log, `checked "Acme"`)
	companies, err := dbtest.Open(t, to, db.Options{}).Companies(t.Context())
	require.NoError(t, err)
	require.Empty(t, companies)
	out, log = command(0, nil, "import", "--database-url", to, file)
	require.Equal(t, acme.CompanyID()+"\n", out)
	require.Contains(t, log, "not in the archive: the headers X-Token")
	_, log = command(0, nil, "import", "--database-url", to, file)
	require.Contains(t, log, "was already imported from this archive; nothing was changed")
	both, logs := dbtest.URL(t), make(chan string, 2)
	for range 2 {
		go func() { logs <- ran(t, "import", "--database-url", both, file).log }()
	}
	log = <-logs + <-logs
	require.Regexp(t, "was already imported from this archive|already exists, from another archive or from an import", log)
	require.Contains(t, log, `imported "Acme"`)
	changed, _ := command(0, nil, "export", "--company", "Acme", "--database-url", from, "--sealed-headers", "-")
	_, log = command(1, bytes.NewBufferString(changed), "import", "--database-url", to, "-")
	require.Contains(t, log, acme.CompanyID()+" already exists, from another archive")
	_, log = command(1, nil, "import", "--database-url", to, "/dev/null")
	require.Contains(t, log, "the file is not an archive")

	// Headers move with the archive only to a server with the same secret key.
	const key, another = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=", "CAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg="
	sealed, log := command(0, nil, "export", "--company", "Acme", "--database-url", from, "--sealed-headers", "-")
	require.NotContains(t, log, "the headers")
	fresh := dbtest.URL(t)
	for wrong, want := range map[string]string{another: "were encrypted with another secret key",
		"": "are encrypted, but this server has no secret key"} {
		_, log = command(1, bytes.NewBufferString(sealed), "import", "--database-url", fresh, "--secret-key", wrong, "-")
		require.Contains(t, log, "tools/000001.jsonl: line 1: endpoint.sealedHeaders "+want)
	}
	command(0, bytes.NewBufferString(sealed), "import", "--database-url", fresh, "--secret-key", key, "-")
	moved := dbtest.Open(t, fresh, dbtest.Options()).Tenant(acme.CompanyID())
	tools, err := moved.Tools(t.Context(), model.PageArgs{First: 5}, nil)
	require.NoError(t, err)
	headers, err := moved.DecryptHeaders(tools.Nodes[0].ID, tools.Nodes[0].Endpoint)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"X-Token": "hidden-value"}, headers)
}

// crashingImport is the environment variable that makes the test binary import from its standard input. A test kills
// that process.
const crashingImport = "AGENTGRAPH_TEST_IMPORT"

func TestImporterForTheKillTest(t *testing.T) {
	address := os.Getenv(crashingImport)
	if address == "" {
		t.Skip("runs in a process of its own")
	}
	os.Exit(run(t.Context(), []string{"import", "--database-url", address, "-"},
		streams{in: os.Stdin, out: os.Stdout, log: os.Stderr}))
}

// A killed import leaves no rows, and can be started again.
func TestKilledImportStartsAgain(t *testing.T) {
	t.Parallel()
	from, to := dbtest.URL(t), dbtest.URL(t)
	store := dbtest.Open(t, from, dbtest.Options())
	_, err := demo.Seed(t.Context(), store)
	require.NoError(t, err)
	companies, err := store.Companies(t.Context())
	require.NoError(t, err)
	var archive, log bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"export", "--company", companies[0].ID, "--database-url", from, "-"},
		streams{out: &archive, log: &log}), log.String())

	target := dbtest.Open(t, to, dbtest.Options())
	process := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestImporterForTheKillTest$")
	process.Env = append(os.Environ(), crashingImport+"="+to)
	stdin, err := process.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, process.Start())
	_, err = stdin.Write(archive.Bytes()[:archive.Len()*3/4])
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), to)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	writing := func() (n int) {
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND state LIKE 'idle in transaction%' AND backend_xid IS NOT NULL`).Scan(&n))
		return n
	}
	require.Eventually(t, func() bool { return writing() > 0 }, dbtest.WaitTimeout, 20*time.Millisecond)
	require.NoError(t, process.Process.Kill())
	require.Error(t, process.Wait())
	require.Eventually(t, func() bool { return writing() == 0 }, dbtest.WaitTimeout, 20*time.Millisecond)
	left, err := target.Companies(t.Context())
	require.NoError(t, err)
	require.Empty(t, left)

	require.Zero(t, run(t.Context(), []string{"import", "--database-url", to, "-"},
		streams{in: &archive, out: io.Discard, log: &log}), log.String())
	moved, err := target.Companies(t.Context())
	require.NoError(t, err)
	require.Equal(t, companies[:1], moved)
}
