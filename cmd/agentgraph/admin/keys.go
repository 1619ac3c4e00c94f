package admin

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// Keys manages the API keys of a company.
type Keys struct {
	Create keysCreate `cmd:"" help:"Create a key and print its secret, which is never shown again."`
	List   keysList   `cmd:"" help:"List the keys."`
	Revoke keysRevoke `cmd:"" help:"Revoke a key for good."`
}

type keysCreate struct {
	companyFlag
	SecretKeyFlag
	Name      string        `env:"AGENTGRAPH_KEY_NAME" default:"Created on the command line" help:"What the key is for."`
	Scope     []string      `env:"AGENTGRAPH_KEY_SCOPE" default:"admin" enum:"read,browse,prompts,contacts,consumption,write,simulate,chat,admin" help:"What it may do: ${enum}; several with commas. chat stands alone."`
	ExpiresIn time.Duration `env:"AGENTGRAPH_KEY_EXPIRES_IN" help:"How long it is valid, such as 720h. Default: without end."`
}

// Run prints the secret and nothing else.
func (c *keysCreate) Run(ctx context.Context, cli *kong.Context) error {
	secretKey, err := c.Key()
	if err != nil {
		return err
	}
	return withSecrets(ctx, c.DatabaseURL, secretKey, func(store *db.Store) error {
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
		_, err = fmt.Fprintln(cli.Stdout, secret)
		return err
	})
}

type keysList struct{ companyFlag }

// Run prints one line for each key.
func (c *keysList) Run(ctx context.Context, cli *kong.Context) error {
	return withStore(ctx, c.DatabaseURL, func(store *db.Store) error {
		tenant, err := c.tenant(ctx, store)
		if err != nil {
			return err
		}
		keys, err := tenant.APIKeys(ctx)
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(cli.Stdout, 0, 4, 2, ' ', 0)
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
func (c *keysRevoke) Run(ctx context.Context, cli *kong.Context) error {
	return withStore(ctx, c.DatabaseURL, func(store *db.Store) error {
		tenant, err := c.tenant(ctx, store)
		if err != nil {
			return err
		}
		key, err := tenant.RevokeAPIKey(ctx, c.ID)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(cli.Stdout, "%s is revoked\n", key.ID)
		return err
	})
}
