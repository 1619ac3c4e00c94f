package archive_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/archive"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/demo"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// heap returns the bytes in use: the smallest of three measurements, because each can include garbage that other
// goroutines left after the collection.
func heap() uint64 {
	least := uint64(math.MaxUint64)
	for range 3 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		least = min(least, stats.HeapAlloc)
	}
	return least
}

// Moving a large company needs only a fraction of its size in memory. The test is not parallel, because it measures the
// memory of the process.
func TestLargeCompaniesMoveInLittleMemory(t *testing.T) {
	from, to := dbtest.URL(t), dbtest.New(t)
	store := dbtest.Open(t, from, dbtest.Options())
	company, err := store.CreateCompany(t.Context(), "Large")
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), from)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	const entries, documents, size = 30_000, 20, 2 << 20
	_, err = conn.Exec(t.Context(),
		`INSERT INTO usage_entries (company_id, idempotency_key, channel, agent_id, campaign_id, micro_credits, at)
		SELECT $1, 'k' || n || repeat(md5(n::text), 6), 'Web', 'agent-' || n % 7, '', n,
			timestamptz '2026-01-01' + n * interval '1 minute' FROM generate_series(1, $2::int) AS n`, company.ID, entries)
	require.NoError(t, err)
	dataset, err := store.Tenant(company.ID).CreateDataset(t.Context(), model.CreateDatasetInput{Name: "Files"})
	require.NoError(t, err)
	content := make([]byte, size)
	for i := range documents {
		_, _ = rand.Read(content)
		d, err := model.NewDocument(model.AddDocumentInput{DatasetID: dataset.ID, Name: new(fmt.Sprint("file ", i)),
			Text: new("x")}, dataset.CreatedAt)
		require.NoError(t, err)
		d.Size, d.ContentType = size, "application/octet-stream"
		require.NoError(t, store.Tenant(company.ID).AddDocument(t.Context(), d, bytes.NewReader(content)))
	}

	begin, most := heap(), uint64(0)
	look := func(done, all int64) {
		// documents, their files, their jobs, the dataset, and the audit event of the export
		assert.EqualValues(t, entries+2*documents+documents+2, all)
		if done%1_000 == 0 {
			most = max(most, heap())
		}
	}
	reading, writing := io.Pipe()
	defer func() { _ = reading.Close() }()
	go func() {
		_, err := archive.Export(t.Context(), store, company.ID, writing, archive.ExportOptions{Progress: look})
		_ = writing.CloseWithError(err)
	}()
	_, err = archive.Import(t.Context(), to, reading, archive.ImportOptions{})
	require.NoError(t, err)
	require.Positive(t, most)
	const moved = entries*250 + documents*size
	require.Less(t, most-min(most, begin), uint64(moved/4), "of %d bytes that were moved", moved)
	t.Logf("%d MB of heap for %d MB of rows and files", (most-min(most, begin))>>20, moved>>20)

	used, err := to.Tenant(company.ID).Subscription(t.Context(), company.CreatedAt)
	require.NoError(t, err)
	require.Nil(t, used)
	stored, err := to.Tenant(company.ID).StoredBytes(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, documents*size, stored)
}

// moves matches the audit events of exports and imports.
var moves = regexp.MustCompile(`(?m)^.*"(?:Ex|Im)portCompany".*\n`)

// The import accepts the whole demo, and a second export has the same rows.
func TestDemoMovesUnchanged(t *testing.T) {
	t.Parallel()
	from, to := dbtest.New(t), dbtest.New(t)
	_, err := demo.Seed(t.Context(), from)
	require.NoError(t, err)
	companies, err := from.Companies(t.Context())
	require.NoError(t, err)
	for _, company := range companies {
		file, again := &bytes.Buffer{}, &bytes.Buffer{}
		_, err := archive.Export(t.Context(), from, company.ID, file, archive.ExportOptions{})
		require.NoError(t, err)
		require.NoError(t, take(t, to, file.Bytes()))
		_, err = archive.Export(t.Context(), to, company.ID, again, archive.ExportOptions{})
		require.NoError(t, err)
		before, after := unpacked(t, file.Bytes()), unpacked(t, again.Bytes())
		for i, e := range before {
			if e.name == "campaigns/000001.jsonl" {
				before[i].content = strings.ReplaceAll(e.content, `"status":"Running"`, `"status":"Paused"`)
			}
		}
		for _, entries := range [][]entry{before, after} {
			for i, e := range entries {
				entries[i].content = moves.ReplaceAllString(e.content, "")
			}
		}
		require.Equal(t, before[1:], after[1:], "all but the manifest and the events of the moves, byte by byte")
		found, err := to.Tenant(company.ID).Company(t.Context())
		require.NoError(t, err)
		require.Equal(t, company, found)
	}
}

// A handwritten archive gets the parts that it omits, such as prompt versions. Its documents are indexed.
func TestHandwrittenArchivesAreCompleted(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	require.NoError(t, take(t, store, packed(t, entry{"./manifest.json", manifest},
		entry{"knowledge_base_chats.jsonl",
			line(t, map[string]any{"id": "kb", "name": "Help", "llm_settings": map[string]any{"temperature": 0.9}})},
		entry{"./datasets.jsonl", line(t, map[string]any{"id": "42", "name": "Manuals"})},
		entry{"documents.jsonl", "\n" +
			line(t, map[string]any{"id": "43", "dataset_id": "42", "name": "a.txt", "content_type": "text/plain", "size": 5})},
		entry{"files/43", "hello"},
		entry{"agents.jsonl", line(t, map[string]any{"id": "3F2504E0-4F89-41D3-9A0C-0305E82C3301", "name": "Ada",
			"channel": "Web", "direction": "Inbound", "prompt": "Be kind.", "prompt_version": 7})},
		entry{"tools/1.jsonl", line(t, map[string]any{"id": "t-1", "name": "Find", "technical_name": "find"})},
		entry{"agent_tools.jsonl",
			line(t, map[string]any{"agent_id": "3F2504E0-4F89-41D3-9A0C-0305E82C3301", "tool_id": "t-1"})},
		entry{"agent_test_folders.jsonl",
			line(t, map[string]any{"id": "folder", "agent_id": "3F2504E0-4F89-41D3-9A0C-0305E82C3301", "name": "Smoke"})},
		entry{"agent_tests.jsonl", line(t, map[string]any{"id": "test", "agent_id": "3F2504E0-4F89-41D3-9A0C-0305E82C3301",
			"folder_id": "folder", "name": "A", "scenario": "B", "criteria": []string{"C"}})},
		entry{"campaigns.jsonl", line(t, map[string]any{"id": "campaign", "agent_id": "3F2504E0-4F89-41D3-9A0C-0305E82C3301",
			"name": "Calls"})},
		entry{"campaign_items.jsonl",
			line(t, map[string]any{"id": "item", "campaign_id": "campaign", "phone_number": "+49301234567"})},
	)))
	tenant := store.Tenant("acme")
	agent, err := tenant.Agent(t.Context(), "3F2504E0-4F89-41D3-9A0C-0305E82C3301")
	require.NoError(t, err)
	require.EqualValues(t, 7, agent.PromptVersion)
	require.Equal(t, []string{}, agent.Tags)
	versions, err := dbtest.Pages[*model.PromptVersion](t.Context(), tenant, db.PromptVersionsOfAgents, nil,
		[]string{agent.ID}, model.PageArgs{First: 5})
	require.NoError(t, err)
	require.Len(t, versions, 1)
	require.Equal(t, "Be kind.", versions[0].Prompt)
	chat, err := tenant.KnowledgeBaseChat(t.Context(), "kb")
	require.NoError(t, err)
	require.InDelta(t, 0.9, chat.LlmSettings.Temperature, 1e-9)
	require.InDelta(t, model.DefaultLlmSettings.TopP, chat.LlmSettings.TopP, 1e-9)
	require.Equal(t, model.DefaultPromptSettings.Prompt, chat.PromptSettings.Prompt)
	test, err := tenant.UpdateSimulationTest(t.Context(), model.UpdateSimulationTestInput{TestID: "test",
		Scenario: new("Say hello")})
	require.NoError(t, err)
	require.EqualValues(t, 10, test.MaxTurns)
	content, err := tenant.ContentOfDocument(t.Context(), "43")
	require.NoError(t, err)
	require.Equal(t, "hello", string(content))
	d, err := tenant.Document(t.Context(), "43")
	require.NoError(t, err)
	claimed, err := tenant.ClaimDocument(t.Context(), d.IndexingID, 1)
	require.NoError(t, err)
	require.NotNil(t, claimed, "its indexing is in the queue")
}

func TestBrokenArchivesImportNothing(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	agent := func(more ...any) entry {
		values := map[string]any{"id": "a", "name": "Ada", "channel": "Web", "direction": "Inbound", "prompt": "Be kind."}
		for i := 0; i < len(more); i += 2 {
			values[more[i].(string)] = more[i+1]
		}
		good := line(t, map[string]any{"id": "good", "name": "Ada", "channel": "Web", "direction": "Inbound",
			"prompt": "Be kind."})
		return entry{"agents/000001.jsonl", good + "\n" + line(t, values)}
	}
	dataset := entry{"datasets.jsonl", line(t, map[string]any{"id": "42", "name": "Manuals"})}
	document := entry{"documents.jsonl",
		line(t, map[string]any{"id": "43", "dataset_id": "42", "name": "a.txt", "content_type": "text/plain", "size": 5})}
	test := entry{"agent_tests.jsonl", line(t, map[string]any{
		"id": "x", "agent_id": "good", "name": "Polite", "scenario": "Say hello", "criteria": []string{"Polite"},
		"last_run_id": "none", "last_run_status": "Passed", "last_run_at": "2026-01-02T03:04:05Z",
	})}
	testWith := func(name string, value any) entry {
		return entry{"agent_tests.jsonl", line(t, map[string]any{"id": "x", "agent_id": "good", "name": "A", "scenario": "B",
			"criteria": []string{"C"}, name: value})}
	}
	whole := packed(t, entry{"manifest.json", manifest}, agent())
	for says, file := range map[string][]byte{
		"it is not compressed with gzip":                     []byte("PK"),
		"the first entry must be manifest.json":              packed(t, agent()),
		`manifest.json: format must be "agentgraph-company"`: packed(t, entry{"manifest.json", "{}"}),
		"version must be at most 1 for this program, not 2": packed(t,
			entry{"manifest.json", strings.Replace(manifest, `"version": 1`, `"version": 2`, 1)}),
		"company.id must have 1 to 64": packed(t,
			entry{"manifest.json", strings.Replace(manifest, `"acme"`, `"../acme"`, 1)}),
		"manifest.json must have at most 1048576 bytes": packed(t,
			entry{"manifest.json", strings.Repeat(" ", 2<<20)}),
		"the archive is damaged or incomplete": whole[:len(whole)-20],
		`the archive has 2 rows of agents, but "rows.agents" in its manifest.json is 3: correct it, or export`: packed(t,
			entry{"manifest.json", strings.Replace(manifest, "{", `{"rows": {"agents": 3},`, 1)}, agent()),
		// The counts are compared before the agents are read, whose second line is faulty.
		`the archive has 1 file, but "files" in its manifest.json is 0: correct it, or export`: packed(t,
			entry{"manifest.json", strings.Replace(manifest, "{", `{"rows": {"datasets": 1, "documents": 1, "agents": 2},`, 1)},
			dataset, document, entry{"files/43", "hello"}, agent("name", "")),
		`the archive has 1 row of datasets, but "rows.datasets" in its manifest.json is 2`: packed(t,
			entry{"manifest.json", strings.Replace(manifest, "{", `{"rows": {"datasets": 2, "agents": 2},`, 1)}, dataset,
			agent("name", "")),
		`entry "../../etc/passwd" is neither a known table`: packed(t, entry{"manifest.json", manifest},
			entry{"../../etc/passwd", "x"}),
		`entry "api_keys.jsonl" is neither a known table`: packed(t, entry{"manifest.json", manifest},
			entry{"api_keys.jsonl", "{}"}),
		`entry "datasets.jsonl" must come before the entries of agents`: packed(t, entry{"manifest.json", manifest},
			agent(), dataset),
		"agents/000001.jsonl: line 3: name must not be empty": packed(t, entry{"manifest.json", manifest},
			agent("name", "")),
		"line 3: channel must be one of": packed(t, entry{"manifest.json", manifest},
			agent("channel", "Pigeon")),
		`line 3: "company_id" is not a field of agents`: packed(t, entry{"manifest.json", manifest},
			agent("company_id", "another")),
		"line 3: id must have 1 to 64 letters": packed(t, entry{"manifest.json", manifest},
			agent("id", "a/b")),
		`line 3: id "good" occurs twice`: packed(t, entry{"manifest.json", manifest},
			agent("id", "good")),
		`line 3: knowledge_base_chat_id "none" must refer to an earlier row`: packed(t, entry{"manifest.json", manifest},
			agent("knowledge_base_chat_id", "none")),
		"line 3: created_at must be a date-time such as 2026": packed(t, entry{"manifest.json", manifest},
			agent("created_at", "some day")),
		"line 3: created_at is missing": packed(t, entry{"manifest.json", manifest},
			agent("created_at", nil)),
		"line 3: fields.0.name must contain only letters": packed(t, entry{"manifest.json", manifest},
			agent("fields", []any{map[string]any{"name": "a b"}})),
		"line 1: is not a JSON object": packed(t, entry{"manifest.json", manifest},
			entry{"agents.jsonl", "[1]"}),
		"line 2: is not a JSON object": packed(t, entry{"manifest.json", manifest},
			entry{"datasets.jsonl", dataset.content + `{"id": "4`}),
		"line 1: max_turns must be a whole number of at most 32 bits": packed(t, entry{"manifest.json", manifest},
			agent(), testWith("max_turns", "many")),
		"line 1: conversationContext.messages must have at least": packed(t, entry{"manifest.json", manifest},
			agent(), testWith("kind", "Classification")),
		"line 1: scenario must not be empty": packed(t, entry{"manifest.json", manifest},
			agent(), testWith("scenario", nil)),
		"line 1: color must be": packed(t, entry{"manifest.json", manifest},
			agent(), entry{"agent_test_folders.jsonl",
				line(t, map[string]any{"id": "f", "agent_id": "good", "name": "F", "color": "red"})}),
		"files/43: the file has 4 bytes, but the document's size is 5": packed(t, entry{"manifest.json", manifest},
			dataset, document, entry{"files/43", "hell"}),
		`files/44: document "44" does not exist`: packed(t, entry{"manifest.json", manifest},
			dataset, document, entry{"files/44", "hello"}),
		"files/43: the file occurs twice": packed(t, entry{"manifest.json", manifest},
			dataset, document, entry{"files/43", "hello"}, entry{"files/43", "hello"}),
		"document 43: must have a file in the archive, with as many bytes as its size": packed(t,
			entry{"manifest.json", manifest},
			dataset, document),
		`the archive is incomplete: last_run_id of agent_tests refers to a row`: packed(t, entry{"manifest.json", manifest},
			agent(), test),
		"id 42: must be unique among the ids of all types": packed(t, entry{"manifest.json", manifest},
			dataset, agent("id", "42")),
		"decompresses to more than 250 times its own size": packed(t, entry{"manifest.json", manifest},
			entry{"agents.jsonl", strings.Repeat("\n", 66<<20)}),
		"agents.jsonl: line 1: must have at most 33554432 bytes": packed(t, entry{"manifest.json", manifest},
			entry{"agents.jsonl", strings.Repeat("a", 33<<20)}),
	} {
		err := take(t, store, file)
		require.ErrorContains(t, err, says, says)
		companies, err := store.Companies(t.Context())
		require.NoError(t, err)
		require.Empty(t, companies, says)
	}
	require.NoError(t, take(t, store, whole))
}

// The manifest on the page of archives is a whole archive.
func TestDocumentedManifestIsEnough(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../docs/reference/archive.md")
	require.NoError(t, err)
	_, minimal, _ := strings.Cut(string(guide), "```json\n")
	minimal, _, _ = strings.Cut(minimal, "```")
	store := dbtest.New(t)
	require.NoError(t, take(t, store, packed(t, entry{"manifest.json", minimal})))
	companies, err := store.Companies(t.Context())
	require.NoError(t, err)
	require.Len(t, companies, 1)
	require.WithinDuration(t, time.Now(), companies[0].CreatedAt, time.Minute)
}

// docs/reference/archive.md lists all tables, in the order of an archive.
func TestArchivePageListsAllTables(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../docs/reference/archive.md")
	require.NoError(t, err)
	_, listed, _ := strings.Cut(string(guide), "may be left out:\n\n")
	listed, _, _ = strings.Cut(listed, ".\n\n")
	var tables []string
	for _, name := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(listed, -1) {
		tables = append(tables, name[1])
	}
	require.Equal(t, db.ArchivedTables(), tables)
}
