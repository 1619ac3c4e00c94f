package observe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestShapesContainNoValues(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		`SELECT "a"."id" FROM "agents" AS "a" WHERE company_id = 'c1' AND n > 12.5 LIMIT 50`:   `SELECT "a"."id" FROM "agents" AS "a" WHERE company_id = ? AND n > ? LIMIT ?`,
		`INSERT INTO "tools" ("id", "text2") VALUES ('a', 'it''s FROM "secrets"'), ('b', 'x')`: `INSERT INTO "tools" ("id", "text2") VALUES (?)`,
		`INSERT INTO "tools" ("id") VALUES ('a')`:                                              `INSERT INTO "tools" ("id") VALUES (?)`,
		`INSERT INTO "tools" ("id") VALUES ('a'), ('b')`:                                       `INSERT INTO "tools" ("id") VALUES (?)`,
		`UPDATE chats SET text = E'a\'b; secret' WHERE id = $1`:                                `UPDATE chats SET text = E? WHERE id = $1`,
		`SELECT 'never closed`: `SELECT ?`,
		`SELECT count(*) FROM jobs WHERE id IN ('a', 'b', 'c') AND data = '{"name": "O''Hara"}'::jsonb`: `SELECT count(*) FROM jobs WHERE id IN (?) AND data = ?::jsonb`,
	} {
		require.Equal(t, want, shapeOf(sql), sql)
	}
	for sql, want := range map[string]string{
		`SELECT 'x FROM secrets' FROM "agents"`: "SELECT agents",
		`INSERT INTO "tools" SELECT 1 FROM b`:   "INSERT tools",
		` update "chats" SET a = 1`:             "UPDATE",
		`UPDATE "chats" SET a = 1`:              "UPDATE chats",
		`BEGIN`:                                 "BEGIN",
		``:                                      "SQL",
	} {
		require.Equal(t, want, summaryOf(shapeOf(sql)), sql)
	}
}

func TestDatabaseErrorsQuoteNoValues(t *testing.T) {
	t.Parallel()
	err := withoutContent(fmt.Errorf("read: %w", &pgconn.PgError{Severity: "ERROR", Code: "22P02", Message: `invalid input: "secret"`,
		Detail: "secret", Routine: "pg_strtoint32_safe"}))
	require.EqualError(t, err, "ERROR: pg_strtoint32_safe (SQLSTATE 22P02)")
	require.ErrorIs(t, withoutContent(io.EOF), io.EOF)
	require.NoError(t, withoutContent(nil))
}

type withheld struct{ cause error }

func (w withheld) Error() string   { return "refused: Erika" }
func (w withheld) LogText() string { return "refused" }
func (w withheld) Unwrap() error   { return w.cause }

func TestLoggedErrorsHaveNoContents(t *testing.T) {
	t.Parallel()
	value := &pgconn.PgError{Severity: "ERROR", Code: "22P02", Message: `invalid input: "Erika"`, Routine: "json_errsave_error"}
	table := &pgconn.PgError{Severity: "ERROR", Code: "42P01", Message: `relation "x" does not exist`}
	for want, err := range map[string]error{
		"call: refused": fmt.Errorf("call: %w", withheld{}),
		"refused: read: ERROR: json_errsave_error (SQLSTATE 22P02)": withheld{fmt.Errorf("read: %w", value)},
		"EOF\nrefused": errors.Join(io.EOF, withheld{}),
		"write: ERROR: relation \"x\" does not exist (SQLSTATE 42P01)": fmt.Errorf("write: %w", table),
		"try again: EOF and refused":                                   fmt.Errorf("try again: %w and %w", io.EOF, withheld{}),
	} {
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, LogOptions(slog.LevelInfo))).Info("failed", "error", err,
			slog.Group("more", "error", err))
		require.Contains(t, log.String(), fmt.Sprintf("more.error=%q", want))
		require.Contains(t, log.String(), fmt.Sprintf(" error=%q", want))
		require.NotContains(t, log.String(), "Erika")
	}
}

func TestOperationNamesAreBounded(t *testing.T) {
	t.Parallel()
	n := names{labels: map[string]bool{}}
	for i := range maxNames {
		name := fmt.Sprint("made", i)
		require.Equal(t, name, n.label(name))
	}
	require.Equal(t, otherName, n.label("one more"))
	require.Equal(t, "made0", n.label("made0"))
	n.reserve([]string{"GetAgent"})
	require.Equal(t, "GetAgent", n.label("GetAgent"))
}

func TestNoTelemetryByDefault(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT",
		"")
	observer, err := Start(t.Context(), Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	for _, o := range []*Observer{observer, {}} {
		require.Nil(t, o.Requests())
		require.Nil(t, o.Statements())
		require.Nil(t, o.Calls())
		require.Nil(t, o.Retrievals())
		require.Nil(t, o.WrapTransport())
		require.Empty(t, o.Extensions())
		require.Nil(t, o.Model(nil, ""))
		require.NoError(t, o.Close(t.Context()))
	}
}

func TestProfilesAreServedOnlyIfEnabled(t *testing.T) {
	t.Parallel()
	for _, asked := range []bool{false, true} {
		observer, err := Start(t.Context(), Options{Listen: "127.0.0.1:0", Pprof: asked, Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		for path, want := range map[string]bool{"/metrics": true, "/debug/pprof/": asked, "/debug/pprof/goroutine": asked,
			"/debug/pprof/cmdline": false, "/": false} {
			status, text := get(t, "http://"+observer.MetricsAddress()+path)
			require.Equal(t, want, status == http.StatusOK, "%s: %d %s", path, status, text)
		}
		require.NoError(t, observer.Close(t.Context()))
	}
	_, err := Start(t.Context(), Options{Pprof: true})
	require.ErrorContains(t, err, "which is not set")
	_, err = Start(t.Context(), Options{Listen: "127.0.0.1:-1", Log: slog.New(slog.DiscardHandler)})
	require.ErrorContains(t, err, "serve metrics")
}

func get(t *testing.T, address string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

func TestEnvironmentConfiguresTheCollector(t *testing.T) {
	t.Parallel()
	collectorWith := func(variables map[string]string) (*collector, error) {
		return newCollector(func(name string) string { return variables[name] })
	}
	c, err := collectorWith(nil)
	require.NoError(t, err)
	require.Equal(t, "http://localhost:4318/v1/traces", c.address)
	c, err = collectorWith(map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": "https://a/base/", "OTEL_EXPORTER_OTLP_TIMEOUT": "2500",
		"OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b, y=c",
	})
	require.NoError(t, err)
	require.Equal(t, "https://a/base/v1/traces", c.address)
	require.Equal(t, "2.5s", c.timeout.String())
	require.Equal(t, []string{"a b", "c"}, []string{c.header.Get("X-Key"), c.header.Get("Y")})
	c, err = collectorWith(map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": "https://a", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://b/in",
	})
	require.NoError(t, err)
	require.Equal(t, "https://b/in", c.address)
	for name, value := range map[string]string{"PROTOCOL": "grpc", "ENDPOINT": "a:4317", "TIMEOUT": "soon", "HEADERS": "a=%zz"} {
		_, err := collectorWith(map[string]string{"OTEL_EXPORTER_OTLP_" + name: value})
		require.ErrorContains(t, err, "OTEL_EXPORTER_OTLP_"+name)
	}
}

func TestSpansAreRetriedOnlyAfterTemporaryErrors(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]int64{http.StatusOK: 1, http.StatusBadRequest: 1, http.StatusServiceUnavailable: 2} {
		var asked atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if asked.Add(1) == 1 {
				w.WriteHeader(status)
			}
		}))
		c, err := newCollector(func(name string) string {
			return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL}[name]
		})
		require.NoError(t, err)
		err = c.UploadTraces(t.Context(), []*tracepb.ResourceSpans{{SchemaUrl: "x"}})
		require.Equal(t, status == http.StatusBadRequest, err != nil, err)
		require.Equal(t, want, asked.Load())
		require.NoError(t, c.Stop(t.Context()))
		server.Close()
	}
}

func TestVariablesEnableTraces(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "OTEL_TRACES_EXPORTER=otlp": true, "OTEL_EXPORTER_OTLP_ENDPOINT=http://a": true, "OTEL_SERVICE_NAME=a": false,
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://a OTEL_TRACES_EXPORTER=none": false, "OTEL_TRACES_EXPORTER=otlp OTEL_SDK_DISABLED=true": false,
	} {
		t.Run(text, func(t *testing.T) {
			for _, name := range []string{"OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT",
				"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_SDK_DISABLED"} {
				t.Setenv(name, "")
			}
			for pair := range strings.FieldsSeq(text) {
				name, value, _ := strings.Cut(pair, "=")
				t.Setenv(name, value)
			}
			isOn, err := wantsTraces()
			require.NoError(t, err)
			require.Equal(t, want, isOn)
		})
	}
}
