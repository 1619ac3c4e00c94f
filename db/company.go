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

// CreateCompany creates a company with the name.
func (s *Store) CreateCompany(ctx context.Context, name string) (company *model.Company, err error) {
	return company, s.Tx(ctx, func(ctx context.Context, tx *Tx) error {
		company, err = tx.CreateCompany(ctx, name)
		return err
	})
}

// CreateCompany creates a company with the name.
func (tx *Tx) CreateCompany(ctx context.Context, name string) (*model.Company, error) {
	company, err := model.NewCompany(name, now())
	if err != nil {
		return nil, err
	}
	_, err = scoped{tx.store.db, tx.bun, everyCompany}.NewInsert().Model(company).Exec(ctx)
	return company, translate(err)
}

// Companies returns every company, oldest first.
func (s *Store) Companies(ctx context.Context) ([]*model.Company, error) {
	companies := []*model.Company{}
	err := s.program().NewSelect().Model(&companies).Order("created_at", "id").Scan(ctx)
	return companies, translate(err)
}
