package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/schema"
	"github.com/agentgraph/agentgraph/model"
)

// reachable returns a new directory that the user of the database server can access.
func reachable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "agentgraph-dev-test-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// started is the banner of the command, as JSON.
type started struct {
	RestURL       string
	ConsoleURL    string
	APIKey        *string
	Database      string
	DataDirectory string
	Model         string
}

// startDev runs the command until the function stop is called, which returns the exit code.
func startDev(t *testing.T, args ...string) (shown started, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	var log dbtest.Output
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, append([]string{"dev", "--port", "0"}, args...), streams{out: in, log: &log})
		_ = in.Close()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, log.String())
	require.NoError(t, json.Unmarshal([]byte(line), &shown))
	return shown, sync.OnceValue(func() int {
		cancel()
		return <-code
	})
}

func TestRateLimitDefaultsDifferInDev(t *testing.T) {
	t.Parallel()
	for command, flags := range map[string][]string{
		"serve": {"--rate-limit=600", "--model-rate-limit=60"}, "dev": {"--rate-limit=0", "--model-rate-limit=0"},
	} {
		var help dbtest.Output
		require.Zero(t, run(t.Context(), []string{command, "--help"}, streams{out: &help, log: io.Discard}))
		for _, flag := range flags {
			require.Contains(t, help.String(), flag)
		}
	}
}

func TestDevKeepsItsDataAndItsKey(t *testing.T) {
	t.Setenv("DATABASE_URL", "")
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("OPENAI_BASE_URL", "")
	dir := reachable(t)
	first, stop := startDev(t, "--data-directory", dir)
	defer stop()
	require.Equal(t, "offline", first.Model)
	require.Equal(t, dir, first.DataDirectory)
	require.NotNil(t, first.APIKey)
	for _, name := range []string{"demo-key", "secret-key"} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), name)
	}
	(&served{url: first.RestURL, key: *first.APIKey}).
		must(t, `mutation { createTool(input: {name: "Kept", technicalName: "kept"}) { tool { id } } }`, nil, nil)
	require.Zero(t, stop())

	second, stop := startDev(t, "--data-directory", dir)
	defer stop()
	require.Equal(t, first.APIKey, second.APIKey)
	var kept struct {
		Agents struct{ TotalCount int }
		Tools  struct {
			Nodes []struct{ TechnicalName string }
		}
	}
	(&served{url: second.RestURL, key: *second.APIKey}).
		must(t, `{ agents { totalCount } tools(first: 1) { nodes { technicalName } } }`, nil, &kept)
	require.Equal(t, 8, kept.Agents.TotalCount)
	require.Equal(t, "kept", kept.Tools.Nodes[0].TechnicalName)
	require.Zero(t, stop())

	// A lost key file is written again with a key to the same company.
	require.NoError(t, os.Remove(filepath.Join(dir, "demo-key")))
	third, stop := startDev(t, "--data-directory", dir)
	defer stop()
	require.NotEqual(t, first.APIKey, third.APIKey)
	(&served{url: third.RestURL, key: *third.APIKey}).must(t, `{ company { name } }`, nil, nil)
	require.Zero(t, stop())
}

func TestDevEndsWithItsDatabase(t *testing.T) {
	t.Setenv("DATABASE_URL", "")
	dir := reachable(t)
	out, in := io.Pipe()
	var log dbtest.Output
	code := make(chan int, 1)
	go func() {
		code <- run(t.Context(), []string{"dev", "--port", "0", "--data-directory", dir}, streams{out: in, log: &log})
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, log.String())
	var shown started
	require.NoError(t, json.Unmarshal([]byte(line), &shown))
	(&served{url: shown.RestURL, key: *shown.APIKey}).must(t, `{ company { name } }`, nil, nil)
	text, err := os.ReadFile(filepath.Join(dir, "postgres", "postgres", "postmaster.pid"))
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(text), "\n")
	postmaster, err := strconv.Atoi(first)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(postmaster, syscall.SIGKILL))
	require.Equal(t, 1, <-code)
	require.Contains(t, log.String(), "the private database server stopped unexpectedly. Read postgres.log in the "+
		"data directory")

	secret := filepath.Join(dir, "secret-key")
	key, err := os.ReadFile(secret)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(secret, []byte("none"), 0o600))
	var refusal dbtest.Output
	require.Equal(t, 1, run(t.Context(), []string{"dev", "--port", "0", "--data-directory", dir},
		streams{out: io.Discard, log: &refusal}))
	require.Contains(t, refusal.String(), "secret-key")
	require.NotContains(t, refusal.String(), "ended by itself", "the shutdown afterwards is not the reason")

	require.NoError(t, os.WriteFile(secret, key, 0o600))
	_, stop := startDev(t, "--data-directory", dir)
	require.Zero(t, stop(), "it recovers")
}

func TestDevCreatesNoKeyForExistingCompanies(t *testing.T) {
	address := dbtest.URL(t)
	_, err := dbtest.Open(t, address, dbtest.Options()).CreateCompany(t.Context(), "Somebody's company")
	require.NoError(t, err)
	t.Setenv("DATABASE_URL", address)
	dir := reachable(t)
	shown, stop := startDev(t, "--data-directory", dir)
	defer stop()
	require.Nil(t, shown.APIKey, "no key is created for an existing company")
	require.Equal(t, shown.RestURL+"/console/", shown.ConsoleURL, "nobody is invited")
	require.NoFileExists(t, filepath.Join(dir, "demo-key"))
	require.Zero(t, stop())
}

func TestDevExplainsWhyItCannotStart(t *testing.T) {
	t.Setenv("DATABASE_URL", "")
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	require.NoError(t, err)
	file := filepath.Join(reachable(t), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	newer := dbtest.URL(t)
	setVersion(t, newer, 9999)

	for name, c := range map[string]struct {
		args []string
		says string
		code int
	}{
		"port taken": {[]string{"dev", "--port", port}, "listen on 127.0.0.1:" + port + ": bind: address already " +
			"in use: another program uses the port, perhaps another agentgraph; choose another port with --port", 1},
		"not a directory": {[]string{"dev", "--port", "0", "--data-directory", file + "/data"}, "the data directory " +
			file + "/data cannot be created: not a directory", 1},
		"newer schema": {[]string{"dev", "--port", "0", "--data-directory", reachable(t), "--database-url", newer},
			"schema version 9999, newer than", 1},
		"unreachable": {[]string{"dev", "--port", "0", "--data-directory", reachable(t), "--database-url",
			"postgres://127.0.0.1:1/x"}, "open database: ", 1},
		"bad address": {[]string{"serve", "--database-url", "postgres://user:hunter2@[/x"},
			"--database-url or DATABASE_URL: the address is not a valid Postgres URL", 2},
		"bad address for sessions": {[]string{"migrate", "up", "--database-url", newer, "--session-database-url", "x"},
			"--session-database-url: the address is not a valid Postgres URL", 2},
		"one address for two": {[]string{"serve", "--database-url", newer, "--listen", ":7391", "--metrics-listen", ":7391"},
			"--metrics-listen must differ from --listen, which is :7391", 2},
		"no embedding model": {[]string{"serve", "--database-url", newer, "--embedding-model", "/nope"},
			"choose the embedding model (--embedding-model): open /nope/tokenizer.json", 2},
		"down without --yes": {[]string{"migrate", "down", "--database-url", newer},
			"migrate down: this would drop tables with all their data: add --yes to confirm", 2},
		"no database":    {[]string{"serve"}, "--database-url or DATABASE_URL must name a database", 2},
		"pause below 0":  {[]string{"dev", "--offline-pause=-1s"}, "--offline-pause must not be negative", 2},
		"bad secret key": {[]string{"dev", "--secret-key", "short"}, "--secret-key must be 32 bytes in base64", 2},
		"no runs": {[]string{"serve", "--database-url", newer, "--runs-per-company", "0"},
			"--runs-per-company must be above 0", 2},
		"unknown flag": {[]string{"dev", "--prot", "1"}, "unknown flag --prot", 2},
		"missing migrations": {[]string{"serve", "--database-url", dbtest.EmptyURL(t)},
			`the database has schema version 0 and this program needs`, 1},
	} {
		var out, log bytes.Buffer
		require.Equal(t, c.code, run(t.Context(), c.args, streams{out: &out, log: &log}), "%s: %s", name, log.String())
		require.Contains(t, log.String(), c.says, name)
		require.NotContains(t, log.String(), "goroutine", name)
		require.NotContains(t, log.String(), "hunter2", name)
		if c.code == 1 {
			require.Equal(t, 1, strings.Count(log.String(), "\n"), "%s: %s", name, log.String())
		}
	}
}

func TestKeyCommandsManageKeys(t *testing.T) {
	t.Parallel()
	address := dbtest.EmptyURL(t)
	command := func(args ...string) string {
		var out, log bytes.Buffer
		require.Zero(t, run(t.Context(), append(args, "--database-url", address), streams{out: &out, log: &log}),
			log.String())
		return strings.TrimSpace(out.String())
	}
	up := command("migrate", "up")
	require.Contains(t, up, "schema version ")
	require.Contains(t, command("migrate", "status"), "0001_agent_graph.sql")
	company := command("companies", "create", "--name", "Acme")
	require.Contains(t, command("companies", "list"), company+"  Acme")
	command("keys", "create", "--company", "Acme", "--name", "Plain")
	secret := command("keys", "create", "--company", "Acme", "--scope", "read,simulate", "--expires-in", "1h")
	require.Regexp(t, `^ag_[0-9a-z]{26}_[0-9a-z]{40}$`, secret, "without a secret key, keys are not signed")
	require.Regexp(t, `\[read write simulate\] +Plain`, command("keys", "list", "--company", company))
	listed := strings.Fields(command("keys", "list", "--company", company))
	require.Contains(t, listed, "good")

	s := serve(t, address, secret, "--workers", "0")
	s.must(t, `{ company { name } }`, nil, nil)
	_, _, refused := s.ask(t, `mutation { createTool(input: {name: "T", technicalName: "t"}) { tool { id } } }`, nil)
	require.ErrorContains(t, refused, string(model.Forbidden))

	secretKey := base64.StdEncoding.EncodeToString(make([]byte, 32))
	signed := command("keys", "create", "--company", "Acme", "--scope", "chat", "--secret-key", secretKey)
	require.Regexp(t, `^ag_[0-9a-z]{26}_[0-9a-z]{56}$`, signed)
	require.False(t, model.NewSigner(make([]byte, 32)).LacksSignature(signed))
	for _, wrong := range [][]string{{"--scope", "chat,read"}, {"--scope", "root"}, {"--secret-key", "short"}} {
		var out, log bytes.Buffer
		require.NotZero(t, run(t.Context(), append([]string{"keys", "create", "--company", "Acme", "--database-url", address},
			wrong...), streams{out: &out, log: &log}))
		require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
	}

	require.Equal(t, listed[0]+" is revoked", command("keys", "revoke", listed[0], "--company", "Acme"))
	require.Eventually(t, func() bool {
		status, _, _ := s.ask(t, `{ company { name } }`, nil)
		return status == http.StatusUnauthorized
	}, 10*time.Second, time.Millisecond)
	_, newest, _ := strings.Cut(up, " of ")
	wanted, err := strconv.Atoi(newest)
	require.NoError(t, err)
	require.Contains(t, command("migrate", "down", "--yes"), fmt.Sprintf("schema version %d of %d", wanted-1, wanted))
}

func setVersion(t *testing.T, address string, version int64) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	_, err = conn.Exec(t.Context(), "INSERT INTO migration.version (version_id, is_applied) VALUES ($1, true)", version)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "UPDATE migration.oldest_program SET schema_version = $1", version)
	require.NoError(t, err)
}

func TestDevAsksBeforeItUsesAForeignDatabase(t *testing.T) {
	address := dbtest.EmptyURL(t)
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	_, err = conn.Exec(t.Context(), "CREATE TABLE users (); CREATE TABLE orders ()")
	require.NoError(t, err)
	t.Setenv("DATABASE_URL", address)
	dir := reachable(t)

	refused := ran(t, "dev", "--port", "0", "--data-directory", dir)
	require.Equal(t, 1, refused.code)
	require.Contains(t, refused.log,
		"holds other tables: public.orders, public.users. Nothing was written. Pass --use-database-url")
	contents, err := schema.Inspect(t.Context(), address)
	require.NoError(t, err)
	require.False(t, contents.IsOurs, "nothing was written")

	env := []string{"DATABASE_URL=" + address, "HOME=" + dir}
	asked := onTerminal(t, env, "dev", "--port", "0", "--data-directory", dir)
	asked.await(t, "a demo company? [y/N] ")
	asked.press(t, "\n")
	require.Equal(t, 1, asked.code())
	require.Contains(t, asked.seen.String(), "nothing was written")
	asked = onTerminal(t, env, "dev", "--port", "0", "--data-directory", dir)
	asked.await(t, "a demo company? [y/N] ")
	asked.press(t, "\x03")
	require.Equal(t, 4, asked.code(), "Ctrl-C")
	contents, err = schema.Inspect(t.Context(), address)
	require.NoError(t, err)
	require.False(t, contents.IsOurs, "nothing was written")

	shown, stop := startDev(t, "--data-directory", dir, "--use-database-url")
	require.Contains(t, shown.Database, contents.Database+" on ")
	require.Contains(t, shown.Database, "(DATABASE_URL)")
	require.Zero(t, stop())
	_, stop = startDev(t, "--data-directory", dir)
	require.Zero(t, stop(), "the question is asked once")
	require.Contains(t, ran(t, "dev", "--reset").log, "--reset works only with the private database")
}

func TestDevResetsTheDemo(t *testing.T) {
	t.Setenv("DATABASE_URL", "")
	dir := reachable(t)
	first, stop := startDev(t, "--data-directory", dir)
	require.Equal(t, "private, in "+dir+"/postgres", first.Database)
	(&served{url: first.RestURL, key: *first.APIKey}).
		must(t, `mutation { createTool(input: {name: "Gone", technicalName: "gone"}) { tool { id } } }`, nil, nil)
	second := ran(t, "dev", "--port", "0", "--data-directory", dir, "--reset")
	require.Equal(t, 1, second.code)
	require.Contains(t, second.log, "another program uses the data directory: stop it first")
	require.Zero(t, stop())

	anew, stop := startDev(t, "--data-directory", dir, "--reset")
	defer stop()
	require.NotEqual(t, *first.APIKey, *anew.APIKey)
	var left struct {
		Agents struct{ TotalCount int }
		Tools  struct {
			Nodes []struct{ TechnicalName string }
		}
	}
	(&served{url: anew.RestURL, key: *anew.APIKey}).
		must(t, `{ agents { totalCount } tools(first: 100) { nodes { technicalName } } }`, nil, &left)
	require.Equal(t, 8, left.Agents.TotalCount)
	require.NotContains(t, left.Tools.Nodes, struct{ TechnicalName string }{"gone"})
	require.Zero(t, stop())
}
