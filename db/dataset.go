package db

import (
	"context"
	"reflect"

	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

const dataset = "dataset"

// Dataset returns one dataset, or NOT_FOUND.
func (t *Tenant) Dataset(ctx context.Context, id string) (*model.Dataset, error) {
	row := &model.Dataset{}
	return row, t.db.One(ctx, dataset, id, row)
}

// Lists of a company's datasets: by their ids, in pages, and by the knowledge base chats that use them, in the order of
// the chat.
var (
	DatasetRows     = pg.Rows{Type: dataset, Model: (*model.Dataset)(nil), Key: pg.ByID}
	DatasetList     = pg.List{Model: (*model.Dataset)(nil), Order: pg.NewestFirst}
	DatasetsOfChats = pg.Rows{
		Model: (*model.Dataset)(nil),
		Join: "JOIN knowledge_base_chat_datasets AS relation ON relation.company_id = ?TableAlias.company_id AND " +
			"relation.dataset_id = ?TableAlias.id",
		Key: "relation.chat_id", Order: "relation.position",
	}
)

// Datasets returns a page of the datasets, newest first.
func (t *Tenant) Datasets(ctx context.Context, args model.PageArgs, filter *model.NameFilter,
	columns ...string) (*model.Page[*model.Dataset], error) {
	if err := filter.Validate(); err != nil {
		return nil, err
	}
	return pg.Page[*model.Dataset](ctx, t.db, DatasetList, args, columns, NamesMatching(filter))
}

// CreateDataset creates a dataset.
func (t *Tenant) CreateDataset(ctx context.Context, in model.CreateDatasetInput) (*model.Dataset, error) {
	created, err := model.NewDataset(in, now())
	if err != nil {
		return nil, err
	}
	return created, pg.Insert(ctx, t.db, created)
}

// UpdateDataset changes the fields that the input sets. If the change affects indexing, all documents are indexed
// again.
func (t *Tenant) UpdateDataset(ctx context.Context, in model.UpdateDatasetInput) (*model.Dataset, error) {
	changed := &model.Dataset{}
	err := t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if err := t.lock(ctx, dataset, in.DatasetID, changed, forUpdate); err != nil {
			return err
		}
		if err := model.Unchanged("dataset", changed.ID, in.ExpectedUpdatedAt, changed.ChangedAt()); err != nil {
			return err
		}
		before := *changed
		if err := changed.Update(in); err != nil {
			return err
		}
		if !reflect.DeepEqual(before, *changed) {
			at := model.NextUpdatedAt(changed.ChangedAt(), now())
			changed.UpdatedAt = &at
		}
		if _, err := t.db.Update(changed).WherePK().Exec(ctx); err != nil || changed.Indexes(&before) {
			return err
		}
		return t.reindex(ctx, changed.ID, pg.All)
	})
	return changed, err
}

// ReindexDataset enqueues the indexing of all documents of a dataset, and returns the dataset.
func (t *Tenant) ReindexDataset(ctx context.Context, id string) (*model.Dataset, error) {
	locked := &model.Dataset{}
	return locked, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if err := t.lock(ctx, dataset, id, locked, forUpdate); err != nil {
			return err
		}
		return t.reindex(ctx, id, pg.All)
	})
}

// DeleteDataset deletes a dataset with its documents and disconnects it from every chat.
func (t *Tenant) DeleteDataset(ctx context.Context, id string) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		// The lock ensures that no document is added after the sizes are summed up.
		if err := t.lock(ctx, dataset, id, &model.Dataset{}, forDelete); err != nil {
			return err
		}
		var bytes int64
		var objects []string
		if err := t.db.Select((*model.Document)(nil)).ColumnExpr("coalesce(sum(size), 0)").
			ColumnExpr("array_remove(array_agg(object_id), NULL)").Where("dataset_id = ?", id).
			Scan(ctx, &bytes, pgdialect.Array(&objects)); err != nil {
			return err
		}
		t.wake(id)
		if err := t.delete(ctx, dataset, id, (*model.Dataset)(nil)); err != nil {
			return err
		}
		if err := t.addStored(ctx, -bytes); err != nil || len(objects) == 0 {
			return err
		}
		return t.enqueue(ctx, objectJob, objects)
	})
}

// WhereDataset narrows a list to the rows of the dataset. A nil id adds no condition.
func WhereDataset(id *string) pg.Filter { return pg.Equal(nil, "dataset_id", id) }

// NamesMatching returns a filter for rows whose name contains the wanted text. wanted is valid, or nil for no filter.
func NamesMatching(wanted *model.NameFilter) (f pg.Filter) {
	if wanted == nil {
		return nil
	}
	return f.NameContains(wanted.NameContains)
}
