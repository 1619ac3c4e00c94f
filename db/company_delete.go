package db

import (
	"context"
	"maps"
	"slices"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/model"
)

// rowsPerPart bounds the rows that one statement deletes, so that it takes well below a second.
const rowsPerPart = 1_000

// DeleteCompany deletes a company and all its rows permanently, in parts. It calls the function deleted with each table
// and the number of its deleted rows. It first revokes the keys, deletes the company's objects in the bucket and drops
// the jobs, so that no request or worker uses the company. After an interruption, call it again to continue. It returns
// NOT_FOUND when there is no such company.
func (s *Store) DeleteCompany(ctx context.Context, id string, deleted func(table string, rows int64)) error {
	if _, err := s.Tenant(id).Company(ctx); err != nil {
		return err
	}
	if _, err := s.Tenant(id).db.Update((*model.APIKey)(nil)).Set("revoked_at = ?", now()).Where("revoked_at IS NULL").
		Exec(ctx); err != nil {
		return err
	}
	s.revocations.announce()
	if err := s.Tenant(id).deleteObjects(ctx); err != nil {
		return err
	}
	for _, table := range deletionOrder() {
		rows, err := s.changeInBatches(ctx, "DELETE FROM ?0", table, id, "true")
		if err != nil {
			return err
		}
		if rows > 0 {
			deleted(table, rows)
		}
		// Cyclic references are set to NULL in one of the tables.
		switch table {
		case "jobs":
			_, err = s.changeInBatches(ctx, "UPDATE ?0 SET last_run_id = NULL, last_run_status = NULL, last_run_at = NULL",
				"agent_tests", id, "last_run_id IS NOT NULL")
		case "agent_test_runs":
			_, err = s.changeInBatches(ctx, "UPDATE ?0 SET retry_of_id = NULL", "agent_test_executions", id,
				"retry_of_id IS NOT NULL")
		}
		if err != nil {
			return err
		}
	}
	// An upload that was in progress may have written another object since.
	if err := s.Tenant(id).deleteObjects(ctx); err != nil {
		return err
	}
	// The cascade deletes rows that were written since.
	_, err := s.db.Program().NewDelete().Model((*model.Company)(nil)).Where("id = ?", id).Exec(ctx)
	if err == nil {
		deleted("companies", 1)
	}
	return err
}

// changeInBatches applies the change to all rows of a table that belong to the company and satisfy the condition, in
// parts. It returns their number.
func (s *Store) changeInBatches(
	ctx context.Context, change, table, companyID, condition string,
) (rows int64, err error) {
	for {
		result, err := s.db.Program().NewRaw(change+` WHERE company_id = ?1
			AND ctid = ANY (ARRAY(SELECT ctid FROM ?0 WHERE company_id = ?1 AND ?2 LIMIT ?3))`,
			bun.Ident(table), companyID, bun.Safe(condition), rowsPerPart).Exec(ctx)
		if err != nil {
			return rows, err
		}
		n, err := result.RowsAffected()
		if rows += n; err != nil || n < rowsPerPart {
			return rows, err
		}
	}
}

// deletionOrder returns all tables with rows of companies, each before the tables that it refers to.
func deletionOrder() []string {
	order := slices.DeleteFunc(slices.Sorted(maps.Keys(notArchived)),
		func(table string) bool { return table == "api_keys" })
	archived := ArchivedTables()
	slices.Reverse(archived)
	return slices.Concat(order, archived, []string{"api_keys"})
}
