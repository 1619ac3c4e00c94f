package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

type companiesCommand struct {
	Create companiesCreate `cmd:"" help:"Create a company and print its id."`
	List   companiesList   `cmd:"" help:"List the companies."`
}

type companiesCreate struct {
	databaseFlag
	Name string `env:"AGENTGRAPH_COMPANY_NAME" required:"" help:"The company's name."`
}

// Run prints the id of the new company.
func (c *companiesCreate) Run(ctx context.Context, std streams) error {
	return withStore(ctx, c.DatabaseURL, func(store *db.Store) error {
		company, err := store.CreateCompany(ctx, c.Name)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(std.out, company.ID)
		return err
	})
}

type companiesList struct{ databaseFlag }

// Run prints one line for each company.
func (c *companiesList) Run(ctx context.Context, std streams) error {
	return withStore(ctx, c.DatabaseURL, func(store *db.Store) error {
		companies, err := store.Companies(ctx)
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(std.out, 0, 4, 2, ' ', 0)
		for _, company := range companies {
			_, _ = fmt.Fprintf(table, "%s\t%s\n", company.ID, company.Name)
		}
		return table.Flush()
	})
}

type keysCommand struct {
	Create keysCreate `cmd:"" help:"Make a key and print its secret, which is never shown again."`
	List   keysList   `cmd:"" help:"List the keys."`
	Revoke keysRevoke `cmd:"" help:"Revoke a key for good."`
}

// companyFlag names a company.
type companyFlag struct {
	databaseFlag
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

type keysCreate struct {
	companyFlag
	Name      string        `env:"AGENTGRAPH_KEY_NAME" default:"Created on the command line" help:"What the key is for."`
	Scope     []string      `env:"AGENTGRAPH_KEY_SCOPE" default:"admin" enum:"read,write,simulate,admin" help:"What it may do: read, write, simulate, admin; several with commas."`
	ExpiresIn time.Duration `env:"AGENTGRAPH_KEY_EXPIRES_IN" help:"From when on it is refused, such as 720h; never when absent."`
}

// Run prints the secret and nothing else.
func (c *keysCreate) Run(ctx context.Context, std streams) error {
	return withStore(ctx, c.DatabaseURL, func(store *db.Store) error {
		tenant, err := c.tenant(ctx, store)
		if err != nil {
			return err
		}
		in := model.CreateAPIKeyInput{Name: c.Name}
		for _, scope := range c.Scope {
			in.Scopes = append(in.Scopes, model.APIKeyScope(scope))
		}
		if c.ExpiresIn != 0 {
			at := time.Now().UTC().Add(c.ExpiresIn)
			in.ExpiresAt = &at
		}
		_, secret, err := tenant.CreateAPIKey(ctx, in)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(std.out, secret)
		return err
	})
}

type keysList struct{ companyFlag }

// Run prints one line for each key.
func (c *keysList) Run(ctx context.Context, std streams) error {
	return withStore(ctx, c.DatabaseURL, func(store *db.Store) error {
		tenant, err := c.tenant(ctx, store)
		if err != nil {
			return err
		}
		keys, err := tenant.APIKeys(ctx)
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(std.out, 0, 4, 2, ' ', 0)
		for _, key := range keys {
			state := "good"
			if !key.Usable(time.Now()) {
				state = "expired"
			}
			if key.RevokedAt != nil {
				state = "revoked"
			}
			_, _ = fmt.Fprintf(table, "%s\t%s…\t%s\t%v\t%s\n", key.ID, key.Prefix, state, key.Scopes, key.Name)
		}
		return table.Flush()
	})
}

type keysRevoke struct {
	companyFlag
	ID string `arg:"" help:"The id of the key."`
}

// Run revokes the key.
func (c *keysRevoke) Run(ctx context.Context, std streams) error {
	return withStore(ctx, c.DatabaseURL, func(store *db.Store) error {
		tenant, err := c.tenant(ctx, store)
		if err != nil {
			return err
		}
		key, err := tenant.RevokeAPIKey(ctx, c.ID)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(std.out, "%s is revoked\n", key.ID)
		return err
	})
}

// withStore opens the database, whose schema must fit, for one command.
func withStore(ctx context.Context, address string, do func(*db.Store) error) error {
	if err := checkSchema(ctx, address, false); err != nil {
		return err
	}
	store, err := db.Open(ctx, address, db.Options{MaxConnections: 2})
	if err != nil {
		return err
	}
	defer store.Close()
	return do(store)
}
