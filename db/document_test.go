package db_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

func wordsOf(folded ...string) []model.Word {
	words := make([]model.Word, len(folded))
	for i, word := range folded {
		words[i].Folded = word
	}
	return words
}

// chunksOf returns new chunks with the texts.
func chunksOf(texts ...string) []*model.Chunk {
	chunks := make([]*model.Chunk, len(texts))
	for i, text := range texts {
		chunks[i] = &model.Chunk{Content: text, Words: wordsOf(model.Unique(strings.Fields(strings.ToLower(text)))...),
			Tokens: int32(i + 1)}
	}
	return chunks
}

func claim(t require.TestingT, tenant *db.Tenant, indexingID string, attempt int32) *model.Document {
	d, err := tenant.ClaimDocument(ctxOf(t), indexingID, attempt)
	require.NoError(t, err)
	return d
}

func finishDocument(t require.TestingT, tenant *db.Tenant, d *model.Document, texts ...string) {
	claimed := claim(t, tenant, d.IndexingID, 1)
	require.NotNil(t, claimed)
	require.NoError(t, tenant.FinishDocument(ctxOf(t), claimed, chunksOf(texts...)))
}

func readDocument(t require.TestingT, tenant *db.Tenant, id string) *model.Document {
	d, err := tenant.Document(ctxOf(t), id)
	require.NoError(t, err)
	return d
}

func contentsOf(t *testing.T, tenant *db.Tenant, documentID string) []string {
	t.Helper()
	chunks, err := dbtest.Pages[*model.Chunk](t.Context(), tenant, db.ChunksOfDocuments, nil, []string{documentID},
		model.PageArgs{First: 100})
	require.NoError(t, err)
	texts := []string{}
	for i, c := range chunks {
		require.EqualValues(t, i, c.Position)
		texts = append(texts, c.Content)
	}
	return texts
}

func TestDocumentMovesFromPendingToReady(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	added := addDocument(t, tenant, newDataset(t, tenant).ID, "Open at nine.")
	require.Equal(t, model.DocumentStatusPending, added.Status)
	same(t, added, readDocument(t, tenant, added.ID))
	var jobs int
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM jobs WHERE id = $1 AND kind = 'document'",
		added.IndexingID).Scan(&jobs))
	require.Equal(t, 1, jobs)

	claimed := claim(t, tenant, added.IndexingID, 1)
	require.Equal(t, model.DocumentStatusIndexing, claimed.Status)
	require.Nil(t, claim(t, tenant, added.IndexingID, 1), "an attempt is claimed once")
	claimed.Warning = new("Cut otherwise.")
	written := chunksOf("one", "two", "three")
	written[1].Embedding = []float32{0.25, -1}
	require.NoError(t, tenant.FinishDocument(t.Context(), claimed, written))
	same(t, claimed, readDocument(t, tenant, added.ID))
	require.Equal(t, model.DocumentStatusReady, claimed.Status)
	require.EqualValues(t, 3, claimed.ChunkCount)
	require.Equal(t, []string{"one", "two", "three"}, contentsOf(t, tenant, added.ID))
	read, err := tenant.VectorsOfChunks(t.Context(), []string{written[0].ID, written[1].ID})
	require.NoError(t, err)
	require.Len(t, read, 1)
	require.Equal(t, written[1].ID, read[0].ID)
	require.Equal(t, []float32{0.25, -1}, read[0].Embedding)
	require.Nil(t, claim(t, tenant, added.IndexingID, 2), "there is nothing left to do")
	fails(t, tenant.FinishDocument(t.Context(), claimed, chunksOf("again")), model.Conflict)
}

func TestChunksArePagedInOrder(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	added := addDocument(t, tenant, newDataset(t, tenant).ID, "x")
	texts := make([]string, 1234)
	for i := range texts {
		texts[i] = fmt.Sprint("chunk ", i)
	}
	finishDocument(t, tenant, added, texts...)
	read := []string{}
	args := model.PageArgs{First: 100}
	for {
		rows, err := dbtest.Pages[*model.Chunk](t.Context(), tenant, db.ChunksOfDocuments, nil, []string{added.ID}, args)
		require.NoError(t, err)
		page := model.NewPage(rows, args, nil)
		for _, c := range page.Nodes {
			read = append(read, c.Content)
		}
		if !page.PageInfo.HasNextPage {
			break
		}
		args.After = page.PageInfo.EndCursor
	}
	require.Equal(t, texts, read)
}

func TestReindexingKeepsOldChunksUntilDone(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	dataset := newDataset(t, tenant)
	ready, failing := addDocument(t, tenant, dataset.ID, "x"), addDocument(t, tenant, dataset.ID, "y")
	finishDocument(t, tenant, ready, "old 1", "old 2")
	broken := claim(t, tenant, failing.IndexingID, 1)
	broken.Error = new("it is damaged")
	require.NoError(t, tenant.FailDocument(ctx, broken))

	for name, change := range map[string]model.UpdateDatasetInput{
		"name": {DatasetID: dataset.ID, Name: new("Another name")},
		"the same cut": {DatasetID: dataset.ID, ChunkMethod: new("naive"),
			ParserConfig: &model.ParserConfigInput{ChunkTokenNum: new(int32(512))}},
	} {
		_, err := tenant.UpdateDataset(ctx, change)
		require.NoError(t, err)
		require.Equal(t, model.DocumentStatusReady, readDocument(t, tenant, ready.ID).Status, name)
	}
	changed, err := tenant.UpdateDataset(ctx, model.UpdateDatasetInput{
		DatasetID: dataset.ID, ParserConfig: &model.ParserConfigInput{ChunkTokenNum: new(int32(64))},
	})
	require.NoError(t, err)
	require.Equal(t, model.ParserConfig{ChunkTokenNum: 64, LayoutRecognize: true, Delimiter: "\n", TaskPageSize: 12},
		changed.ParserConfig)
	for _, id := range []string{ready.ID, failing.ID} {
		again := readDocument(t, tenant, id)
		require.Equal(t, model.DocumentStatusPending, again.Status)
		require.Nil(t, again.Error)
	}
	require.Equal(t, []string{"old 1", "old 2"}, contentsOf(t, tenant, ready.ID))
	require.Nil(t, claim(t, tenant, ready.IndexingID, 2), "the earlier indexing is obsolete")
	finishDocument(t, tenant, readDocument(t, tenant, ready.ID), "new")
	require.Equal(t, []string{"new"}, contentsOf(t, tenant, ready.ID))

	inProgress := readDocument(t, tenant, failing.ID)
	claimed := claim(t, tenant, inProgress.IndexingID, 1)
	_, err = tenant.ReindexDataset(ctx, dataset.ID)
	require.NoError(t, err)
	fails(t, tenant.FinishDocument(ctx, claimed, chunksOf("too late")), model.Conflict)
	require.Empty(t, contentsOf(t, tenant, failing.ID))
	pending, err := tenant.ReindexDocument(ctx, ready.ID)
	require.NoError(t, err)
	require.Equal(t, model.DocumentStatusPending, pending.Status)
	require.Equal(t, []string{"new"}, contentsOf(t, tenant, ready.ID))
	finishDocument(t, tenant, pending, "newest")
	require.Equal(t, []string{"newest"}, contentsOf(t, tenant, ready.ID))
	_, err = tenant.ReindexDocument(ctx, "document_none")
	fails(t, err, model.NotFound)
	_, err = tenant.UpdateDataset(ctx, model.UpdateDatasetInput{DatasetID: dataset.ID, Name: new("")})
	faults(t, err, model.BadInput, "name", "must not be empty")
}

func TestDeletedDocumentLeavesNoRows(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	dataset := newDataset(t, tenant)
	left := func() (rows int) {
		require.NoError(t, conn.QueryRow(t.Context(),
			`SELECT (SELECT count(*) FROM documents) + (SELECT count(*) FROM document_contents)
			+ (SELECT count(*) FROM chunks)`).Scan(&rows))
		return rows
	}
	gone := addDocument(t, tenant, dataset.ID, "x")
	claimed := claim(t, tenant, gone.IndexingID, 1)
	fails(t, tenant.DeleteDocument(t.Context(), model.DeleteDocumentInput{DocumentID: gone.ID,
		DatasetID: new(newDataset(t, tenant).ID)}), model.NotFound)
	require.NoError(t, tenant.DeleteDocument(t.Context(), model.DeleteDocumentInput{DocumentID: gone.ID,
		DatasetID: &dataset.ID}))
	fails(t, tenant.DeleteDocument(t.Context(), model.DeleteDocumentInput{DocumentID: gone.ID}), model.NotFound)
	fails(t, tenant.FinishDocument(t.Context(), claimed, chunksOf("an orphan")), model.Conflict)
	require.Nil(t, claim(t, tenant, gone.IndexingID, 2))
	require.Zero(t, left())

	chat := newChat(t, tenant, dataset.ID)
	finishDocument(t, tenant, addDocument(t, tenant, dataset.ID, "y"), "a", "b")
	require.NoError(t, tenant.DeleteDataset(t.Context(), dataset.ID))
	fails(t, tenant.DeleteDataset(t.Context(), dataset.ID), model.NotFound)
	require.Zero(t, left())
	datasets, err := dbtest.Find[*model.Dataset](t.Context(), tenant, db.DatasetsOfChats, []string{chat.ID})
	require.NoError(t, err)
	require.Empty(t, datasets)
}

func TestContentIsStoredUnchanged(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	dataset := newDataset(t, tenant)
	for _, size := range []int{0, 1, 1 << 20, 1<<20 + 1, 3<<20 + 5} {
		content := bytes.Repeat([]byte{0, 255, 'a', '\\', '\''}, size/5+1)[:size]
		d, err := model.NewDocument(model.AddDocumentInput{DatasetID: dataset.ID, Name: new("x"), Text: new("x")}, time.Now())
		require.NoError(t, err)
		d.ContentType = "application/octet-stream"
		require.NoError(t, tenant.AddDocument(t.Context(), d, bytes.NewReader(content)))
		read, err := tenant.ContentOfDocument(t.Context(), d.ID)
		require.NoError(t, err)
		require.True(t, bytes.Equal(content, read), "%d bytes", size)
		digest := sha256.Sum256(content)
		require.Equal(t, hex.EncodeToString(digest[:]), *readDocument(t, tenant, d.ID).Digest)
		for _, part := range [][2]int{{0, 1 << 20}, {1, 1 << 20}, {1<<20 - 1, 2}, {1 << 20, 1}, {size, 10}, {5 << 20, 1}} {
			read, err := tenant.PartOfDocument(t.Context(), d.ID, int32(part[0]), int32(part[1]))
			require.NoError(t, err)
			from := min(part[0], size)
			require.True(t, bytes.Equal(content[from:min(from+part[1], size)], read), "%d of %d bytes", part, size)
		}
	}
	_, err := tenant.PartOfDocument(t.Context(), "x", -1, 1<<20+1)
	faults(t, err, model.BadInput, "offset", "must not be negative")
	faults(t, err, model.BadInput, "length", "must be 1 to 1048576")
}

func TestDocumentCountsStayExact(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	dataset, other := newDataset(t, tenant), newDataset(t, tenant)
	const workers, each = 8, 10
	require.Empty(t, together(workers, func(w int) error {
		for i := range each {
			d := addDocument(t, tenant, dataset.ID, "x")
			switch i % 3 {
			case 0: // indexed, and remains
				finishDocument(t, tenant, d, "a", "b", "c")
			case 1: // deleted while it is indexed
				claimed := claim(t, tenant, d.IndexingID, 1)
				both := together(2, func(which int) error {
					if which == 0 {
						return tenant.DeleteDocument(t.Context(), model.DeleteDocumentInput{DocumentID: d.ID})
					}
					_ = tenant.FinishDocument(t.Context(), claimed, chunksOf("x", "y"))
					return nil
				})
				if len(both) > 0 {
					return both[0]
				}
			}
			if i == w {
				if _, err := tenant.ReindexDataset(t.Context(), other.ID); err != nil {
					return err
				}
			}
		}
		return nil
	}))
	counts, err := tenant.CountsOfDatasets(t.Context(), []string{other.ID, dataset.ID})
	require.NoError(t, err)
	require.Equal(t, map[string]model.DatasetCounts{dataset.ID: {Documents: workers * 7, Chunks: workers * 4 * 3}}, counts)
	stored := int32(0)
	page, err := tenant.Documents(t.Context(), model.PageArgs{First: 100}, &dataset.ID, nil)
	require.NoError(t, err)
	for _, d := range page.Nodes {
		stored += int32(len(contentsOf(t, tenant, d.ID)))
	}
	require.Equal(t, counts[dataset.ID].Chunks, stored)
}

// If the settings of a dataset change while a document is added, the document is split by the new settings.
func TestDocumentsAreSplitByCurrentSettings(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	dataset := newDataset(t, tenant)
	errs := together(12, func(i int) error {
		if i%3 == 0 {
			_, err := tenant.UpdateDataset(t.Context(), model.UpdateDatasetInput{
				DatasetID: dataset.ID, ParserConfig: &model.ParserConfigInput{ChunkTokenNum: new(int32(100 + i))},
			})
			return err
		}
		d := addDocument(t, tenant, dataset.ID, "x")
		claimed := claim(t, tenant, d.IndexingID, 1)
		if claimed == nil {
			return nil
		}
		now, err := tenant.Dataset(t.Context(), dataset.ID)
		if err != nil {
			return err
		}
		_ = tenant.FinishDocument(t.Context(), claimed, chunksOf(fmt.Sprint(now.ParserConfig.ChunkTokenNum)))
		return nil
	})
	require.Empty(t, errs)
	last, err := tenant.Dataset(t.Context(), dataset.ID)
	require.NoError(t, err)
	page, err := tenant.Documents(t.Context(), model.PageArgs{First: 100}, &dataset.ID, nil)
	require.NoError(t, err)
	for _, d := range page.Nodes {
		if d.Status == model.DocumentStatusReady {
			require.Equal(t, []string{fmt.Sprint(last.ParserConfig.ChunkTokenNum)}, contentsOf(t, tenant, d.ID))
		}
	}
}

func TestConnectedDatasetIsDeletedDuringUpdates(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	chat := newChat(t, tenant)
	for range 10 {
		datasets := []string{newDataset(t, tenant).ID, newDataset(t, tenant).ID, newDataset(t, tenant).ID}
		errs := together(4, func(i int) error {
			if i < 3 {
				return tenant.DeleteDataset(t.Context(), datasets[i])
			}
			_, err := tenant.UpdateKnowledgeBaseChat(t.Context(), model.UpdateKnowledgeBaseChatInput{ChatID: chat.ID,
				DatasetIds: datasets})
			return err
		})
		for _, err := range errs {
			fails(t, err, model.NotFound)
		}
		connected, err := tenant.Find(t.Context(), db.DatasetsOfChats, []string{chat.ID}, "name")
		require.NoError(t, err)
		require.Empty(t, connected, "a deleted dataset is connected to no chat")
	}
}

func TestEachKindOfJobHasItsWorker(t *testing.T) {
	t.Parallel()
	store, _ := fresh(t)
	tenant, _ := newCompany(t, store)
	agent := newAgent(t, tenant)
	test := newSimulationTest(t, tenant, agent.ID)
	execution := start(t, tenant, test.ID)
	added := addDocument(t, tenant, newDataset(t, tenant).ID, "x")
	done := make(chan string, 2)
	record := func(kind string) db.Worker {
		return func(_ context.Context, _ *db.Tenant, id string, _ int32) error {
			done <- kind + " " + id
			return nil
		}
	}
	require.NoError(t, store.Work(t.Context(), 2, db.Workers{RunTest: record("run"), Index: record("document")}))
	defer func() { require.NoError(t, store.StopWork(context.WithoutCancel(t.Context()))) }()
	require.ElementsMatch(t, []string{"document " + added.IndexingID, "run " + runsOf(t, tenant, execution.ID)[0].ID},
		[]string{<-done, <-done})
}

func TestDocumentsOfADatasetAreBounded(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	tenant, companyID := newCompany(t, dbtest.Open(t, address, db.Options{}))
	dataset := newDataset(t, tenant)
	addDocument(t, tenant, dataset.ID, "first")
	_, err := connect(t, address).Exec(t.Context(), `DO $$
		DECLARE first documents; BEGIN
			SELECT * INTO first FROM documents;
			FOR i IN 2..10000 LOOP first.id := 'document_' || i; first.indexing_id := 'indexing_' || i; INSERT INTO documents
				VALUES (first.*); END LOOP;
		END $$`)
	require.NoError(t, err, companyID)
	late, err := model.NewDocument(model.AddDocumentInput{DatasetID: dataset.ID, Name: new("Late"), Text: new("late")},
		time.Now().UTC().Truncate(time.Microsecond))
	require.NoError(t, err)
	late.ContentType = "text/plain"
	require.Contains(t, fails(t, tenant.AddDocument(t.Context(), late, strings.NewReader("late")), model.Unprocessable),
		"10000 documents, the maximum: delete some, or use another dataset")
}

func TestConcurrentDocumentsDoNotExceedTheMaximum(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	set := newDataset(t, tenant)
	_, err := conn.Exec(t.Context(), `INSERT INTO documents (company_id, id, dataset_id, name, content_type, size, status,
			chunk_count, indexing_id, claim, waits, created_at)
		SELECT $1, 'document_' || i, $2, 'a.txt', 'text/plain', 1, 'Pending', 0, 'indexing_' || i, 0, 0, now()
		FROM generate_series(1, $3) AS i`, tenant.CompanyID(), set.ID, model.MaxDocuments-1)
	require.NoError(t, err)
	added := make(chan error)
	for range 4 {
		go func() {
			d, content := fileOf(t, set.ID, 1000)
			added <- tenant.AddDocument(t.Context(), d, bytes.NewReader(content))
		}()
	}
	refused := 0
	for range 4 {
		if err := <-added; err != nil {
			require.Contains(t, fails(t, err, model.Unprocessable), "the dataset has 10000 documents, the maximum")
			refused++
		}
	}
	require.Equal(t, 3, refused)
}

func TestDeletionOfADocumentSaysWhyItFailed(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	d, _ := addFile(t, tenant, newDataset(t, tenant).ID, 1000)
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = tx.Exec(t.Context(), "SELECT FROM datasets FOR UPDATE")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err = tenant.DeleteDocument(ctx, model.DeleteDocumentInput{DocumentID: d.ID})
	require.Error(t, err)
	require.False(t, pg.IsMissing(err), "the document exists: %v", err)
	_, err = tenant.ReindexDocument(ctx, d.ID)
	require.Error(t, err)
	require.False(t, pg.IsMissing(err), "the document exists: %v", err)
}
