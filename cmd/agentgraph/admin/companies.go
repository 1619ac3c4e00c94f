package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

type companiesCreate struct {
	DatabaseFlag
	Name string
}

func newCompaniesCreate() *cobra.Command {
	c := &companiesCreate{}
	return cli.New(c, &cobra.Command{
		Use: "create", Short: "Create a company and print its id.",
		Example: `agentgraph companies create --name "Your company"`,
	}, nil, &c.DatabaseFlag, cli.Flags{
		{Into: &c.Name, Name: "name", Required: true, Help: "The company's name."},
	})
}

func (c *companiesCreate) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	return withStore(ctx, c.DatabaseFlag, db.Options{}, func(store *db.Store) error {
		company, err := store.CreateCompany(ctx, c.Name)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), company.ID)
		return err
	})
}

type companiesList struct {
	DatabaseFlag
	cli.OutputFlag
	Bytes bool
}

func newCompaniesList() *cobra.Command {
	c := &companiesList{}
	return cli.New(c, &cobra.Command{
		Use: "list", Short: "List the companies.",
		Example: "agentgraph companies list --bytes",
	}, nil, &c.DatabaseFlag, &c.OutputFlag, cli.Flags{
		{Into: &c.Bytes, Name: "bytes", Help: "Show about how much space each company uses in Postgres, largest first. " +
			"This reads a sample of each table."},
	})
}

type companyShown struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"createdAt"`
	Bytes     *int64    `json:"bytes,omitempty"`
}

func (c *companiesList) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	return withStore(ctx, c.DatabaseFlag, db.Options{}, func(store *db.Store) error {
		companies, err := store.Companies(ctx)
		if err != nil {
			return err
		}
		bytes := map[string]int64{}
		if c.Bytes {
			if bytes, err = store.CompanyBytes(ctx); err != nil {
				return err
			}
			slices.SortStableFunc(companies, func(a, b *model.Company) int { return cmp.Compare(bytes[b.ID], bytes[a.ID]) })
		}
		shown, table := []companyShown{}, [][]string{}
		for _, company := range companies {
			row, line := companyShown{ID: company.ID, Name: company.Name, CreatedAt: company.CreatedAt}, []string{company.ID}
			if c.Bytes {
				row.Bytes = new(bytes[company.ID])
				line = append(line, fmt.Sprintf("%.1f MB", float64(*row.Bytes)/1e6))
			}
			shown, table = append(shown, row), append(table, append(line, client.Printable(company.Name)))
		}
		return c.Print(cmd.OutOrStdout(), shown, table)
	})
}

type companiesDelete struct {
	companyFlag
	BucketFlag
	cli.OutputFlag
	Confirm string
}

func newCompaniesDelete() *cobra.Command {
	c := &companiesDelete{}
	return cli.New(c, &cobra.Command{
		Use: "delete", Short: "Delete a company and all its data permanently. The command asks for the company's name.",
		Example: "agentgraph companies delete --company company_01m7yn1htzexesns5wjxxva918",
	}, nil, &c.companyFlag, &c.BucketFlag, &c.OutputFlag, cli.Flags{
		{Into: &c.Confirm, Name: "confirm", Placeholder: "NAME", Help: "The company's name again, for scripts. Without " +
			"it, the command asks for the name."},
	})
}

// Run deletes the company if the user confirms its name, and prints how many rows were deleted.
func (c *companiesDelete) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	return withBucket(ctx, c.DatabaseFlag, c.BucketFlag, func(store *db.Store) error {
		tenant, err := c.tenant(ctx, store)
		if err != nil {
			return err
		}
		company, err := tenant.Company(ctx)
		if err != nil {
			return err
		}
		if c.Confirm == "" {
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "This deletes the company %s and all its data permanently. \"agentgraph "+
				"export\" keeps a copy.\nType its name to continue: ", company.ID)
			if c.Confirm, err = cli.ReadLine(ctx, cmd.InOrStdin()); err != nil {
				return client.Cancelled(ctx, err, "nothing was deleted")
			}
		}
		if c.Confirm != company.Name {
			return errors.New("that is not the company's name; nothing was deleted")
		}
		type deletedRows struct {
			Table string `json:"table"`
			Rows  int64  `json:"rows"`
		}
		shown, table := []deletedRows{}, [][]string{}
		err = store.DeleteCompany(ctx, company.ID, func(name string, rows int64) {
			shown, table = append(shown, deletedRows{name, rows}), append(table, []string{name, strconv.FormatInt(rows, 10)})
		})
		return errors.Join(client.Cancelled(ctx, err, "the keys are revoked and a part of the rows may be deleted; run "+
			"the command again to delete the rest"), c.Print(cmd.OutOrStdout(), shown, table))
	})
}

// companyFlag names a company.
type companyFlag struct {
	DatabaseFlag
	Company string
}

func (f *companyFlag) Declare() cli.Flags {
	return slices.Concat(f.DatabaseFlag.Declare(), cli.Flags{
		{Into: &f.Company, Name: "company", Required: true, Help: "The company's id, or its name."},
	})
}

// companyCommand is a command about one company, without flags of its own.
type companyCommand struct {
	companyFlag
	cli.OutputFlag
	do func(ctx context.Context, cmd *cobra.Command, tenant *db.Tenant, output cli.OutputFlag) error
}

func (c *companyCommand) Run(cmd *cobra.Command) error {
	return c.withTenant(cmd.Context(), nil, func(tenant *db.Tenant) error {
		return c.do(cmd.Context(), cmd, tenant, c.OutputFlag)
	})
}

// withTenant opens the database for one command about the company. The secret key may be empty.
func (f companyFlag) withTenant(ctx context.Context, secretKey []byte, do func(*db.Tenant) error) error {
	return withStore(ctx, f.DatabaseFlag, db.Options{SecretKey: secretKey}, func(store *db.Store) error {
		tenant, err := f.tenant(ctx, store)
		if err != nil {
			return err
		}
		return do(tenant)
	})
}

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
		return nil, model.Errorf(model.NotFound, "the company %q does not exist: \"agentgraph companies list\" lists the "+
			"companies", f.Company)
	case 1:
		return store.Tenant(found[0]), nil
	}
	return nil, fmt.Errorf("several companies have the name %q: pass one of the ids "+
		"%s", f.Company, strings.Join(found, ", "))
}
