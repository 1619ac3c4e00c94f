package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	documents "github.com/agentgraph/agentgraph/db/bucket"
	"github.com/agentgraph/agentgraph/db/bucket/s3test"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

// upload uploads a text file to a dataset, and returns the response, or the error if there is none.
func (s *served) upload(t *testing.T, datasetID, content string) string {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	operations, err := json.Marshal(map[string]any{
		"query":     `mutation ($d: ID!, $f: Upload) { addDocument(input: {datasetId: $d, upload: $f}) { document { id } } }`,
		"variables": map[string]any{"d": datasetID, "f": nil},
	})
	require.NoError(t, err)
	require.NoError(t, form.WriteField("operations", string(operations)))
	require.NoError(t, form.WriteField("map", `{"0": ["variables.f"]}`))
	file, err := form.CreateFormFile("0", "returns.txt")
	require.NoError(t, err)
	_, err = io.WriteString(file, content)
	require.NoError(t, err)
	require.NoError(t, form.Close())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/graphql", &body)
	require.NoError(t, err)
	request.Header.Set("Content-Type", form.FormDataContentType())
	request.Header.Set("X-Api-Key", s.key)
	request.Header.Set("GraphQL-Require-Preflight", "1")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(text)
}

// content waits until the only document is indexed. It returns the document's content, which it reads in two parts, and
// the chunk that answers the question.
func (s *served) content(t *testing.T, chatID, question string) (content, answer string) {
	t.Helper()
	var read struct {
		Documents struct {
			Nodes []struct{ Status, Part, Rest string }
		}
		KnowledgeBaseChat struct {
			Retrieve []struct{ Content string }
		}
	}
	require.Eventually(t, func() bool {
		s.must(t, `{ documents(first: 1) { nodes { status part: content(offset: 0, length: 10)
			rest: content(offset: 10, length: 1048576) } } }`, nil, &read)
		return read.Documents.Nodes[0].Status == "Ready"
	}, dbtest.WaitTimeout, 20*time.Millisecond)
	for _, part := range []string{read.Documents.Nodes[0].Part, read.Documents.Nodes[0].Rest} {
		decoded, err := base64.StdEncoding.DecodeString(part)
		require.NoError(t, err)
		content += string(decoded)
	}
	s.must(t, `query ($id: ID!, $q: String!) { knowledgeBaseChat(id: $id) { retrieve(question: $q) { content } } }`,
		map[string]any{"id": chatID, "q": question}, &read)
	require.NotEmpty(t, read.KnowledgeBaseChat.Retrieve)
	return content, read.KnowledgeBaseChat.Retrieve[0].Content
}

func TestDocumentLivesInTheBucket(t *testing.T) {
	t.Parallel()
	bucket, from, to := s3test.Start(t), dbtest.URL(t), dbtest.URL(t)
	tenant, key := newCompany(t, dbtest.Open(t, from, dbtest.Options()), "Acme")
	newCompany(t, dbtest.Open(t, from, dbtest.Options()), "Other")
	dataset, err := tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: "Returns"})
	require.NoError(t, err)
	chat, err := tenant.CreateKnowledgeBaseChat(t.Context(), model.CreateKnowledgeBaseChatInput{Name: "Help",
		DatasetIds: []string{dataset.ID}})
	require.NoError(t, err)
	const text, question = "The refund of a parcel is paid within fourteen days.\n", "When is the refund paid?"
	server := serve(t, from, key, "--document-bucket", bucket.Address("/from"))
	bucket.IsDown.Store(true)
	refused := server.upload(t, dataset.ID, text)
	require.Contains(t, refused, `"UNAVAILABLE"`)
	require.Contains(t, refused, "the bucket with the documents cannot be used (no answer); try again later")
	bucket.IsDown.Store(false)
	server.must(t, `{ documents { nodes { id } } }`, nil, nil)
	require.Contains(t, server.upload(t, dataset.ID, text), `"id":`)
	require.Len(t, bucket.Keys(t), 1)
	require.True(t, strings.HasPrefix(bucket.Keys(t)[0], "from/"+tenant.CompanyID()+"/object_"))
	content, answer := server.content(t, chat.ID, question)
	require.Equal(t, text, content)
	require.Contains(t, answer, "fourteen days")

	file := filepath.Join(t.TempDir(), "acme.tar.gz")
	o := ran(t, "export", "--company", "Acme", "--database-url", from, file)
	require.Equal(t, 1, o.code)
	require.Contains(t, o.log, "AGENTGRAPH_DOCUMENT_BUCKET")
	o = ran(t, "export", "--company", "Acme", "--database-url", from, "--document-bucket", bucket.Address("/from"), file)
	require.Zero(t, o.code, o.log)
	o = ran(t, "import", "--database-url", to, file)
	require.Zero(t, o.code, o.log)
	imported := newKey(t, dbtest.Open(t, to, dbtest.Options()).Tenant(tenant.CompanyID()), model.APIKeyScopeAdmin)
	other := serve(t, to, imported, "--document-bucket", bucket.Address("/to"))
	content, answer = other.content(t, chat.ID, question)
	require.Equal(t, text, content)
	require.Contains(t, answer, "fourteen days")
	o = ran(t, "documents", "move", "--database-url", to, "--document-bucket", bucket.Address("/to"), "--json")
	require.Zero(t, o.code, o.log)
	require.JSONEq(t, fmt.Sprintf(`{"documents": 1, "bytes": %d}`, len(text)), o.out)
	require.Len(t, bucket.Keys(t), 2)
	content, _ = other.content(t, chat.ID, question)
	require.Equal(t, text, content)

	server.must(t, `mutation ($id: ID!) { deleteDataset(input: {datasetId: $id}) { deletedId } }`,
		map[string]any{"id": dataset.ID}, nil)
	require.Eventually(t, func() bool {
		keys := bucket.Keys(t)
		return len(keys) == 1 && strings.HasPrefix(keys[0], "to/")
	}, dbtest.WaitTimeout, 20*time.Millisecond)
	deleting := []string{"companies", "delete", "--company", "Acme", "--confirm", "Acme", "--database-url", to}
	o = ran(t, deleting...)
	require.Equal(t, 1, o.code)
	require.Contains(t, o.log, "AGENTGRAPH_DOCUMENT_BUCKET")
	o = ran(t, append(deleting, "--document-bucket", bucket.Address("/to"))...)
	require.Zero(t, o.code, o.log)
	require.Empty(t, bucket.Keys(t))
	require.Equal(t, 2, ran(t, "documents", "move", "--database-url", to).code)
}

func TestKilledMoveContinues(t *testing.T) {
	t.Parallel()
	bucket, address := s3test.Start(t), dbtest.URL(t)
	tenant, _ := newCompany(t, dbtest.Open(t, address, dbtest.Options()), "Crash")
	dataset, err := tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: "Files"})
	require.NoError(t, err)
	const documents = 30
	for i := range documents {
		_, err := knowledge.New(knowledge.Options{}).AddDocument(t.Context(), tenant, model.AddDocumentInput{
			DatasetID: dataset.ID, Name: new(fmt.Sprint(i)), Text: new(strings.Repeat(fmt.Sprint("Page ", i, ". "), 1000)),
		})
		require.NoError(t, err)
	}
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	count := func(query string) (n int) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM "+query).Scan(&n))
		return n
	}
	binary, err := os.Executable()
	require.NoError(t, err)
	for _, to := range []string{"bucket", "postgres"} {
		begun := count("documents WHERE object_id IS NOT NULL")
		move := exec.CommandContext(t.Context(), binary, "documents", "move", "--to", to)
		move.Env = append(os.Environ(), asProgram+"=1", "DATABASE_URL="+address,
			"AGENTGRAPH_DOCUMENT_BUCKET="+bucket.Address(""))
		stdin, err := move.StdinPipe()
		require.NoError(t, err)
		bucket.Delay.Store(int64(50 * time.Millisecond))
		require.NoError(t, move.Start())
		require.Eventually(t, func() bool {
			moved := count("documents WHERE object_id IS NOT NULL") - begun
			return max(moved, -moved) > 3
		}, dbtest.WaitTimeout, time.Millisecond)
		require.NoError(t, move.Process.Kill())
		_ = move.Wait()
		_ = stdin.Close()
		left := count("documents WHERE object_id IS NOT NULL")
		require.Positive(t, left)
		require.Less(t, left, documents)
		bucket.Delay.Store(0)
		o := ran(t, "documents", "move", "--to", to, "--database-url", address, "--document-bucket", bucket.Address(""))
		require.Zero(t, o.code, o.log)
		if to == "bucket" {
			require.Equal(t, documents, count("documents WHERE object_id IS NOT NULL"))
			require.Equal(t, 0, count("document_contents"))
		}
	}
	require.Equal(t, 0, count("documents WHERE object_id IS NOT NULL"))
	require.Equal(t, documents, count(`documents AS d WHERE digest = (SELECT encode(sha256(string_agg(content, ''::bytea
		ORDER BY part)), 'hex') FROM document_contents AS c WHERE c.document_id = d.id)`))
	// Workers delete all objects from the bucket, including the last one that the killed process wrote.
	_, err = conn.Exec(t.Context(), "UPDATE jobs SET ready_at = now() WHERE kind = 'documentObject'")
	require.NoError(t, err)
	serve(t, address, "", "--document-bucket", bucket.Address(""))
	require.Eventually(t, func() bool {
		return len(bucket.Keys(t)) == 0 && count("jobs WHERE kind = 'documentObject'") == 0
	}, dbtest.WaitTimeout, 20*time.Millisecond)
}

// An upload whose server is killed leaves no document, and its object is deleted later.
func TestKilledUploadLeavesNothing(t *testing.T) {
	t.Parallel()
	bucket, address := s3test.Start(t), dbtest.URL(t)
	store := dbtest.Open(t, address, dbtest.Options())
	tenant, key := newCompany(t, store, "Crash")
	dataset, err := tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: "Files"})
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	count := func(query string) (n int) {
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM "+query).Scan(&n))
		return n
	}
	// The statement that adds the document waits for this lock, after the object is written.
	hold, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = hold.Exec(t.Context(), "LOCK TABLE documents IN EXCLUSIVE MODE")
	require.NoError(t, err)
	victim, at := startServing(t, address, "--document-bucket", bucket.Address(""))
	lost := make(chan string, 1)
	go func() {
		lost <- (&served{url: at, key: key}).upload(t, dataset.ID, "The refund is paid within fourteen days.\n")
	}()
	require.Eventually(t, func() bool { return len(bucket.Keys(t)) == 1 }, dbtest.WaitTimeout, 10*time.Millisecond)
	victim.kill(t)
	require.NotContains(t, <-lost, `"document"`)
	require.NoError(t, hold.Rollback(t.Context()))
	require.Equal(t, 0, count("documents"))
	require.Equal(t, 1, count("jobs WHERE kind = 'documentObject'"))

	_, other := startServing(t, address, "--document-bucket", bucket.Address(""))
	again := (&served{url: other, key: key}).upload(t, dataset.ID, "The refund is paid within fourteen days.\n")
	require.Contains(t, again, `"id":`)
	_, err = conn.Exec(t.Context(), "UPDATE jobs SET ready_at = now() WHERE kind = 'documentObject'")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return len(bucket.Keys(t)) == 1 && count("jobs WHERE kind = 'documentObject'") == 0 &&
			count("documents WHERE status = 'Ready'") == 1
	}, dbtest.WaitTimeout, 20*time.Millisecond)
}

// Documents are indexed once their bucket answers again. They do not fail before.
func TestIndexingWaitsForTheBucket(t *testing.T) {
	t.Parallel()
	bucket, address := s3test.Start(t), dbtest.URL(t)
	o := dbtest.Options()
	var err error
	o.Bucket, err = documents.Parse(bucket.Address(""))
	require.NoError(t, err)
	tenant, key := newCompany(t, dbtest.Open(t, address, o), "Away")
	dataset, err := tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: "Files"})
	require.NoError(t, err)
	for i := range 3 {
		_, err := knowledge.New(knowledge.Options{}).AddDocument(t.Context(), tenant, model.AddDocumentInput{
			DatasetID: dataset.ID, Name: new(fmt.Sprint(i)), Text: new("The refund is paid within fourteen days."),
		})
		require.NoError(t, err)
	}
	require.Len(t, bucket.Keys(t), 3)
	bucket.IsDown.Store(true)
	server := serve(t, address, key, "--document-bucket", bucket.Address(""))
	var read struct {
		Documents struct {
			Nodes []struct{ Status, Error string }
		}
	}
	statuses := func() (statuses []string) {
		server.must(t, `{ documents(first: 10) { nodes { status error } } }`, nil, &read)
		for _, d := range read.Documents.Nodes {
			statuses = append(statuses, d.Status)
		}
		return statuses
	}
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	require.Eventually(t, func() bool {
		var waited int
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM documents WHERE waits > 0").Scan(&waited))
		return waited == 3
	}, dbtest.WaitTimeout, 20*time.Millisecond)
	require.NotContains(t, statuses(), "Failed")
	bucket.IsDown.Store(false)
	require.Eventually(t, func() bool {
		return slices.Equal(statuses(), []string{"Ready", "Ready", "Ready"})
	}, dbtest.WaitTimeout, 20*time.Millisecond)
}
