package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/agentgraph/agentgraph/model"
)

// months is the past of a company, apart from its tests.
type months struct {
	Campaigns []campaign `json:"campaigns"`
	// DeletedAgents are agents of which only the usage is left.
	DeletedAgents []agent             `json:"deletedAgents"`
	Usage         []agentUsage        `json:"usage"`
	Plan          *model.SetPlanInput `json:"plan"`
}

func (h *months) add(part months) {
	h.Campaigns = append(h.Campaigns, part.Campaigns...)
	h.DeletedAgents = append(h.DeletedAgents, part.DeletedAgents...)
	h.Usage = append(h.Usage, part.Usage...)
	if part.Plan != nil {
		h.Plan = part.Plan
	}
}

// chance returns the source of random choices for the past. It is the same every time.
func chance() *rand.Rand { return rand.New(rand.NewPCG(14, 400)) }

// months gives the company its past, as of a given time. Its agents must already exist.
func (s seeding) months(ctx context.Context, h months, now time.Time) error {
	for _, gone := range h.DeletedAgents {
		if err := s.agent(ctx, gone); err != nil {
			return fmt.Errorf("deleted agent %s: %w", gone.Key, err)
		}
	}
	agents, err := s.agentsByKey(ctx)
	if err != nil {
		return err
	}
	random := chance()
	entries, err := usage(h.Usage, agents, random, now)
	if err != nil {
		return err
	}
	for _, c := range h.Campaigns {
		used, err := s.campaign(ctx, c, agents, random, now)
		if err != nil {
			return fmt.Errorf("campaign %s: %w", c.Name, err)
		}
		entries = append(entries, used...)
	}
	if err := s.recordUsage(ctx, entries); err != nil {
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
