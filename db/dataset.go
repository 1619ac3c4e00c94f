package db

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/model"
)

// Dataset returns one dataset, or NOT_FOUND.
func (t *Tenant) Dataset(ctx context.Context, id string) (*model.Dataset, error) {
	dataset := &model.Dataset{}
	return dataset, t.one(ctx, "dataset", id, dataset, noLock)
}

// DatasetsByID returns the datasets with the ids, in any order; what does not exist is left out.
func (t *Tenant) DatasetsByID(ctx context.Context, ids []string, columns ...string) ([]*model.Dataset, error) {
	return byID[*model.Dataset](ctx, t, ids, columns)
}

// Datasets returns a page of the datasets, newest first.
func (t *Tenant) Datasets(ctx context.Context, args model.PageArgs, columns ...string) (*model.Page[*model.Dataset], error) {
	return list[*model.Dataset](ctx, t, args, columns, all)
}

// DatasetsOfChats returns the datasets of several chats, each chat's in order.
func (t *Tenant) DatasetsOfChats(ctx context.Context, chatIDs []string, columns ...string) ([]*model.Dataset, error) {
	datasets := []*model.Dataset{}
	err := t.find(&datasets).Apply(only(columns)).ColumnExpr("edge.chat_id AS parent_id").
		Join("JOIN knowledge_base_chat_datasets AS edge ON edge.company_id = ?TableAlias.company_id AND edge.dataset_id = ?TableAlias.id").
		Where("edge.company_id = ?", t.companyID).Where("edge.chat_id IN (?)", bun.List(chatIDs)).
		OrderExpr("edge.chat_id, edge.position").Scan(ctx)
	return together(datasets), translate(err)
}

// CreateDataset creates a dataset.
func (t *Tenant) CreateDataset(ctx context.Context, in model.CreateDatasetInput) (*model.Dataset, error) {
	dataset, err := model.NewDataset(in, now())
	if err != nil {
		return nil, err
	}
	return dataset, insert(ctx, t, dataset)
}
