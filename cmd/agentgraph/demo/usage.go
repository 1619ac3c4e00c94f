package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/agentgraph/agentgraph/model"
)

// agentUsage is the usage of an agent outside campaigns.
type agentUsage struct {
	AgentID string `json:"agentId"`
	// PerDay is the credits of an average weekday at the end of the period.
	PerDay float64 `json:"perDay"`
	// Weekend is the factor for a Saturday or Sunday.
	Weekend float64 `json:"weekend"`
	// Seasons are the factors for January, February and so on.
	Seasons [12]float64 `json:"seasons"`
	// LastDaysAgo is when the agent was last used, in days before now.
	LastDaysAgo int `json:"lastDaysAgo"`
}

const (
	// usageMonths is how many calendar months have usage, including the current one.
	usageMonths = 14
	// firstUsage is the usage at the beginning, as a share of the usage at the end.
	firstUsage = 0.6
)

// usage returns an entry for each agent and day until the agent was last used.
func usage(all []agentUsage, agents map[string]*model.Agent, random *rand.Rand,
	now time.Time) ([]*model.UsageEntryInput, error) {
	begin := model.MonthOf(now).AddDate(0, 1-usageMonths, 0)
	var entries []*model.UsageEntryInput
	for _, u := range all {
		agent, known := agents[u.AgentID]
		if !known {
			return nil, fmt.Errorf("usage: there is no agent with the key %q", u.AgentID)
		}
		last := now.AddDate(0, 0, -u.LastDaysAgo)
		for day := begin; day.Before(last); day = day.AddDate(0, 0, 1) {
			at := day.Add(span(random, 8*time.Hour, 20*time.Hour)).Truncate(time.Millisecond)
			grown := firstUsage + (1-firstUsage)*float64(day.Sub(begin))/float64(now.Sub(begin))
			hundredths := u.creditsOn(day) * grown * (0.8 + 0.4*random.Float64()) * 100
			if at.After(last) {
				continue
			}
			entries = append(entries, &model.UsageEntryInput{
				IdempotencyKey: fmt.Sprintf("demo:day:%s:%s", u.AgentID, day.Format(time.DateOnly)),
				AgentID:        agent.ID, Channel: agent.Channel, At: at,
				Credits: model.Credits(hundredths) * (model.Credit / 100),
			})
		}
	}
	return entries, nil
}

// creditsOn returns the credits of a day before growth is applied.
func (u agentUsage) creditsOn(day time.Time) float64 {
	credits := u.PerDay * u.Seasons[day.Month()-1]
	if weekday := day.Weekday(); weekday == time.Saturday || weekday == time.Sunday {
		credits *= u.Weekend
	}
	return credits
}

func (s seeding) recordUsage(ctx context.Context, entries []*model.UsageEntryInput) error {
	for batch := range slices.Chunk(entries, model.MaxUsageEntries) {
		if _, err := s.tenant.RecordUsage(ctx, model.RecordUsageInput{Entries: batch}); err != nil {
			return fmt.Errorf("usage: %w", err)
		}
	}
	return nil
}

// span returns a random duration of at least least and less than end.
func span(random *rand.Rand, least, end time.Duration) time.Duration {
	return least + time.Duration(random.Int64N(int64(end-least)))
}

// companyHistory is the past of a company, without its tests.
type companyHistory struct {
	Campaigns []campaign `json:"campaigns"`
	// DeletedAgents are agents that were deleted. Only their usage remains.
	DeletedAgents []agent             `json:"deletedAgents"`
	Usage         []agentUsage        `json:"usage"`
	Plan          *model.SetPlanInput `json:"plan"`
}

// chance returns a random source with a fixed seed, so that the past is the same every time.
func chance() *rand.Rand { return rand.New(rand.NewPCG(14, 400)) }

// pastMonths is an invented past that is not written yet.
type pastMonths struct {
	campaigns []*dialer
	entries   []*model.UsageEntryInput
}

// invent invents the past of the agents, relative to now.
func (h companyHistory) invent(agents map[string]*model.Agent, now time.Time) (past pastMonths, err error) {
	random := chance()
	if past.entries, err = usage(h.Usage, agents, random, now); err != nil {
		return past, err
	}
	for _, c := range h.Campaigns {
		agent, known := agents[c.AgentID]
		if !known {
			return past, fmt.Errorf("campaign %s: there is no agent with the key %q", c.Name, c.AgentID)
		}
		d, err := c.inventHistory(agent, random, now)
		if err != nil {
			return past, fmt.Errorf("campaign %s: %w", c.Name, err)
		}
		past.campaigns, past.entries = append(past.campaigns, d), append(past.entries, d.entries...)
	}
	return past, nil
}

// writeHistory writes the past of the company, and deletes the agents that should no longer exist.
func (s seeding) writeHistory(ctx context.Context, h companyHistory, past pastMonths) error {
	for _, d := range past.campaigns {
		if err := s.tenant.ImportCampaign(ctx, d.campaign, d.items, d.events); err != nil {
			return fmt.Errorf("campaign %s: %w", d.campaign.Name, err)
		}
	}
	if err := s.recordUsage(ctx, past.entries); err != nil {
		return err
	}
	if h.Plan != nil {
		if err := s.tenant.SetPlan(ctx, *h.Plan); err != nil {
			return fmt.Errorf("plan: %w", err)
		}
	}
	for _, gone := range h.DeletedAgents {
		if err := s.tenant.DeleteAgent(ctx, s.agents[gone.Key]); err != nil {
			return fmt.Errorf("deleted agent %s: %w", gone.Key, err)
		}
	}
	return nil
}
