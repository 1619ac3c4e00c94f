package db

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
)

// Company returns the company itself.
func (t *Tenant) Company(ctx context.Context) (*model.Company, error) {
	company := &model.Company{}
	err := t.db.NewSelect().Model(company).Where("id = ?", t.companyID).Scan(ctx)
	return company, translate(err)
}
