package db

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/uptrace/bun"
	bunschema "github.com/uptrace/bun/schema"

	"github.com/agentgraph/agentgraph/model"
)

// rowsPerSearch is how many chats or runs one statement searches for a contact.
const rowsPerSearch = 500

// errDryRun rolls back a dry run.
var errDryRun = errors.New("dry run")

// EraseContact deletes the campaign items with a contact's number, and the simulated chats that contain it. In other
// items and in test runs, whose results stay, it replaces the number by nines. It works through all rows of the
// company in parts, each in its own transaction unless the Tenant is in one. After an interruption, call it again.
// During a call with the contact, and during the evaluation of the call, it erases nothing and returns CONFLICT. A dry
// run does everything in one transaction and rolls it back.
func (t *Tenant) EraseContact(ctx context.Context, in model.EraseContactInput) (model.Erasure, error) {
	var erased model.Erasure
	search, err := in.Search()
	if err != nil {
		return erased, err
	}
	e := erasure{search, strings.Repeat("9", len(strings.TrimPrefix(search.Number, "+")))}
	if !in.IsDryRun {
		return e.erase(ctx, t)
	}
	err = t.inTx(ctx, func(ctx context.Context, t tenantTx) (err error) {
		if erased, err = e.erase(ctx, t.Tenant); err == nil {
			err = errDryRun
		}
		return err
	})
	if errors.Is(err, errDryRun) {
		err = nil
	}
	return erased, err
}

// erasure is a search for a number, and the number's replacement.
type erasure struct {
	model.ErasureSearch
	nines string
}

// in returns the condition that a text contains the number. The fast search comes first.
func (e erasure) in(text string) bunschema.QueryWithArgs { return e.matches(text, e.Pattern) }

func (e erasure) matches(text, pattern string) bunschema.QueryWithArgs {
	return bun.SafeQuery("(?0 ~ ?1 AND ?0 ~ ?2)", bun.Safe(text), e.Ending, pattern)
}

func (e erasure) erase(ctx context.Context, t *Tenant) (erased model.Erasure, err error) {
	if erased.Items, err = t.eraseItems(ctx, e.Number); err != nil {
		return erased, err
	}
	if erased.OtherItems, err = e.eraseFromItems(ctx, t); err != nil {
		return erased, err
	}
	var other int64 // labels and executions are not counted
	for _, part := range []struct {
		nilRow any
		erase  func(ctx context.Context, t *Tenant, ids []string) (int64, error)
		erased *int64
	}{
		{(*model.SimulationChat)(nil), e.eraseChats, &erased.Chats},
		{(*model.AgentTestRun)(nil), e.eraseFromRuns, &erased.Runs},
		{(*model.AgentTestExecution)(nil), e.eraseFromExecutions, &other},
		{(*model.CriterionLabel)(nil), e.eraseFromLabels, &other},
	} {
		if *part.erased, err = t.forEachBatch(ctx, part.nilRow, part.erase); err != nil {
			return erased, err
		}
	}
	erased.Left, err = e.remaining(ctx, t)
	return erased, err
}

// eraseChats deletes the chats that contain the number in their data, messages or calls. A subquery finds them, because
// Citus accepts only immutable functions in the conditions of a DELETE or an UPDATE.
func (e erasure) eraseChats(ctx context.Context, t *Tenant, ids []string) (int64, error) {
	held := func(table string) *bun.SelectQuery {
		return t.db.NewSelect().TableExpr("? AS held", bun.Ident(table)).ColumnExpr("1").
			Where("held.company_id = ?", t.CompanyID()).
			Where("held.chat_id = simulation_chat.id").Where("?", e.in("held::text"))
	}
	found := t.db.Select((*model.SimulationChat)(nil)).Column("id").Where("id IN (?)", bun.List(ids)).
		Where("? OR EXISTS (?) OR EXISTS (?)", e.in("simulation_chat::text"), held("simulation_chat_messages"),
			held("tool_calls"))
	deleted := []string{}
	err := t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		err := t.db.Delete((*model.SimulationChat)(nil)).Where("id IN (?)", found).Returning("id").Scan(ctx, &deleted)
		if err != nil {
			return err
		}
		return t.audit(ctx, deletions[simulationChat], deleted...)
	})
	for _, id := range deleted {
		t.wake(id)
	}
	return int64(len(deleted)), err
}

// eraseFromExecutions replaces the number by nines in the snapshots of finished executions.
func (e erasure) eraseFromExecutions(ctx context.Context, t *Tenant, ids []string) (int64, error) {
	finished := t.db.Select((*model.AgentTestExecution)(nil)).Column("id").Where("id IN (?)", bun.List(ids)).
		Where("finished_at IS NOT NULL")
	_, err := t.db.NewRaw(`UPDATE agent_test_snapshots SET definition = regexp_replace(definition::text, ?1, ?2, 'g')::json
		WHERE company_id = ?0 AND execution_id IN (?3) AND ?4`,
		t.CompanyID(), e.Pattern, e.nines, finished, e.in("definition::text")).Exec(ctx)
	if err != nil {
		return 0, err
	}
	return 0, exec(ctx, t.db.Update((*model.AgentTestExecution)(nil)).
		Set("left_out_tests = regexp_replace(left_out_tests::text, ?, ?, 'g')::jsonb", e.Pattern, e.nines).
		Where("id IN (?)", finished).Where("?", e.in("left_out_tests::text")))
}

// The columns of a run with conversation data, as JSON and as text.
var (
	erasedAsJSON = []string{
		"messages", "tool_calls", "snapshot", "criteria_results", "check_results", "classification_result", "error", "held",
		"row_values", "extracted",
	}
	erasedAsText = []string{"row_key", "row_name", "extraction_error"}
)

// eraseFromRuns replaces the number by nines in the finished runs among the ids, and returns how many contained it.
func (e erasure) eraseFromRuns(ctx context.Context, t *Tenant, ids []string) (int64, error) {
	update := t.db.Update((*model.AgentTestRun)(nil))
	for _, column := range erasedAsJSON {
		update = update.Set("?0 = regexp_replace(?0::text, ?1, ?2, 'g')::json", bun.Ident(column), e.Pattern, e.nines)
	}
	for _, column := range erasedAsText {
		update = update.Set("?0 = regexp_replace(?0, ?1, ?2, 'g')", bun.Ident(column), e.Pattern, e.nines)
	}
	// The snapshots of the execution are changed after all of its runs.
	found := t.db.Select((*model.AgentTestRun)(nil)).Column("id").Where("id IN (?)", bun.List(ids)).
		Where("finished_at IS NOT NULL").
		Where(`?0 OR EXISTS (SELECT 1 FROM agent_test_snapshots AS kept
			WHERE kept.company_id = ?1 AND kept.execution_id = ?TableAlias.execution_id
			AND kept.id = ?TableAlias.tested_id AND ?2)`,
			e.in("concat_ws(' ', "+strings.Join(slices.Concat(erasedAsJSON, erasedAsText), ", ")+")"), t.CompanyID(),
			e.in("kept.definition::text"))
	result, err := update.Where("id IN (?)", found).Exec(ctx)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// eraseItems deletes the items with a number from all campaigns. It locks campaigns before their items, like all
// transactions, so that they cannot deadlock.
func (t *Tenant) eraseItems(ctx context.Context, number string) (deleted int64, err error) {
	return deleted, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		campaigns := []*model.Campaign{}
		campaignIDs := t.db.Select((*model.CampaignItem)(nil)).Column("campaign_id").Where("phone_number = ?", number)
		err := t.db.Select(&campaigns).Where("id IN (?)", campaignIDs).Order("id").For(string(forUpdate)).Scan(ctx)
		if err != nil {
			return err
		}
		for _, campaign := range campaigns {
			items := []*model.CampaignItem{}
			err := t.db.Select(&items).Column("id", "running_status", "is_archived").Where("campaign_id = ?", campaign.ID).
				Where("phone_number = ?", number).Order("id").For(string(forDelete)).Scan(ctx)
			if err != nil {
				return err
			}
			ids := make([]string, len(items))
			for i, item := range items {
				if item.IsInProgress() {
					return model.Errorf(model.Conflict, "campaign item %q of the contact is in a call or an "+
						"evaluation: wait until it ends", item.ID)
				}
				ids[i] = item.ID
			}
			if _, err := t.db.Delete((*model.CampaignItem)(nil)).Where("id IN (?)", bun.List(ids)).Exec(ctx); err != nil {
				return err
			}
			err = errors.Join(t.revise(ctx, campaign, counterDeltas{}.countItems(-1, items...)),
				t.audit(ctx, deletions[campaignItem], ids...))
			if err != nil {
				return err
			}
			deleted += int64(len(items))
		}
		return nil
	})
}

// forEachBatch calls fn with the ids of all rows of a type, in parts, and adds up the results. nilRow is a nil pointer
// to the struct of a row.
func (t *Tenant) forEachBatch(ctx context.Context, nilRow any,
	fn func(ctx context.Context, t *Tenant, ids []string) (int64, error)) (sum int64, err error) {
	for after := ""; ; {
		ids := []string{}
		if err := t.db.Select(nilRow).Column("id").Where("id > ?", after).Order("id").Limit(rowsPerSearch).
			Scan(ctx, &ids); err != nil || len(ids) == 0 {
			return sum, err
		}
		n, err := fn(ctx, t, ids)
		if sum += n; err != nil {
			return sum, err
		}
		after = ids[len(ids)-1]
	}
}
