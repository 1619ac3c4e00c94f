package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// countedStates are the states of items in the order of a campaign's counters. The first half of the counters counts
// items that are not archived, the second half archived ones.
var countedStates = []model.CampaignItemStatus{
	model.CampaignItemStatusPending, model.CampaignItemStatusCalling, model.CampaignItemStatusProcessingResult,
	model.CampaignItemStatusProcessed, model.CampaignItemStatusError,
}

// counterIndex returns the index of the counter that counts the item, from 1 as in Postgres arrays.
func counterIndex(item *model.CampaignItem) int {
	place := slices.Index(countedStates, item.RunningStatus) + 1
	if item.IsArchived {
		place += len(countedStates)
	}
	return place
}

const (
	// countersVersion is the campaign version for which the counters were last correct.
	countersVersion = "coalesce(counted_at, 0)"
	// countersAreCurrent is true if a campaign's counters are correct: no older program, which does not maintain counters,
	// has changed the campaign or its items since.
	countersAreCurrent = countersVersion + " = version + coalesce(revision, 0)"
)

// counterDeltas is how much each counter changes, by its index.
type counterDeltas map[int]int

// countItems counts n more for each item: 1 for an added item, -1 for a removed one.
func (c counterDeltas) countItems(n int, items ...*model.CampaignItem) counterDeltas {
	for _, item := range items {
		c[counterIndex(item)] += n
	}
	return c
}

// saveCounters adds the counters to an update of a campaign. The argument higher is the increase of its version or
// revision.
func (c counterDeltas) saveCounters(change *bun.UpdateQuery, higher int) *bun.UpdateQuery {
	return setCounters(change, higher, func(place int) any { return c[place] })
}

func setCounters(change *bun.UpdateQuery, higher int, by func(place int) any) *bun.UpdateQuery {
	counters, values := make([]string, 2*len(countedStates)), make([]any, 2*len(countedStates))
	for i := range counters {
		counters[i], values[i] = fmt.Sprintf("coalesce(item_counts[%d], 0) + (?)", i+1), by(i+1)
	}
	return change.Set("item_counts = ARRAY["+strings.Join(counters, ", ")+"]::int[]", values...).
		Set("counted_at = CASE WHEN "+countersAreCurrent+" THEN "+countersVersion+" + ? ELSE counted_at END", higher)
}

// countItems is a query that counts the items of a campaign from their rows, in the order of its counters.
var countItems = func() string {
	counts := []string{}
	for _, archived := range []string{"NOT item.is_archived", "item.is_archived"} {
		for _, state := range countedStates {
			counts = append(counts, fmt.Sprintf("count(*) FILTER (WHERE item.running_status = '%s' AND %s)", state, archived))
		}
	}
	return "SELECT ARRAY[" + strings.Join(counts, ", ") + "]::int[] FROM campaign_items AS item WHERE item.company_id = " +
		"?0 AND item.campaign_id = campaign.id"
}()

// recountItems counts the items of locked campaigns again. Nothing changes items while their campaign is locked.
func (t tenantTx) recountItems(ctx context.Context, campaignIDs ...string) error {
	_, err := t.db.NewRaw("UPDATE campaigns AS campaign SET counted_at = version + coalesce(revision, 0), item_counts = ("+
		countItems+`)
		WHERE campaign.company_id = ?0 AND campaign.id IN (?1)`, t.CompanyID(), bun.List(campaignIDs)).Exec(ctx)
	return err
}

// recountCampaigns counts the items of some campaigns whose counters are outdated, because an older program changed
// them. It handles one campaign after the other.
func (s *Store) recountCampaigns(ctx context.Context) error {
	campaigns, err := queryAllCompanies[rowRef](ctx, s, func(ofCompany func(string) pg.Selection) scanner {
		return s.db.Program().NewSelect().Model((*model.Campaign)(nil)).Column("company_id", "id").
			Where("NOT (" + countersAreCurrent + ")").Where("deleted_at IS NULL").
			Apply(ofCompany("?TableAlias.company_id")).Limit(campaignsPerSweep)
	})
	errs := make([]error, len(campaigns))
	for i, c := range campaigns {
		errs[i] = s.Tenant(c.CompanyID).inTx(ctx, func(ctx context.Context, t tenantTx) error {
			if _, err := t.lockCampaign(ctx, c.ID, forUpdate); pg.IsMissing(err) {
				return nil
			} else if err != nil {
				return err
			}
			return t.recountItems(ctx, c.ID)
		})
	}
	return errors.Join(append(errs, err)...)
}

// campaignsPerSweep bounds the campaigns that are counted before the sweep looks for lost workers again.
const campaignsPerSweep = 10

// CountsOfCampaigns returns the number of items in each state, without archived ones, by the campaign's id. Campaigns
// without such items are left out. The numbers are exact. They come from the campaigns' counters, or from the items
// while the counters are outdated.
func (t *Tenant) CountsOfCampaigns(ctx context.Context, ids []string) (map[string]*model.CampaignItemCounts, error) {
	rows := []struct {
		ID     string
		Counts []int32 `bun:",array"`
	}{}
	err := t.db.NewRaw(`SELECT campaign.id, CASE WHEN `+countersAreCurrent+` THEN item_counts ELSE (`+countItems+`) END AS counts
		FROM campaigns AS campaign WHERE campaign.company_id = ?0 AND campaign.id IN
			(?1)`, t.CompanyID(), bun.List(ids)).Scan(ctx, &rows)
	counts := make(map[string]*model.CampaignItemCounts, len(rows))
	for _, row := range rows {
		kept := make([]int32, len(countedStates))
		copy(kept, row.Counts)
		total := &model.CampaignItemCounts{Pending: kept[0], Calling: kept[1], ProcessingResult: kept[2], Processed: kept[3],
			Error: kept[4]}
		for _, n := range kept {
			total.Total += n
		}
		if total.Total > 0 {
			counts[row.ID] = total
		}
	}
	return counts, err
}

// counterConditions maps conditions of lists of items to conditions on a campaign's counters. In the query of
// countByCounters, kept.place is the index of a counter.
var counterConditions = map[string]string{
	"?TableAlias.campaign_id = ?": "campaign.id = ?",
	"?TableAlias.running_status = ?": "(ARRAY['" + strings.Join(namesOf(countedStates), "', '") +
		"'])[1 + (kept.place - 1) % " + fmt.Sprint(len(countedStates)) + "] = ?",
	"?TableAlias.is_archived = ?": "(kept.place > " + fmt.Sprint(len(countedStates)) + ") = ?",
}

func namesOf[S fmt.Stringer](values []S) []string {
	return model.Map(values, func(value S) string { return value.String() })
}

// countByCounters counts items by the counters of their campaign if these suffice for the filter. The counters are
// NULL while they are outdated; only then are rows counted.
func countByCounters(c pg.Count) *bun.SelectQuery {
	kept := bun.NewSelectQuery(c.Rows.DB()).TableExpr("unnest(campaign.item_counts) WITH ORDINALITY AS kept (n, place)").
		ColumnExpr("coalesce(sum(kept.n), 0)::int")
	campaign := bun.NewSelectQuery(c.Rows.DB()).TableExpr("campaigns AS campaign").
		Where("campaign.company_id = ?", c.Company).Where(countersAreCurrent)
	isOfOne := c.List.Of != ""
	if isOfOne {
		campaign = campaign.Where("campaign.id = ?", c.Parent)
	}
	for i, filter := range c.Filter {
		condition := counterConditions[filter.SQL]
		switch {
		case condition == "":
			return c.Rows
		case strings.HasPrefix(condition, "campaign."):
			isOfOne = true
			campaign = campaign.Where(condition, c.Values[i])
		default:
			kept = kept.Where(condition, c.Values[i])
		}
	}
	if !isOfOne {
		return c.Rows
	}
	return bun.NewSelectQuery(c.Rows.DB()).ColumnExpr("coalesce((?), (?))", campaign.ColumnExpr("(?)", kept), c.Rows)
}
