package admin

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// Keys manages the API keys of a company.
type Keys struct {
	Create keysCreate `cmd:"" help:"Create a key and print its secret, which is never shown again." example:"agentgraph keys create --company \"Your company\"\nagentgraph keys create --company \"Your company\" --scope read,simulate --expires-in 720h --name CI"`
	Import keysImport `cmd:"" help:"Take over a key of another server, so that its clients need not be changed. Only a hash of the secret is kept." example:"agentgraph keys import --company \"Your company\" --secret-from-stdin < key-file"`
	List   keysList   `cmd:"" help:"List the keys." example:"agentgraph keys list --company \"Your company\""`
	Revoke keysRevoke `cmd:"" help:"Revoke a key for good." example:"agentgraph keys revoke --company \"Your company\" key_01m81p6tm4ea2t5r54fba12ybw"`
}

type keysCreate struct {
	companyFlag
	SecretKeyFlag
	keyFlags
	Name string `env:"AGENTGRAPH_KEY_NAME" default:"Created on the command line" help:"What the key is for."`
}

// keyFlags say what a key may do, and how long.
type keyFlags struct {
	Scope     []string      `env:"AGENTGRAPH_KEY_SCOPE" default:"admin" enum:"read,browse,prompts,contacts,consumption,write,simulate,chat,admin" help:"What it may do: ${enum}; several with commas. chat stands alone."`
	ExpiresIn time.Duration `env:"AGENTGRAPH_KEY_EXPIRES_IN" help:"How long it is valid, such as 720h. Default: without end."`
}

func (f keyFlags) scopes() []model.APIKeyScope {
	scopes := make([]model.APIKeyScope, len(f.Scope))
	for i, scope := range f.Scope {
		scopes[i] = model.APIKeyScope(scope)
	}
	return scopes
}

func (f keyFlags) expiresAt() *time.Time {
	if f.ExpiresIn == 0 {
		return nil
	}
	return new(time.Now().UTC().Add(f.ExpiresIn))
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
		_, secret, err := tenant.CreateAPIKey(ctx, model.CreateAPIKeyInput{Name: c.Name, Scopes: c.scopes(), ExpiresAt: c.expiresAt()})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(cli.Stdout, secret)
		return err
	})
}

type keysImport struct {
	companyFlag
	keyFlags
	Name            string `env:"AGENTGRAPH_KEY_NAME" default:"Taken over on the command line" help:"What the key is for."`
	SecretFromStdin bool   `required:"" help:"Read the secret from the standard input: 24 to 200 characters of ASCII without spaces, at least 10 of them different. Arguments and variables would show it to others."`
}

// mostSecretInput bounds what is read in search of a secret, in bytes.
const mostSecretInput = 4096

// Run prints the id of the key and how its secret begins.
func (c *keysImport) Run(ctx context.Context, cli *kong.Context, in io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(in, mostSecretInput))
	if err != nil {
		return fmt.Errorf("read the secret: %w", err)
	}
	secret := strings.TrimRight(string(text), "\r\n")
	return withStore(ctx, c.DatabaseURL, func(store *db.Store) error {
		tenant, err := c.tenant(ctx, store)
		if err != nil {
			return err
		}
		key, err := tenant.ImportAPIKey(ctx, model.ImportAPIKeyInput{Name: c.Name, Scopes: c.scopes(), ExpiresAt: c.expiresAt(), Secret: secret})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(cli.Stdout, "%s\t%s…\n", key.ID, key.Prefix)
		return err
	})
}

type keysList struct {
	companyFlag
	outputFlag
}

type keyShown struct {
	ID         string              `json:"id"`
	Prefix     string              `json:"prefix"`
	State      string              `json:"state"`
	Scopes     []model.APIKeyScope `json:"scopes"`
	Name       string              `json:"name"`
	CreatedAt  time.Time           `json:"createdAt"`
	LastUsedAt *time.Time          `json:"lastUsedAt"`
	ExpiresAt  *time.Time          `json:"expiresAt"`
	RevokedAt  *time.Time          `json:"revokedAt"`
}

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
		shown, table := []keyShown{}, [][]string{}
		for _, key := range keys {
			state := "good"
			if !key.Usable(time.Now()) {
				state = "expired"
			}
			if key.RevokedAt != nil {
				state = "revoked"
			}
			shown = append(shown, keyShown{key.ID, key.Prefix, state, key.Scopes, key.Name, key.CreatedAt, key.LastUsedAt, key.ExpiresAt, key.RevokedAt})
			table = append(table, []string{key.ID, key.Prefix + "…", state, fmt.Sprint(key.Scopes), key.Name})
		}
		return c.print(cli.Stdout, shown, table)
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
