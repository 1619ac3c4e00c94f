package db

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
)

// storedDocuments is the kind for the bytes of uploaded documents.
const storedDocuments = "Documents"

// StoredBytes returns the size of the company's documents, in bytes.
func (t *Tenant) StoredBytes(ctx context.Context) (bytes int64, err error) {
	err = t.db.NewRaw("SELECT coalesce(sum(bytes), 0)::bigint FROM stored_bytes WHERE company_id = ? AND kind = ?",
		t.CompanyID(), storedDocuments).Scan(ctx, &bytes)
	return bytes, err
}

// checkStorageLimit returns UNPROCESSABLE if the given number of further bytes would exceed the company's limit.
func (t *Tenant) checkStorageLimit(ctx context.Context, more int64) error {
	if t.store.maxStored == 0 {
		return nil
	}
	stored, err := t.StoredBytes(ctx)
	if err != nil {
		return err
	}
	return t.checkRoom(stored, more)
}

// checkRoom returns UNPROCESSABLE if more bytes would exceed the limit.
func (t *Tenant) checkRoom(stored, more int64) error {
	if most := t.store.maxStored; most != 0 && stored > most-more {
		return model.Errorf(model.Unprocessable, "the company's documents have %d bytes, and %d more would exceed the "+
			"maximum, %d: delete some first",
			stored, more, most)
	}
	return nil
}

// addStored changes the company's sum of stored bytes. It returns UNPROCESSABLE if the sum exceeds the limit. Other
// changes of the sum wait until the end of the transaction, so call it near the end.
func (t tenantTx) addStored(ctx context.Context, change int64) error {
	if change == 0 {
		return nil
	}
	// An older program may have added documents while this program started. The sum does not contain those documents.
	var stored int64
	if err := t.db.NewRaw(`INSERT INTO stored_bytes AS stored (company_id, kind, bytes) VALUES (?, ?, greatest(0, ?))
		ON CONFLICT (company_id, kind) DO UPDATE SET bytes = greatest(0, stored.bytes + ?) RETURNING bytes`,
		t.CompanyID(), storedDocuments, change, change).Scan(ctx, &stored); err != nil {
		return err
	}
	if change < 0 {
		return nil
	}
	return t.checkRoom(stored-change, change)
}
