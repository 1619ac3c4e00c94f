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
	err := t.db.NewSelect().Model(company).Where("id = ?", t.CompanyID()).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, model.Missing("company", t.CompanyID())
	}
	return company, err
}

// maxTags bounds the tags that AgentTags returns.
const maxTags = 1_000

// AgentTags returns the distinct tags of the company's agents, by name, at most maxTags.
func (t *Tenant) AgentTags(ctx context.Context) ([]string, error) {
	tags := []string{}
	err := t.db.Select((*model.Agent)(nil)).ColumnExpr("DISTINCT tag").
		Join("CROSS JOIN jsonb_array_elements_text(?TableAlias.tags) AS tag").
		OrderExpr("tag").Limit(maxTags).Scan(ctx, &tags)
	return tags, err
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
	_, err = tx.Program().NewInsert().Model(company).Exec(ctx)
	return company, err
}

// Companies returns every company, oldest first.
func (s *Store) Companies(ctx context.Context) ([]*model.Company, error) {
	companies := []*model.Company{}
	err := s.db.Program().NewSelect().Model(&companies).Order("created_at", "id").Scan(ctx)
	return companies, err
}
