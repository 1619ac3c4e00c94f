package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/bucket/s3test"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/notify/natstest"
	"github.com/agentgraph/agentgraph/model"
)

// provider starts a stub model provider that accepts one key.
func provider(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer right" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// readOnlyURL returns the address of a migrated database that accepts no writes.
func readOnlyURL(t *testing.T) string {
	t.Helper()
	address := dbtest.URL(t)
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	name := pgx.Identifier{conn.Config().Database}.Sanitize()
	_, err = conn.Exec(t.Context(), "ALTER DATABASE "+name+" SET default_transaction_read_only = on")
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	return address
}

// damagedURL returns the address of a migrated database with an invalid and a missing index.
func damagedURL(t *testing.T) string {
	t.Helper()
	address := dbtest.URL(t)
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `ALTER TABLE usage_entries DROP CONSTRAINT usage_entries_pkey;
		UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'agents_pkey'::regclass`)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	return address
}

func TestMigrateStatusNamesDamagedIndexes(t *testing.T) {
	t.Parallel()
	address := damagedURL(t)
	o := ran(t, "migrate", "status", "--database-url", address)
	require.Zero(t, o.code)
	require.Contains(t, o.out, "index agents_pkey is invalid; run in psql: REINDEX INDEX CONCURRENTLY agents_pkey\n"+
		"index usage_entries_pkey is missing; run in psql: ALTER TABLE usage_entries ADD CONSTRAINT usage_entries_pkey "+
		"PRIMARY KEY (company_id, idempotency_key)\n")
	o = ran(t, "migrate", "status", "--database-url", address, "--json")
	require.Contains(t, o.out, `"indexFaults"`)
}

func TestDoctorNamesTheRightThatTheRoleLacks(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	role := "lacking_" + conn.Config().Database
	_, err = conn.Exec(t.Context(), "CREATE ROLE "+role+" LOGIN")
	require.NoError(t, err)
	for _, says := range []string{"schema migration", "table version"} {
		o := ran(t, "doctor", "--database-url", address+"&user="+role)
		require.Equal(t, 1, o.code)
		require.Contains(t, o.out, `the role "`+role+`" lacks a right: permission denied for `+says+"\n"+
			strings.Repeat(" ", 29)+"→ name the role that migrated the database in DATABASE_URL, because it owns the tables\n")
		_, err = conn.Exec(t.Context(), "GRANT USAGE ON SCHEMA migration TO "+role)
		require.NoError(t, err)
	}
}

func TestDoctorSaysThatConnectionsAreUsedUp(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	role := "crowded_" + conn.Config().Database
	_, err = conn.Exec(t.Context(), "CREATE ROLE "+role+" LOGIN CONNECTION LIMIT 0")
	require.NoError(t, err)
	o := ran(t, "doctor", "--database-url", address+"&user="+role, "--listen", "127.0.0.1:0")
	require.Equal(t, 1, o.code)
	require.Contains(t, o.out, "the database accepts no more connections: too many connections for role")
	require.Contains(t, o.out, "→ raise max_connections of Postgres")
	require.NotContains(t, o.out, "check that the database runs")
}

func TestServeRefusesAReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	address := readOnlyURL(t)
	for _, flags := range [][]string{nil, {"--migrate"}} {
		o := ran(t, append([]string{"serve", "--database-url", address, "--listen", "127.0.0.1:0"}, flags...)...)
		require.Equal(t, 1, o.code)
		require.Contains(t, o.log, "the database is a standby or read-only; agentgraph needs the primary")
		require.NotContains(t, o.log, "serving")
	}
}

func TestDoctorChecksEncodingAndLocale(t *testing.T) {
	t.Parallel()
	latin := dbtest.EmptyURLWith(t, "ENCODING 'LATIN1' LOCALE 'C'")
	plain := dbtest.EmptyURLWith(t, "LC_CTYPE 'C'")
	for _, command := range []string{"serve", "doctor"} {
		o := ran(t, command, "--database-url", latin, "--listen", "127.0.0.1:0")
		require.Equal(t, 1, o.code)
		require.Contains(t, o.out+o.log, "is LATIN1, and agentgraph needs UTF8")
	}
	require.Zero(t, ran(t, "migrate", "up", "--database-url", plain).code)
	o := ran(t, "doctor", "--database-url", plain, "--listen", "127.0.0.1:0")
	require.Zero(t, o.code, o.out)
	require.Contains(t, o.out, "warning  locale              lower('É') is not 'é'")
	require.Contains(t, ran(t, "doctor", "--database-url", dbtest.URL(t), "--listen", "127.0.0.1:0").out,
		"ok       locale ")
}

func TestDoctorReportsFindings(t *testing.T) {
	t.Parallel()
	address, empty, foreign := dbtest.URL(t), dbtest.EmptyURL(t), dbtest.EmptyURL(t)
	conn, err := pgx.Connect(t.Context(), foreign)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "CREATE TABLE agents ()")
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
	old := dbtest.URL(t)
	require.Zero(t, ran(t, "migrate", "down", "--yes", "--database-url", old).code)
	readOnly, damaged := readOnlyURL(t), damagedURL(t)
	secrets := dbtest.URL(t)
	acme, _ := newCompany(t, dbtest.Open(t, secrets, dbtest.Options()), "Acme")
	_, err = acme.CreateTool(t.Context(), model.CreateToolInput{Name: "CRM", TechnicalName: "crm",
		Endpoint: &model.ToolEndpointInput{Method: model.HTTPMethodPost, URL: "https://crm.example.com/", TimeoutSeconds: 5,
			Headers: model.JSONObject(`{"X-Token":"hunter2"}`)}})
	require.NoError(t, err)
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	modelURL := provider(t)
	running := serve(t, address, "", "--workers", "0", "--metrics-listen", "127.0.0.1:0")
	serving := strings.TrimPrefix(running.url, "http://")
	bucket, bus := s3test.Start(t), natstest.Start(t)
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	same := free.Addr().String()
	require.NoError(t, free.Close())
	const secretKey = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

	for name, c := range map[string]struct {
		args []string
		code int
		// says maps the names of findings to their state and a part of their text.
		says map[string][2]string
	}{
		"all well": {[]string{"--database-url", address, "--secret-key", secretKey, "--openai-base-url", modelURL,
			"--openai-api-key", "right", "--document-bucket", bucket.Address("/a")}, 0, map[string][2]string{
			"document bucket": {"ok", "can be written"},
			"connections":     {"ok", "a replica opens at most 43"},
			"database":        {"ok", "PostgreSQL "}, "schema": {"ok", "which this program needs"}, "row-level security": {"ok", "on"},
			"clock": {"ok", ""}, "model": {"ok", ""}, "secret key": {"ok", ""}, "port": {"ok", "is free"},
			"disk": {"ok", "MiB free"},
		}},
		"nothing set": {nil, 0, map[string][2]string{
			"database": {"warning", "DATABASE_URL is not set"}, "model": {"warning", "offline"}, "secret key": {"warning", "not set"},
		}},
		"empty database": {[]string{"--database-url", empty}, 1,
			map[string][2]string{"schema": {"problem", "the database has no schema yet"}}},
		"foreign database": {[]string{"--database-url", foreign}, 1,
			map[string][2]string{"schema": {"problem", "public.agents of another program"}}},
		"old schema": {[]string{"--database-url", old}, 1,
			map[string][2]string{"schema": {"problem", "this program needs"}, "stored secrets": {}}},
		"damaged indexes": {[]string{"--database-url", damaged}, 1, map[string][2]string{
			"schema":  {"ok", "which this program needs"},
			"indexes": {"problem", "agents_pkey is invalid, usage_entries_pkey is missing"},
		}},
		"read-only database": {[]string{"--database-url", readOnly}, 1,
			map[string][2]string{"database": {"problem", "a standby or read-only"}}},
		"secrets of another key": {[]string{"--database-url", secrets, "--secret-key", secretKey}, 1,
			map[string][2]string{"stored secrets": {"problem", "it was encrypted with another secret key"}}},
		"secrets without a key": {[]string{"--database-url", secrets}, 1,
			map[string][2]string{"stored secrets": {"problem", "no secret key is set"}}},
		"secrets of this key": {[]string{"--database-url", secrets, "--secret-key",
			"BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="}, 0, map[string][2]string{"stored secrets": {}}},
		"too few connections": {[]string{"--database-url", address, "--max-connections", "100"}, 0, map[string][2]string{
			"connections": {"warning", "the server allows 197, and a replica opens at most 203"}}},
		"no database": {[]string{"--database-url", "postgres://user:hunter2@127.0.0.1:1/x"}, 1,
			map[string][2]string{"database": {"problem", "connection refused"}}},
		"wrong model key": {[]string{"--openai-base-url", modelURL, "--openai-api-key", "hunter2"}, 1,
			map[string][2]string{"model": {"problem", "the provider refuses the key"}}},
		"separate judge": {[]string{"--openai-base-url", modelURL, "--openai-api-key", "right", "--judge-model", "strict",
			"--contact-model", "chatty", "--contact-base-url", modelURL + "/v1", "--contact-api-key", "hunter2"}, 1,
			map[string][2]string{
				"model": {"ok", ""}, "judge": {"ok", "strict; "}, "contact": {"problem", "the provider refuses the key"},
			}},
		"no bucket": {[]string{"--document-bucket", strings.Replace(bucket.Address(""), "documents", "other", 1)}, 1,
			map[string][2]string{"document bucket": {"problem", "NoSuchBucket"}}},
		"credentials in the bucket's address": {[]string{"--document-bucket", "s3://key:hunter2@documents"}, 1,
			map[string][2]string{"document bucket": {"problem", "must not contain credentials"}}},
		"no judge": {[]string{"--openai-base-url", modelURL, "--openai-api-key", "right"}, 0,
			map[string][2]string{"judge": {"warning", "judges itself"}}},
		"no embedding model": {[]string{"--embedding-model", "/nope"}, 1,
			map[string][2]string{"engine": {"problem", "choose the embedding model (--embedding-model): "}}},
		"wrong secret key": {[]string{"--secret-key", "hunter2"}, 1,
			map[string][2]string{"secret key": {"problem", "32 bytes"}}},
		"port taken": {[]string{"--listen", taken.Addr().String()}, 1,
			map[string][2]string{"port": {"problem", "address already in use"}}},
		"serving": {[]string{"--listen", serving, "--metrics-listen", running.metrics}, 0, map[string][2]string{
			"port": {"ok", "agentgraph serves on"}, "metrics": {"ok", "agentgraph serves on"}}},
		"equal ports": {[]string{"--listen", same, "--metrics-listen", same}, 1,
			map[string][2]string{"port": {"ok", same + " is free"}, "metrics": {"problem", "is also the address"}}},
		"NATS": {[]string{"--nats-url", bus.URL}, 0, map[string][2]string{"NATS": {"ok", "accepts connections"}}},
		"wrong password of NATS": {[]string{"--nats-url", strings.Replace(bus.URL, "a-secret-of-the-test", "hunter2", 1)}, 1,
			map[string][2]string{"NATS": {"problem", "Authorization Violation"}}},
		"no NATS": {[]string{"--nats-url", "nats://user:hunter2@127.0.0.1:1"}, 1,
			map[string][2]string{"NATS": {"problem", "no servers available"}}},
		"address of another protocol": {[]string{"--nats-url", "http://user:hunter2@127.0.0.1"}, 1,
			map[string][2]string{"NATS": {"problem", "not a URL such as nats://"}}},
		"credentials without NATS": {[]string{"--nats-credentials", "/nope"}, 1,
			map[string][2]string{"NATS": {"problem", "needs --nats-url"}}},
		"wrong subject of NATS": {[]string{"--nats-url", bus.URL, "--nats-subject", "a..b"}, 1,
			map[string][2]string{"NATS": {"problem", "--nats-subject must be"}}},
		"sessions": {[]string{"--database-url", address, "--session-database-url", address}, 0,
			map[string][2]string{"sessions": {"ok", "the same database"}}},
		"sessions elsewhere": {[]string{"--database-url", address, "--session-database-url", empty}, 1,
			map[string][2]string{"sessions": {"problem", "leads to another database"}}},
		"metrics taken": {[]string{"--metrics-listen", serving}, 1,
			map[string][2]string{"metrics": {"problem", "address already in use"}}},
	} {
		if c.says["port"] == [2]string{} || c.says["port"][1] == "is free" {
			c.args = append(c.args, "--listen", "127.0.0.1:0")
		}
		o := ran(t, append([]string{"doctor", "--json"}, c.args...)...)
		require.Equal(t, c.code, o.code, "%s: %s%s", name, o.out, o.log)
		var findings []struct{ Name, State, Found, Advice string }
		require.NoError(t, json.Unmarshal([]byte(o.out), &findings))
		states := map[string][2]string{}
		for _, f := range findings {
			states[f.Name] = [2]string{f.State, f.Found}
			require.Equal(t, f.State != "ok", f.Advice != "", "%s: %s", name, f.Name)
		}
		for finding, want := range c.says {
			require.Equal(t, want[0], states[finding][0], "%s: %s: %s", name, finding, states[finding][1])
			require.Contains(t, states[finding][1], want[1], name)
		}
		shown := ran(t, append([]string{"doctor"}, c.args...)...)
		require.Equal(t, c.code, shown.code)
		require.NotContains(t, o.out+o.log+shown.out+shown.log, "hunter2", name)
		require.NotContains(t, shown.out, "\x1b")
	}
}

func TestDoctorNamesWhatIsWrongWithAModel(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"data":[{"id":"known"}]}`))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "models.yaml")
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(`
models:
- {name: right, model: known, url: URL/v1}
- {name: misspelled, model: nope, url: URL/v1}
- {name: misplaced, model: known, url: URL/v1/chat/completions}
- {name: away, model: known, url: "http://user:hunter2@127.0.0.1:1/v1"}
`, "URL", server.URL)), 0o600))
	o := ran(t, "doctor", "--json", "--listen", "127.0.0.1:0", "--models", path, "--model", "misplaced", "--judge-model",
		"other", "--judge-base-url", server.URL+"/v2")
	require.Equal(t, 1, o.code, o.log)
	require.NotContains(t, o.out, "hunter2")
	var findings []struct{ Name, State, Found, Advice string }
	require.NoError(t, json.Unmarshal([]byte(o.out), &findings))
	found := map[string][3]string{}
	for _, f := range findings {
		found[f.Name] = [3]string{f.State, f.Found, f.Advice}
	}
	const advice = "check its url, its key and its model in AGENTGRAPH_MODELS"
	wrong := [3]string{"problem", "the language model: the address answered 404 Not Found", advice}
	require.Equal(t, [3]string{"ok", "openai; the provider did not refuse the key", ""}, found["model right"])
	require.Equal(t, wrong, found["model misplaced"])
	require.Equal(t, wrong, found["model"])
	require.Equal(t, [3]string{"problem", wrong[1], "check AGENTGRAPH_JUDGE_API_KEY, AGENTGRAPH_JUDGE_BASE_URL and the " +
		"model's name"}, found["judge"])
	require.Equal(t, [3]string{"warning", `the language model: the provider's list has no model "nope"`, advice},
		found["model misspelled"])
	require.Equal(t, [3]string{"problem", "the language model: the provider cannot be reached at 127.0.0.1:1: dial tcp " +
		"127.0.0.1:1: connect: connection refused", advice}, found["model away"])
}

func TestUnknownVariablesAreNamed(t *testing.T) {
	t.Parallel()
	models := filepath.Join(t.TempDir(), "models.yaml")
	require.NoError(t, os.WriteFile(models, []byte("models: [{name: small, url: '"+provider(t)+
		"', keyEnv: AGENTGRAPH_SMALL_KEY}]"), 0o600))
	env := []string{"AGENTGRAPH_CORS_ORIGIN=https://a.example", "AGENTGRAPH_AUDIT_WEBHOOK_SECRET_FILE=",
		"AGENTGRAPH_LISTEN=:0", "AGENTGRAPH_API_SERVICE_HOST=10.0.0.1", "AGENTGRAPH_API_PORT_80_TCP=tcp://10.0.0.1:80",
		"AGENTGRAPH_SMALL_KEY=right", "AGENTGRAPH_MODELS=" + models}
	o := process(t, "", env, "doctor")
	require.Zero(t, o.code, o.log)
	require.NotContains(t, o.out, "AGENTGRAPH_SMALL_KEY", "the list of models names it")
	require.Contains(t, o.out, `; AGENTGRAPH_CORS_ORIGIN, did you mean "AGENTGRAPH_CORS_ORIGINS"?`+"\n")
	o = process(t, "", append(env, "DATABASE_URL=postgres://127.0.0.1:1/none"), "serve")
	require.Equal(t, 1, strings.Count(o.log, "environment variables that no setting reads"))
}

// Doctor refuses the settings that serve refuses, with the same message.
func TestDoctorRefusesInvalidSettings(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{
		"--workers=-1", "--max-upload=5MB", "--cors-origin=example.com", "--trusted-documents=/nope", "--base-path=agents/",
		"--drain-delay=-3s", "--audit-webhook=notaurl", "--log-level=verbose", "--console=maybe", "--migrate=maybe", "--pprof",
		"--query-cost=-1", "--rate-limit=-1", "--max-connections=1", "--trusted-proxy=10.0.0.0/33",
		"--listen=7391", "--listen=:99999", "--metrics-listen=9090",
	} {
		serve, doctor := ran(t, "serve", "--database-url", "postgres://127.0.0.1:1/x", setting), ran(t, "doctor", setting)
		require.Equal(t, 2, doctor.code, setting)
		require.Equal(t, serve.log, strings.Replace(doctor.log, "agentgraph: doctor: ", "agentgraph: serve: ", 1))
	}
	for setting, says := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=nonsense": "OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL",
		"OTEL_TRACES_EXPORTER=zipkin":          `OTEL_TRACES_EXPORTER must be otlp or none, not "zipkin"`,
	} {
		for _, command := range []string{"doctor", "serve"} {
			o := process(t, "", []string{setting, "DATABASE_URL=postgres://127.0.0.1:1/x"}, command)
			require.Equal(t, 2, o.code)
			require.Contains(t, o.log, says)
		}
	}
}

func TestDoctorReadsTheSettingsOfServe(t *testing.T) {
	t.Parallel()
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	path := filepath.Join(t.TempDir(), "settings.yaml")
	const free = "listen: 127.0.0.1:0\n"
	serving := "serve:\n  document-bucket: s3://key:hunter2@documents\n  listen: " + taken.Addr().String() + "\n"
	for text, says := range map[string]string{
		free + serving:                        "cannot listen on " + taken.Addr().String(),
		free + serving + "doctor:\n  " + free: "127.0.0.1:0 is free",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		o := ran(t, "doctor", "--config", path)
		require.Equal(t, 1, o.code, o.log)
		require.Contains(t, o.out, says)
		require.Contains(t, o.out, "must not contain credentials", "the bucket of serve")
	}
}

func TestServeReportsAWrongModelKeyAtStart(t *testing.T) {
	t.Parallel()
	model := provider(t)
	for key, refused := range map[string]bool{"wrong": true, "right": false} {
		var log dbtest.Output
		address := dbtest.URL(t)
		ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
		code := make(chan int, 1)
		go func() {
			code <- run(ctx, []string{
				"serve", "--database-url", address, "--listen", "127.0.0.1:0", "--openai-base-url", model, "--openai-api-key", key,
			}, streams{out: &bytes.Buffer{}, log: &log})
		}()
		require.Eventually(t, func() bool { return strings.Contains(log.String(), `"msg":"serving"`) }, time.Minute,
			5*time.Millisecond, log.String())
		if refused {
			require.Eventually(t, func() bool { return strings.Contains(log.String(), "the provider refuses the key") },
				time.Minute, 5*time.Millisecond, log.String())
		}
		end()
		require.Zero(t, <-code)
		require.Equal(t, refused, strings.Contains(log.String(), "agents cannot answer"))
		require.NotContains(t, log.String(), `"wrong"`)
	}
}
