package admin

import (
	"context"
	"time"

	"github.com/alecthomas/kong"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// Plan manages the plans of companies.
type Plan struct {
	Set   planSet   `cmd:"" help:"Set the plan, from the current month on." example:"agentgraph plan set --company \"Your company\" --name Team --credits 10000 --budget 12000"`
	Show  planShow  `cmd:"" help:"Show the plan and how much of it is used." example:"agentgraph plan show --company \"Your company\""`
	List  planList  `cmd:"" help:"List every company with its plan and how much of it is used." example:"agentgraph plan list --json"`
	Clear planClear `cmd:"" help:"Remove the plan, and the budget with it." example:"agentgraph plan clear --company \"Your company\""`
}

type planSet struct {
	companyFlag
	outputFlag
	Name    string         `env:"AGENTGRAPH_PLAN_NAME" required:"" help:"The name of the plan."`
	Credits model.Credits  `env:"AGENTGRAPH_PLAN_CREDITS" required:"" placeholder:"CREDITS" help:"Credits per UTC month."`
	Budget  *model.Credits `env:"AGENTGRAPH_PLAN_BUDGET" placeholder:"CREDITS" help:"Once so many credits are used in a month, no more simulations and test executions start. Default: no budget."`
}

// Run sets the plan and shows it.
func (c *planSet) Run(ctx context.Context, cli *kong.Context) error {
	return withStore(ctx, c.DatabaseURL, func(store *db.Store) error {
		tenant, err := c.tenant(ctx, store)
		if err != nil {
			return err
		}
		if err := tenant.SetPlan(ctx, model.SetPlanInput{Name: c.Name, CreditsIncluded: c.Credits, Budget: c.Budget}); err != nil {
			return err
		}
		return showPlan(ctx, cli, tenant, c.outputFlag)
	})
}

type planShow struct {
	companyFlag
	outputFlag
}

// Run prints the plan.
func (c *planShow) Run(ctx context.Context, cli *kong.Context) error {
	return withStore(ctx, c.DatabaseURL, func(store *db.Store) error {
		tenant, err := c.tenant(ctx, store)
		if err != nil {
			return err
		}
		return showPlan(ctx, cli, tenant, c.outputFlag)
	})
}

type planClear struct {
	companyFlag
	outputFlag
}

// Run removes the plan.
func (c *planClear) Run(ctx context.Context, cli *kong.Context) error {
	return withStore(ctx, c.DatabaseURL, func(store *db.Store) error {
		tenant, err := c.tenant(ctx, store)
		if err != nil {
			return err
		}
		if err := tenant.ClearPlan(ctx); err != nil {
			return err
		}
		return showPlan(ctx, cli, tenant, c.outputFlag)
	})
}

// planShown is a plan, and how much of it is used.
type planShown struct {
	Plan      string         `json:"plan"`
	Status    string         `json:"status"`
	Month     string         `json:"month"`
	Included  model.Credits  `json:"included"`
	Used      model.Credits  `json:"used"`
	Remaining model.Credits  `json:"remaining"`
	Budget    *model.Credits `json:"budget"`
}

// planOf returns nil without a plan.
func planOf(s *model.CompanySubscription) *planShown {
	if s == nil {
		return nil
	}
	return &planShown{s.PlanName, string(s.Status()), model.MonthName(s.PeriodStart), s.CreditsIncluded, s.CreditsUsed, s.CreditsRemaining(), s.Budget}
}

func showPlan(ctx context.Context, cli *kong.Context, tenant *db.Tenant, output outputFlag) error {
	s, err := tenant.Subscription(ctx, time.Now())
	if err != nil {
		return err
	}
	plan := planOf(s)
	if plan == nil {
		return output.print(cli.Stdout, plan, [][]string{{"no plan, and no budget"}})
	}
	return output.print(cli.Stdout, plan, [][]string{
		{"plan", plan.Plan},
		{"status", plan.Status},
		{"month", plan.Month},
		{"included", plan.Included.String()},
		{"used", plan.Used.String()},
		{"remaining", plan.Remaining.String()},
		{"budget", budgetOf(s)},
	})
}

func budgetOf(s *model.CompanySubscription) string {
	if s.Budget == nil {
		return "none"
	}
	return s.Budget.String()
}

type planList struct {
	DatabaseFlag
	outputFlag
}

// Run prints one line for each company, oldest first.
func (c *planList) Run(ctx context.Context, cli *kong.Context) error {
	return withStore(ctx, c.DatabaseURL, func(store *db.Store) error {
		type companyPlan struct {
			Company string     `json:"company"`
			Name    string     `json:"name"`
			Plan    *planShown `json:"plan"`
		}
		shown, table := []companyPlan{}, [][]string{}
		err := eachSubscription(ctx, store, func(company *model.Company, s *model.CompanySubscription) {
			line := []string{company.ID, company.Name, "no plan"}
			if s != nil {
				line = append(line[:2], s.PlanName, string(s.Status()), s.CreditsUsed.String()+" used", s.CreditsIncluded.String()+" included", "budget "+budgetOf(s))
			}
			shown, table = append(shown, companyPlan{company.ID, company.Name, planOf(s)}), append(table, line)
		})
		if err != nil {
			return err
		}
		return c.print(cli.Stdout, shown, table)
	})
}

// BudgetWarnings returns a line for each company whose budget is nearly used up.
func BudgetWarnings(ctx context.Context, store *db.Store) ([]string, error) {
	var warnings []string
	err := eachSubscription(ctx, store, func(company *model.Company, s *model.CompanySubscription) {
		if s != nil && s.Warning() != "" {
			warnings = append(warnings, company.Name+": "+s.Warning())
		}
	})
	return warnings, err
}

// eachSubscription calls fn with every company and its plan, nil for none.
func eachSubscription(ctx context.Context, store *db.Store, fn func(*model.Company, *model.CompanySubscription)) error {
	companies, err := store.Companies(ctx)
	if err != nil {
		return err
	}
	for _, company := range companies {
		s, err := store.Tenant(company.ID).Subscription(ctx, time.Now())
		if err != nil {
			return err
		}
		fn(company, s)
	}
	return nil
}
