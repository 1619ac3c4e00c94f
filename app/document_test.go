package app_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

// Bounds and interval of waits.
const (
	indexed = 3 * time.Minute // the race detector makes reading PDFs slow
	often   = 10 * time.Millisecond
)

// part is a part of a form. It is a file if it has a file name.
type part struct{ name, file, contentType, content string }

// sendForm sends a form. Each header is a text such as "Name: value".
func (g *gatewayUnderTest) sendForm(t testing.TB, path, key string, headers []string,
	parts ...part) (int, http.Header, string) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, p := range parts {
		header := textproto.MIMEHeader{}
		disposition := map[string]string{"name": p.name}
		if p.file != "" {
			disposition["filename"] = p.file
			header.Set("Content-Type", p.contentType)
		}
		header.Set("Content-Disposition", formatDisposition(disposition))
		w, err := form.CreatePart(header)
		require.NoError(t, err)
		_, err = io.WriteString(w, p.content)
		require.NoError(t, err)
	}
	require.NoError(t, form.Close())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+path, &body)
	require.NoError(t, err)
	request.Header.Set("Content-Type", form.FormDataContentType())
	request.Header.Set("X-Api-Key", key)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, response.Header, string(text)
}

func formatDisposition(values map[string]string) string {
	text := `form-data; name="` + values["name"] + `"`
	if file, given := values["filename"]; given {
		text += `; filename="` + file + `"`
	}
	return text
}

const (
	preflight = "GraphQL-Require-Preflight: 1"
	addText   = `mutation ($in: AddDocumentInput!) { addDocument(input: $in) { document { id name status contentType size
		dataset { documentCount } } } }`
	uploadPart = `{"query":"mutation ($d: ID!, $f: Upload) { addDocument(input: {datasetId: $d, upload: $f}) { document { id name contentType size } } }","variables":{"d":"%s","f":null}}`
)

// startWorkers lets this process index documents.
func (g *gatewayUnderTest) startWorkers(t testing.TB) {
	t.Helper()
	base := knowledge.New(knowledge.Options{})
	require.NoError(t, g.store.Work(t.Context(), 4, db.Workers{Index: base.Index}))
	t.Cleanup(func() { require.NoError(t, g.store.StopWork(context.Background())) })
}

// settled waits until all documents of a dataset are processed, and returns them by name.
func (g *gatewayUnderTest) settled(t testing.TB, key, datasetID string) map[string]documentRead {
	t.Helper()
	var read struct {
		Dataset struct {
			Documents struct{ Nodes []documentRead }
		}
	}
	require.Eventually(t, func() bool {
		g.must(t, key, `query ($id: ID!) { dataset(id: $id) { documents(first: 100) { nodes {
			id name status error warning contentType chunkCount indexedAt chunks { totalCount nodes { position content tokens } }
				} } } }`,
			map[string]any{"id": datasetID}, &read)
		for _, d := range read.Dataset.Documents.Nodes {
			if d.Status == "Pending" || d.Status == "Indexing" {
				return false
			}
		}
		return true
	}, indexed, often)
	byName := map[string]documentRead{}
	for _, d := range read.Dataset.Documents.Nodes {
		byName[d.Name] = d
	}
	return byName
}

type documentRead struct {
	ID, Name, Status, ContentType string
	Error, Warning, IndexedAt     *string
	ChunkCount                    int
	Chunks                        struct {
		TotalCount int
		Nodes      []struct {
			Position, Tokens int
			Content          string
		}
	}
}

func newDatasetOf(t testing.TB, tenant *db.Tenant) *model.Dataset {
	t.Helper()
	dataset, err := tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: "Handbook"})
	require.NoError(t, err)
	return dataset
}

// addDocumentOfDemo adds a document to the first dataset of the key's company and indexes it.
func (g *gatewayUnderTest) addDocumentOfDemo(t testing.TB, key string) {
	t.Helper()
	var read struct {
		Datasets struct{ Nodes []struct{ ID string } }
	}
	g.must(t, key, `{ datasets { nodes { id } } }`, nil, &read)
	id := read.Datasets.Nodes[0].ID
	g.must(t, key, addText,
		map[string]any{"in": map[string]any{"datasetId": id, "name": "Hours", "text": "Open at nine."}}, nil)
	g.startWorkers(t)
	for _, dataset := range read.Datasets.Nodes {
		g.settled(t, key, dataset.ID)
	}
}

func TestUploadedFilesBecomeChunks(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Uploads")
	dataset := newDatasetOf(t, tenant)
	for _, file := range []part{
		{"0", "hours.txt", "text/plain", "Open at nine."},
		{"0", "hours.md", "application/octet-stream", "# Hours\n\nOpen at nine."},
		{"0", "hours.html", "text/html", "<!doctype html><p>Open at <b>nine</b>.</p><script>hidden()</script>"},
		{"0", "prices.csv", "application/vnd.ms-excel", "room,price\nsingle,80\ndouble,120\n"},
		{"0", "prices.json", "application/json", `{"single": 80}`},
		{"0", "broken.pdf", "application/pdf", "%PDF-1.7 and then nothing"},
		{"0", "empty.txt", "text/plain", ""},
		{"0", "picture.png", "image/png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"},
	} {
		status, _, text := g.sendForm(t, "/graphql", key, []string{preflight},
			part{name: "operations", content: fmt.Sprintf(uploadPart, dataset.ID)},
			part{name: "map", content: `{"0":["variables.f"]}`}, file)
		require.Equal(t, 200, status, text)
		require.Contains(t, text, `"name":"`+file.file+`"`)
		require.NotContains(t, text, "errors")
	}
	g.startWorkers(t)
	documents := g.settled(t, key, dataset.ID)
	for name, contentType := range map[string]string{
		"hours.txt": "text/plain", "hours.md": "text/markdown", "hours.html": "text/html", "prices.csv": "text/csv",
		"prices.json": "application/json", "broken.pdf": "application/pdf", "empty.txt": "text/plain",
		"picture.png": "image/png",
	} {
		d := documents[name]
		require.Equal(t, contentType, d.ContentType, name)
		require.Equal(t, d.ChunkCount, d.Chunks.TotalCount)
		if strings.HasPrefix(name, "hours") || strings.HasPrefix(name, "prices") {
			require.Equal(t, "Ready", d.Status, "%s: %v", name, d.Error)
			require.NotNil(t, d.IndexedAt)
			require.Positive(t, d.ChunkCount)
			require.Positive(t, d.Chunks.Nodes[0].Tokens)
			require.NotContains(t, d.Chunks.Nodes[0].Content, "hidden")
		} else {
			require.Equal(t, "Failed", d.Status, name)
			require.NotEmpty(t, *d.Error)
			require.Zero(t, d.ChunkCount)
		}
	}
}

func TestInvalidUploadFormsAreRefused(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Forms")
	dataset := newDatasetOf(t, tenant)
	operations := part{name: "operations", content: fmt.Sprintf(uploadPart, dataset.ID)}
	file := part{"0", "a.txt", "text/plain", "Hello"}
	places := func(text string) part { return part{name: "map", content: text} }
	for name, c := range map[string]struct {
		headers []string
		parts   []part
		status  int
		says    string
	}{
		"without a preflight": {nil, []part{operations, places(`{"0":["variables.f"]}`), file}, 415,
			"GraphQL-Require-Preflight"},
		"without operations": {[]string{preflight}, []part{places(`{}`)}, 400, "the part operations is missing"},
		"a batch": {[]string{preflight}, []part{{name: "operations", content: "[" + operations.content + "]"},
			places(`{}`)}, 400, "operations must be one request: uploads cannot be batched"},
		"without a map": {[]string{preflight}, []part{operations, file}, 400, "map must be"},
		"no such file": {[]string{preflight}, []part{operations, places(`{"1":["variables.f"]}`), file}, 400,
			"only files of the body"},
		"a file without a filename": {[]string{preflight}, []part{operations, places(`{"0":["variables.f"]}`),
			{name: "0", content: "Hello"}}, 400, `the part \"0\" must be a file: it needs a filename`},
		"no such path": {[]string{preflight}, []part{operations, places(`{"0":["variables.f.0.x"]}`), file}, 400,
			"variables that are null"},
		"a path that is already used": {[]string{preflight}, []part{operations, places(`{"0":["variables.d"]}`), file}, 400,
			"variables that are null"},
		"outside of variables": {[]string{preflight}, []part{operations, places(`{"0":["query"]}`), file}, 400,
			"variables that are null"},
		"a form of one byte too many": {[]string{preflight}, []part{operations, places(`{"0":["variables.f"]}`),
			{"0", "big.txt", "text/plain", strings.Repeat("a", 25<<20+1)}}, 413, "larger than"},
		"a text for a file": {[]string{preflight},
			[]part{{name: "operations", content: strings.Replace(operations.content, `"f":null`, `"f":"x"`, 1)}, places(`{}`)},
			200, "upload must be a file of a multipart request"},
		"other header": {[]string{"X-Requested-By: me"}, []part{operations, places(`{"0":["variables.f"]}`), file}, 200,
			`"document"`},
	} {
		status, _, text := g.sendForm(t, "/graphql", key, c.headers, c.parts...)
		require.Equal(t, c.status, status, "%s: %s", name, text)
		require.Contains(t, text, c.says, name)
	}
	page, err := tenant.Documents(t.Context(), model.PageArgs{First: 10}, nil, nil)
	require.NoError(t, err)
	require.Len(t, page.Nodes, 1)
}

func TestInvalidDocumentsAreRefused(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Inputs")
	dataset := newDatasetOf(t, tenant)
	for field, in := range map[string]map[string]any{
		"text": {"name": "x"},
		"name": {"name": " ", "text": "x"},
	} {
		in["datasetId"] = dataset.ID
		a := g.query(t, key, addText, map[string]any{"in": in})
		require.Equal(t, []string{"BAD_INPUT"}, a.codes())
		require.Contains(t, a.Errors[0].Extensions.Fields, field)
	}
	a := g.query(t, key, addText, map[string]any{"in": map[string]any{"datasetId": dataset.ID, "text": "x"}})
	require.Equal(t, map[string][]string{"name": {"must be given for a text"}}, a.Errors[0].Extensions.Fields)
	a = g.query(t, key, addText,
		map[string]any{"in": map[string]any{"datasetId": "dataset_none", "name": "x", "text": "x"}})
	require.Equal(t, []string{"NOT_FOUND"}, a.codes())
	a = g.query(t, key, addText, map[string]any{"in": map[string]any{"datasetId": dataset.ID, "upload": "x"}})
	require.Equal(t, []string{"BAD_INPUT"}, a.codes())
	var added struct {
		AddDocument struct {
			Document struct {
				Status, ContentType string
				Size                int
				Dataset             struct{ DocumentCount int }
			}
		}
	}
	g.must(t, key, addText, map[string]any{"in": map[string]any{"datasetId": dataset.ID, "name": "é.md", "text": "é"}},
		&added)
	require.Equal(t, "Pending", added.AddDocument.Document.Status)
	require.Equal(t, "text/markdown", added.AddDocument.Document.ContentType)
	require.Equal(t, 2, added.AddDocument.Document.Size)
	require.Equal(t, 1, added.AddDocument.Document.Dataset.DocumentCount)
}

func TestDocumentStatementsDoNotGrowWithRows(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Many datasets")
	var ids []string
	for range 12 {
		dataset := newDatasetOf(t, tenant)
		for i := range 3 {
			in := model.AddDocumentInput{DatasetID: dataset.ID, Name: new(fmt.Sprint("Document ", i)), Text: new("One.\nTwo.")}
			d, err := knowledge.New(knowledge.Options{}).AddDocument(t.Context(), tenant, in)
			require.NoError(t, err)
			ids = append(ids, d.ID)
		}
	}
	g.startWorkers(t)
	require.Eventually(t, func() bool {
		documents, err := tenant.DocumentsByID(t.Context(), ids)
		require.NoError(t, err)
		for _, d := range documents {
			if d.Status != model.DocumentStatusReady {
				return false
			}
		}
		return true
	}, indexed, often)
	require.NoError(t, g.store.StopWork(t.Context()))
	g.must(t, key, `{ company { id } }`, nil, nil)
	before := g.statements.Load()
	var read struct {
		Datasets struct {
			Nodes []struct {
				DocumentCount, ChunkCount int
				Documents                 struct {
					TotalCount int
					Nodes      []struct {
						Chunks struct {
							TotalCount int
							Nodes      []struct{ Document struct{ Name string } }
						}
					}
				}
			}
		}
	}
	g.must(t, key, `{ datasets { nodes { documentCount chunkCount documents(first: 2) { totalCount nodes { dataset { name }
		chunks(first: 3) { totalCount nodes { content position document { name } } } } } } } }`, nil, &read)
	require.Len(t, read.Datasets.Nodes, 12)
	for _, d := range read.Datasets.Nodes {
		require.Equal(t, 3, d.DocumentCount)
		require.Equal(t, 3, d.Documents.TotalCount)
		require.Len(t, d.Documents.Nodes, 2)
		require.Equal(t, 3*d.Documents.Nodes[0].Chunks.TotalCount, d.ChunkCount)
		require.Contains(t, d.Documents.Nodes[0].Chunks.Nodes[0].Document.Name, "Document")
	}
	// The statements read datasets and their counts, documents, their total and their datasets, chunks, their total and
	// their documents.
	require.EqualValues(t, 8, g.statements.Load()-before)

	var nodes struct {
		Nodes []struct{ Typename, ID string }
	}
	g.must(t, key, `query ($ids: [ID!]!) { nodes(ids: $ids) { typename: __typename id } }`, map[string]any{"ids": ids[:2]},
		&nodes)
	require.Equal(t, "Document", nodes.Nodes[1].Typename)
}

func TestDocumentsOfAnotherCompanyAreNotFound(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Victim")
	_, stranger := g.company(t, "Stranger")
	dataset := newDatasetOf(t, tenant)
	chat, err := tenant.CreateKnowledgeBaseChat(t.Context(), model.CreateKnowledgeBaseChatInput{Name: "Chat",
		DatasetIds: []string{dataset.ID}})
	require.NoError(t, err)
	g.must(t, key, addText,
		map[string]any{"in": map[string]any{"datasetId": dataset.ID, "name": "Secret", "text": "SECRET"}}, nil)
	g.startWorkers(t)
	secret := g.settled(t, key, dataset.ID)["Secret"]
	var chunks struct {
		Document struct {
			Chunks struct{ Nodes []struct{ ID string } }
		}
	}
	g.must(t, key, `query ($id: ID!) { document(id: $id) { chunks { nodes { id } } } }`, map[string]any{"id": secret.ID},
		&chunks)
	ids := map[string]any{"d": dataset.ID, "doc": secret.ID, "c": chunks.Document.Chunks.Nodes[0].ID, "chat": chat.ID}
	for _, query := range []string{
		`query ($doc: ID!) { document(id: $doc) { name chunks { nodes { content } } } }`,
		`query ($d: ID!, $doc: ID!) { document(id: $doc, datasetId: $d) { name } }`,
		`query ($d: ID!) { documents(datasetId: $d) { totalCount } }`,
		`query ($chat: ID!) { knowledgeBaseChat(id: $chat) { retrieve(question: "secret") { content } } }`,
		`mutation ($d: ID!) { addDocument(input: {datasetId: $d, name: "x", text: "x"}) { document { id } } }`,
		`mutation ($doc: ID!) { deleteDocument(input: {documentId: $doc}) { deletedId } }`,
		`mutation ($d: ID!) { updateDataset(input: {datasetId: $d, name: "mine"}) { dataset { name } } }`,
		`mutation ($d: ID!) { reindexDataset(input: {datasetId: $d}) { dataset { name } } }`,
		`mutation ($d: ID!) { deleteDataset(input: {datasetId: $d}) { deletedId } }`,
	} {
		a := g.query(t, stranger, query, ids)
		require.Equal(t, []string{"NOT_FOUND"}, a.codes(), query)
		require.NotContains(t, string(a.Data), "SECRET")
	}
	a := g.query(t, stranger, `query ($doc: ID!, $c: ID!) { nodes(ids: [$doc, $c]) { id } }`, ids)
	require.JSONEq(t, `{"nodes": [null, null]}`, string(a.Data))
	for _, route := range []string{"GET /Dataset/%[1]s", "DELETE /Dataset/%[1]s", "GET /Dataset/%[1]s/document",
		"GET /Dataset/%[1]s/document/%[2]s", "DELETE /Dataset/%[1]s/document/%[2]s"} {
		method, path, _ := strings.Cut(fmt.Sprintf(route, dataset.ID, secret.ID), " ")
		response := g.do(t, method, path, stranger, "")
		require.NoError(t, response.Body.Close())
		require.Equal(t, 404, response.StatusCode, route)
	}
	require.Equal(t, "Ready", g.settled(t, key, dataset.ID)["Secret"].Status)
}

// Reading parts of a document takes memory for the parts only.
func TestPartsOfLargeDocumentsAreRead(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Parts")
	d, err := model.NewDocument(model.AddDocumentInput{DatasetID: newDatasetOf(t, tenant).ID, Name: new("x"),
		Text: new("x")}, time.Now())
	require.NoError(t, err)
	d.ContentType = "text/plain"
	content := bytes.Repeat([]byte("0123456789"), 3<<20/10)
	require.NoError(t, tenant.AddDocument(t.Context(), d, bytes.NewReader(content)))
	parts := ""
	for i := range 11 {
		parts += fmt.Sprintf("c%d: content(offset: %d, length: 10) ", i, 1<<20-50+10*i)
	}
	var read struct{ Document map[string]string }
	g.must(t, key, `query ($id: ID!) { document(id: $id) { `+parts+` } }`, map[string]any{"id": d.ID}, &read)
	for i := range 11 {
		at := 1<<20 - 50 + 10*i
		require.Equal(t, base64.StdEncoding.EncodeToString(content[at:at+10]), read.Document[fmt.Sprintf("c%d", i)])
	}
	a := g.query(t, key, `query ($id: ID!) { document(id: $id) { a: content b: content c: content d: content e: content
		f: content } }`, map[string]any{"id": d.ID})
	require.Equal(t, "LIMIT_EXCEEDED", a.Errors[0].Extensions.Code)
	require.Contains(t, a.Errors[0].Message, "making the response takes more memory than the limit of 33554432 bytes")
}
