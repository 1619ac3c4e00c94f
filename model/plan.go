package model

import (
	"time"

	"github.com/uptrace/bun"
)

// Plan is a company's agreement for each UTC month from Month on.
type Plan struct {
	bun.BaseModel `bun:"table:plans,alias:plan"`
	Owned

	// Month is the first day of the first month that the plan covers.
	Month           time.Time `bun:",pk,type:date"`
	Name            string
	CreditsIncluded Credits `bun:"micro_credits_included"`
	// Budget is the usage at which new simulations are refused, or nil for no budget.
	Budget *Credits `bun:"micro_credits_budget"`
}

// SetPlanInput describes a company's new plan.
type SetPlanInput struct {
	Name            string
	CreditsIncluded Credits
	Budget          *Credits
}

// NewPlan returns a plan that is valid from the month of now, or BAD_INPUT with every fault.
func NewPlan(in SetPlanInput, now time.Time) (*Plan, error) {
	var faults Fields
	faults.name("name", in.Name, 100)
	if in.CreditsIncluded < 0 {
		faults.Add("creditsIncluded", "must not be negative")
	}
	if in.Budget != nil && *in.Budget <= 0 {
		faults.Add("budget", "must be more than 0")
	}
	return &Plan{Month: MonthOf(now), Name: in.Name, CreditsIncluded: in.CreditsIncluded, Budget: in.Budget}, faults.Err()
}

// CompanySubscription is a plan with the usage of one UTC month.
type CompanySubscription struct {
	PlanName        string   `bun:"name"`
	CreditsIncluded Credits  `bun:"micro_credits_included"`
	CreditsUsed     Credits  `bun:"micro_credits_used"`
	Budget          *Credits `bun:"micro_credits_budget"`
	// PeriodStart is the beginning of the month.
	PeriodStart time.Time `bun:"-"`
}

// PeriodEnd returns the beginning of the next month.
func (s *CompanySubscription) PeriodEnd() time.Time { return s.PeriodStart.AddDate(0, 1, 0) }

// CreditsRemaining returns the included credits that are not used yet. It is never negative.
func (s *CompanySubscription) CreditsRemaining() Credits {
	if s.CreditsUsed <= 0 {
		return s.CreditsIncluded
	}
	return max(0, s.CreditsIncluded-s.CreditsUsed)
}

// Status returns Exhausted once the budget is used up.
func (s *CompanySubscription) Status() CompanySubscriptionStatus {
	if s.Budget != nil && s.CreditsUsed >= *s.Budget {
		return CompanySubscriptionStatusExhausted
	}
	return CompanySubscriptionStatusActive
}

// Warning returns a sentence once 80 % of the budget is used, otherwise "".
func (s *CompanySubscription) Warning() string {
	switch {
	case s.Budget == nil || s.CreditsUsed < *s.Budget-*s.Budget/5:
		return ""
	case s.Status() == CompanySubscriptionStatusExhausted:
		return "the budget of " + s.Budget.String() + " credits for " + MonthName(s.PeriodStart) +
			" is used up: no more simulations are started"
	}
	return s.CreditsUsed.String() + " of the " + s.Budget.String() + " credits of the budget for " +
		MonthName(s.PeriodStart) + " are used"
}
