package db

import (
	"context"
	"maps"
	"slices"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/model"
)

// itemTexts lists the columns of items that may mention another contact, as JSON and as text.
const itemTexts = "concat_ws(' ', data_bag, result, error)"

// eraseFromItems replaces the number by nines in items of other contacts, campaign by campaign, and returns how many
// contained it.
func (e erasure) eraseFromItems(ctx context.Context, t *Tenant) (changed int64, err error) {
	campaigns := []string{}
	err = t.db.Select((*model.CampaignItem)(nil)).ColumnExpr("DISTINCT campaign_id").Where("?", e.in(itemTexts)).
		Order("campaign_id").Scan(ctx, &campaigns)
	if err != nil {
		return 0, err
	}
	for _, id := range campaigns {
		err := t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
			n, err := e.eraseFromCampaign(ctx, t, id)
			changed += n
			return err
		})
		if err != nil {
			return changed, err
		}
	}
	return changed, nil
}

func (e erasure) eraseFromCampaign(ctx context.Context, t tenantTx, campaignID string) (int64, error) {
	campaign, err := t.lockCampaign(ctx, campaignID, forUpdate)
	if err != nil {
		return 0, err
	}
	ids := []string{}
	err = t.db.Select((*model.CampaignItem)(nil)).Column("id").Where("campaign_id = ?", campaignID).
		Where("?", e.in(itemTexts)).
		Order("id").For(string(forUpdate)).Scan(ctx, &ids)
	if err != nil {
		return 0, err
	}
	versions := make([]int32, len(ids))
	for i := range versions {
		versions[i] = campaign.ItemVersion + int32(i) + 1
	}
	update := t.db.Update((*model.CampaignItem)(nil)).
		TableExpr("unnest(?::text[], ?::int[]) AS change (id, version)", pgdialect.Array(ids), pgdialect.Array(versions)).
		Set("version = change.version").Set("error = regexp_replace(error, ?, ?, 'g')", e.Pattern, e.nines)
	for _, column := range []string{"data_bag", "result"} {
		update = update.Set("?0 = regexp_replace(?0::text, ?1, ?2, 'g')::json", bun.Ident(column), e.Pattern, e.nines)
	}
	if _, err := update.Where("?TableAlias.id = change.id").Exec(ctx); err != nil {
		return 0, err
	}
	t.wake(campaignID)
	update = t.db.Update((*model.Campaign)(nil)).Set("version = version + ?", len(ids))
	_, err = counterDeltas{}.saveCounters(update, len(ids)).Where("id = ?", campaignID).Exec(ctx)
	return int64(len(ids)), err
}

// eraseFromLabels replaces the number by nines in labels. Their criteria are changed like those of their runs, so they
// still match.
func (e erasure) eraseFromLabels(ctx context.Context, t *Tenant, ids []string) (int64, error) {
	update := t.db.Update((*model.CriterionLabel)(nil))
	for _, column := range []string{"criterion", "note"} {
		update = update.Set("?0 = regexp_replace(?0, ?1, ?2, 'g')", bun.Ident(column), e.Pattern, e.nines)
	}
	return 0, exec(ctx, update.Where("id IN (?)", bun.List(ids)).Where("? OR ?", e.in("criterion"), e.in("note")))
}

// remaining counts the rows of the company's tables whose texts still contain the number, or may contain it.
func (e erasure) remaining(ctx context.Context, t *Tenant) ([]model.ErasureLeft, error) {
	tables := append(ArchivedTables(), slices.Sorted(maps.Keys(notArchived))...)
	columns := []struct {
		TableName string
		Texts     string
	}{}
	err := t.db.NewSelect().TableExpr("information_schema.columns").Column("table_name").
		ColumnExpr("string_agg(quote_ident(column_name) || '::text', ', ') AS texts").
		Where("table_schema = current_schema()").Where("table_name IN (?)", bun.List(tables)).
		Where("data_type IN ('text', 'json', 'jsonb', 'ARRAY')").Where("table_name <> 'chunk_vectors'").
		Group("table_name").Order("table_name").Scan(ctx, &columns)
	if err != nil {
		return nil, err
	}
	left := []model.ErasureLeft{}
	for _, c := range columns {
		n, err := t.db.NewSelect().TableExpr("?", bun.Ident(c.TableName)).Where("company_id = ?", t.CompanyID()).
			Where("?", e.matches("concat_ws(' ', "+c.Texts+")", e.Possible)).Count(ctx)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			left = append(left, model.ErasureLeft{Table: c.TableName, Rows: n})
		}
	}
	return left, nil
}
