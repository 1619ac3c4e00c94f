package archive_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/archive"
	"github.com/agentgraph/agentgraph/db/dbtest"
)

// oldServer is a stub of a v1 server. It is sometimes busy, answers in pages, and has missing members and nulls.
type oldServer struct {
	mu    sync.Mutex
	asked map[string]int
	// lists are the entries by path.
	lists map[string][]string
	ones  map[string]string
	// progress has the lines about the progress of a move.
	progress []string
}

func (s *oldServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked[r.URL.String()]++
	times, all := s.asked[r.URL.String()], 0
	for _, n := range s.asked {
		all += n
	}
	s.mu.Unlock()
	problem := func(status int, detail string) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"type":"https://tools.ietf.org/html/rfc7231#section-6.5.1","title":%q,"status":%d,"detail":%q}`, http.StatusText(status), status, detail)
	}
	switch {
	case r.Header.Get("X-Api-Key") != "old-key":
		problem(401, "")
		return
	case times == 1 && all%5 == 2:
		w.Header().Set("Retry-After", "0")
		problem(429, "")
		return
	case times == 1 && all%5 == 3:
		w.WriteHeader(http.StatusInternalServerError)
		return
	case times == 1 && all%5 == 4:
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte(`{"data":[`)) // the server then cuts the connection
		return
	}
	if text, isOne := s.ones[r.URL.Path]; isOne {
		_, _ = w.Write([]byte(text))
		return
	}
	list, isList := s.lists[r.URL.Path]
	if !isList {
		problem(404, "not found")
		return
	}
	number, _ := strconv.Atoi(r.URL.Query().Get("pageNumber"))
	size, _ := strconv.Atoi(r.URL.Query().Get("pageSize"))
	if size < 1 || size > 100 {
		problem(400, "pageSize")
		return
	}
	page := list[min((number-1)*size, len(list)):min(number*size, len(list))]
	_, _ = fmt.Fprintf(w, `{"data":[%s],"total":%d,"pageNumber":%d,"pageSize":%d}`, strings.Join(page, ","), len(list),
		number, size)
}

func newOldServer(tests int) *oldServer {
	s := &oldServer{asked: map[string]int{}, lists: map[string][]string{}, ones: map[string]string{}}
	s.ones["/Agent/a1"] = `{"agentId":"a1","agentName":"Reception","channel":"Phone","direction":"Inbound","language":"","tags":null,"createdAt":"2024-05-01T08:00:00",
		"prompt":"Be kind.","outboundWelcomeMessage":null,"fields":[{"name":"firstName","isMandatory":true,"isSystem":false,"order":3}],
		"classificationTags":[{"name":"New","definition":"A new patient.","isSystem":false}],"extractedValues":[{"name":"who","definition":"The name.","type":"Nom"}],
		"isCallTransferEnabled":true,"tools":[{"id":"t1","name":"Find slots","technicalName":"find_slots"}],
		"subAgents":[{"id":"s1","name":"Billing","technicalName":"billing","description":"Bills."},{"id":"s2","name":"Nobody","technicalName":"nobody","description":""}],
		"knowledgeBaseChatId":"k1"}`
	s.ones["/Agent/a2"] = `{"agentId":"a2","agentName":"Billing","channel":"Web","direction":"Inbound","prompt":"Bills only.","createdAt":"0001-01-01T00:00:00"}`
	s.ones["/Consumption/breakdown"] =
		`{"totalCredits":1,"byChannel":[],"byMonth":[],"byAgent":[{"agentId":"a2","credits":1,"campaigns":[]},
		{"agentId":"a1","nameStatus":"Resolved","credits":2,"campaigns":[{"campaignId":"c1","nameStatus":"Resolved","credits":1},{"campaignId":"gone","nameStatus":"Deleted","credits":1}]},
		{"agentId":"a9","nameStatus":"Deleted","credits":1,"campaigns":[]}]}`
	for i := range tests {
		test := fmt.Sprintf(`{"id":"test-%d","kind":"Simulation","agentId":"a1","folderId":"f1","name":"Test %d","lastRunId":"r","lastRunStatus":"Passed","scenario":"Say hello",
			"criteria":["Polite"],"conversationMessages":[],"variables":{"firstName":"Ada","none":null},"toolMocking":{"mockedTools":[{"toolId":"t1","resultTemplate":null,"delaySeconds":2.5}],"mockAllTools":true},"createdAt":"2024-06-01T08:00:00.1234567Z"}`, i, i)
		if i%3 == 0 {
			test = fmt.Sprintf(`{"id":"test-%d","kind":"Classification","agentId":"a1","name":"Test %d","tagExpected":"New","conversationContext":{"messages":[{"role":"user","text":"I am new.","timestamp":null}],"dataBag":{}}}`, i, i)
		}
		s.lists["/AgentTest"] = append(s.lists["/AgentTest"], test)
	}
	// The list shows this test without its definition.
	s.lists["/AgentTest"] = append(s.lists["/AgentTest"], `{"id":"short","agentId":"a2","name":"Short"}`)
	s.ones["/AgentTest/short"] =
		`{"id":"short","agentId":"a2","name":"Short","scenario":"Ask","criteria":["Short"],"maxTurns":3}`
	s.lists["/AgentTestFolder"] = []string{`{"id":"f1","agentId":"a1","name":"Smoke"}`}
	s.lists["/Dataset"] = []string{
		`{"id":"d1","name":"Prices","description":null,"chunkMethod":null,"parserConfig":{"chunkTokenNum":128}}`}
	s.lists["/KnowledgeBaseChat"] =
		[]string{`{"id":"k1","name":"Help","datasetIds":["d1"],"llmSettings":{"temperature":0.5},"promptSettings":null,"updatedAt":null}`}
	s.ones["/CampaignField"] =
		`{"data":[{"name":"firstName","isMandatory":true},{"name":"city","description":null,"isMandatory":false}]}`
	for i := range 120 {
		s.lists["/CampaignItem/c1"] = append(s.lists["/CampaignItem/c1"],
			fmt.Sprintf(`{"id":"i%d","campaignId":"c1","createdAt":"2024-06-01T08:00:00Z","runningStatus":%q,"attemptCount":%d,
			"phoneNumber":"+4930123%04d","dataBag":{"firstName":"Ada"},"result":{"summary":"Done"},"eventList":[{"type":"LaunchCall","date":"2024-06-01T09:00:00Z","description":null}]}`,
				i, []string{"Pending", "Processed", "Error"}[i%3], i%2, i))
	}
	return s
}

func fromOld(t *testing.T, s *oldServer, key string) (*bytes.Buffer, *archive.V1Report, error) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	file := &bytes.Buffer{}
	report, err := archive.FromV1(t.Context(), file, archive.V1Options{
		Address: server.URL, Key: key, Company: archive.Company{ID: "acme", Name: "Acme",
			CreatedAt: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)}, Pause: time.Millisecond,
		Progress: func(what string, read, total int64) {
			s.progress = append(s.progress, fmt.Sprintf("read %d of %d %s", read, total, what))
		},
	})
	return file, report, err
}

func TestCompanyMovesFromV1Server(t *testing.T) {
	t.Parallel()
	file, report, err := fromOld(t, newOldServer(353), "old-key")
	require.NoError(t, err)
	written := map[string]int64{
		"agents": 2, "agent tests": 354, "agent test folders": 1, "tools": 1, "datasets": 1, "knowledge base chats": 1,
		"campaigns": 1, "campaign items": 120, "sub-agents": 1,
	}
	require.Equal(t, written, report.Written)
	require.EqualValues(t, 2, report.Read["sub-agents"])
	delete(written, "sub-agents")
	for what, n := range written {
		require.Equal(t, n, report.Read[what], what)
	}
	require.Equal(t, []string{
		`the sub-agent "Nobody" (s2) of agent a1: a v1 server shows only the name of the agent behind it, and 0 of the imported agents have that name`,
		`"order" in fields of 1 agent: this version of agentgraph has no such field`,
	}, report.Left)

	store := dbtest.New(t)
	require.NoError(t, take(t, store, file.Bytes()))
	tenant := store.Tenant("acme")
	agent, err := tenant.Agent(t.Context(), "a1")
	require.NoError(t, err)
	require.Equal(t, "en", agent.Language)
	require.Equal(t, "2024-05-01T08:00:00Z", agent.CreatedAt.UTC().Format(time.RFC3339))
	tests := 0
	rows := map[string]map[string]any{}
	for _, e := range unpacked(t, file.Bytes()) {
		if e.name == "agent_tests.jsonl" {
			tests = strings.Count(e.content, "\n")
			for text := range strings.Lines(e.content) {
				row := map[string]any{}
				require.NoError(t, json.Unmarshal([]byte(text), &row))
				rows[row["id"].(string)] = row
			}
		}
	}
	require.Equal(t, 354, tests)
	require.Equal(t, "Classification", rows["test-0"]["kind"])
	require.Equal(t, "f1", rows["test-1"]["folder_id"])
	require.Equal(t, map[string]any{"firstName": "Ada"}, rows["test-1"]["variables"])
	require.EqualValues(t, 3, rows["short"]["max_turns"])
	again, _, err := fromOld(t, newOldServer(353), "old-key")
	require.NoError(t, err)
	require.Equal(t, unpacked(t, file.Bytes()), unpacked(t, again.Bytes()), "the same server gives the same archive")
}

// A v1 server may leave out the offset of a time, the data bag, and members that are null.
func TestV1ValuesAreConverted(t *testing.T) {
	t.Parallel()
	s := newOldServer(0)
	s.lists["/AgentTest"] = []string{
		`{"id":"s","agentId":"a1","name":"S","scenario":"x","criteria":["y"],"createdAt":"2024-06-01T08:00",
			"conversationMessages":[{"role":"user","text":"a","timestamp":"2024-06-01T08:00:00"},
			{"role":"assistant","text":"b","timestamp":"0001-01-01T00:00:00"},
			{"role":"user","text":"c","timestamp":"2024-06-01T08:00+02:00"}]}`,
		`{"id":"c","agentId":"a1","name":"C","tagExpected":"New",
			"conversationContext":{"messages":[{"role":"user","text":"a","timestamp":"2024-06-01T08:00:00.5"}]}}`,
		`{"id":"n","agentId":"a1","name":"N","tagExpected":"New",
			"conversationContext":{"messages":[{"role":"user","text":"a"}],"dataBag":null}}`,
	}
	s.lists["/CampaignItem/c1"] = []string{`{"id":"i1","runningStatus":"Processed","attemptCount":1,"phoneNumber":"+4912",
		"createdAt":"2024-06-01T08:00:00","result":{"summary":"Done","conversation":{"id":"k",
		"messages":[{"role":"user","text":"a","timestamp":"2024-06-01T08:00:00"}]}}}`}
	s.lists["/Dataset"] = []string{`{"id":"d1","name":"A","description":""}`, `{"id":"d2","name":"B","description":null}`}
	file, _, err := fromOld(t, s, "old-key")
	require.NoError(t, err)
	store := dbtest.New(t)
	require.NoError(t, take(t, store, file.Bytes()))
	for id, want := range map[string]*string{"d1": new(""), "d2": nil} {
		dataset, err := store.Tenant("acme").Dataset(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, want, dataset.Description)
	}
	rows := map[string]string{}
	for _, e := range unpacked(t, file.Bytes()) {
		rows[e.name] = e.content
	}
	for _, says := range []string{
		`"created_at":"2024-06-01T08:00:00Z"`, `"text":"a","timestamp":"2024-06-01T08:00:00Z"`, `{"role":"assistant","text":"b"}`,
		`"text":"c","timestamp":"2024-06-01T06:00:00Z"`, `"timestamp":"2024-06-01T08:00:00.5Z"`,
	} {
		require.Contains(t, rows["agent_tests.jsonl"], says)
	}
	require.Equal(t, 2, strings.Count(rows["agent_tests.jsonl"], `"dataBag":{}`))
	require.Contains(t, rows["campaign_items.jsonl"], `"timestamp":"2024-06-01T08:00:00Z"`)
}

func TestImportReportsMissingV1Data(t *testing.T) {
	t.Parallel()
	_, _, err := fromOld(t, newOldServer(1), "another-key")
	require.ErrorContains(t, err, "401 Unauthorized")

	s := newOldServer(3)
	delete(s.ones, "/Agent/a2")
	s.lists["/AgentTest"] = append(s.lists["/AgentTest"], `{"id":"empty","agentId":"a1","name":"Empty"}`,
		`{"id":"odd","agentId":"a1","folderId":"f9","name":"Odd","scenario":"x","criteria":["y"]}`)
	s.lists["/Dataset/d1/document"] = []string{`{"id":"doc1","name":"a.pdf"}`}
	s.lists["/CampaignItem/c1"] = []string{`{"id":"i1","runningStatus":"Calling","phoneNumber":"+491"}`,
		`{"id":"i2","runningStatus":"Pending","phoneNumber":"030/123"}`}
	_, report, err := fromOld(t, s, "old-key")
	require.NoError(t, err)
	require.Contains(t, s.progress, "read 1 of 1 agents")
	left := strings.Join(report.Left, "\n")
	for _, says := range []string{
		"agent a2: GET /Agent/a2: the v1 server answered 404", `the test "Short" (short): its agent a2 is not moved`,
		`the test "Empty" (empty): the server shows neither`,
		`the folder f9 of the test "Odd" (odd)`, `1 document of the dataset "Prices"`,
		"the item i1 of the campaign c1: its status is Calling", "the item i2 of the campaign c1: its phone number",
	} {
		require.Contains(t, left, says)
	}
	require.Len(t, report.Left, 10, left) // the other three are two sub-agents and the unknown member
}
