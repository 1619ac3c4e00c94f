package admin

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// Erase erases a contact.
type Erase struct {
	companyFlag
	outputFlag
	Phone string
}

// NewErase returns the command "erase".
func NewErase() *cobra.Command {
	c := &Erase{}
	return cli.New(c, &cobra.Command{
		Use: "erase", Short: "Erase a contact: the campaign items with its phone number, the simulated chats in which that stands, and the number in runs of tests.",
		Example: `agentgraph erase --company "Your company" --phone +4930123456`,
	}, nil, &c.companyFlag, &c.outputFlag, cli.Flags{
		{Into: &c.Phone, Name: "phone", Required: true, Placeholder: "NUMBER", Help: "The contact's phone number, with its country code: +4930123456."},
	})
}

// Run erases the contact and says how much that was.
func (c *Erase) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
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
		return c.print(cmd.OutOrStdout(), erased, [][]string{
			{"campaign items deleted", number(erased.Items)},
			{"simulated chats deleted", number(erased.Chats)},
			{"test runs without the number now", number(erased.Runs)},
		})
	})
}
