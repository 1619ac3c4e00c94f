package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// Plan manages the plans of companies.
type Plan struct {
	Set   planSet   `cmd:"" help:"Set the plan, from the current month on."`
	Show  planShow  `cmd:"" help:"Show the plan and how much of it is used."`
	List  planList  `cmd:"" help:"List every company with its plan and how much of it is used."`
	Clear planClear `cmd:"" help:"Remove the plan, and the budget with it."`
}

type planSet struct {
	companyFlag
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
		return showPlan(ctx, cli, tenant)
	})
}

type planShow struct{ companyFlag }

// Run prints the plan.
func (c *planShow) Run(ctx context.Context, cli *kong.Context) error {
	return withStore(ctx, c.DatabaseURL, func(store *db.Store) error {
		tenant, err := c.tenant(ctx, store)
		if err != nil {
			return err
		}
		return showPlan(ctx, cli, tenant)
	})
}

type planClear struct{ companyFlag }

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
		return showPlan(ctx, cli, tenant)
	})
}

func showPlan(ctx context.Context, cli *kong.Context, tenant *db.Tenant) error {
	s, err := tenant.Subscription(ctx, time.Now())
	if err != nil {
		return err
	}
	if s == nil {
		_, err := fmt.Fprintln(cli.Stdout, "no plan, and no budget")
		return err
	}
	table := tabwriter.NewWriter(cli.Stdout, 0, 4, 2, ' ', 0)
	for _, line := range [][2]string{
		{"plan", s.PlanName},
		{"status", string(s.Status())},
		{"month", model.MonthName(s.PeriodStart)},
		{"included", s.CreditsIncluded.String()},
		{"used", s.CreditsUsed.String()},
		{"remaining", s.CreditsRemaining().String()},
		{"budget", budgetOf(s)},
	} {
		_, _ = fmt.Fprintf(table, "%s\t%s\n", line[0], line[1])
	}
	return table.Flush()
}

func budgetOf(s *model.CompanySubscription) string {
	if s.Budget == nil {
		return "none"
	}
	return s.Budget.String()
}

type planList struct{ DatabaseFlag }

// Run prints one line for each company, oldest first.
func (c *planList) Run(ctx context.Context, cli *kong.Context) error {
	return withStore(ctx, c.DatabaseURL, func(store *db.Store) error {
		table := tabwriter.NewWriter(cli.Stdout, 0, 4, 2, ' ', 0)
		err := eachSubscription(ctx, store, func(company *model.Company, s *model.CompanySubscription) {
			line := []string{company.ID, company.Name, "no plan"}
			if s != nil {
				line = append(line[:2], s.PlanName, string(s.Status()), s.CreditsUsed.String()+" used", s.CreditsIncluded.String()+" included", "budget "+budgetOf(s))
			}
			_, _ = fmt.Fprintln(table, strings.Join(line, "\t"))
		})
		return errors.Join(err, table.Flush())
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
