package db_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/bucket"
	"github.com/agentgraph/agentgraph/db/bucket/s3test"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// bucketStore is a store whose documents are in a bucket.
type bucketStore struct {
	*db.Store
	address string
	server  *s3test.Server
	conn    *pgx.Conn
}

func withBucket(t *testing.T) *bucketStore {
	t.Helper()
	s := &bucketStore{address: dbtest.URL(t), server: s3test.Start(t)}
	s.Store, s.conn = s.open(t, s.server.Address("/kept")), connect(t, s.address)
	return s
}

// open opens a store on the same database, with another bucket, or none if the address is empty.
func (s *bucketStore) open(t *testing.T, bucketAddress string) *db.Store {
	t.Helper()
	o := db.Options{}
	if bucketAddress != "" {
		b, err := bucket.Parse(bucketAddress)
		require.NoError(t, err)
		o.Bucket = b
	}
	return dbtest.Open(t, s.address, o)
}

// work runs jobs until the test ends. Documents are not indexed.
func (s *bucketStore) work(t *testing.T) {
	t.Helper()
	require.NoError(t, s.Work(t.Context(), 2, db.Workers{Index: func(context.Context, *db.Tenant, string, int32) error {
		return nil
	}}))
	t.Cleanup(func() { require.NoError(t, s.StopWork(context.Background())) })
}

func (s *bucketStore) count(t *testing.T, query string) (n int) {
	t.Helper()
	require.NoError(t, s.conn.QueryRow(t.Context(), "SELECT count(*) FROM "+query).Scan(&n))
	return n
}

func (s *bucketStore) objectJobs(t *testing.T) int {
	t.Helper()
	return s.count(t, "jobs WHERE kind = 'documentObject'")
}

// eventuallyKeys waits until the bucket has the given number of objects, and no job would delete one.
func (s *bucketStore) eventuallyKeys(t *testing.T, keys int) {
	t.Helper()
	require.Eventually(t, func() bool { return len(s.server.Keys(t)) == keys && s.objectJobs(t) == 0 }, dbtest.WaitTimeout,
		10*time.Millisecond)
}

// addFile adds a file, and returns its document and content.
func addFile(t *testing.T, tenant *db.Tenant, datasetID string, size int) (*model.Document, []byte) {
	t.Helper()
	d, content := fileOf(t, datasetID, size)
	require.NoError(t, tenant.AddDocument(t.Context(), d, bytes.NewReader(content)))
	return d, content
}

func fileOf(t *testing.T, datasetID string, size int) (*model.Document, []byte) {
	t.Helper()
	content := make([]byte, size)
	_, _ = io.ReadFull(rand.NewChaCha8([32]byte{byte(size)}), content)
	d, err := model.NewDocument(model.AddDocumentInput{DatasetID: datasetID, Name: new("a"), Text: new("x")}, time.Now().
		UTC().Truncate(time.Microsecond))
	require.NoError(t, err)
	d.Size, d.ContentType = int32(size), "application/octet-stream"
	return d, content
}

func TestContentsAreInTheBucket(t *testing.T) {
	t.Parallel()
	s := withBucket(t)
	tenant, companyID := newCompany(t, s.Store)
	other, otherID := newCompany(t, s.Store)
	d, content := addFile(t, tenant, newDataset(t, tenant).ID, 3<<20+7)
	addFile(t, other, newDataset(t, other).ID, 5)
	read, err := tenant.Document(t.Context(), d.ID)
	require.NoError(t, err)
	same(t, d, read)
	require.Equal(t, 0, s.count(t, "document_contents"))
	require.Equal(t, 0, s.objectJobs(t))
	require.Contains(t, s.server.Keys(t), "kept/"+companyID+"/"+*d.ObjectID)

	for _, part := range [][2]int32{{0, 1}, {1<<20 - 1, 2}, {3 << 20, 1 << 20}, {3<<20 + 7, 1}, {1 << 30, 1}} {
		read, err := tenant.PartOfDocument(t.Context(), d.ID, part[0], part[1])
		require.NoError(t, err)
		from := min(int(part[0]), len(content))
		require.True(t, bytes.Equal(content[from:min(from+int(part[1]), len(content))], read), part)
	}
	_, err = tenant.PartOfDocument(model.WithMemoryLimit(t.Context(), 64<<10), d.ID, 0, 1<<20)
	require.ErrorIs(t, err, model.ErrTooLarge)
	_, err = tenant.PartOfDocument(model.WithMemoryLimit(t.Context(), 64<<10), d.ID, 0, 10)
	require.NoError(t, err)
	whole, err := tenant.ContentOfDocument(t.Context(), d.ID)
	require.NoError(t, err)
	require.True(t, bytes.Equal(content, whole))

	// The key begins with the company of the Tenant, so an id of another company leads nowhere.
	_, err = s.conn.Exec(t.Context(), "UPDATE documents SET object_id = $1 WHERE company_id = $2", *d.ObjectID, otherID)
	require.NoError(t, err)
	documents, err := other.Documents(t.Context(), model.PageArgs{First: 1}, nil, nil)
	require.NoError(t, err)
	_, err = other.ContentOfDocument(t.Context(), documents.Nodes[0].ID)
	require.ErrorContains(t, err, "does not exist")

	// Another prefix has no such object, and a server without a bucket says so.
	_, err = s.open(t, s.server.Address("/elsewhere")).Tenant(companyID).ContentOfDocument(t.Context(), d.ID)
	require.ErrorContains(t, err, "does not exist")
	_, err = s.open(t, "").Tenant(companyID).ContentOfDocument(t.Context(), d.ID)
	require.Contains(t, fails(t, err, model.Unavailable), "AGENTGRAPH_DOCUMENT_BUCKET")
	// A changed object is noticed.
	b, err := bucket.Parse(s.server.Address("/kept"))
	require.NoError(t, err)
	content[0]++
	require.NoError(t, b.Put(t.Context(), companyID+"/"+*d.ObjectID, bytes.NewReader(content), int64(len(content))))
	_, err = tenant.ContentOfDocument(t.Context(), d.ID)
	require.ErrorContains(t, err, "was changed")
}

func TestObjectsOfFailedUploadsAreDeleted(t *testing.T) {
	t.Parallel()
	s := withBucket(t)
	tenant, _ := newCompany(t, s.Store)
	datasetID := newDataset(t, tenant).ID
	first, _ := addFile(t, tenant, datasetID, 5)

	// The bucket is down: nothing is left behind but the job, which finds no object.
	s.server.IsDown.Store(true)
	d, content := fileOf(t, datasetID, 5)
	require.Contains(t, fails(t, tenant.AddDocument(t.Context(), d, bytes.NewReader(content)), model.Unavailable),
		"try again later")
	s.server.IsDown.Store(false)
	require.Equal(t, 1, s.count(t, "documents"))
	// The transaction fails after the object was written: the id is taken.
	d, content = fileOf(t, datasetID, 5)
	d.ID = first.ID
	fails(t, tenant.AddDocument(t.Context(), d, bytes.NewReader(content)), model.Conflict)
	require.Len(t, s.server.Keys(t), 2)
	require.Equal(t, 2, s.objectJobs(t))
	// These fail before anything is written.
	d, content = fileOf(t, "none", 5)
	fails(t, tenant.AddDocument(t.Context(), d, bytes.NewReader(content)), model.NotFound)
	require.Equal(t, 2, s.objectJobs(t))

	// Workers delete the object of a deleted document immediately. The objects of failed uploads wait for an hour.
	deleted, _ := addFile(t, tenant, datasetID, 6)
	require.NoError(t, tenant.DeleteDocument(t.Context(), model.DeleteDocumentInput{DocumentID: deleted.ID}))
	s.work(t)
	require.Eventually(t, func() bool { return s.objectJobs(t) == 2 }, dbtest.WaitTimeout, 10*time.Millisecond)
	require.Len(t, s.server.Keys(t), 2)
	_, err := s.conn.Exec(t.Context(), "UPDATE jobs SET ready_at = now() WHERE kind = 'documentObject'")
	require.NoError(t, err)
	s.eventuallyKeys(t, 1)
	read, err := tenant.ContentOfDocument(t.Context(), first.ID)
	require.NoError(t, err)
	require.Len(t, read, 5)
}

// A worker may already delete the object of an upload that takes too long. Then the document is not stored.
func TestLateUploadsAreRefused(t *testing.T) {
	t.Parallel()
	s := withBucket(t)
	tenant, _ := newCompany(t, s.Store)
	d, content := fileOf(t, newDataset(t, tenant).ID, 5)
	s.server.Delay.Store(int64(time.Second))
	added := make(chan error, 1)
	go func() { added <- tenant.AddDocument(t.Context(), d, bytes.NewReader(content)) }()
	require.Eventually(t, func() bool { return s.objectJobs(t) == 1 }, dbtest.WaitTimeout, 10*time.Millisecond)
	_, err := s.conn.Exec(t.Context(), "UPDATE jobs SET river_job_id = 1 WHERE kind = 'documentObject'")
	require.NoError(t, err)
	require.Contains(t, fails(t, <-added, model.Unavailable), "took more than")
	require.Equal(t, 0, s.count(t, "documents"))
}

func TestObjectsAreDeletedWithTheirDocuments(t *testing.T) {
	t.Parallel()
	s := withBucket(t)
	tenant, _ := newCompany(t, s.Store)
	datasetID, otherID := newDataset(t, tenant).ID, newDataset(t, tenant).ID
	d, _ := addFile(t, tenant, datasetID, 5)
	addFile(t, tenant, datasetID, 6)
	addFile(t, tenant, datasetID, 7)
	last, content := addFile(t, tenant, otherID, 8)
	s.work(t)
	s.server.IsDown.Store(true)
	require.NoError(t, tenant.DeleteDocument(t.Context(), model.DeleteDocumentInput{DocumentID: d.ID}))
	require.NoError(t, tenant.DeleteDataset(t.Context(), datasetID))
	require.Eventually(t, func() bool {
		return s.count(t, "jobs WHERE kind = 'documentObject' AND attempt > 1") == 3
	}, dbtest.WaitTimeout, 10*time.Millisecond, "the jobs are tried again")
	s.server.IsDown.Store(false)
	s.eventuallyKeys(t, 1)
	require.NoError(t, tenant.DeleteDataset(t.Context(), newDataset(t, tenant).ID), "without documents")
	read, err := tenant.ContentOfDocument(t.Context(), last.ID)
	require.NoError(t, err)
	require.Equal(t, content, read)
}

func TestContentsMoveBothWays(t *testing.T) {
	t.Parallel()
	s := withBucket(t)
	plain := s.open(t, "")
	contents, companies := map[string][]byte{}, map[string]string{}
	for range 2 {
		_, companyID := newCompany(t, s.Store)
		datasetID := newDataset(t, plain.Tenant(companyID)).ID
		for i, size := range []int{0, 1, 1 << 20, 2<<20 + 5} {
			d, content := addFile(t, plain.Tenant(companyID), datasetID, size+i)
			contents[d.ID], companies[d.ID] = content, companyID
		}
	}
	// An older program stored no digest.
	_, err := s.conn.Exec(t.Context(), "UPDATE documents SET digest = NULL WHERE size = 2")
	require.NoError(t, err)
	verify := func() {
		t.Helper()
		for id, content := range contents {
			for _, store := range []*db.Store{s.Store} {
				read, err := store.Tenant(companies[id]).ContentOfDocument(t.Context(), id)
				require.NoError(t, err)
				require.True(t, bytes.Equal(content, read), len(content))
			}
		}
	}
	move := func(toBucket bool) (moved int) {
		t.Helper()
		all, err := s.Companies(t.Context())
		require.NoError(t, err)
		for _, company := range all {
			require.NoError(t, s.Tenant(company.ID).MoveDocuments(t.Context(), toBucket,
				func(*model.Document) { moved++ }))
		}
		return moved
	}
	require.Equal(t, 6, move(true), "an empty document stays")
	require.Len(t, s.server.Keys(t), 6)
	require.Equal(t, 0, s.count(t, "document_contents"))
	require.Equal(t, 6, s.count(t, "documents WHERE digest IS NOT NULL AND object_id IS NOT NULL"))
	verify()
	require.Equal(t, 0, move(true))
	s.work(t)
	s.eventuallyKeys(t, 6)
	require.Equal(t, 6, move(false))
	verify()
	s.eventuallyKeys(t, 0)
	verify()

	fails(t, plain.Tenant("x").MoveDocuments(t.Context(), true, nil), model.Unavailable)
	s.server.IsDown.Store(true)
	for _, companyID := range companies {
		fails(t, s.Tenant(companyID).MoveDocuments(t.Context(), true, nil), model.Unavailable)
	}
	s.server.IsDown.Store(false)
	verify()
}

// Readers see the content at any time, while it is moved back and forth and documents are deleted.
func TestContentsAreReadDuringAMove(t *testing.T) {
	t.Parallel()
	s := withBucket(t)
	tenant, _ := newCompany(t, s.Store)
	datasetID := newDataset(t, tenant).ID
	d, content := addFile(t, tenant, datasetID, 1<<20+9)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	s.work(t)
	failed := make(chan error, 3)
	for range 3 {
		go func() {
			for ctx.Err() == nil {
				if read, err := tenant.ContentOfDocument(t.Context(), d.ID); err != nil || !bytes.Equal(read, content) {
					failed <- fmt.Errorf("read %d bytes: %w", len(read), err)
					return
				}
			}
			failed <- nil
		}()
	}
	for range 10 {
		require.NoError(t, tenant.MoveDocuments(t.Context(), false, func(*model.Document) {}))
		require.NoError(t, tenant.MoveDocuments(t.Context(), true, func(*model.Document) {}))
	}
	end()
	for range 3 {
		require.NoError(t, <-failed)
	}
	s.eventuallyKeys(t, 1)
}

func TestCompanyIsDeletedWithItsObjects(t *testing.T) {
	t.Parallel()
	s := withBucket(t)
	tenant, companyID := newCompany(t, s.Store)
	other, otherID := newCompany(t, s.Store)
	addFile(t, tenant, newDataset(t, tenant).ID, 5)
	addFile(t, other, newDataset(t, other).ID, 5)
	nothing := func(string, int64) {}
	fails(t, s.open(t, "").DeleteCompany(t.Context(), companyID, nothing), model.Unavailable)
	s.server.IsDown.Store(true)
	fails(t, s.DeleteCompany(t.Context(), companyID, nothing), model.Unavailable)
	require.Equal(t, 2, s.count(t, "documents"))
	s.server.IsDown.Store(false)
	require.NoError(t, s.DeleteCompany(t.Context(), companyID, nothing))
	keys := s.server.Keys(t)
	require.Len(t, keys, 1)
	require.True(t, strings.HasPrefix(keys[0], "kept/"+otherID+"/"))
}
