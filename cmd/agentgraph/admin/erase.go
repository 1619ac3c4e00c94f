package admin

import (
	"context"
	"strconv"

	"github.com/alecthomas/kong"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// Erase erases a contact.
type Erase struct {
	companyFlag
	outputFlag
	Phone string `required:"" placeholder:"NUMBER" help:"The contact's phone number, with its country code: +4930123456."`
}

// Run erases the contact and says how much that was.
func (c *Erase) Run(ctx context.Context, cli *kong.Context) error {
	return withStore(ctx, c.DatabaseURL, func(store *db.Store) error {
		tenant, err := c.tenant(ctx, store)
		if err != nil {
			return err
		}
		erased, err := tenant.EraseContact(ctx, model.EraseContactInput{PhoneNumber: c.Phone})
		if err != nil {
			return err
		}
		number := func(n int64) string { return strconv.FormatInt(n, 10) }
		return c.print(cli.Stdout, erased, [][]string{
			{"campaign items deleted", number(erased.Items)},
			{"simulated chats deleted", number(erased.Chats)},
			{"test runs without the number now", number(erased.Runs)},
		})
	})
}
