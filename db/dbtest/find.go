package dbtest

import (
	"context"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// Find is Tenant.Find for a type of rows that the test knows.
func Find[R any](ctx context.Context, t *db.Tenant, r pg.Rows, keys []string, columns ...string) ([]R, error) {
	rows, err := t.Find(ctx, r, keys, columns...)
	return typed[R](rows), err
}

// Pages is Tenant.FindPages for a type of rows that the test knows.
func Pages[R any](ctx context.Context, t *db.Tenant, l pg.List, f pg.Filter, parents []string, args model.PageArgs,
	columns ...string) ([]R, error) {
	rows, err := t.FindPages(ctx, l, f, parents, args, columns...)
	return typed[R](rows), err
}

// Counts returns the counts of Tenant.Count in the order of the parents.
func Counts(ctx context.Context, t *db.Tenant, l pg.List, f pg.Filter, parents []string) ([]int32, error) {
	byID, err := t.Count(ctx, l, f, parents)
	counts := make([]int32, len(parents))
	for i, id := range parents {
		counts[i] = byID[id]
	}
	return counts, err
}

func typed[R any](rows []model.Row) []R {
	all := make([]R, len(rows))
	for i, row := range rows {
		all[i] = row.(R)
	}
	return all
}
