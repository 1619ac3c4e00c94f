package admin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

type keysCreate struct {
	companyFlag
	SecretKeyFlag
	keyFlags
	Name string
}

func newKeysCreate() *cobra.Command {
	c := &keysCreate{}
	return cli.New(c, &cobra.Command{
		Use: "create", Short: "Create a key and print its secret, which is never shown again.",
		Example: `agentgraph keys create --company "Your company"
agentgraph keys create --company "Your company" --scope read,simulate --expires-in 720h --name CI`,
	}, nil, &c.companyFlag, &c.SecretKeyFlag, &c.keyFlags, cli.Flags{
		{Into: &c.Name, Name: "name", Default: "Created on the command line", Help: "The purpose of the key."},
	})
}

// keyFlags has the scopes and the lifetime of a key.
type keyFlags struct {
	Scope     []string
	ExpiresIn time.Duration
}

func (f *keyFlags) Declare() cli.Flags {
	scopes := []string{"read", "browse", "prompts", "contacts", "consumption", "write", "simulate", "mutate", "chat",
		"admin"}
	return cli.Flags{
		{Into: &f.Scope, Name: "scope", Default: "read,write,simulate", Enum: scopes,
			Help: "Its permissions: " + strings.Join(scopes, ",") + ". Separate several with commas. chat cannot be " +
				"combined with others."},
		{Into: &f.ExpiresIn, Name: "expires-in", Help: "How long the key is valid, such as 720h. Default: without limit."},
	}
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
func (c *keysCreate) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	secretKey, err := c.Key()
	if err != nil {
		return err
	}
	return c.withTenant(ctx, secretKey, func(tenant *db.Tenant) error {
		_, secret, err := tenant.CreateAPIKey(ctx, model.CreateAPIKeyInput{Name: c.Name, Scopes: c.scopes(),
			ExpiresAt: c.expiresAt()})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), secret)
		return err
	})
}

type keysImport struct {
	companyFlag
	keyFlags
	Name            string
	SecretFromStdin bool
}

func newKeysImport() *cobra.Command {
	c := &keysImport{}
	return cli.New(c, &cobra.Command{
		Use: "import", Short: "Import a key of another server, so that its clients keep working unchanged. Only a hash of " +
			"the secret is stored.",
		Example: `agentgraph keys import --company "Your company" --secret-from-stdin < key-file`,
	}, nil, &c.companyFlag, &c.keyFlags, cli.Flags{
		{Into: &c.Name, Name: "name", Default: "Imported on the command line", Help: "The purpose of the key."},
		{Into: &c.SecretFromStdin, Name: "secret-from-stdin", Required: true, Help: "Read the secret from the standard " +
			"input: 24 to 200 ASCII characters without spaces, at least 10 of them different. Arguments and variables " +
			"would expose it to other users."},
	})
}

// maxSecretInput bounds the input that contains a secret, in bytes.
const maxSecretInput = 4096

// Run prints the id of the key and the first characters of its secret.
func (c *keysImport) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	text, err := cli.ReadText(cli.Interruptible(ctx, cmd.InOrStdin()), maxSecretInput)
	if err != nil {
		return fmt.Errorf("read the secret: %w", err)
	}
	secret := strings.TrimRight(string(text), "\r\n")
	return c.withTenant(ctx, nil, func(tenant *db.Tenant) error {
		key, err := tenant.ImportAPIKey(ctx, model.ImportAPIKeyInput{Name: c.Name, Scopes: c.scopes(),
			ExpiresAt: c.expiresAt(), Secret: secret})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\t%s…\n", key.ID, key.Prefix)
		return err
	})
}

func newKeysList() *cobra.Command {
	c := &companyCommand{do: listKeys}
	return cli.New(c, &cobra.Command{
		Use: "list", Short: "List the keys.",
		Example: `agentgraph keys list --company "Your company"`,
	}, nil, &c.companyFlag, &c.OutputFlag)
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

func listKeys(ctx context.Context, cmd *cobra.Command, tenant *db.Tenant, output cli.OutputFlag) error {
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
		shown = append(shown, keyShown{key.ID, key.Prefix, state, key.Scopes, key.Name, key.CreatedAt, key.LastUsedAt,
			key.ExpiresAt, key.RevokedAt})
		table = append(table, []string{key.ID, key.Prefix + "…", state, fmt.Sprint(key.Scopes), client.Printable(key.Name)})
	}
	return output.Print(cmd.OutOrStdout(), shown, table)
}

type keysRevoke struct {
	companyFlag
	ID string
}

func newKeysRevoke() *cobra.Command {
	c := &keysRevoke{}
	return cli.New(c, &cobra.Command{
		Use: "revoke", Short: "Revoke a key permanently.",
		Example: `agentgraph keys revoke --company "Your company" key_01m81p6tm4ea2t5r54fba12ybw`,
	}, []cli.Argument{
		{Into: &c.ID, Name: "id", Help: "The id of the key."},
	}, &c.companyFlag)
}

func (c *keysRevoke) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	return c.withTenant(ctx, nil, func(tenant *db.Tenant) error {
		key, err := tenant.RevokeAPIKey(ctx, c.ID)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is revoked\n", key.ID)
		return err
	})
}
