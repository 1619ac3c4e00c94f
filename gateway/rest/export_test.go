package rest

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// exporting returns a transport whose ledger yields the entries, and then the failure unless it is nil.
func exporting(t *testing.T, failure error, entries ...*model.UsageEntry) http.Handler {
	t.Helper()
	transport, err := New(theSchema(t), Options{
		Status: statusOf, TraceID: func(context.Context) string { return "trace-1" },
		Ledger: func(context.Context, model.ConsumptionRange) iter.Seq2[*model.UsageEntry, error] {
			return func(yield func(*model.UsageEntry, error) bool) {
				for _, e := range entries {
					if !yield(e, nil) {
						return
					}
				}
				if failure != nil {
					yield(nil, failure)
				}
			}
		},
	})
	require.NoError(t, err)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Scope") == "" {
			r = r.WithContext(model.WithPrincipal(r.Context(),
				model.Principal{Scopes: []model.APIKeyScope{model.APIKeyScopeRead}}))
		}
		transport.Do(w, r, nil)
	})
}

func usage(key, agentID, campaignID string, credits model.Credits) *model.UsageEntry {
	return &model.UsageEntry{
		IdempotencyKey: key, AgentID: agentID, CampaignID: campaignID, Channel: model.ChannelSms, Credits: credits,
		At: time.Date(2026, 3, 1, 9, 30, 0, 5e6, time.UTC),
	}
}

const exportPath = "/Consumption/export"

const march = exportPath + "?from=2026-03-01&to=2026-03-31"

func TestExportWritesJSON(t *testing.T) {
	t.Parallel()
	h := exporting(t, nil, usage(`k"1`, "agent_1", "campaign_1", 1_500_000), usage("k2", "agent_2", "", -1))
	w := call(h, "GET", "/consumption/Export/?FROM=2026-03-01&to=2026-03-31", "")
	require.Equal(t, 200, w.Code)
	require.Equal(t, "application/json; charset=utf-8", w.Header().Get("Content-Type"))
	require.Equal(t, `{"periodFrom":"2026-03-01T00:00:00.000Z","periodTo":"2026-03-31T23:59:59.999Z","entries":[`+
		`{"at":"2026-03-01T09:30:00.005Z","channel":"SMS","agentId":"agent_1","campaignId":"campaign_1","credits":1.5,"idempotencyKey":"k\"1"},`+
		`{"at":"2026-03-01T09:30:00.005Z","channel":"SMS","agentId":"agent_2","campaignId":null,"credits":-0.000001,"idempotencyKey":"k2"}]}`, w.Body.String())
	require.Equal(t, `{"periodFrom":"2026-03-01T00:00:00.000Z","periodTo":"2026-03-31T23:59:59.999Z","entries":[]}`,
		call(exporting(t, nil), "GET", march, "").Body.String())
}

func TestExportWritesCSV(t *testing.T) {
	t.Parallel()
	h := exporting(t, nil, usage("=1+1", "@agent", "+campaign,\"quoted\"", -2_000_000),
		usage("-k", "\tagent", "\rcampaign", 1), usage("a\nb", "a=b", "", 0))
	w := call(h, "GET", march+"&format=csv", "", "Accept: text/csv")
	require.Equal(t, 200, w.Code)
	require.Equal(t, "text/csv; charset=utf-8; header=present", w.Header().Get("Content-Type"))
	require.Equal(t, `attachment; filename="consumption_2026-03-01_2026-03-31.csv"`, w.Header().Get("Content-Disposition"))
	require.True(t, strings.HasPrefix(w.Body.String(), "at,channel,agentId,campaignId,credits,idempotencyKey\n"))
	rows, err := csv.NewReader(w.Body).ReadAll()
	require.NoError(t, err)
	at := "2026-03-01T09:30:00.005Z"
	require.Equal(t, [][]string{
		{at, "SMS", "'@agent", "'+campaign,\"quoted\"", "-2", "'=1+1"}, {at, "SMS", "'\tagent", "'\rcampaign", "0.000001",
			"'-k"}, {at, "SMS", "a=b", "", "0", "a\nb"},
	}, rows[1:])
	require.Equal(t, 1, strings.Count(call(exporting(t, nil), "GET", march+"&format=csv", "").Body.String(), "\n"))
}

// The parameter format decides, and otherwise the header Accept.
func TestExportHonorsAccept(t *testing.T) {
	t.Parallel()
	h := exporting(t, nil, usage("k", "agent_1", "", 1))
	for _, c := range []struct{ format, accept, media string }{
		{"", "", "application/json"}, {"", "*/*", "application/json"}, {"", "text/html", "application/json"},
		{"", "text/csv", "text/csv"}, {"", "text/csv, */*;q=0.1", "text/csv"},
		{"", "application/json, text/csv", "application/json"}, {"", "text/csv;q=0.5, application/json", "application/json"},
		{"&format=json", "text/csv", "application/json"}, {"&format=CSV", "application/json", "text/csv"},
		{"&format=Json", "", "application/json"},
	} {
		w := call(h, "GET", march+c.format, "", "Accept: "+c.accept)
		require.Equal(t, 200, w.Code, c)
		media, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
		require.Equal(t, c.media, media, c)
	}
}

func TestInvalidExportsAreRefused(t *testing.T) {
	t.Parallel()
	h := exporting(t, nil, usage("k", "agent_1", "", 1))
	for query, want := range map[string]string{
		"":                        "from is required; to is required",
		"?from=2026-03-01":        "to is required",
		"?from=2026-03-01&to=":    "to is required",
		"?from=1st&to=2026-03-01": "from must be an existing ISO date",
		"?from=2026-03-01T09:30+02:00&to=2026-03-01":    "+ means a space: write %2B",
		"?from=2026-03-01&to=2026-02-30":                "to must be an existing ISO date",
		"?from=2026-03-02&to=2026-03-01":                `from must not be after "to"`,
		"?from=2024-01-01&to=2025-01-02":                `to must be at most 366 days after "from"`,
		"?from=2026-03-01&from=1&to=1":                  "from",
		"?from=2026-03-01&to=2026-03-01&pdf=1":          "pdf is not a known parameter; the parameters are from, to, format",
		march[len(exportPath):] + "&format=xml":         "format must be csv or json",
		march[len(exportPath):] + "&format=csv&format=": "format must be given once",
		march[len(exportPath):] + "&format=":            "format must not be empty: give a value or leave it out",
	} {
		w := call(h, "GET", exportPath+query, "")
		require.Equal(t, 400, w.Code, query)
		p := problemOf(t, w)
		require.Contains(t, p.Detail, want)
		require.Equal(t, model.BadInput, p.Code)
	}
	require.Equal(t, 405, call(h, "POST", march, "{}").Code)
	require.Equal(t, 406, call(h, "GET", march, "", "Accept: application/json;q=0").Code)
	require.Equal(t, 403, call(h, "GET", march, "", "X-Scope: none").Code)
}

func TestFailedExportIsReported(t *testing.T) {
	t.Parallel()
	w := call(exporting(t, model.Errorf(model.Unavailable, "the database is not available")), "GET", march, "")
	require.Equal(t, 503, w.Code)
	require.Equal(t, "the database is not available", problemOf(t, w).Detail)

	// A failure after the first rows must leave the response visibly incomplete.
	many := make([]*model.UsageEntry, 5_000)
	for i := range many {
		many[i] = usage("k", "agent_1", "", 1)
	}
	server := httptest.NewUnstartedServer(exporting(t, errors.New("broken"), many...))
	server.Config.Handler = silently(server.Config.Handler)
	server.Start()
	defer server.Close()
	for _, format := range []string{"json", "csv"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+march+"&format="+format, nil)
		require.NoError(t, err)
		response, err := server.Client().Do(request)
		require.NoError(t, err)
		require.Equal(t, 200, response.StatusCode)
		_, err = io.Copy(io.Discard, response.Body)
		require.Error(t, err)
		require.NoError(t, response.Body.Close())
	}
}

// silently turns panics into http.ErrAbortHandler, which net/http does not log, like the gateway.
func silently(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if recover() != nil {
				panic(http.ErrAbortHandler)
			}
		}()
		h.ServeHTTP(w, r)
	})
}

func TestHeadOfExportHasNoBody(t *testing.T) {
	t.Parallel()
	w := call(exporting(t, nil, usage("k", "agent_1", "", 1)), "HEAD", march+"&format=csv", "")
	require.Equal(t, 200, w.Code)
	require.NotContains(t, w.Body.String(), "agent_1")
}

func TestAuditLogIsExported(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 9, 30, 0, 5e6, time.UTC)
	transport, err := New(theSchema(t), Options{
		Status: statusOf, TraceID: func(context.Context) string { return "trace-1" },
		AuditLog: func(_ context.Context, r model.ConsumptionRange) iter.Seq2[*model.AuditEvent, error] {
			return func(yield func(*model.AuditEvent, error) bool) {
				require.Equal(t, time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC), r.End)
				_ = yield(&model.AuditEvent{ID: "audit_1", Action: model.AuditActionCreateAgent, TargetID: "agent_1",
					CreatedAt: at}, nil) &&
					yield(&model.AuditEvent{
						ID: "audit_2", Action: model.AuditActionDeleteAgent, TargetID: "=agent", APIKeyID: new("key_1"),
						IsAccessToken: true,
						Address:       new("203.0.113.7"), CreatedAt: at,
					}, nil)
			}
		},
	})
	require.NoError(t, err)
	by := func(scope model.APIKeyScope) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			transport.Do(w, r.WithContext(model.WithPrincipal(r.Context(), model.Principal{Scopes: []model.APIKeyScope{scope}})),
				nil)
		})
	}
	const path = "/AuditEvent/export?from=2026-03-01&to=2026-03-31"
	w := call(by(model.APIKeyScopeAdmin), "GET", path, "")
	require.Equal(t, `{"periodFrom":"2026-03-01T00:00:00.000Z","periodTo":"2026-03-31T23:59:59.999Z","events":[`+
		`{"id":"audit_1","createdAt":"2026-03-01T09:30:00.005Z","action":"CreateAgent","targetId":"agent_1","apiKeyId":null,"isAccessToken":false,"address":null},`+
		`{"id":"audit_2","createdAt":"2026-03-01T09:30:00.005Z","action":"DeleteAgent","targetId":"=agent","apiKeyId":"key_1","isAccessToken":true,"address":"203.0.113.7"}]}`,
		w.Body.String())
	w = call(by(model.APIKeyScopeAdmin), "GET", path+"&format=csv", "")
	require.Equal(t, `attachment; filename="audit_2026-03-01_2026-03-31.csv"`, w.Header().Get("Content-Disposition"))
	require.Equal(t, "createdAt,action,targetId,apiKeyId,isAccessToken,address,id\n"+
		"2026-03-01T09:30:00.005Z,CreateAgent,agent_1,,false,,audit_1\n"+
		"2026-03-01T09:30:00.005Z,DeleteAgent,'=agent,key_1,true,203.0.113.7,audit_2\n", w.Body.String())
	require.Equal(t, 403, call(by(model.APIKeyScopeWrite), "GET", path, "").Code)
	require.Equal(t, 404, call(exporting(t, nil), "GET", path, "").Code, "without an audit log")
}
