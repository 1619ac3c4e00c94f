package db

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/db/queue"
	"github.com/agentgraph/agentgraph/model"
)

// Bucket keeps objects outside of Postgres. Its methods are safe for concurrent use and have timeouts. A *model.Error
// with the code UNAVAILABLE means that the bucket cannot be used.
//
// An object never changes. A job for each object exists whenever no document has the object: first until the document
// is committed, and again after it is deleted. The job deletes the object, so none remains after a crash.
type Bucket interface {
	// Put writes an object of the size, in bytes. It may read the content more than once.
	Put(ctx context.Context, key string, content io.ReadSeeker, size int64) error
	// Get returns exactly length bytes, above 0, from the offset. It returns fs.ErrNotExist if there is no such object.
	Get(ctx context.Context, key string, offset, length int64) ([]byte, error)
	// Delete deletes an object, if it exists.
	Delete(ctx context.Context, key string) error
	// DeleteAll deletes all objects whose keys begin with the prefix.
	DeleteAll(ctx context.Context, prefix string) error
}

const (
	// objectGrace is how long an object may wait until a transaction commits its document. It is far longer than any
	// upload and transaction.
	objectGrace = time.Hour
	// firstDeletionWait is the wait after the first failure to delete an object. It doubles up to lastDeletionWait.
	firstDeletionWait, lastDeletionWait = time.Second, 10 * time.Minute
	// movesPage is how many documents are listed at a time to be moved.
	movesPage = 500
)

// requireBucket returns an error if the server has no bucket.
func (s *Store) requireBucket() error {
	if s.bucket != nil {
		return nil
	}
	return model.Errorf(model.Unavailable, "the content is in a bucket that this server does not know; its operator must "+
		"set AGENTGRAPH_DOCUMENT_BUCKET")
}

// objectKey returns the key of an object. It begins with the company, so a Tenant reaches no object of another one.
func (t *Tenant) objectKey(id string) string { return t.CompanyID() + "/" + id }

// readObject returns at most length bytes of the content of a document in the bucket, from the offset. If it reads the
// whole content, it checks the digest.
func (t *Tenant) readObject(ctx context.Context, d *model.Document, offset, length int64) ([]byte, error) {
	if err := t.store.requireBucket(); err != nil {
		return nil, err
	}
	if length = min(length, int64(d.Size)-offset); length <= 0 {
		return nil, nil
	}
	if budget := model.MemoryBudgetOf(ctx); budget != nil {
		if err := budget.Reserve(int(length)); err != nil {
			return nil, err
		}
	}
	content, err := t.store.bucket.Get(ctx, t.objectKey(*d.ObjectID), offset, length)
	if err != nil {
		return nil, fmt.Errorf("read the object %s: %w", *d.ObjectID, err)
	}
	digest := sha256.Sum256(content)
	if length == int64(d.Size) && d.Digest != nil && hex.EncodeToString(digest[:]) != *d.Digest {
		return nil, fmt.Errorf("the object %s was changed: its digest is not the document's", *d.ObjectID)
	}
	return content, nil
}

// putContent writes the content of a document to a new object, and sets the document's digest and object. Then call
// keepObject in the transaction that stores the document. Without that, a job deletes the object.
func (t *Tenant) putContent(ctx context.Context, d *model.Document, content io.ReadSeeker) error {
	digest := sha256.New()
	size, err := io.Copy(digest, content)
	if err == nil {
		_, err = content.Seek(0, io.SeekStart)
	}
	if err != nil || size != int64(d.Size) {
		return errors.Join(errors.New("an uploaded file could not be read completely"), err)
	}
	id := model.NewID("object")
	// This transaction commits before the object exists, even if the caller has a transaction.
	if err := t.store.Tenant(t.CompanyID()).inTx(ctx, func(ctx context.Context, t tenantTx) error {
		_, err := t.changeQueue(ctx, queue.Change{Enqueue: t.jobs(objectJob, []string{id}), In: objectGrace,
			IsPatient: true})
		return err
	}); err != nil {
		return err
	}
	if err := t.store.bucket.Put(ctx, t.objectKey(id), content, size); err != nil {
		return err
	}
	d.ObjectID, d.Digest = &id, new(hex.EncodeToString(digest.Sum(nil)))
	return nil
}

// keepObject removes the job that would delete a new object. It fails if a worker already has the job.
func (t tenantTx) keepObject(ctx context.Context, id string) error {
	return t.db.PGX(ctx, func(tx *pg.OpenTx) error {
		isKept, err := queue.Withdraw(ctx, tx, t.CompanyID(), id)
		if err == nil && !isKept {
			err = model.Errorf(model.Unavailable, "storing the document took more than %s; try again", objectGrace)
		}
		return err
	})
}

// deleteUnusedObject is the Worker that deletes an object, unless a document has it. It retries until the bucket
// confirms the deletion.
func deleteUnusedObject(ctx context.Context, t *Tenant, id string, attempt int32) error {
	isUsed, err := t.db.Select((*model.Document)(nil)).Where("object_id = ?", id).Exists(ctx)
	if err == nil && !isUsed {
		if err = t.store.requireBucket(); err == nil {
			err = t.store.bucket.Delete(ctx, t.objectKey(id))
		}
	}
	if err != nil {
		return &Later{In: min(lastDeletionWait, firstDeletionWait<<min(attempt-1, 10)), Err: err}
	}
	return nil
}

// deleteObjects deletes all objects of the company. It returns an error if there may be objects, but the server has no
// bucket.
func (t *Tenant) deleteObjects(ctx context.Context) error {
	if t.store.bucket != nil {
		return t.store.bucket.DeleteAll(ctx, t.objectKey(""))
	}
	hasObjects, err := t.db.Select((*model.Document)(nil)).Where("object_id IS NOT NULL").Exists(ctx)
	if err == nil && !hasObjects {
		hasObjects, err = t.db.NewSelect().TableExpr("jobs").Where("company_id = ?", t.CompanyID()).
			Where("kind = ?", objectJob).Exists(ctx)
	}
	if err != nil || !hasObjects {
		return err
	}
	return t.store.requireBucket()
}

// MoveDocuments moves the contents of the company's documents into the bucket, or back to Postgres, one at a time. It
// calls the function moved after each. An interrupted move continues with the next call. Each document can be read
// during its move, and its old content is not deleted before the new one is committed.
func (t *Tenant) MoveDocuments(ctx context.Context, toBucket bool, moved func(*model.Document)) error {
	if err := t.store.requireBucket(); err != nil {
		return err
	}
	where, move := "object_id IS NOT NULL", t.moveToPostgres
	if toBucket {
		where, move = "object_id IS NULL AND size > 0", t.moveToBucket
	}
	for after := ""; ; {
		documents := []*model.Document{}
		if err := t.db.Select(&documents).Where(where).Where("id > ?", after).Order("id").Limit(movesPage).
			Scan(ctx); err != nil || len(documents) == 0 {
			return err
		}
		for _, d := range documents {
			after = d.ID
			if err := move(ctx, d); pg.IsMissing(err) || errors.Is(err, errMoved) {
				continue // deleted or moved by someone else
			} else if err != nil {
				return fmt.Errorf("move the document %s: %w", d.ID, err)
			}
			moved(d)
		}
	}
}

// errMoved is returned when a document was deleted or moved since it was read.
var errMoved = errors.New("the document was moved")

// contentToMove returns the content of a document that is moved.
func (t *Tenant) contentToMove(ctx context.Context, d *model.Document) (*bytes.Reader, error) {
	content, err := t.ContentOfDocument(ctx, d.ID)
	if err == nil && len(content) != int(d.Size) {
		// The document was deleted, or its content is incomplete.
		if _, err = t.Document(ctx, d.ID); err == nil {
			err = fmt.Errorf("its content has %d bytes instead of %d", len(content), d.Size)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.Join(errors.New("its object is not in the bucket"), err)
	}
	return bytes.NewReader(content), err
}

func (t *Tenant) moveToBucket(ctx context.Context, d *model.Document) error {
	content, err := t.contentToMove(ctx, d)
	if err != nil {
		return err
	}
	if err := t.putContent(ctx, d, content); err != nil {
		return err
	}
	return t.relocate(ctx, d, nil, func(ctx context.Context, t tenantTx) error {
		if _, err := t.db.Delete((*documentContent)(nil)).Where("document_id = ?", d.ID).Exec(ctx); err != nil {
			return err
		}
		return t.keepObject(ctx, *d.ObjectID)
	})
}

func (t *Tenant) moveToPostgres(ctx context.Context, d *model.Document) error {
	content, err := t.contentToMove(ctx, d)
	if err != nil {
		return err
	}
	object := d.ObjectID
	d.ObjectID = nil
	return t.relocate(ctx, d, object, func(ctx context.Context, t tenantTx) error {
		if err := t.saveParts(ctx, d.ID, content); err != nil {
			return err
		}
		return t.enqueue(ctx, objectJob, []string{*object})
	})
}

// relocate stores the new object of a document in one transaction with further changes. It returns errMoved if the
// document no longer has the old object.
func (t *Tenant) relocate(ctx context.Context, d *model.Document, from *string,
	also func(context.Context, tenantTx) error) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		// Every transaction locks datasets before documents.
		if err := t.lock(ctx, dataset, d.DatasetID, &model.Dataset{}, forShare); err != nil {
			return err
		}
		updated := []*model.Document{}
		if err := t.db.Update(d).Column("object_id", "digest").WherePK().Where("object_id IS NOT DISTINCT FROM ?", from).
			Returning("id").Scan(ctx, &updated); err != nil {
			return err
		}
		if len(updated) == 0 {
			return errMoved
		}
		return also(ctx, t)
	})
}
