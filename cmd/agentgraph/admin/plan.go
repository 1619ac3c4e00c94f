package admin

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

type planSet struct {
	companyFlag
	cli.OutputFlag
	Name    string
	Credits model.Credits
	Budget  *model.Credits
}

func newPlanSet() *cobra.Command {
	c := &planSet{}
	return cli.New(c, &cobra.Command{
		Use: "set", Short: "Set the plan, from the current month on.",
		Example: `agentgraph plan set --company "Your company" --name Team --credits 10000 --budget 12000`,
	}, nil, &c.companyFlag, &c.OutputFlag, cli.Flags{
		{Into: &c.Name, Name: "name", Required: true, Help: "The name of the plan."},
		{Into: c.setCredits, Name: "credits", Required: true, Placeholder: "CREDITS", Help: "Credits per UTC month."},
		{Into: c.setBudget, Name: "budget", Placeholder: "CREDITS", Help: "Once a month's usage reaches this many " +
			"credits, no more simulations and test executions start. Default: no budget."},
	})
}

func (c *planSet) setCredits(text string) error {
	err := c.Credits.UnmarshalText([]byte(text))
	if err == nil && c.Credits < 0 {
		err = errors.New("must not be negative")
	}
	return err
}

func (c *planSet) setBudget(text string) error {
	c.Budget = new(model.Credits)
	err := c.Budget.UnmarshalText([]byte(text))
	if err == nil && *c.Budget <= 0 {
		err = errors.New("must be more than 0")
	}
	return err
}

func (c *planSet) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	return c.withTenant(ctx, nil, func(tenant *db.Tenant) error {
		if err := tenant.SetPlan(ctx, model.SetPlanInput{Name: c.Name, CreditsIncluded: c.Credits,
			Budget: c.Budget}); err != nil {
			return err
		}
		return showPlan(ctx, cmd, tenant, c.OutputFlag)
	})
}

func newPlanShow() *cobra.Command {
	c := &companyCommand{do: showPlan}
	return cli.New(c, &cobra.Command{
		Use: "show", Short: "Show the plan and how much of it is used.",
		Example: `agentgraph plan show --company "Your company"`,
	}, nil, &c.companyFlag, &c.OutputFlag)
}

func newPlanClear() *cobra.Command {
	c := &companyCommand{do: clearPlan}
	return cli.New(c, &cobra.Command{
		Use: "clear", Short: "Remove the plan, and the budget with it.",
		Example: `agentgraph plan clear --company "Your company"`,
	}, nil, &c.companyFlag, &c.OutputFlag)
}

func clearPlan(ctx context.Context, cmd *cobra.Command, tenant *db.Tenant, output cli.OutputFlag) error {
	if err := tenant.ClearPlan(ctx); err != nil {
		return err
	}
	return showPlan(ctx, cmd, tenant, output)
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

func planOf(s *model.CompanySubscription) *planShown {
	if s == nil {
		return nil
	}
	return &planShown{s.PlanName, string(s.Status()), model.MonthName(s.PeriodStart), s.CreditsIncluded, s.CreditsUsed,
		s.CreditsRemaining(), s.Budget}
}

func showPlan(ctx context.Context, cmd *cobra.Command, tenant *db.Tenant, output cli.OutputFlag) error {
	s, err := tenant.Subscription(ctx, time.Now())
	if err != nil {
		return err
	}
	plan := planOf(s)
	if plan == nil {
		return output.Print(cmd.OutOrStdout(), plan, [][]string{{"no plan, and no budget"}})
	}
	return output.Print(cmd.OutOrStdout(), plan, [][]string{
		{"plan", client.Printable(plan.Plan)},
		{"status", plan.Status},
		{"month", plan.Month},
		{"included", plan.Included.String()},
		{"used", plan.Used.String()},
		{"remaining", plan.Remaining.String()},
		{"budget", formatBudget(s)},
	})
}

func formatBudget(s *model.CompanySubscription) string {
	if s.Budget == nil {
		return "none"
	}
	return s.Budget.String()
}

type planList struct {
	DatabaseFlag
	cli.OutputFlag
}

func newPlanList() *cobra.Command {
	c := &planList{}
	return cli.New(c, &cobra.Command{
		Use: "list", Short: "List every company with its plan and how much of it is used.",
		Example: "agentgraph plan list --json",
	}, nil, &c.DatabaseFlag, &c.OutputFlag)
}

// Run prints one line for each company, oldest first.
func (c *planList) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	return withStore(ctx, c.DatabaseFlag, db.Options{}, func(store *db.Store) error {
		type companyPlan struct {
			Company string     `json:"company"`
			Name    string     `json:"name"`
			Plan    *planShown `json:"plan"`
		}
		shown, table := []companyPlan{}, [][]string{}
		err := eachSubscription(ctx, store, func(company *model.Company, s *model.CompanySubscription) {
			line := []string{company.ID, client.Printable(company.Name), "no plan"}
			if s != nil {
				line = append(line[:2], client.Printable(s.PlanName), string(s.Status()), s.CreditsUsed.String()+" used",
					s.CreditsIncluded.String()+" included", "budget "+formatBudget(s))
			}
			shown, table = append(shown, companyPlan{company.ID, company.Name, planOf(s)}), append(table, line)
		})
		if err != nil {
			return err
		}
		return c.Print(cmd.OutOrStdout(), shown, table)
	})
}

// BudgetWarnings returns a line for each company whose budget is nearly used up.
func BudgetWarnings(ctx context.Context, store *db.Store) ([]string, error) {
	var warnings []string
	err := eachSubscription(ctx, store, func(company *model.Company, s *model.CompanySubscription) {
		if s != nil && s.Warning() != "" {
			warnings = append(warnings, client.Printable(company.Name)+": "+s.Warning())
		}
	})
	return warnings, err
}

// eachSubscription calls fn with every company and its plan, or with nil if the company has no plan.
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
