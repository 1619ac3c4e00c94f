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

// eraseFromItems replaces the number by nines in items of other contacts, campaign by campaign.
func (e erasure) eraseFromItems(ctx context.Context, t *Tenant, erased *model.Erasure) error {
	campaigns := []string{}
	err := t.db.Select((*model.CampaignItem)(nil)).ColumnExpr("DISTINCT campaign_id").Where("?", e.in(itemTexts)).
		Order("campaign_id").Scan(ctx, &campaigns)
	if err != nil {
		return err
	}
	for _, id := range campaigns {
		err := t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
			ids, err := e.eraseFromCampaign(ctx, t, id)
			erased.Add("other_campaign_items", &erased.OtherItems, ids...)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (e erasure) eraseFromCampaign(ctx context.Context, t tenantTx, campaignID string) (ids []string, err error) {
	campaign, err := t.lockCampaign(ctx, campaignID, forUpdate)
	if err != nil {
		return nil, err
	}
	err = t.db.Select((*model.CampaignItem)(nil)).Column("id").Where("campaign_id = ?", campaignID).
		Where("?", e.in(itemTexts)).
		Order("id").For(string(forUpdate)).Scan(ctx, &ids)
	if err != nil {
		return nil, err
	}
	err = e.numberKeys(ctx, t.Tenant, "campaign_items", bun.SafeQuery("id IN (?)", bun.List(ids)), "data_bag", "result")
	if err != nil {
		return nil, err
	}
	versions := make([]int32, len(ids))
	for i := range versions {
		versions[i] = campaign.ItemVersion + int32(i) + 1
	}
	update := t.db.Update((*model.CampaignItem)(nil)).
		TableExpr("unnest(?::text[], ?::int[]) AS change (id, version)", pgdialect.Array(ids), pgdialect.Array(versions)).
		Set("version = change.version").Set("error = regexp_replace(error, ?, ?, 'g')", e.Pattern, e.Nines)
	for _, column := range []string{"data_bag", "result"} {
		update = update.Set("?0 = regexp_replace(?0::text, ?1, ?2, 'g')::json", bun.Ident(column), e.Pattern, e.Nines)
	}
	if _, err := update.Where("?TableAlias.id = change.id").Exec(ctx); err != nil {
		return nil, err
	}
	t.wake(campaignID)
	update = t.db.Update((*model.Campaign)(nil)).Set("version = version + ?", len(ids))
	_, err = counterDeltas{}.saveCounters(update, len(ids)).Where("id = ?", campaignID).Exec(ctx)
	return ids, err
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
