package db

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
)

// storedDocuments is the kind of the bytes of documents, as they came.
const storedDocuments = "Documents"

// StoredBytes returns how many bytes the documents of the company have.
func (t *Tenant) StoredBytes(ctx context.Context) (bytes int64, err error) {
	err = t.db.NewRaw("SELECT coalesce(sum(bytes), 0)::bigint FROM stored_bytes WHERE company_id = ? AND kind = ?",
		t.CompanyID(), storedDocuments).Scan(ctx, &bytes)
	return bytes, err
}

// mayStore returns UNPROCESSABLE if the company would keep more than it may with so many bytes more.
func (t *Tenant) mayStore(ctx context.Context, more int64) error {
	if t.store.maxStored == 0 {
		return nil
	}
	stored, err := t.StoredBytes(ctx)
	if err != nil {
		return err
	}
	return t.fits(stored, more)
}

func (t *Tenant) fits(stored, more int64) error {
	if most := t.store.maxStored; most != 0 && stored > most-more {
		return model.Errorf(model.Unprocessable, "the company's documents have %d bytes; with %d more they would have more "+
			"than %d, which is the most",
			stored, more, most)
	}
	return nil
}

// addStored changes the sum of what the company keeps; with more than it may keep it returns UNPROCESSABLE. Others that
// change the sum wait until the end of the transaction, so this is among the last things that it does.
func (t tenantTx) addStored(ctx context.Context, change int64) error {
	if change == 0 {
		return nil
	}
	// Documents that a program of before has added while this one was started are not in the sum.
	var stored int64
	if err := t.db.NewRaw(`INSERT INTO stored_bytes AS stored (company_id, kind, bytes) VALUES (?, ?, greatest(0, ?))
		ON CONFLICT (company_id, kind) DO UPDATE SET bytes = greatest(0, stored.bytes + ?) RETURNING bytes`,
		t.CompanyID(), storedDocuments, change, change).Scan(ctx, &stored); err != nil {
		return err
	}
	if change < 0 {
		return nil
	}
	return t.fits(stored-change, change)
}
