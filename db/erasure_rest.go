package db

import (
	"context"
	"maps"
	"slices"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/model"
)

// maskedItems are the items of campaigns, which may mention another contact.
var maskedItems = maskedTable{name: "campaign_items", parentID: "campaign_id", id: "id",
	columns: []string{"data_bag::json", "result::json", "error::text"}, condition: "true"}

// eraseFromItems replaces the number by nines in items of other contacts, campaign by campaign.
func (e erasure) eraseFromItems(ctx context.Context, t *Tenant, erased *model.Erasure) error {
	campaigns, err := e.search(ctx, t, t.db.NewSelect().TableExpr("campaign_items").
		ColumnExpr("campaign_id, ?", bun.Safe(maskedItems.texts())).Where("company_id = ?", t.CompanyID()).
		Where("?", e.mayBeIn(maskedItems.texts())).Order("campaign_id"), e.Contains)
	if err != nil {
		return err
	}
	for _, id := range slices.Compact(campaigns) {
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
	ids, err = e.eraseFrom(ctx, t.Tenant, maskedItems, []string{campaignID})
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	versions := make([]int32, len(ids))
	for i := range versions {
		versions[i] = campaign.ItemVersion + int32(i) + 1
	}
	update := t.db.Update((*model.CampaignItem)(nil)).
		TableExpr("unnest(?::text[], ?::int[]) AS change (id, version)", pgdialect.Array(ids), pgdialect.Array(versions)).
		Set("version = change.version")
	if _, err := update.Where("?TableAlias.id = change.id").Exec(ctx); err != nil {
		return nil, err
	}
	t.wake(campaignID)
	update = t.db.Update((*model.Campaign)(nil)).Set("version = version + ?", len(ids))
	_, err = counterDeltas{}.saveCounters(update, len(ids)).Where("id = ?", campaignID).Exec(ctx)
	return ids, err
}

// remaining lists the rows of the company's tables whose texts still contain the number, or may contain it.
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
		texts := "concat_ws(' ', " + c.Texts + ")"
		found, err := e.search(ctx, t, t.db.NewSelect().TableExpr("? AS held", bun.Ident(c.TableName)).
			ColumnExpr("coalesce(to_json(held) ->> 'id', to_json(held) ->> 'chat_id', to_json(held) ->> 'item_id', '')").
			ColumnExpr("?", bun.Safe(texts)).Where("company_id = ?", t.CompanyID()).Where("?", e.mayBeIn(texts)).
			OrderExpr("1"), e.MayContain)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			ids := slices.DeleteFunc(slices.Compact(slices.Clone(found)), func(id string) bool { return id == "" })
			left = append(left, model.ErasureLeft{Table: c.TableName, Rows: int64(len(found)),
				IDs: ids[:min(len(ids), model.MaxErasedIDs)]})
		}
	}
	return left, nil
}
