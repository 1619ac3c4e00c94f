package admin

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"github.com/agentgraph/agentgraph/db"
)

// Companies creates and lists companies.
type Companies struct {
	Create companiesCreate `cmd:"" help:"Create a company and print its id."`
	List   companiesList   `cmd:"" help:"List the companies."`
}

type companiesCreate struct {
	DatabaseFlag
	Name string `env:"AGENTGRAPH_COMPANY_NAME" required:"" help:"The company's name."`
}

// Run prints the id of the new company.
func (c *companiesCreate) Run(ctx context.Context, cli *kong.Context) error {
	return withStore(ctx, c.DatabaseURL, func(store *db.Store) error {
		company, err := store.CreateCompany(ctx, c.Name)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(cli.Stdout, company.ID)
		return err
	})
}

type companiesList struct{ DatabaseFlag }

// Run prints one line for each company.
func (c *companiesList) Run(ctx context.Context, cli *kong.Context) error {
	return withStore(ctx, c.DatabaseURL, func(store *db.Store) error {
		companies, err := store.Companies(ctx)
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(cli.Stdout, 0, 4, 2, ' ', 0)
		for _, company := range companies {
			_, _ = fmt.Fprintf(table, "%s\t%s\n", company.ID, company.Name)
		}
		return table.Flush()
	})
}

// companyFlag names a company.
type companyFlag struct {
	DatabaseFlag
	Company string `env:"AGENTGRAPH_COMPANY" required:"" help:"The company's id, or its name."`
}

// tenant finds the company.
func (f companyFlag) tenant(ctx context.Context, store *db.Store) (*db.Tenant, error) {
	companies, err := store.Companies(ctx)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, company := range companies {
		if company.ID == f.Company {
			return store.Tenant(company.ID), nil
		}
		if company.Name == f.Company {
			found = append(found, company.ID)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("there is no company %q: \"agentgraph companies list\" shows them", f.Company)
	case 1:
		return store.Tenant(found[0]), nil
	}
	return nil, fmt.Errorf("several companies are called %q: name one by its id: %s", f.Company, strings.Join(found, ", "))
}
