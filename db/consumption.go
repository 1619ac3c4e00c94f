package db

import (
	"context"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/model"
)

// ConsumptionBreakdown sums up the usage between two bounds along each axis.
func (t *Tenant) ConsumptionBreakdown(ctx context.Context, from, to model.DateBound) (*model.ConsumptionBreakdown, error) {
	r, err := model.NewConsumptionRange(from, to)
	if err != nil {
		return nil, err
	}
	sums, err := t.sums(ctx, r)
	if err != nil {
		return nil, err
	}
	b := &model.ConsumptionBreakdown{PeriodFrom: r.From, PeriodTo: r.To()}
	byChannel := map[model.Channel]*model.ChannelConsumption{}
	for _, channel := range model.AllChannel {
		byChannel[channel] = &model.ChannelConsumption{Channel: channel}
		b.ByChannel = append(b.ByChannel, byChannel[channel])
	}
	for _, month := range r.Touched() {
		b.ByMonth = append(b.ByMonth, &model.MonthConsumption{Month: model.MonthName(month)})
	}
	for _, sum := range sums {
		switch sum.Axis {
		case axisTotal:
			b.TotalCredits = sum.Credits
		case axisMonth:
			b.ByMonth[sum.Month-1].Credits = sum.Credits
		case axisChannel:
			byChannel[sum.Channel].Credits = sum.Credits
		}
	}
	b.ByAgent = agentsOf(sums)
	return b, t.setNameStatus(ctx, b.ByAgent)
}

// usageSum is the sum of one value of an axis.
type usageSum struct {
	Axis       int
	Month      int // counted from 1
	Channel    model.Channel
	AgentID    string
	CampaignID string
	Credits    model.Credits `bun:"micro_credits"`
}

// Values of usageSum.Axis: a bit for each of month, channel, agent and campaign that is not told apart.
const (
	axisTotal    = 0b1111
	axisMonth    = 0b0111
	axisChannel  = 0b1011
	axisAgent    = 0b1101
	axisCampaign = 0b1100
)

// sums adds up the range along all axes in one statement, of which the most credits come first.
func (t *Tenant) sums(ctx context.Context, r model.ConsumptionRange) ([]*usageSum, error) {
	sums := []*usageSum{}
	// Month by month first: that leaves few rows to add up along several axes.
	err := t.db.NewRaw(`
		WITH cell AS MATERIALIZED (
			SELECT width_bucket(day, ?::date[]) AS month, channel, agent_id, campaign_id, sum(micro_credits) AS micro_credits
			FROM (?) AS used GROUP BY 1, 2, 3, 4
		)
		SELECT GROUPING(month, channel, agent_id, campaign_id) AS axis, month, channel, agent_id, campaign_id,
			COALESCE(sum(micro_credits), 0)::bigint AS micro_credits
		FROM cell GROUP BY GROUPING SETS ((), (month), (channel), (agent_id), (agent_id, campaign_id))
		ORDER BY micro_credits DESC, agent_id, campaign_id`,
		pgdialect.Array(dates(r.Touched())), t.used(r)).Scan(ctx, &sums)
	return sums, translate(err)
}

// used selects day, channel, agent, campaign and credits of the range: whole months and other whole days from their
// sums, and only what the range has of a day from the ledger.
func (t *Tenant) used(r model.ConsumptionRange) *bun.SelectQuery {
	first, end := r.Days()
	if first.After(end) {
		return t.usedOfDay(r.From, r.End)
	}
	query := t.usedOfDays(first, end)
	if month, last := r.Months(); month.Before(last) {
		months := t.find((*model.UsageMonth)(nil)).ColumnExpr("month AS day, "+usedColumns).
			Where("month >= ?", month.Format(time.DateOnly)).Where("month < ?", last.Format(time.DateOnly))
		query = months.UnionAll(t.usedOfDays(first, month)).UnionAll(t.usedOfDays(last, end))
	}
	if r.From.Before(first) {
		query = query.UnionAll(t.usedOfDay(r.From, first))
	}
	if end.Before(r.End) {
		query = query.UnionAll(t.usedOfDay(end, r.End))
	}
	return query
}

const usedColumns = "channel, agent_id, campaign_id, micro_credits"

// usedOfDays selects whole days, up to and without the end.
func (t *Tenant) usedOfDays(first, end time.Time) *bun.SelectQuery {
	return t.find((*model.UsageDay)(nil)).ColumnExpr("day, "+usedColumns).
		Where("day >= ?", first.Format(time.DateOnly)).Where("day < ?", end.Format(time.DateOnly))
}

// usedOfDay selects entries, up to and without the end.
func (t *Tenant) usedOfDay(from, end time.Time) *bun.SelectQuery {
	return t.find((*model.UsageEntry)(nil)).ColumnExpr("(at AT TIME ZONE 'UTC')::date AS day, "+usedColumns).
		Where("at >= ?", from).Where("at < ?", end)
}

func dates(days []time.Time) []string {
	texts := make([]string, len(days))
	for i, day := range days {
		texts[i] = day.Format(time.DateOnly)
	}
	return texts
}

// agentsOf returns the agents of the sums with their campaigns, in the order of the sums.
func agentsOf(sums []*usageSum) []*model.AgentConsumption {
	agents := []*model.AgentConsumption{}
	byID := map[string]*model.AgentConsumption{}
	for _, sum := range sums {
		if sum.Axis == axisAgent {
			agent := &model.AgentConsumption{AgentID: sum.AgentID, Credits: sum.Credits, Campaigns: []*model.CampaignConsumption{}}
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
	together(campaigns)
	return together(agents)
}

// setNameStatus tells which agents and campaigns exist, existed, or never did.
func (t *Tenant) setNameStatus(ctx context.Context, agents []*model.AgentConsumption) error {
	var agentIDs, campaignIDs []string
	for _, agent := range agents {
		agentIDs = append(agentIDs, agent.AgentID)
		for _, campaign := range agent.Campaigns {
			campaignIDs = append(campaignIDs, campaign.CampaignID)
		}
	}
	status, err := t.nameStatus(ctx, map[string][]string{nounAgent: agentIDs, nounCampaign: campaignIDs})
	for _, agent := range agents {
		agent.NameStatus = status(nounAgent, agent.AgentID)
		for _, campaign := range agent.Campaigns {
			campaign.NameStatus = status(nounCampaign, campaign.CampaignID)
		}
	}
	return err
}
