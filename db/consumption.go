package db

import (
	"context"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// ConsumptionBreakdown sums the usage between two bounds along the axes. Campaigns are listed under their agents.
func (t *Tenant) ConsumptionBreakdown(ctx context.Context, from, to model.DateBound,
	axes model.ConsumptionAxes) (*model.ConsumptionBreakdown, error) {
	r, err := model.NewConsumptionRange(from, to)
	if err != nil {
		return nil, err
	}
	sums, err := t.sums(ctx, r, axes)
	if err != nil {
		return nil, err
	}
	b := &model.ConsumptionBreakdown{PeriodFrom: r.From, PeriodTo: r.To()}
	b.ByChannel = model.NewChannelConsumption()
	if axes.Months {
		for _, month := range r.TouchedMonths() {
			b.ByMonth = append(b.ByMonth, &model.MonthConsumption{Month: model.MonthName(month),
				ByChannel: model.NewChannelConsumption()})
		}
	}
	if axes.Days {
		for _, day := range r.TouchedDays() {
			b.ByDay = append(b.ByDay, &model.DayConsumption{Day: day.Format(time.DateOnly),
				ByChannel: model.NewChannelConsumption()})
		}
	}
	for _, sum := range sums {
		switch channel := slices.Index(model.AllChannel, sum.Channel); {
		case sum.Axis == axisTotal:
			b.TotalCredits = sum.Credits
		case sum.Axis == axisChannel && axes.Channels:
			b.ByChannel[channel].Credits = sum.Credits
		case sum.Axis == axisMonth && axes.Months:
			b.ByMonth[sum.Month-1].Credits = sum.Credits
		case sum.Axis == axisMonthChannel && axes.Months && axes.Channels:
			b.ByMonth[sum.Month-1].ByChannel[channel].Credits = sum.Credits
		case sum.Axis == axisDay && axes.Days:
			b.ByDay[sum.Day-1].Credits = sum.Credits
		case sum.Axis == axisDayChannel && axes.Days && axes.Channels:
			b.ByDay[sum.Day-1].ByChannel[channel].Credits = sum.Credits
		}
	}
	if !axes.Agents {
		return b, nil
	}
	b.ByAgent = consumptionByAgent(sums)
	return b, t.setNameStatus(ctx, b.ByAgent)
}

type usageSum struct {
	Axis       int
	Month, Day int // months and days of the range, numbered from 1
	Channel    model.Channel
	AgentID    string
	CampaignID string
	Credits    model.Credits `bun:"micro_credits"`
}

// Bits of usageSum.Axis: a bit is set if the sum covers all months, days, channels, agents or campaigns.
const (
	axisTotal        = 0b11111
	axisMonth        = 0b01111
	axisMonthChannel = 0b01011
	axisDay          = 0b10111
	axisDayChannel   = 0b10011
	axisChannel      = 0b11011
	axisAgent        = 0b11101
	axisCampaign     = 0b11100
)

// sums adds up the range along the axes in one statement, the most credits first. An axis that is not wanted has the
// same value in all rows. The result also has the sum for that value, which the caller ignores.
func (t *Tenant) sums(ctx context.Context, r model.ConsumptionRange, axes model.ConsumptionAxes) ([]*usageSum, error) {
	sums := []*usageSum{}
	cell := t.db.NewSelect().TableExpr("(?) AS used", t.used(r, axes.Days)).
		ColumnExpr("sum(micro_credits) AS micro_credits").Having("sum(entries) > 0")
	apart := func(isWanted bool, name, none, value string, args ...any) {
		if !isWanted {
			cell = cell.ColumnExpr("? AS ?", bun.Safe(none), bun.Ident(name))
			return
		}
		cell = cell.ColumnExpr(value+" AS ?", append(args, bun.Ident(name))...).GroupExpr(value, args...)
	}
	apart(axes.Months, "month", "0", "width_bucket(day, ?::date[])", pgdialect.Array(dates(r.TouchedMonths())))
	apart(axes.Days, "day", "0", "used.day - ?::date + 1", r.From.Format(time.DateOnly))
	apart(axes.Channels, "channel", "''", "channel")
	apart(axes.Agents, "agent_id", "''", "agent_id")
	apart(axes.Agents && axes.Campaigns, "campaign_id", "''", "campaign_id")
	// A cell is the usage for one value of each wanted axis. There are few cells, so summing them several times is fast.
	err := t.db.NewRaw(`
		WITH cell AS MATERIALIZED (?)
		SELECT GROUPING(month, day, channel, agent_id, campaign_id) AS axis, month, day, channel, agent_id, campaign_id,
			COALESCE(sum(micro_credits), 0)::bigint AS micro_credits
		FROM cell GROUP BY GROUPING SETS ((), (month), (month, channel), (day), (day, channel), (channel), (agent_id),
			(agent_id, campaign_id))
		ORDER BY micro_credits DESC, agent_id COLLATE "C", campaign_id COLLATE "C"`, cell).Scan(ctx, &sums)
	return sums, err
}

// used selects day, channel, agent, campaign, credits and entries of the range. Whole months and whole days come from
// their sums, and parts of a day from the ledger. For a month that is mostly in the range, it selects the whole month
// and subtracts the rest. If byDay is set, it does not use the sums of months.
func (t *Tenant) used(r model.ConsumptionRange, byDay bool) *bun.SelectQuery {
	first, end := r.Days()
	if first.After(end) {
		return t.usedOfDay(r.From, r.End)
	}
	query := t.usedOfDays(first, end, added)
	if month, last := r.Months(); month.Before(last) && !byDay {
		before, after := t.usedOfDays(first, month, added), t.usedOfDays(last, end, added)
		if begin := model.MonthOf(first); first.Sub(begin) < month.Sub(first) {
			before, month = t.usedOfDays(begin, first, subtractedUsage), begin
		}
		if next := last.AddDate(0, 1, 0); next.Sub(end) < end.Sub(last) {
			after, last = t.usedOfDays(end, next, subtractedUsage), next
		}
		months := t.db.Select((*model.UsageMonth)(nil)).ColumnExpr("month AS day, "+added).
			Where("month >= ?", month.Format(time.DateOnly)).Where("month < ?", last.Format(time.DateOnly))
		query = months.UnionAll(before).UnionAll(after)
	}
	if r.From.Before(first) {
		query = query.UnionAll(t.usedOfDay(r.From, first))
	}
	if end.Before(r.End) {
		query = query.UnionAll(t.usedOfDay(end, r.End))
	}
	return query
}

const (
	usedBy          = "channel, agent_id, campaign_id, "
	added           = usedBy + "micro_credits, entries"
	subtractedUsage = usedBy + "-micro_credits AS micro_credits, -entries AS entries"
)

// usedOfDays selects the whole days from the first until, but not including, the end.
func (t *Tenant) usedOfDays(first, end time.Time, columns string) *bun.SelectQuery {
	return t.db.Select((*model.UsageDay)(nil)).ColumnExpr("day, "+columns).
		Where("day >= ?", first.Format(time.DateOnly)).Where("day < ?", end.Format(time.DateOnly))
}

// usedOfDay selects entries from a time until, but not including, end.
func (t *Tenant) usedOfDay(from, end time.Time) *bun.SelectQuery {
	return t.db.Select((*model.UsageEntry)(nil)).ColumnExpr("(at AT TIME ZONE 'UTC')::date AS day, "+usedBy+
		"micro_credits, 1 AS entries").
		Where("at >= ?", from).Where("at < ?", end)
}

func dates(days []time.Time) []string {
	return model.Map(days, func(day time.Time) string { return day.Format(time.DateOnly) })
}

// consumptionByAgent returns the agents of the sums with their campaigns, in the order of the sums.
func consumptionByAgent(sums []*usageSum) []*model.AgentConsumption {
	agents := []*model.AgentConsumption{}
	byID := map[string]*model.AgentConsumption{}
	for _, sum := range sums {
		if sum.Axis == axisAgent {
			agent := &model.AgentConsumption{AgentID: sum.AgentID, Credits: sum.Credits,
				Campaigns: []*model.CampaignConsumption{}}
			byID[sum.AgentID] = agent
			agents = append(agents, agent)
		}
	}
	campaigns := []*model.CampaignConsumption{}
	for _, sum := range sums {
		if sum.Axis == axisCampaign && sum.CampaignID != "" {
			campaign := &model.CampaignConsumption{CampaignID: sum.CampaignID, Credits: sum.Credits}
			byID[sum.AgentID].Campaigns = append(byID[sum.AgentID].Campaigns, campaign)
			campaigns = append(campaigns, campaign)
		}
	}
	pg.JoinBatch(campaigns)
	return pg.JoinBatch(agents)
}

// setNameStatus sets whether agents and campaigns exist, existed, or never did.
func (t *Tenant) setNameStatus(ctx context.Context, agents []*model.AgentConsumption) error {
	var agentIDs, campaignIDs []string
	for _, agent := range agents {
		agentIDs = append(agentIDs, agent.AgentID)
		for _, campaign := range agent.Campaigns {
			campaignIDs = append(campaignIDs, campaign.CampaignID)
		}
	}
	status, err := t.nameStatus(ctx, map[string][]string{typeAgent: agentIDs, typeCampaign: campaignIDs})
	for _, agent := range agents {
		agent.NameStatus = status(typeAgent, agent.AgentID)
		for _, campaign := range agent.Campaigns {
			campaign.NameStatus = status(typeCampaign, campaign.CampaignID)
		}
	}
	return err
}
