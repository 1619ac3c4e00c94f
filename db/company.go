package db

import (
	"context"
	"database/sql"
	"errors"

	"github.com/agentgraph/agentgraph/model"
)

// Company returns the company itself.
func (t *Tenant) Company(ctx context.Context) (*model.Company, error) {
	company := &model.Company{}
	err := t.db.NewSelect().Model(company).Where("id = ?", t.companyID).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, model.Missing("company", t.companyID)
	}
	return company, translate(err)
}
