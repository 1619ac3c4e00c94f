package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/agentgraph/agentgraph/model"
)

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
